"""What the server has to know of an API to answer in its name: one record for each.

Another API is another module like `_openai`, and an entry in `_playing.FORMATS`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from attrs import frozen

from ..errors import ProviderError, ProviderErrorClass
from ..messages import JSONObject
from ..responses import ModelInfo, StreamEvent

if TYPE_CHECKING:
    from ._exchange import Exchange

__all__ = [
    "Question",
    "StreamWriter",
    "WireFormat",
    "error_class",
    "http_status",
    "known",
    "request_body",
    "with_words",
]


@frozen
class Question:
    """What was asked.

    Attributes:
        model: The model that is to answer.
        is_stream: Whether the answer is wanted as a stream.
        calls_before: Tool calls that the conversation holds.
    """

    model: str
    is_stream: bool
    calls_before: int


class StreamWriter(Protocol):
    """Writes one answer as the pieces of a stream."""

    def event(self, event: StreamEvent) -> bytes:
        """The piece for the next event; nothing where the API says it with what comes later."""

    def error(self, error: ProviderError) -> bytes:
        """The piece for a failure in the middle of the answer."""

    def end(self) -> bytes:
        """The rest of the answer, and the terminal mark."""


def _no_headers(error: ProviderError) -> Mapping[str, str]:
    return {}


@frozen
class WireFormat:
    """How one API is answered.

    Attributes:
        chat: Matches the paths that answers are asked for at.
        models: Matches the paths of the list of models.
        read: What a request asks for.
        complete: The JSON body of an answer, from all its events.
        stream_type: Content type of a streamed answer.
        stream: Makes the writer of a streamed answer.
        error: The JSON body of an error.
        models_body: The JSON body of the list of models.
        header: A header that all its requests have, where others ask for their lists of models at the same path.
        request_id_header: The header with its id of a request.
        error_headers: The headers of an error, besides what all APIs have.
    """

    chat: re.Pattern[str]
    models: re.Pattern[str]
    read: Callable[[Exchange], Question]
    complete: Callable[[Question, Sequence[StreamEvent]], object]
    stream_type: str
    stream: Callable[[Question], StreamWriter]
    error: Callable[[ProviderError], object]
    models_body: Callable[[Sequence[ModelInfo]], object]
    header: str | None = None
    request_id_header: str = "x-request-id"
    error_headers: Callable[[ProviderError], Mapping[str, str]] = _no_headers


# The status of an error that says only of what class it is.
_STATUS = {
    ProviderErrorClass.AUTH_INVALID: 401,
    ProviderErrorClass.AUTH_FORBIDDEN: 403,
    ProviderErrorClass.RATE_LIMITED: 429,
    ProviderErrorClass.OVERLOADED: 503,
    ProviderErrorClass.INVALID_REQUEST: 400,
    ProviderErrorClass.NOT_FOUND: 404,
    ProviderErrorClass.OTHER: 501,
}


def error_class(error: ProviderError) -> ProviderErrorClass:
    """The class of an error."""
    return error.provider_class or ProviderErrorClass.OTHER


def http_status(error: ProviderError) -> int:
    """The HTTP status of an error."""
    return error.status_code or _STATUS[error_class(error)]


def with_words(error: ProviderError, words: str) -> str:
    """The message of an error, behind the words by which alone an API says that a prompt is too long."""
    message = error.message
    return f"{words}: {message}" if error.is_context_length and words not in message else message


def known(fields: JSONObject) -> dict[str, object]:
    """The fields without those that are None."""
    return {name: value for name, value in fields.items() if value is not None}


def request_body(exchange: Exchange) -> JSONObject:
    """The JSON object of a request.

    Raises:
        ValueError: The body is something else.
    """
    body = exchange.json()
    if not isinstance(body, dict):
        raise ValueError(f"the body of a request is a JSON object, not {body!r:.100}")
    return body
