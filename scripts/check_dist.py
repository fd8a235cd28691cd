"""Looks into the wheel and the source distribution: what users get is what is meant, no more and no less.

    python -P scripts/check_dist.py dist

The wheel holds the package as it is in the tree, the licence, and nothing else. The source distribution holds every
file of the repository, so that a packager can run all tests and checks from it.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
# What serves the repository alone.
LEFT_OUT = (".ci/", ".gitattributes", ".gitignore")


def tracked(*folders: str) -> set[str]:
    """The files of the repository."""
    done = subprocess.run(["git", "ls-files", *folders], cwd=ROOT, capture_output=True, text=True, check=True)
    return set(done.stdout.split("\n")) - {""}


def wheel_problems(wheel: Path) -> list[str]:
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    info = {name for name in names if name.partition("/")[0].endswith(".dist-info")}
    problems = differences("wheel", names - info, tracked("kova"))
    wanted = ("METADATA", "RECORD", "WHEEL", "licenses/LICENSE")
    problems += [f"wheel: no {name}" for name in wanted if not any(each.endswith(f"/{name}") for each in info)]
    if "kova/py.typed" not in names:
        problems.append("wheel: no kova/py.typed")
    return problems


def sdist_problems(sdist: Path) -> list[str]:
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()} - {"PKG-INFO"}
    wanted = {name for name in tracked() if not name.startswith(LEFT_OUT)}
    return differences("sdist", {name for name in names if not name.startswith(LEFT_OUT)}, wanted)


def differences(what: str, is_there: set[str], wanted: set[str]) -> list[str]:
    missing = [f"{what}: {name} is missing" for name in sorted(wanted - is_there)]
    return missing + [f"{what}: {name} does not belong there" for name in sorted(is_there - wanted)]


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="check_dist.py", description="Check what is in the distributions.")
    parser.add_argument("folder", type=Path)
    folder: Path = parser.parse_args().folder
    wheels, sdists = list(folder.glob("*.whl")), list(folder.glob("*.tar.gz"))
    if (len(wheels), len(sdists)) != (1, 1):
        print(f"{folder} must hold one wheel and one source distribution")
        return 1
    problems = wheel_problems(wheels[0]) + sdist_problems(sdists[0])
    print(*problems, f"{wheels[0].name}, {sdists[0].name}: {len(problems)} problems", sep="\n")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
