"""The watches that see: they count for a `MetricsCollector`, and make spans."""

from __future__ import annotations

import functools
from contextlib import AbstractContextManager, nullcontext
from time import perf_counter
from types import TracebackType
from typing import TYPE_CHECKING, Self
from urllib.parse import urlsplit

from ..errors import KovaError, TurnCancelledError
from ..messages import ToolUseBlock
from ..responses import ModelResponse, UsageStats
from ..tools import ToolResult
from . import names
from .failures import error_type, own_words
from .metrics import MetricsCollector
from .watch import CallWatch, ToolWatch, TurnWatch

if TYPE_CHECKING:
    from .._turn import ModelRequest, Turn
    from .spans import Attributes, OpenSpan, Tracing

__all__ = ["LiveTurn"]


class _Part:
    """Begin and end of a part, and its span."""

    def __init__(self, tracing: Tracing | None, metrics: MetricsCollector | None) -> None:
        self._tracing = tracing
        self._metrics = metrics
        self._span: OpenSpan | None = None
        self._error: BaseException | None = None
        self._began: float | None = None
        self._scope: AbstractContextManager[None] = nullcontext()

    def begin(self) -> None:
        self._began = perf_counter()
        if self._tracing is not None:
            self._span = self._start(self._tracing)

    def attached(self) -> AbstractContextManager[None]:
        return nullcontext() if self._span is None else self._span.attached()

    def failed(self, error: BaseException) -> None:
        self._error = error

    def end(self) -> None:
        if self._began is None:
            return
        seconds, self._began = perf_counter() - self._began, None
        if self._metrics is not None:
            self._count(self._metrics, seconds)
        if self._span is not None:
            if self._span.is_recorded:
                self._describe(self._span)
            self._span.end()

    def __enter__(self) -> Self:
        self.begin()
        self._scope = self.attached()
        self._scope.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._scope.__exit__(None, None, None)
        if error is not None:
            self.failed(error)
        self.end()

    def _start(self, tracing: Tracing) -> OpenSpan:
        """The span of the part that begins."""
        raise NotImplementedError

    def _describe(self, span: OpenSpan) -> None:
        """Say what is known at the end."""
        if self._error is not None:
            span.failed(self._error)

    def _count(self, metrics: MetricsCollector, seconds: float) -> None:
        """Count the part that has ended."""
        raise NotImplementedError


class LiveTurn(_Part, TurnWatch):
    """Sees a turn. Arguments as of `watch_turn`."""

    def __init__(
        self,
        turn: Turn,
        *,
        agent: str | None,
        provider: object,
        session: str | None,
        metrics: MetricsCollector | None,
        tracing: Tracing | None,
    ) -> None:
        super().__init__(tracing, metrics)
        self._turn = turn
        self._agent = agent
        self._provider = provider
        self._session = session
        self._last: ModelResponse | None = None

    def model_call(self, request: ModelRequest, *, is_stream: bool) -> CallWatch:
        return _LiveCall(self, request, is_stream)

    def tool_run(self, call: ToolUseBlock) -> ToolWatch:
        return _LiveTool(self, call)

    def refused(self, call: ToolUseBlock, reason: str) -> None:
        if self._tracing is not None:
            span = self._tracing.start(*_tool_span(call), self._span)
            span.failed_with(reason)
            span.end()

    def take(self, answer: ModelResponse) -> None:
        """Note an answer, for the turn's own span."""
        self._last = answer

    def provider_name(self) -> str:
        """Which provider it is, in the conventions' words; of the user's own the name of its class."""
        name = getattr(self._provider, "name", None)
        if not isinstance(name, str):
            name = type(self._provider).__name__.removeprefix("Async")
        return names.PROVIDERS.get(name, name)

    def model(self) -> str | None:
        """The model that the provider asks by itself."""
        model = getattr(self._provider, "model", None)
        return model if isinstance(model, str) else None

    def server(self) -> dict[str, str | int]:
        """Where the provider's API is, in attributes."""
        url = getattr(getattr(self._provider, "config", None), "base_url", None)
        return _server(url) if isinstance(url, str) else {}

    def _start(self, tracing: Tracing) -> OpenSpan:
        attributes: dict[str, str | int] = {names.OPERATION: names.INVOKE_AGENT, names.PROVIDER: self.provider_name()}
        if (model := self.model()) is not None:
            attributes[names.REQUEST_MODEL] = model
        if self._agent is not None:
            attributes[names.AGENT] = self._agent
        if self._session is not None:
            attributes[names.CONVERSATION] = self._session
        return tracing.start(_titled(names.INVOKE_AGENT, self._agent), names.INVOKE_AGENT, attributes)

    def _describe(self, span: OpenSpan) -> None:
        last = self._last if self._turn.is_over else None
        span.set({names.ITERATIONS: self._turn.iterations, **_usage(self._turn.usage), **_answer(last)})
        super()._describe(span)

    def _count(self, metrics: MetricsCollector, seconds: float) -> None:
        if isinstance(self._error, Exception) and not isinstance(self._error, TurnCancelledError):
            metrics.record_error()


class _LiveCall(_Part, CallWatch):
    def __init__(self, turn: LiveTurn, request: ModelRequest, is_stream: bool) -> None:
        super().__init__(turn._tracing, turn._metrics)
        self._turn = turn
        self._request = request
        self._is_stream = is_stream
        self._answer: ModelResponse | None = None
        self._usage = UsageStats()
        self._first: float | None = None  # seconds

    def retried(self, error: KovaError, attempt: int, delay: float) -> None:
        if self._metrics is not None:
            self._metrics.record_retry()
        if self._span is None:
            return
        attributes: dict[str, str | int | float] = {
            names.RETRY_ATTEMPT: attempt,
            names.RETRY_DELAY: delay,
            names.ERROR_TYPE: error_type(error),
        }
        if error.status_code is not None:
            attributes[names.HTTP_STATUS] = error.status_code
        if (words := own_words(error)) is not None:
            attributes[names.RETRY_CAUSE] = words
        self._span.event(names.RETRY, attributes)

    def streamed(self) -> None:
        if self._began is not None:
            self._first = perf_counter() - self._began

    def answered(self, answer: ModelResponse) -> None:
        self._answer = answer
        self._usage = answer.usage
        self._turn.take(answer)

    def broken_off(self, usage: UsageStats) -> None:
        if self._began is not None:
            self._usage = usage

    def _start(self, tracing: Tracing) -> OpenSpan:
        config, model = self._request.config, self._request.config.model or self._turn.model()
        attributes: dict[str, str | int | float | bool | list[str]] = {
            names.OPERATION: names.CHAT,
            names.PROVIDER: self._turn.provider_name(),
            **self._turn.server(),
        }
        if self._turn._session is not None:
            attributes[names.CONVERSATION] = self._turn._session
        if model is not None:
            attributes[names.REQUEST_MODEL] = model
        if self._is_stream:
            attributes[names.REQUEST_STREAM] = True
        if config.response_format is not None:
            attributes[names.OUTPUT_TYPE] = "json"
        for field, name in names.REQUEST.items():
            if (value := getattr(config, field)) is not None:
                attributes[name] = list(value) if isinstance(value, (list, tuple)) else value
        span = tracing.start(_titled(names.CHAT, model), names.CHAT, attributes, self._turn._span)
        if tracing.content is not None and span.is_recorded:
            span.set(tracing.content.asked(self._request.messages))
        return span

    def _describe(self, span: OpenSpan) -> None:
        attributes: dict[str, str | int | float | list[str]] = {**_usage(self._usage), **_answer(self._answer)}
        if self._first is not None:
            attributes[names.TIME_TO_FIRST_CHUNK] = self._first
        if self._answer is not None and self._tracing is not None and self._tracing.content is not None:
            attributes |= self._tracing.content.answered(self._answer)
        span.set(attributes)
        super()._describe(span)

    def _count(self, metrics: MetricsCollector, seconds: float) -> None:
        metrics.record_llm_request(seconds, self._usage)


class _LiveTool(_Part, ToolWatch):
    def __init__(self, turn: LiveTurn, call: ToolUseBlock) -> None:
        super().__init__(turn._tracing, turn._metrics)
        self._turn = turn
        self._call = call
        self._result: ToolResult | None = None

    def gave(self, result: ToolResult) -> None:
        self._result = result

    def _start(self, tracing: Tracing) -> OpenSpan:
        span = tracing.start(*_tool_span(self._call), self._turn._span)
        if tracing.content is not None and span.is_recorded:
            span.set({names.TOOL_ARGUMENTS: tracing.content.arguments(self._call.input)})
        return span

    def _describe(self, span: OpenSpan) -> None:
        if self._result is not None:
            if self._tracing is not None and self._tracing.content is not None:
                span.set({names.TOOL_RESULT: self._tracing.content.result(self._result.content)})
            if self._result.is_error:
                span.failed_with(names.TOOL_ERROR)
        super()._describe(span)

    def _count(self, metrics: MetricsCollector, seconds: float) -> None:
        failed = isinstance(self._error, Exception) or (self._result is not None and self._result.is_error)
        metrics.record_tool_invocation(seconds, is_error=failed)


def _titled(operation: str, subject: str | None) -> str:
    return operation if subject is None else f"{operation} {subject}"


def _tool_span(call: ToolUseBlock) -> tuple[str, str, Attributes]:
    attributes = {
        names.OPERATION: names.EXECUTE_TOOL,
        names.TOOL_NAME: call.name,
        names.TOOL_CALL_ID: call.id,
        names.TOOL_TYPE: names.FUNCTION,
    }
    return _titled(names.EXECUTE_TOOL, call.name), names.EXECUTE_TOOL, attributes


@functools.lru_cache(maxsize=64)
def _server(url: str) -> dict[str, str | int]:
    parts = urlsplit(url)
    if not parts.hostname:
        return {}
    port = parts.port or (443 if parts.scheme == "https" else 80)
    return {names.SERVER_ADDRESS: parts.hostname, names.SERVER_PORT: port}


def _usage(usage: UsageStats) -> dict[str, int]:
    counted = ((name, getattr(usage, field)) for field, name in names.USAGE.items())
    return {name: tokens for name, tokens in counted if tokens is not None}


def _answer(answer: ModelResponse | None) -> dict[str, str | list[str]]:
    if answer is None:
        return {}
    attributes: dict[str, str | list[str]] = {
        names.FINISH_REASONS: [answer.raw_stop_reason or answer.stop_reason.value]
    }
    if answer.model is not None:
        attributes[names.RESPONSE_MODEL] = answer.model
    return attributes
