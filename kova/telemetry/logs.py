"""Where kova's log goes while telemetry is on: to stderr, as lines for people on a terminal, else as JSON."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable
from typing import Any

from .._log import logger

__all__ = ["LEVELS", "turn_log_on"]

LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")


def turn_log_on(level: str, service_name: str) -> Callable[[], None]:
    """Have the logger `kova` write to stderr.

    Its records go to no other handler meanwhile, or an application with a log of its own would see them twice.

    Args:
        level: The least level that is written.
        service_name: Goes into every event.

    Returns:
        A function that makes the logger what it was.
    """
    handler = _StderrHandler()
    handler.setFormatter(_formatter(service_name, for_people=sys.stderr.isatty()))
    before = logger.level, logger.propagate
    logger.addHandler(handler)
    logger.setLevel(level)
    logger.propagate = False

    def undo() -> None:
        logger.removeHandler(handler)
        logger.setLevel(before[0])
        logger.propagate = before[1]
        handler.close()

    return undo


class _StderrHandler(logging.Handler):
    """Writes to what is stderr at the moment, as notebooks and tests exchange it."""

    def emit(self, record: logging.LogRecord) -> None:
        try:
            sys.stderr.write(self.format(record) + "\n")
        except Exception:
            self.handleError(record)


def _formatter(service_name: str, *, for_people: bool) -> logging.Formatter:
    from structlog import dev, processors, stdlib

    def identify(log: Any, method: str, event: Any) -> Any:
        event["service"] = service_name
        event |= _current_span()
        return event

    shared: list[Any] = [
        stdlib.ProcessorFormatter.remove_processors_meta,
        processors.TimeStamper("iso"),
        stdlib.add_log_level,
        identify,
    ]
    if for_people:
        shared.append(dev.ConsoleRenderer())
    else:
        shared += [processors.format_exc_info, processors.JSONRenderer(default=str)]
    return stdlib.ProcessorFormatter(processors=shared)


def _current_span() -> dict[str, str]:
    """Ids by which the event is found beside its trace."""
    trace = sys.modules.get("opentelemetry.trace")
    if trace is None:
        return {}
    span = trace.get_current_span().get_span_context()
    if not span.is_valid:
        return {}
    return {"trace_id": f"{span.trace_id:032x}", "span_id": f"{span.span_id:016x}"}
