"""What spans and the log say of an error: its kind, and its text only where that cannot quote a prompt."""

from __future__ import annotations

from .._log import log
from ..errors import ContextBudgetExceededError, KovaError, MaxIterationsError, TimeoutError, ToolExecutionError
from .names import CANCELLED

__all__ = ["error_type", "own_words", "warn_of_retry"]

# What coroutines and threads see that are told to stop: asyncio's, trio's, and the blocking runtime's.
_CANCELLATIONS = frozenset({"CancelledError", "Cancelled"})

# Errors whose text is kova's own. That of others may come from a server, a tool or the model.
_OWN = (TimeoutError, MaxIterationsError, ContextBudgetExceededError)


def error_type(error: BaseException) -> str:
    """The kind of an error: its class, which for a tool is that of what it raised."""
    if isinstance(error, ToolExecutionError) and error.__cause__ is not None:
        error = error.__cause__
    name = type(error).__name__
    return CANCELLED if name in _CANCELLATIONS else name


def own_words(error: BaseException) -> str | None:
    """The text of an error where it is kova's own; else the kind of failure, where more of it is known."""
    if isinstance(error, _OWN):
        return error.message
    if isinstance(error, KovaError) and error.provider_class is not None:
        return error.provider_class.value
    return None if error.__cause__ is None else type(error.__cause__).__name__


def warn_of_retry(error: KovaError, attempt: int, delay: float) -> None:
    """The line in the log of a provider call that is repeated, after so many seconds."""
    known = {
        "error": error_type(error),
        "cause": own_words(error),
        "status": error.status_code,
        "provider": getattr(error, "provider", None),
        "model": getattr(error, "model", None),
        "request_id": getattr(error, "request_id", None),
    }
    fields = {name: value for name, value in known.items() if value is not None}
    log.warning("provider call failed and is repeated", attempt=attempt, delay=round(delay, 3), **fields)
