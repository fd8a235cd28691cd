"""One provider call of a turn, whoever made the provider: kova, or the user."""

from __future__ import annotations

from typing import Any, Protocol

from .._assembly import Assembler
from .._turn import ModelRequest
from ..errors import StreamError
from ..responses import ModelResponse, StreamEvent
from .provider import AsyncLLMProvider, AsyncProviderStream

__all__ = ["AsyncEventSource", "complete", "open_stream"]


class AsyncEventSource(Protocol):
    """Where the events of a streamed answer come from."""

    @property
    def response(self) -> ModelResponse:
        """The assembled answer, at the end."""

    async def next_events(self) -> list[StreamEvent]:
        """The next events; none at the end."""

    async def close(self) -> None:
        """Free what the stream holds."""


async def complete(provider: AsyncLLMProvider, request: ModelRequest) -> ModelResponse:
    """The answer as a whole."""
    return await provider.chat_completion(request.messages, request.tools, request.config)


def open_stream(provider: AsyncLLMProvider, request: ModelRequest) -> AsyncEventSource:
    """The answer as events; nothing is sent before the first is asked for."""
    stream = provider.chat_completion_stream(request.messages, request.tools, request.config)
    return stream if isinstance(stream, AsyncProviderStream) else AsyncForeignStream(stream)


class AsyncForeignStream:
    """The stream of a user's own provider: any iterator of events, such as a generator."""

    def __init__(self, events: Any) -> None:
        self._events = aiter(events)
        self._assembler = Assembler()
        self._any = False

    @property
    def response(self) -> ModelResponse:
        """The assembled answer, at the end."""
        return self._assembler.response()

    async def next_events(self) -> list[StreamEvent]:
        """The next event; none at the end."""
        try:
            event: StreamEvent = await anext(self._events)
        except StopAsyncIteration:
            if not self._any:
                raise StreamError("the provider's stream ended without any event") from None
            return []
        self._any = True
        self._assembler.add(event)
        return [event]

    async def close(self) -> None:
        """Close the generator, if it is one."""
        close = getattr(self._events, "aclose", None)
        if close is not None:
            await close()
