"""What `make dist` looks for in the wheel and the source distribution."""

import io
import runpy
import subprocess
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SCRIPT = runpy.run_path(str(ROOT / "scripts" / "check_dist.py"))
INFO = "kova_sdk-0.1.0.dist-info"

pytestmark = pytest.mark.skipif(not (ROOT / ".git").exists(), reason="only git knows what belongs to the repository")


@pytest.fixture
def package() -> list[str]:
    listed = subprocess.run(["git", "ls-files", "kova"], cwd=ROOT, capture_output=True, text=True, check=True)
    return listed.stdout.split()


def wheel(folder: Path, names: list[str]) -> Path:
    file = folder / "kova.whl"
    with zipfile.ZipFile(file, "w") as archive:
        for name in [*names, f"{INFO}/METADATA", f"{INFO}/WHEEL", f"{INFO}/RECORD", f"{INFO}/licenses/LICENSE"]:
            archive.writestr(name, "")
    return file


def test_a_wheel_holds_the_package_and_nothing_else(tmp_path: Path, package: list[str]) -> None:
    assert SCRIPT["wheel_problems"](wheel(tmp_path, package)) == []
    assert SCRIPT["wheel_problems"](wheel(tmp_path, [*package, "tests/conftest.py", "kova/notes.txt"])) == [
        "wheel: kova/notes.txt does not belong there",
        "wheel: tests/conftest.py does not belong there",
    ]


def test_a_wheel_without_type_information_is_refused(tmp_path: Path, package: list[str]) -> None:
    package.remove("kova/py.typed")
    assert SCRIPT["wheel_problems"](wheel(tmp_path, package)) == [
        "wheel: kova/py.typed is missing",
        "wheel: no kova/py.typed",
    ]


def test_a_source_distribution_without_the_tests_is_refused(tmp_path: Path, package: list[str]) -> None:
    file = tmp_path / "kova.tar.gz"
    with tarfile.open(file, "w:gz") as archive:
        for name in package:
            archive.addfile(tarfile.TarInfo(f"kova_sdk-0.1.0/{name}"), io.BytesIO())
    problems = SCRIPT["sdist_problems"](file)
    assert "sdist: tests/conftest.py is missing" in problems
    assert "sdist: Makefile is missing" in problems
    assert not any("kova/" in problem for problem in problems if problem.startswith("sdist: kova/"))
