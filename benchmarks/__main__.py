"""The command line: `python -m benchmarks [--only NAME] [--runs N] [--json FILE]`."""

import argparse
import json
from pathlib import Path

from . import report
from .laboratory import Laboratory
from .measurements import FULL, TARGETS, Sizes, all_measurements
from .runner import measure


def main(arguments: list[str] | None = None, sizes: Sizes = FULL) -> None:
    """Measure, and print a line of the table as soon as it is known."""
    options = _options(arguments)
    results = []
    print(report.heading(options.runs), flush=True)
    with Laboratory() as laboratory:
        for measurement in all_measurements(sizes, with_tls="https" in laboratory.urls):
            if options.only and measurement.name not in options.only:
                continue
            laboratory.retire_workers()
            results.append(measure(measurement, laboratory, options.runs))
            print(report.line(results[-1]), flush=True)
    print(report.summary(results))
    if options.json is not None:
        options.json.write_text(json.dumps(report.as_json(results, options.runs), indent=2) + "\n", "utf-8")


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Measure kova against httpx by hand.")
    parser.add_argument(
        "--only", action="append", metavar="NAME", choices=TARGETS, help="repeatable; " + ", ".join(TARGETS)
    )
    parser.add_argument(
        "--runs", type=int, default=7, help="samples of each side; the least counts, and the first compiles"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write all samples to a file")
    options = parser.parse_args(arguments)
    if options.runs < 1:
        parser.error("--runs must be at least 1")
    return options


if __name__ == "__main__":
    main()
