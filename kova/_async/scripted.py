"""A provider without a model: it plays a script, for the tests of those who build agents."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from types import TracebackType
from typing import Self

from .._assembly import Assembler
from .._runtime import aio as rt
from .._script import Answer, AsyncAnswerFunction, Delay, Script, Step, checked, steps
from .._turn import ModelRequest
from ..config import InferenceConfig
from ..errors import KovaError, StreamError
from ..messages import ConversationMessage, ToolUseBlock
from ..responses import ModelResponse, StreamEvent
from ..tools import ToolDefinition

__all__ = ["AsyncScriptedProvider", "AsyncScriptedStream"]


class AsyncScriptedProvider(Script[ModelRequest, Answer | AsyncAnswerFunction]):
    """A provider that answers what a test tells it to, and remembers what it was asked.

    Complete and streamed answers are the same; a stream hands text out in words. When it is asked more often than
    there are answers, it raises an AssertionError. One provider may be used from several threads and event loops.

    Args:
        answers: What to answer, one request after the other: text, tool calls made by `call`, errors to raise, a
            sequence of such parts with delays and usage among them, or a function that gets the request and gives
            any of these.

    Attributes:
        requests: All requests so far, each with its `messages`, `tools` and `config`.

    Raises:
        TypeError: Something is no answer.
        BuildError: A function is async where the provider is not.
    """

    def __init__(self, *answers: Answer | AsyncAnswerFunction) -> None:
        super().__init__(answers)

    async def chat_completion(
        self,
        messages: Sequence[ConversationMessage],
        tools: Sequence[ToolDefinition] = (),
        config: InferenceConfig = InferenceConfig(),
    ) -> ModelResponse:
        """The next answer as a whole.

        Raises:
            KovaError: The script says so.
            AssertionError: The script has no more answers.
        """
        stream = self.chat_completion_stream(messages, tools, config)
        async for _ in stream:
            pass
        return stream.response

    def chat_completion_stream(
        self,
        messages: Sequence[ConversationMessage],
        tools: Sequence[ToolDefinition] = (),
        config: InferenceConfig = InferenceConfig(),
    ) -> AsyncScriptedStream:
        """The next answer as events. It is taken from the script when the first of them is asked for.

        The errors are those of `chat_completion`.
        """
        return AsyncScriptedStream(self, ModelRequest(tuple(messages), tuple(tools), config))

    async def close(self) -> None:
        """Do nothing: there is nothing to close."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self._coming)} answers to come)"

    def _checked(self, answer: Answer | AsyncAnswerFunction) -> Answer | AsyncAnswerFunction:
        if not callable(answer):
            return checked(answer)
        rt.check_callable(answer, "an answer")
        return answer

    async def _begin(self, request: ModelRequest) -> Iterator[Step]:
        answer = self._take(request)
        if callable(answer):
            answer = checked(await rt.call(answer, request))
        calls = [block for message in request.messages for block in message.content if isinstance(block, ToolUseBlock)]
        return steps(answer, len(calls))


class AsyncScriptedStream:
    """An answer of a script as a stream: an iterator of events, and a with block that closes it."""

    def __init__(self, provider: AsyncScriptedProvider, request: ModelRequest) -> None:
        self._provider = provider
        self._request = request
        self._steps: Iterator[Step] | None = None
        self._assembler = Assembler()
        self._ended = False
        self._closed = False

    @property
    def response(self) -> ModelResponse:
        """The assembled answer, once the stream has ended.

        Raises:
            StreamError: It has not.
        """
        if not self._ended:
            raise StreamError("the stream has not ended yet: its response is known when all events have been read")
        return self._assembler.response()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> StreamEvent:
        if self._ended or self._closed:
            raise StopAsyncIteration
        await rt.checkpoint()  # between events a turn can be cancelled, as it can with a real model
        if self._steps is None:
            self._steps = await self._provider._begin(self._request)
        for step in self._steps:
            if isinstance(step, Delay):
                await rt.sleep(step.seconds)
            elif isinstance(step, KovaError):
                self._closed = True
                raise copy.copy(step)  # an answer may be played again, elsewhere, at the same time
            else:
                self._assembler.add(step)
                return step
        self._ended = True
        raise StopAsyncIteration

    async def close(self) -> None:
        """End the stream. May be called twice."""
        self._closed = True

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()
