"""How long `import kova` takes, beside `import httpx`, on which it stands.

Each import runs in a fresh interpreter, the two in turn, and the least of the runs counts: it is the one that other
work on the machine disturbed least.
"""

import subprocess
import sys

RUNS = 7
MEASURE = "import time; start = time.perf_counter(); import {}; print(time.perf_counter() - start)"


def import_seconds(module: str) -> float:
    """Import the module in a fresh interpreter and return the seconds that it took."""
    command = [sys.executable, "-c", MEASURE.format(module)]
    return float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def main() -> None:
    """Measure and print."""
    runs = [(import_seconds("kova"), import_seconds("httpx")) for _ in range(RUNS)]
    kova, httpx = (min(seconds) for seconds in zip(*runs, strict=True))
    print(f"import kova   {kova * 1000:7.1f} ms")
    print(f"import httpx  {httpx * 1000:7.1f} ms")
    print(f"ratio         {kova / httpx:7.2f}")


if __name__ == "__main__":
    main()
