"""Results as a table to read, and as JSON."""

import importlib.metadata
import os
import platform
from collections.abc import Sequence
from typing import Any

import kova

from .runner import Result

COLUMNS = "{:30} {:8}  {:>9}  {:>9}  {:>6}  {:>7}  {:9}  {:>9}  {:>6}  {:>7}"
VERDICTS = {True: "met", False: "NOT MET", None: ""}


def heading(runs: int) -> str:
    """What stands above the table."""
    facts = environment()
    packages = ", ".join(f"{name} {version}" for name, version in facts["packages"].items() if version)
    titles = COLUMNS.format("", "twin", "by hand", "kova", "ratio", "target", "", "+ orjson", "ratio", "target")
    where = f"Python {facts['python']}, {facts['cpus']} CPUs, {packages}; the least of {runs} runs"
    return f"{where}\n\n{titles}\n{'-' * len(titles)}"


def line(result: Result) -> str:
    """A line of the table."""
    measurement, target = result.measurement, result.measurement.target
    is_memory = measurement.is_memory
    return COLUMNS.format(
        measurement.title,
        measurement.twin,
        _amount(result.baseline, is_memory),
        _amount(result.kova, is_memory),
        _ratio(result.ratio),
        _most(target.ratio),
        VERDICTS[result.is_met],
        _amount(result.kova_orjson, is_memory),
        _ratio(result.ratio_with_orjson),
        _most(target.with_orjson),
    ).rstrip()


def summary(results: Sequence[Result]) -> str:
    """What stands below the table."""
    verdicts = [result.is_met for result in results if result.is_met is not None]
    return f"\n{sum(verdicts)} of {len(verdicts)} targets are met"


def as_json(results: Sequence[Result], runs: int) -> dict[str, Any]:
    """Everything that is known, samples included: seconds, and bytes of memory."""
    return {**environment(), "runs": runs, "measurements": [_measurement(result) for result in results]}


def environment() -> dict[str, Any]:
    """Where the numbers come from."""
    return {
        "python": platform.python_version(),
        "platform": platform.platform(),
        "cpus": os.cpu_count(),
        "packages": {"kova": kova.__version__, **{name: _version(name) for name in ("httpx", "httpx2", "orjson")}},
    }


def _measurement(result: Result) -> dict[str, Any]:
    measurement, target = result.measurement, result.measurement.target
    return {
        "name": measurement.name,
        "title": measurement.title,
        "twin": measurement.twin,
        "unit": "bytes" if measurement.is_memory else "seconds",
        "baseline_side": measurement.baseline_side,
        "baseline": result.baseline,
        "kova": result.kova,
        "kova_orjson": result.kova_orjson,
        "ratio": result.ratio,
        "ratio_with_orjson": result.ratio_with_orjson,
        "target": target.ratio,
        "target_with_orjson": target.with_orjson,
        "is_met": result.is_met,
    }


def _version(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def _amount(samples: Sequence[float], is_memory: bool) -> str:
    if not samples:
        return ""
    least = min(samples)
    if is_memory:
        return f"{least / 2**20:.1f} MiB"
    if least < 0.001:
        return f"{least * 1e6:.1f} µs"
    return f"{least * 1e3:.2f} ms" if least < 0.01 else f"{least * 1e3:.1f} ms"


def _ratio(ratio: float | None) -> str:
    return "" if ratio is None else f"{ratio:.2f}"


def _most(target: float | None) -> str:
    return "" if target is None else f"<= {target}"
