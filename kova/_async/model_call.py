"""One provider call of a turn, whoever made the provider: kova, or the user."""

from __future__ import annotations

from collections.abc import AsyncIterable, Callable
from typing import Any, Protocol

from .._assembly import Assembler
from .._turn import ModelRequest
from .._turn_log import TurnLog
from ..config import RetryConfig
from ..errors import ProviderError, StreamError
from ..messages import ThinkingBlock
from ..responses import ModelResponse, StreamEvent, TextDelta, ThinkingDelta, ToolUseDelta, UsageStats
from ..telemetry.watch import UNWATCHED_CALL, CallWatch, TurnWatch
from .provider import AsyncLLMProvider, AsyncProviderStream
from .retry import with_retries

__all__ = ["AsyncEventSource", "complete", "open_stream"]

HANDED_OUT = (TextDelta, ThinkingDelta, ThinkingBlock, ToolUseDelta)  # after one of these a call is not repeated


class AsyncEventSource(Protocol):
    """Where the events of a streamed answer come from."""

    @property
    def response(self) -> ModelResponse:
        """The assembled answer, at the end."""

    @property
    def usage(self) -> UsageStats:
        """Tokens reported so far."""

    async def next_events(self) -> list[StreamEvent]:
        """The next events; none at the end."""

    async def close(self) -> None:
        """Free what the stream holds."""


async def complete(
    provider: AsyncLLMProvider, request: ModelRequest, retries: RetryConfig, log: TurnLog, watch: TurnWatch
) -> ModelResponse:
    """The answer as a whole."""

    async def attempt() -> ModelResponse:
        with log.attempt():
            return await provider.chat_completion(request.messages, request.tools, request.config)

    with watch.model_call(request, is_stream=False) as call:
        answer: object = await with_retries(attempt, retries, call)
        if not isinstance(answer, ModelResponse):
            given = f"{type(provider).__name__}.chat_completion gave {type(answer).__name__}"
            raise ProviderError(f"{given}, and not a ModelResponse")
        call.answered(answer)
        return answer


def open_stream(
    provider: AsyncLLMProvider, request: ModelRequest, retries: RetryConfig, log: TurnLog, watch: TurnWatch
) -> AsyncEventSource:
    """The answer as events; nothing is sent before the first is asked for."""

    def attempt() -> AsyncEventSource:
        stream = provider.chat_completion_stream(request.messages, request.tools, request.config)
        if isinstance(stream, AsyncProviderStream):
            return stream
        if not isinstance(stream, AsyncIterable):
            given = f"{type(provider).__name__}.chat_completion_stream gave {type(stream).__name__}"
            raise StreamError(f"{given}, and not an iterator of events that this twin can read")
        return AsyncForeignStream(stream)

    call = watch.model_call(request, is_stream=True)
    source = AsyncRetriedStream(attempt, retries, log, call)
    return source if call is UNWATCHED_CALL else AsyncWatchedStream(source, call)


class AsyncRetriedStream:
    """A stream that is begun again while nothing of it has been handed out."""

    def __init__(
        self, attempt: Callable[[], AsyncEventSource], retries: RetryConfig, log: TurnLog, watch: CallWatch
    ) -> None:
        self._attempt = attempt
        self._retries = retries
        self._log = log
        self._watch = watch
        self._source = attempt()
        self._is_tried = False
        self._has_begun = False

    @property
    def response(self) -> ModelResponse:
        """The assembled answer, at the end."""
        return self._source.response

    @property
    def usage(self) -> UsageStats:
        """Tokens reported so far."""
        return self._source.usage

    async def next_events(self) -> list[StreamEvent]:
        """The next events; none at the end."""
        if self._has_begun:
            return await self._source.next_events()
        events: list[StreamEvent] = await with_retries(self._begin, self._retries, self._watch)
        self._has_begun = True
        self._log.answer_begins()
        return events

    async def _begin(self) -> list[StreamEvent]:
        """The events up to the first that the consumer is told of."""
        if self._is_tried:
            await self._source.close()
            self._source = self._attempt()
        self._is_tried = True
        events: list[StreamEvent] = []
        with self._log.attempt():
            while not any(isinstance(event, HANDED_OUT) for event in events):
                more = await self._source.next_events()
                if not more:
                    break
                events += more
        return events

    async def close(self) -> None:
        """Free what the stream holds."""
        await self._source.close()


class AsyncWatchedStream:
    """A stream that is watched. Between its events it is not the current span: the user's code is at work then."""

    def __init__(self, source: AsyncEventSource, watch: CallWatch) -> None:
        self._source = source
        self._watch = watch
        self._has_begun = False
        watch.begin()

    @property
    def response(self) -> ModelResponse:
        """The assembled answer, at the end."""
        return self._source.response

    @property
    def usage(self) -> UsageStats:
        """Tokens reported so far."""
        return self._source.usage

    async def next_events(self) -> list[StreamEvent]:
        """The next events; none at the end."""
        try:
            with self._watch.attached():
                events = await self._source.next_events()
            if not events:
                self._watch.answered(self._source.response)
        except BaseException as error:
            self._end(error)
            raise
        if not self._has_begun:
            self._has_begun = True
            self._watch.streamed()
        if not events:
            self._watch.end()
        return events

    async def close(self) -> None:
        """Free what the stream holds."""
        self._end()
        await self._source.close()

    def _end(self, error: BaseException | None = None) -> None:
        self._watch.broken_off(self._source.usage)
        if error is not None:
            self._watch.failed(error)
        self._watch.end()


class AsyncForeignStream:
    """The stream of a user's own provider: any iterator of events, such as a generator."""

    def __init__(self, events: Any) -> None:
        self._events = aiter(events)
        self._assembler = Assembler()
        self._any = False

    @property
    def response(self) -> ModelResponse:
        """The assembled answer, at the end."""
        try:
            return self._assembler.response()
        except (AttributeError, TypeError) as error:
            raise StreamError(f"the provider's events make no sense: {error}") from error

    @property
    def usage(self) -> UsageStats:
        """Tokens reported so far."""
        return self._assembler.usage

    async def next_events(self) -> list[StreamEvent]:
        """The next event; none at the end."""
        try:
            event: StreamEvent = await anext(self._events)
        except StopAsyncIteration:
            if not self._any:
                raise StreamError("the provider's stream ended without any event") from None
            return []
        self._any = True
        try:
            self._assembler.add(event)
        except (AttributeError, TypeError) as error:  # fields of events are not checked, for speed
            raise StreamError(f"the provider's event makes no sense: {event!r:.200}: {error}") from error
        return [event]

    async def close(self) -> None:
        """Close the generator, if it is one."""
        close = getattr(self._events, "aclose", None)
        if close is not None:
            await close()
