"""Answers of a script as bytes on a socket, faults included."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from .. import _json
from .._formats.error_classes import status_class
from .._script import Answer, Delay, Part, Step, steps
from ..errors import ConnectionError, KovaError, ProviderError
from ..responses import ModelInfo, StreamEvent
from ._anthropic import ANTHROPIC
from ._bedrock import BEDROCK
from ._gemini import GEMINI
from ._ollama import OLLAMA
from ._openai import OPENAI
from ._wire import Question, WireFormat, http_status

if TYPE_CHECKING:
    from ._exchange import Exchange

__all__ = ["models_body", "play", "send_error"]

FORMATS = (ANTHROPIC, GEMINI, OLLAMA, BEDROCK, OPENAI)


def play(exchange: Exchange, answer: Answer | Iterator[Part]) -> None:
    """Answer a request in the wire format of its API.

    Raises:
        ValueError: The request is for the list of models.
        TypeError: Something in the answer is no part of one, or cannot be said in that API.
    """
    wire = _format_of(exchange)
    if wire.models.search(exchange.path):
        raise ValueError(f"{exchange.path} lists models: say which by `models`, or play a function that does it")
    question = wire.read(exchange)
    play_it = _play_stream if question.is_stream else _play_complete
    play_it(exchange, wire, question, steps(answer, question.calls_before))


def models_body(exchange: Exchange, models: Sequence[ModelInfo]) -> object:
    """The JSON body of a list of models; None where it is not what the request is for."""
    wire = _format_of(exchange)
    return wire.models_body(models) if wire.models.search(exchange.path) else None


def send_error(exchange: Exchange, status: int, message: str, headers: Mapping[str, str] | None = None) -> None:
    """Answer with an error in the wire format of the request's API."""
    _send_error(exchange, _format_of(exchange), ProviderError(message, status, status_class(status)), headers)


def _format_of(exchange: Exchange) -> WireFormat:
    """The format of the API that a request is for: OpenAI's where it is no other's, since it is spoken at any path."""
    path = exchange.path
    for wire in FORMATS:
        is_marked = wire.header is None or wire.header in exchange.headers
        if wire.chat.search(path) or (is_marked and wire.models.search(path)):
            return wire
    return OPENAI


def _play_complete(exchange: Exchange, wire: WireFormat, question: Question, script: Iterator[Step]) -> None:
    events: list[StreamEvent] = []
    for step in script:
        if isinstance(step, Delay):
            exchange.delay(step.seconds)
        elif isinstance(step, KovaError):
            if events and isinstance(step, ConnectionError):
                _send_half(exchange, _json.dumps(wire.complete(question, events)))
            _fail(exchange, wire, step)
            return
        else:
            events.append(step)
    exchange.send_json(wire.complete(question, events))


def _play_stream(exchange: Exchange, wire: WireFormat, question: Question, script: Iterator[Step]) -> None:
    writer = wire.stream(question)
    for step in script:
        if isinstance(step, Delay):
            exchange.delay(step.seconds)
        elif isinstance(step, KovaError):
            if not (isinstance(step, ProviderError) and exchange.has_begun):
                _fail(exchange, wire, step)
                return
            exchange.send_chunk(writer.error(step))
            break
        else:
            if not exchange.has_begun:
                exchange.start_chunks(wire.stream_type)
            if data := writer.event(step):  # an empty chunk would end the body
                exchange.send_chunk(data)
    else:
        exchange.send_chunk(writer.end())
    exchange.end_chunks()


def _send_half(exchange: Exchange, body: bytes) -> None:
    exchange.send_head(200, {"content-type": "application/json", "content-length": str(len(body))})
    exchange.send_raw(body[: len(body) // 2])


def _fail(exchange: Exchange, wire: WireFormat, error: KovaError) -> None:
    """Do what makes the client raise the error."""
    if isinstance(error, ConnectionError):
        if not exchange.has_begun:
            # A connection that ends without a word may have gone stale while it was idle: the client would send the
            # request again on another one, and say nothing.
            exchange.send_raw(b"HTTP/1.1 ")
        exchange.disconnect()
    elif isinstance(error, ProviderError):
        _send_error(exchange, wire, error)
    else:
        raise TypeError(
            f"a server cannot make its client raise {type(error).__name__}, only ProviderError and ConnectionError; "
            "a timeout is a Delay"
        )


def _send_error(
    exchange: Exchange, wire: WireFormat, error: ProviderError, more: Mapping[str, str] | None = None
) -> None:
    retry_after = {} if error.retry_after is None else {"retry-after": f"{error.retry_after:g}"}
    request_id = {} if error.request_id is None else {wire.request_id_header: error.request_id}
    headers = {**wire.error_headers(error), **retry_after, **request_id, **(more or {})}
    exchange.send_json(wire.error(error), http_status(error), headers)
