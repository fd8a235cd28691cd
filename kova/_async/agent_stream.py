"""A turn as a stream of events."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self

from .._runtime import aio as rt
from .._runtime.scope import Deadline, deadline_after
from .._turn import ModelRequest, Turn
from ..cancellation import CancellationToken
from ..errors import KovaError, StreamError
from ..responses import (
    AgentEvent,
    AgentResponse,
    StreamEvent,
    TextDelta,
    ThinkingDelta,
    ToolCallFinished,
    ToolCallStarted,
    TurnCompleted,
)
from ..telemetry.watch import TurnWatch
from .model_call import AsyncEventSource
from .tool_runner import AsyncToolRound
from .turn_frame import AsyncTurnFrame

__all__ = ["AsyncAgentStream"]


class AsyncAgentStream:
    """The events of one turn, in a with block; leaving the block ends the turn.

    It is an iterator of `TextDelta`, `ThinkingDelta`, `ToolCallStarted`, `ToolCallFinished` and, at last,
    `TurnCompleted`. Made by `run_stream`.
    """

    def __init__(
        self,
        turn: Turn,
        frame: AsyncTurnFrame,
        watch: TurnWatch,
        *,
        open_stream: Callable[[ModelRequest], AsyncEventSource],
        start_round: Callable[..., AsyncToolRound],
        completed: Callable[[Turn], AgentResponse],
        tap: Callable[[StreamEvent], Any] | None,
        token: CancellationToken | None,
        timeout: float | None,
    ) -> None:
        self._turn = turn
        self._frame = frame
        self._watch = watch
        self._open_stream = open_stream
        self._start_round = start_round
        self._completed = completed
        self._tap = tap
        self._token = token
        self._timeout = timeout
        self._deadline: Deadline | None = None
        self._is_entered = False
        self._ready: deque[AgentEvent] = deque()
        self._tools: rt.Background | None = None
        self._source: AsyncEventSource | None = None
        self._round: AsyncToolRound | None = None
        self._response: AgentResponse | None = None

    async def __aenter__(self) -> Self:
        if self._is_entered:
            raise StreamError("a stream can be used once: make another one")
        self._is_entered = True
        self._turn.log.begin()
        self._tools = rt.Background()
        self._deadline = deadline_after(self._timeout, "the turn", is_retryable=False)
        self._watch.begin()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """End the turn: close the connection, and stop the tools that are running. May be called twice."""
        tools, self._tools = self._tools, None
        self._ready.clear()
        if tools is None:
            return
        try:
            await self._stop()
        finally:
            tools.cancel()
            self._watch.end()
            await self._frame.end()

    async def _stop(self) -> None:
        source, self._source = self._source, None
        tool_round, self._round = self._round, None
        if source is not None:
            await source.close()
        if tool_round is not None:
            await tool_round.stop()

    @property
    def response(self) -> AgentResponse:
        """The result of the turn, once `TurnCompleted` has come.

        Raises:
            StreamError: It has not.
        """
        if self._response is not None:
            return self._response
        if self._is_entered and self._tools is None:
            raise StreamError("the turn was ended before it was over, and so it has no response")
        raise StreamError("the turn is not over: its response is known when all events have been read")

    def text_deltas(self) -> AsyncTextDeltas:
        """The pieces of text alone, as strings."""
        return AsyncTextDeltas(self)

    def __aiter__(self) -> Self:
        if self._tools is None and self._response is None:
            raise StreamError("iterate over a stream inside its with block")
        return self

    async def __anext__(self) -> AgentEvent:
        while not self._ready:
            if self._response is not None:
                raise StopAsyncIteration
            await self._advance()
        return self._ready.popleft()

    async def _advance(self) -> None:
        """Take the turn one step further, into events that are ready."""
        if self._tools is None:
            raise StreamError("the stream is closed, or was never opened: use it in a with block")
        try:
            with rt.entry(), rt.cancel_on(self._token), rt.fail_at(self._deadline):
                if self._source is not None:
                    await self._take_answer(self._source)
                elif self._round is not None:
                    await self._take_result(self._round, self._tools)
                else:
                    if not self._turn.llm_calls:
                        with self._watch.attached():
                            await self._frame.begin(self._turn)
                    self._source = self._open_stream(self._turn.next_request())
        except KovaError as error:
            if self._source is not None:
                self._turn.take_broken_answer(self._source.usage, error)
            error.partial = self._turn.partial()
            self._watch.failed(error)
            raise
        except BaseException as error:
            self._watch.failed(error)
            raise

    async def _take_answer(self, source: AsyncEventSource) -> None:
        events = await source.next_events()
        ready = self._ready
        for event in events:
            kind = type(event)
            if kind is TextDelta or kind is ThinkingDelta:
                ready.append(event)  # type: ignore[arg-type]  # isinstance would narrow, and cost
        if self._tap is not None:
            with self._frame.work():
                for event in events:
                    await self._tap(event)
        if not events:
            await self._end_answer(source)

    async def _end_answer(self, source: AsyncEventSource) -> None:
        self._source = None
        calls = self._turn.take_answer(source.response)
        if calls:
            self._ready.extend(ToolCallStarted(call.id, call.name, call.input) for call in calls)
            self._round = self._start_round(calls, self._token, self._deadline)
        elif self._turn.is_over:
            if self._token is not None:
                self._token.raise_if_cancelled()  # of which the loop may not know yet
            with self._watch.attached():
                await self._frame.complete(self._turn)
            self._response = self._completed(self._turn)
            self._ready.append(TurnCompleted(self._response))

    async def _take_result(self, tool_round: AsyncToolRound, tools: rt.Background) -> None:
        with self._frame.work():
            index = await tool_round.next_ended(tools)
        if index is None:
            self._round = None
            self._turn.take_results(tool_round.calls, tool_round.all_results())
            return
        call, result = tool_round.calls[index], tool_round.results[index]
        assert result is not None
        self._ready.append(ToolCallFinished(call.id, call.name, result.content, result.is_error))


class AsyncTextDeltas:
    """The pieces of text of a stream."""

    def __init__(self, stream: AsyncAgentStream) -> None:
        self._stream = aiter(stream)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> str:
        while True:
            event = await anext(self._stream)
            if type(event) is TextDelta:
                return event.text
