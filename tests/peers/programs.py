"""Running programs on other libraries against kova's model server."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from kova.testing import ModelServer

__all__ = ["run"]


def run(code: str, server: ModelServer, folder: Path) -> str:
    """What a program prints that talks to the server."""
    file = folder / "program.py"
    file.write_text(code, "utf-8")
    environment = {"OPENAI_BASE_URL": f"{server.url}/v1", "OPENAI_API_KEY": "a key for the test"}
    done = subprocess.run(
        [sys.executable, file.name], cwd=folder, env={**os.environ, **environment}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
