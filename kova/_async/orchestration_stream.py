"""An orchestration as a stream of events."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import Any, Generic, Self, TypeVar

from attrs import frozen

from .._runtime import aio as rt
from ..cancellation import CancellationToken
from ..errors import StreamError
from ..orchestration import OrchestrationCompleted, OrchestrationEvent, ParallelOutput, SingleOutput
from .orchestration_run import Emit

__all__ = ["AsyncOrchestrationStream"]

Output = TypeVar("Output", bound=SingleOutput | ParallelOutput)

STRAGGLER_SECONDS = 5.0  # for async tools that clean up after being cancelled


@frozen
class _Failure:
    """Ends the events."""

    error: BaseException


class AsyncOrchestrationStream(Generic[Output]):
    """The events of one execution, in a with block; leaving the block cancels what is running.

    It is an iterator of `AgentStarted`, `AgentProgress`, `AgentFinished` and, at last, `OrchestrationCompleted`. The
    events of agents that run at the same time come as they happen. Made by `execute_stream`.
    """

    def __init__(self, carry_out: Callable[[CancellationToken, Emit], Any], cancel: CancellationToken | None) -> None:
        self._carry_out = carry_out
        self._token = CancellationToken() if cancel is None else cancel.child()
        self._events: rt.Channel[OrchestrationEvent | _Failure] = rt.Channel()
        self._background: rt.Background | None = None
        self._is_entered = False
        self._is_running = False
        self._output: Output | None = None

    async def __aenter__(self) -> Self:
        if self._is_entered:
            raise StreamError("a stream can be used once: make another one")
        self._is_entered = True
        self._background = rt.Background()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """End the execution: stop the agents that are running. May be called twice."""
        background, self._background = self._background, None
        if background is None:
            return
        self._token.cancel("the stream was left")
        with rt.shield(STRAGGLER_SECONDS):
            while self._is_running:
                self._is_running = not _is_last(await self._events.get())
        background.cancel()

    @property
    def output(self) -> Output:
        """What came out of the pattern, once `OrchestrationCompleted` has come.

        Raises:
            StreamError: It has not.
        """
        if self._output is None:
            raise StreamError("the execution is not over: its output is known when all events have been read")
        return self._output

    def __aiter__(self) -> Self:
        if self._background is None and self._output is None:
            raise StreamError("iterate over a stream inside its with block")
        return self

    async def __anext__(self) -> OrchestrationEvent:
        if self._output is not None:
            raise StopAsyncIteration
        if self._background is None:
            raise StreamError("the stream is closed, or was never opened: use it in a with block")
        if not self._is_running:
            self._is_running = True
            self._background.start_soon(self._run)
        event = await self._events.get()
        self._is_running = not _is_last(event)
        if isinstance(event, _Failure):
            await self.close()
            raise event.error
        if isinstance(event, OrchestrationCompleted):
            output: Any = event.output
            self._output = output
        return event

    async def _run(self) -> None:
        """Carry the pattern out beside the consumer, who may be slower or faster."""
        try:
            output = await self._carry_out(self._token, self._events.put)
        except Exception as error:
            self._events.put(_Failure(error))
        except BaseException as error:  # this task is cancelled; nobody may wait for it in vain
            self._events.put(_Failure(error))
            raise
        else:
            self._events.put(OrchestrationCompleted(output))


def _is_last(event: OrchestrationEvent | _Failure) -> bool:
    return isinstance(event, (OrchestrationCompleted, _Failure))
