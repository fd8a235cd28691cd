"""What a call of an MCP tool costs: `python -m benchmarks.mcp`, or `make bench-mcp`.

CPU of the client, in microseconds a call, the least of many batches of each side, which take turns: by hand over pipes,
the official Python client (PyPI `mcp`, where it is installed), and kova in both twins. All of them, and their servers,
share one processor where the system allows it: to wake another one costs what a call does, now and then.
"""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
ROUNDS = 4
STDIO = ("by-hand-blocking", "by-hand-async", "official-async", "kova-blocking", "kova-async")
HTTP = ("official-async", "kova-blocking", "kova-async")
BASELINE = {"kova-blocking": "by-hand-blocking", "kova-async": "by-hand-async"}


def main() -> None:
    """Measure all, and print a table."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    has_official = importlib.util.find_spec("mcp") is not None
    print(f"{'transport':10}{'calls':7}{'side':18}{'µs of CPU':>10}{'by hand':>10}{'official':>10}")
    with subprocess.Popen(
        [sys.executable, "-m", "benchmarks.mcp_server", "http"], stdout=subprocess.PIPE, text=True, cwd=ROOT
    ) as server:
        assert server.stdout is not None
        port = server.stdout.readline().strip()
        try:
            for transport, sides, rest in (("stdio", STDIO, []), ("http", HTTP, [port])):
                for work in ("one", "many"):
                    chosen = [
                        side
                        for side in sides
                        if (has_official or side != "official-async") and not (work == "many" and "hand" in side)
                    ]
                    report(transport, work, least(chosen, work, rest))
        finally:
            server.kill()


def least(sides: list[str], work: str, rest: list[str]) -> dict[str, float]:
    """The least of each side, in seconds."""
    samples: dict[str, list[float]] = {side: [] for side in sides}
    for _ in range(ROUNDS):
        for side in sides:
            run = subprocess.run(
                [sys.executable, "-m", "benchmarks.mcp_sides", side, work, *rest],
                capture_output=True,
                text=True,
                check=True,
                cwd=ROOT,
            )
            samples[side].append(float(run.stdout))
    return {side: min(values) for side, values in samples.items()}


def report(transport: str, work: str, least_of: dict[str, float]) -> None:
    """Print the lines of one work."""
    for side, seconds in least_of.items():
        by_hand = least_of.get(BASELINE.get(side, ""))
        official = least_of.get("official-async") if side.startswith("kova") else None
        ratios = "".join(f"{seconds / other:10.2f}" if other else f"{'':10}" for other in (by_hand, official))
        print(f"{transport:10}{work:7}{side:18}{seconds * 1e6:10.0f}{ratios}", flush=True)


if __name__ == "__main__":
    main()
