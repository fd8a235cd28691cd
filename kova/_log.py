"""kova's log: events with key-values, through structlog, over the standard logger `kova`.

The logger says nothing unless the application has asked for it: by `TelemetryConfig`, or by handlers of its own, which
get a line of text from each event, and structlog's formatters the event itself. structlog's global configuration is
neither consulted nor touched: left alone, it would print. structlog is loaded by the first event that is wanted.
"""

from __future__ import annotations

import functools
import logging
import sys
from collections.abc import MutableMapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from structlog.stdlib import BoundLogger

__all__ = ["Event", "log", "logger"]

logger = logging.getLogger("kova")
logger.addHandler(logging.NullHandler())  # without any handler Python would print warnings


class Event(dict[str, Any]):
    """What happened and its key-values; as text, one line, which is what formatters of the standard library take."""

    def __str__(self) -> str:
        fields = [f"{key}={value!r}" for key, value in self.items() if key not in ("event", "exc_info")]
        return " ".join([str(self["event"]), *fields])


class Log:
    """Says what happened. Events are fixed texts; what varies goes into the fields, and never the text of prompts."""

    def debug(self, event: str, **fields: object) -> None:
        """Something that only a developer of kova wants to know."""
        if logger.isEnabledFor(logging.DEBUG):
            _structured().debug(event, **fields)

    def warning(self, event: str, **fields: object) -> None:
        """Something that an operator may want to know."""
        if logger.isEnabledFor(logging.WARNING):
            _structured().warning(event, **fields)

    def exception(self, event: str, **fields: object) -> None:
        """An error of the user's own code that is not raised; with its traceback."""
        if logger.isEnabledFor(logging.ERROR):
            _structured().error(event, exc_info=sys.exc_info(), **fields)


log = Log()

_CALLER = 5  # frames up from the call of the standard logger, through structlog and `Log`, to who has something to say


@functools.cache
def _structured() -> BoundLogger:
    from structlog import contextvars, stdlib  # takes time, which programs without events need not pay

    return stdlib.BoundLogger(logger, [contextvars.merge_contextvars, _as_record], {})


def _as_record(log: Any, method: str, event: MutableMapping[str, Any]) -> tuple[tuple[Event], dict[str, Any]]:
    """The arguments of the standard logger, by which structlog's formatters recognise an event."""
    extra = {"_logger": log, "_name": method}
    return (Event(event),), {"exc_info": event.get("exc_info"), "extra": extra, "stacklevel": _CALLER}
