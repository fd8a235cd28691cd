"""Ctrl-C at any moment, in a process of its own: a worker whose work is lost at the very moment goes on waiting for it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.hosts.script import ROOT

PROGRAM = Path(__file__).with_name("interrupted_anywhere.py")


def test_t10_what_comes_after_an_interruption_works() -> None:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(PROGRAM)]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=55, check=False, cwd=ROOT)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "3 passed" in ran.stdout
