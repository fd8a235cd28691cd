"""A file that only its owner can read, replaced as a whole. Both functions block: give them a worker."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

__all__ = ["read_private", "write_private"]


def read_private(path: Path) -> bytes | None:
    """What is in the file; None where there is none.

    Raises:
        OSError: It cannot be read.
    """
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None


def write_private(path: Path, data: bytes) -> None:
    """Put this into the file, in one step: whoever reads sees the old content or the new one.

    Raises:
        OSError: It cannot be written.
    """
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{secrets.token_hex(6)}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
        os.replace(draft, path)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
