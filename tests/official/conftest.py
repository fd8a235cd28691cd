"""Tests with the providers' official clients: `make test-official`, in an environment of its own.

The ordinary run does not come here (`norecursedirs` in pyproject.toml): whoever has kova need not have these.
"""

from __future__ import annotations

import pytest


def pytest_configure(config: pytest.Config) -> None:
    """What the official packages warn of among themselves is not for this project to mend."""
    for module in ("openai", "anthropic", "google", "ollama", "boto3", "botocore", "pydantic", "urllib3"):
        config.addinivalue_line("filterwarnings", rf"ignore:::{module}(\.|$)")
