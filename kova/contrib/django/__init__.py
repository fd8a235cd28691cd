"""Kova in Django: a store of conversations in its databases, agents from its settings, and Server-Sent Events.

Put "kova.contrib.django" into `INSTALLED_APPS` and run `migrate`. Names are loaded when they are first used, since
Django imports this package before models may be.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .agents import agent, async_agent
    from .events import event_stream
    from .responses import EventStreamResponse
    from .stores import AsyncDjangoStore, DjangoStore

_HOME_OF = {
    "AsyncDjangoStore": "stores",
    "DjangoStore": "stores",
    "EventStreamResponse": "responses",
    "agent": "agents",
    "async_agent": "agents",
    "event_stream": "events",
}

__all__ = ["AsyncDjangoStore", "DjangoStore", "EventStreamResponse", "agent", "async_agent", "event_stream"]


def __getattr__(name: str) -> Any:
    home = _HOME_OF.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
