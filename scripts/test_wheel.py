"""Tries the wheel as users get it: in fresh virtual environments, outside the source tree, on each Python that is here.

    python -P scripts/test_wheel.py dist/*.whl                       on every Python from 3.11 that is found
    python -P scripts/test_wheel.py dist/*.whl --python python3.13   on this one

First without any extra: tests/wheel/smoke.py. Then with extras over it, those that lend nothing to the others first.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
VERSIONS = ("3.11", "3.12", "3.13")
# Of tests/wheel, in the order in which their extras are installed over one another.
SUITES = {
    "smoke.py": "",
    "smoke_cli.py": "cli",
    "smoke_oauth.py": "oauth",
    "smoke_django.py": "django",
    "smoke_extras.py": "bedrock,telemetry,fast,httpx2,local",
}


def pythons() -> list[str]:
    """The interpreters that are here: by the usual names, and those of pyenv."""
    found: list[str] = []
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    for version in VERSIONS:
        candidates = [shutil.which(f"python{version}"), *sorted(pyenv.glob(f"{version}.*/bin/python"))]
        found += [str(path) for path in candidates if path and is_version(str(path), version)][:1]
    return found


def is_version(python: str, version: str) -> bool:
    """Whether it can be run, and is what it is called: a shim of pyenv may be there for a version that is not."""
    show = "import sys; print('%d.%d' % sys.version_info[:2])"
    done = subprocess.run([python, "-c", show], capture_output=True, text=True, check=False)
    return done.stdout.strip() == version


def smoke(python: str, wheel: Path, scratch: Path) -> bool:
    """Install and try it; whether all is well."""
    venv = scratch / "venv"
    subprocess.run([python, "-m", "venv", "--clear", venv], check=True)
    own = str(venv / "bin" / "python")
    pip = [own, "-m", "pip", "--disable-pip-version-check", "--no-input", "install", "--quiet"]
    is_well = True
    for suite, extras in SUITES.items():
        subprocess.run([*pip, f"{wheel}[{extras}]" if extras else f"{wheel}"], check=True, cwd=scratch)
        shutil.copy(ROOT / "tests/wheel" / suite, scratch)
        # -I: neither the current folder nor PYTHONPATH may lend what the wheel lacks.
        done = subprocess.run([own, "-I", "-W", "error", suite], cwd=scratch, check=False)
        is_well = is_well and done.returncode == 0
    return is_well


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="test_wheel.py", description="Try the wheel in fresh environments.")
    parser.add_argument("wheel", type=Path)
    parser.add_argument("--python", action="append", help="an interpreter to try it on (default: all that are found)")
    options = parser.parse_args()
    interpreters = options.python or pythons()
    if not interpreters:
        print(f"None of Python {', '.join(VERSIONS)} was found", file=sys.stderr)
        return 1
    failed = []
    for python in interpreters:
        print(f"== {options.wheel.name} on {python}", flush=True)
        with tempfile.TemporaryDirectory() as scratch:
            if not smoke(python, options.wheel.resolve(), Path(scratch)):
                failed.append(python)
    print(f"tried on {len(interpreters)} interpreters", *(f"FAILED on {python}" for python in failed), sep="\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
