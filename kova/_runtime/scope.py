"""Time limits, as both runtimes understand them: a moment on the monotonic clock and what is to be said after it."""

from __future__ import annotations

import time
from contextlib import nullcontext

from ..errors import TimeoutError

# How long work that was told to stop may go on before it is abandoned, in seconds: enough for a tool that watches its
# token, little enough for a cancelled call to return at once.
GRACE = 0.15

# The limit that is none.
UNLIMITED = nullcontext()

# What is said of a cancellation that comes out of a user's code, and ends nothing else.
FOREIGN = "something that it waited for was cancelled, but not the turn"


class Deadline:
    """The moment at which something must be over.

    Args:
        seconds: The time it is given, from now.
        what: What takes too long, for the error: "the turn", "a request to …".
        is_retryable: Whether trying again gives it new time.
    """

    __slots__ = ("at", "is_retryable", "seconds", "what")

    def __init__(self, seconds: float, what: str, *, is_retryable: bool = True) -> None:
        self.at: float = time.monotonic() + seconds
        self.seconds: float = seconds
        self.what: str = what
        self.is_retryable: bool = is_retryable

    def remaining(self) -> float:
        """Seconds left; negative when the moment has passed."""
        return self.at - time.monotonic()

    def error(self) -> TimeoutError:
        """The error for the moment's having passed."""
        message = f"{self.what} took longer than {self.seconds:g} s"
        return TimeoutError(message, self.seconds, is_retryable=self.is_retryable)


def deadline_after(seconds: float | None, what: str, *, is_retryable: bool = True) -> Deadline | None:
    """The deadline that a setting in seconds means; None is no limit."""
    return None if seconds is None else Deadline(seconds, what, is_retryable=is_retryable)
