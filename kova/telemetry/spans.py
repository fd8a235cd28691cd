"""kova's spans, made with OpenTelemetry; loaded only when there are to be any.

Nothing here knows what a turn is: `live` says which spans there are, `names` what they are called.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextvars import Token
from types import TracebackType
from typing import TypeAlias

from opentelemetry import trace
from opentelemetry.context import Context, attach
from opentelemetry.propagate import inject
from opentelemetry.trace import Span, SpanKind, Status, StatusCode, TracerProvider

from .._version import __version__
from ..errors import KovaError
from . import names
from .content import Content
from .failures import error_type, own_words

__all__ = ["Attributes", "OpenSpan", "Tracing"]

Attributes: TypeAlias = Mapping[str, "str | int | float | bool | list[str]"]

_KINDS = {names.CHAT: SpanKind.CLIENT, names.MCP: SpanKind.CLIENT}  # the others are internal


class Tracing:
    """Makes spans.

    Args:
        provider: Where they go; None is the application's global one, whenever that is set.
        content: Writes what was said; None where that is not to be recorded.
    """

    def __init__(self, provider: TracerProvider | None, content: Content | None) -> None:
        self.content = content
        self._tracer = trace.get_tracer("kova", __version__, provider)

    def start(self, name: str, kind: str, attributes: Attributes, parent: OpenSpan | None = None) -> OpenSpan:
        """A span that is open until its `end` is called; without a parent, a child of what is current here."""
        context = None if parent is None else parent.context
        span = self._tracer.start_span(
            _sendable(name),
            context,
            _KINDS.get(kind, SpanKind.INTERNAL),
            _all_sendable(attributes),
            record_exception=False,  # an exception's text may hold what was said
            set_status_on_exception=False,
        )
        return OpenSpan(span, trace.set_span_in_context(span, context), self.content)


class OpenSpan:
    """A span that is open.

    Attributes:
        context: OpenTelemetry's context in which the span is the current one.
        is_recorded: Whether anybody will see it, so that attributes are worth their while.
    """

    __slots__ = ("_content", "_span", "context", "is_recorded")

    def __init__(self, span: Span, context: Context, content: Content | None) -> None:
        self._span = span
        self._content = content
        self.context: Context = context
        self.is_recorded: bool = span.is_recording()

    def set(self, attributes: Attributes) -> None:
        """Add attributes."""
        self._span.set_attributes(_all_sendable(attributes))

    def event(self, name: str, attributes: Attributes) -> None:
        """Note that something has happened."""
        self._span.add_event(name, attributes)

    def failed(self, error: BaseException) -> None:
        """Note an error: what kind it is, and what it says only where content is recorded."""
        content = self._content
        says = own_words(error) if content is None else content.text(str(error))
        self.failed_with(error_type(error), says)
        status = error.status_code if isinstance(error, KovaError) else None
        if status is not None:
            self._span.set_attribute(names.HTTP_STATUS, status)

    def failed_with(self, kind: str, description: str | None = None) -> None:
        """Note a failure that is no exception."""
        self._span.set_attribute(names.ERROR_TYPE, kind)
        self._span.set_status(Status(StatusCode.ERROR, description))

    def end(self) -> None:
        """Close the span."""
        self._span.end()

    def attached(self) -> Attached:
        """A block in which the span is the current one. The code in it may wait, but must not hand anything out."""
        return Attached(self.context)

    def carrier(self) -> dict[str, str]:
        """What tells another process of the span, as `traceparent`; by the application's propagators."""
        headers: dict[str, str] = {}
        inject(headers, self.context)
        return headers


class Attached:
    """Makes a context the current one in a block."""

    __slots__ = ("_context", "_token")

    def __init__(self, context: Context) -> None:
        self._context = context

    def __enter__(self) -> None:
        self._token: Token[Context] = attach(self._context)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            # OpenTelemetry's `detach` would log an error where this is another context by now: where a coroutine that
            # nobody waits for any more is closed by the garbage collector, and its context is of no interest.
            self._token.var.reset(self._token)
        except ValueError:
            pass


def _all_sendable(attributes: Attributes) -> Attributes:
    return {key: _sendable(value) if isinstance(value, str) else value for key, value in attributes.items()}


def _sendable(text: str) -> str:
    """A text without lone surrogates, which JSON from a server may hold: one would cost the exporter its whole batch."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()
