"""A turn as Server-Sent Events, for a page's script.

The events of a stream, by name, each with a JSON object as its data:

    text            {"text"}                                a piece of the answer
    thinking        {"text"}                                a piece of the model's thinking
    tool_started    {"id", "name", "input"}
    tool_finished   {"id", "name", "text", "is_error"}      the text of the result
    completed       {"text", "stop_reason"}                 the whole answer; always the last, as the next two are
    cancelled       {}
    error           {"error", "is_retryable"}               the error's class; what it says goes to the log alone

The JSON is ASCII, and has no `<`, `>` and `&`: it does no harm where it is put into a page by mistake. A script must
still set `textContent`, never `innerHTML`.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Generator
from typing import overload

from asgiref.sync import sync_to_async
from django.db import close_old_connections

from ..._async.agent_stream import AsyncAgentStream
from ..._log import log
from ..._sync.agent_stream import AgentStream
from ...errors import KovaError, TurnCancelledError
from ...messages import TextBlock
from ...responses import AgentEvent, TextDelta, ThinkingDelta, ToolCallFinished, ToolCallStarted, TurnCompleted

__all__ = ["event_stream"]

_HARMLESS = {ord("<"): "\\u003c", ord(">"): "\\u003e", ord("&"): "\\u0026"}


@overload
def event_stream(stream: AgentStream) -> Generator[bytes]: ...
@overload
def event_stream(stream: AsyncAgentStream) -> AsyncGenerator[bytes]: ...
def event_stream(stream: AgentStream | AsyncAgentStream) -> Generator[bytes] | AsyncGenerator[bytes]:
    """A turn as Server-Sent Events, for a `StreamingHttpResponse`: blocking or async, as the stream is.

    The turn begins when the first event is asked for, and ends at once when the iterator is closed. What fails the turn
    is logged (logger "kova") and becomes the last event. Database connections that Django would close after a request
    are closed when the turn begins, which comes after the view.

    Args:
        stream: What `run_stream` or `chat_events` gives, not yet entered.
    """
    return _blocking(stream) if isinstance(stream, AgentStream) else _async(stream)


def _blocking(stream: AgentStream) -> Generator[bytes]:
    close_old_connections()
    try:
        with stream:
            for event in stream:
                yield _frame(*_described(event))
    except KovaError as error:
        yield _failure(error)


async def _async(stream: AsyncAgentStream) -> AsyncGenerator[bytes]:
    await sync_to_async(close_old_connections)()
    try:
        async with stream:
            async for event in stream:
                yield _frame(*_described(event))
    except KovaError as error:
        yield _failure(error)


def _described(event: AgentEvent) -> tuple[str, dict[str, object]]:
    match event:
        case TextDelta(text=text):
            return "text", {"text": text}
        case ThinkingDelta(text=text):
            return "thinking", {"text": text}
        case ToolCallStarted(id=call_id, name=name, input=arguments):
            return "tool_started", {"id": call_id, "name": name, "input": arguments}
        case ToolCallFinished(id=call_id, name=name, result=result, is_error=is_error):
            return "tool_finished", {"id": call_id, "name": name, "text": _text(result), "is_error": is_error}
        case TurnCompleted(response=response):
            return "completed", {"text": response.text, "stop_reason": response.stop_reason.value}


def _text(result: object) -> str:
    if isinstance(result, str):
        return result
    blocks = result if isinstance(result, (list, tuple)) else ()
    return "\n".join(block.text for block in blocks if isinstance(block, TextBlock))


def _failure(error: KovaError) -> bytes:
    if isinstance(error, TurnCancelledError):
        return _frame("cancelled", {})
    log.exception("a streamed turn has failed")
    return _frame("error", {"error": type(error).__name__, "is_retryable": error.is_retryable})


def _frame(name: str, data: dict[str, object]) -> bytes:
    text = json.dumps(data, separators=(",", ":")).translate(_HARMLESS)
    return f"event: {name}\ndata: {text}\n\n".encode()
