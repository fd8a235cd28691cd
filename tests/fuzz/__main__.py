"""Fuzzes one parser for some minutes of processor time, or all of them in turn, and keeps what broke it.

    python -m tests.fuzz PARSER [--minutes N] [--jobs N] [--new FOLDER]

With atheris installed (`pip install atheris`) it is guided by what code an input reaches, and inputs that reach new code
are kept in FOLDER; without, known inputs are changed at random. Each fault is printed once, and its input kept as
`FOLDER/PARSER/fault-…`. The exit status is 1 if there was any.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import random
import subprocess
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .targets import Target

try:
    import atheris
except ImportError:
    atheris = None

SAME_PLACE = 3  # faults that are kept of one place
OWN_CODE = str(Path(__file__).parents[2] / "kova")


class Faults:
    """The faults that were found, the first three of each place in the code."""

    def __init__(self, target: Target, folder: Path) -> None:
        self._target = target
        self._folder = folder
        self._seen: Counter[object] = Counter()
        self.count = 0
        self.runs = 0

    def look_at(self, data: bytes) -> None:
        self.runs += 1
        try:
            self._target.check(data)
        except Exception as error:
            self._keep(data, error)

    def _keep(self, data: bytes, error: Exception) -> None:
        frames = traceback.extract_tb(error.__traceback__)
        own = [frame for frame in frames if frame.filename.startswith(OWN_CODE)] or frames
        place = (type(error), own[-1].filename, own[-1].lineno)
        self._seen[place] += 1
        if self._seen[place] > SAME_PLACE:
            return
        self.count += 1
        self._folder.mkdir(parents=True, exist_ok=True)
        path = self._folder / f"fault-{hashlib.sha256(data).hexdigest()[:12]}"
        path.write_bytes(data)
        print(f"\n{path}: {data[:200]!r}", file=sys.stderr)
        traceback.print_exception(error, limit=-6)


def main() -> int:
    arguments = parse_arguments()
    if arguments.parser == "all":
        with ThreadPoolExecutor(arguments.jobs) as jobs:
            return max(jobs.map(partial(run_in_a_process, arguments), target_names()))
    if atheris is None:
        from .targets import TARGETS
    else:
        with atheris.instrument_imports(include=["kova"]):
            from .targets import TARGETS
    if arguments.parser not in TARGETS:
        print(f"no such parser; there is: all {' '.join(TARGETS)}", file=sys.stderr)
        return 2
    return fuzz(arguments.parser, TARGETS[arguments.parser], arguments.minutes * 60, arguments.new)


def parse_arguments() -> Any:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("parser", help='its name, or "all"')
    parser.add_argument("--minutes", type=float, default=10.0, help="processor time for each parser")
    parser.add_argument("--jobs", type=int, default=1, help='parsers at a time, of "all"')
    parser.add_argument("--new", type=Path, default=Path("build/fuzz"), help="folder for new inputs")
    return parser.parse_args()


def target_names() -> list[str]:
    from .targets import TARGETS

    return list(TARGETS)


def run_in_a_process(arguments: Any, name: str) -> int:
    """libFuzzer, which is behind atheris, takes the process with it at its end."""
    options = ["--minutes", str(arguments.minutes), "--new", str(arguments.new)]
    return subprocess.run([sys.executable, "-m", "tests.fuzz", name, *options], check=False).returncode


def fuzz(name: str, target: Target, seconds: float, new: Path) -> int:
    from .mutation import Mutator
    from .targets import CORPUS

    folder = new / name
    folder.mkdir(parents=True, exist_ok=True)
    seeds = [*target.make_seeds(), *(path.read_bytes() for path in sorted((CORPUS / name).glob("*")))]
    mutator = Mutator(seeds, is_framed=target.is_framed)
    faults = Faults(target, folder)
    start = time.process_time()

    def report() -> None:
        took = time.process_time() - start
        print(
            f"{name}: {faults.runs} inputs in {took:.0f} s of processor time, {faults.count} faults",
            file=sys.stderr,
            flush=True,
        )

    if atheris is None:
        chance = random.Random()
        for seed in seeds:
            faults.look_at(seed)
        while time.process_time() - start < seconds:
            faults.look_at(mutator.mutate(chance.choice(seeds), chance))
        report()
        return int(faults.count > 0)
    for seed in seeds:
        (folder / hashlib.sha256(seed).hexdigest()[:12]).write_bytes(seed)
    guide(faults, mutator, folder, start + seconds, report)
    return 0


def guide(faults: Faults, mutator: Any, folder: Path, end: float, report: Callable[[], None]) -> None:
    """Hand over to atheris. It never comes back: libFuzzer, which is behind it, ends the process."""

    def look_at(data: bytes) -> None:
        faults.look_at(data)
        if time.process_time() > end:
            report()
            os._exit(faults.count > 0)

    def change(data: bytes, most: int, seed: int) -> bytes:
        chance = random.Random(seed)
        changed: bytes = atheris.Mutate(data, most) if chance.random() < 0.3 else mutator.mutate(data, chance)
        return changed[:most]

    options = ["-max_len=20000", "-rss_limit_mb=4096", "-verbosity=0"]
    atheris.Setup([sys.argv[0], *options, str(folder)], look_at, custom_mutator=change)
    atheris.Fuzz()


if __name__ == "__main__":
    sys.exit(main())
