"""What a server that runs as a process has left behind: its exit status, and the end of what it wrote to stderr."""

from __future__ import annotations

import signal

from .._formats.secrets import mask
from .._terminal import plain

__all__ = ["LastWords", "how_it_ended"]

KEPT = 8 * 1024  # bytes
_SHOWN = 1_200  # characters, which leaves room for the rest of an error's message


class LastWords:
    """The end of what a server writes to stderr.

    Attributes:
        secrets: What must not be shown, if the server repeats it.
    """

    def __init__(self) -> None:
        self._tail = b""
        self.secrets: tuple[str, ...] = ()

    def add(self, data: bytes) -> None:
        """Note what it has written."""
        self._tail = (self._tail + data)[-KEPT:]

    @property
    def text(self) -> str:
        """The end of it, fit to be shown in a terminal."""
        return mask(plain(self._tail.decode(errors="replace")), self.secrets).strip()[-_SHOWN:]


def how_it_ended(status: int | None) -> str:
    """What an exit status says; None for a server that closed its output and went on running."""
    if status is None:
        return "closed its output"
    if status >= 0:
        return f"ended with exit code {status}"
    try:
        return f"was ended by {signal.Signals(-status).name}"
    except ValueError:
        return f"was ended by signal {-status}"
