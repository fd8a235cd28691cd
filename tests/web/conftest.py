"""Django for the tests of this folder: two SQLite files, or the databases of `KOVA_TEST_DATABASES`.

That variable is Django's `DATABASES` as JSON, with "default" and "other": the store's tests pass on any of them.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import django
import pytest
from django.conf import settings
from django.core.management import call_command
from django.db import connections

_folder = tempfile.TemporaryDirectory()


def _sqlite(name: str) -> dict[str, Any]:
    return {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": str(Path(_folder.name, name)),
        "OPTIONS": {"timeout": 30, "transaction_mode": "IMMEDIATE", "init_command": "PRAGMA journal_mode=WAL"},
    }


settings.configure(
    INSTALLED_APPS=["kova.contrib.django"],
    DATABASES=json.loads(os.environ.get("KOVA_TEST_DATABASES", "null"))
    or {"default": _sqlite("default"), "other": _sqlite("other")},
    USE_TZ=True,
    SECRET_KEY="of the tests",
)
django.setup()


@pytest.fixture(scope="session")
def migrated() -> Iterator[None]:
    """Databases with kova's tables."""
    for alias in settings.DATABASES:
        call_command("migrate", database=alias, verbosity=0)
    yield
    connections.close_all()


@pytest.fixture
def database(migrated: None) -> Iterator[None]:
    """Databases in which nothing is stored yet."""
    for alias in settings.DATABASES:
        call_command("flush", database=alias, verbosity=0, interactive=False)
    yield
    connections.close_all()
