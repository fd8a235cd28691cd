"""Handlers: streamed answers for code that wants to be called rather than to iterate."""

from __future__ import annotations

from typing import Any, Protocol

from .responses import StreamEvent

__all__ = ["StreamingHandler"]


class StreamingHandler(Protocol):
    """Is told of an answer while it is made. Its methods may be async in the async twin."""

    def on_chunk(self, event: StreamEvent, /) -> Any:
        """The provider has given an event."""

    def on_complete(self) -> Any:
        """The turn is over, and stored."""

    def on_error(self, error: Exception, /) -> Any:
        """The turn has failed; the error is raised as well."""
