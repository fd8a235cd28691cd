"""What the server has to know of an API to answer in its name: one record for each.

Another API is another module like `_openai`, and an entry in `_playing.FORMATS`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol

from attrs import frozen

from ..errors import ProviderError
from ..responses import ModelInfo, StreamEvent

if TYPE_CHECKING:
    from ._exchange import Exchange

__all__ = ["Question", "StreamWriter", "WireFormat"]


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
        """The piece for the next event."""

    def error(self, error: ProviderError) -> bytes:
        """The piece for a failure in the middle of the answer."""

    def end(self) -> bytes:
        """The terminal mark."""


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
    """

    chat: re.Pattern[str]
    models: re.Pattern[str]
    read: Callable[[Exchange], Question]
    complete: Callable[[Question, Sequence[StreamEvent]], object]
    stream_type: str
    stream: Callable[[Question], StreamWriter]
    error: Callable[[ProviderError], object]
    models_body: Callable[[Sequence[ModelInfo]], object]
