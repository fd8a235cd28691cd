"""What Ctrl-C does."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

__all__ = ["interrupts_do"]


@contextmanager
def interrupts_do(action: Callable[[], object]) -> Iterator[None]:
    """In this block, Ctrl-C does this and raises nothing. For the main thread."""

    def interrupted(number: int, frame: FrameType | None) -> None:
        action()

    before = signal.signal(signal.SIGINT, interrupted)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
