"""What every provider's format has: the same pure functions, by the same names.

Each folder beside this file is one format, in five files: `config`, `request`, `response`, `stream`, `errors`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeAlias, TypeVar

from attrs import frozen

from ..config import InferenceConfig
from ..errors import KovaError, ProviderError
from ..messages import ConversationMessage
from ..responses import ModelInfo, ModelResponse, StreamEvent
from ..tools import ToolDefinition
from .wire import WireRequest

if TYPE_CHECKING:
    import ssl

__all__ = ["APIKey", "Format", "ProviderConfig", "StreamParser"]

APIKey: TypeAlias = str | Callable[[], Any]  # or what gives one, possibly to be awaited


class ProviderConfig(Protocol):
    """The settings that all providers have."""

    @property
    def model(self) -> str: ...
    @property
    def api_key(self) -> APIKey | None: ...
    @property
    def base_url(self) -> str: ...
    @property
    def timeout(self) -> float | None: ...
    @property
    def idle_timeout(self) -> float | None: ...
    @property
    def connect_timeout(self) -> float | None: ...
    @property
    def max_connections(self) -> int: ...
    @property
    def verify(self) -> bool | ssl.SSLContext: ...


C = TypeVar("C", bound=ProviderConfig)
C_contra = TypeVar("C_contra", bound=ProviderConfig, contravariant=True)


class StreamParser(Protocol):
    """Makes events of a stream's bytes; see each format's `stream`."""

    @property
    def finished(self) -> bool:
        """Whether the stream's terminal mark was seen."""

    @property
    def error(self) -> KovaError | None:
        """An error that the next call will raise, so that there is no need to read on before."""

    def feed(self, data: bytes) -> list[StreamEvent]:
        """The events in the next piece of the body."""

    def close(self) -> list[StreamEvent]:
        """The events that the end of the body completes."""

    def response(self) -> ModelResponse:
        """What the stream came to."""


class BuildRequest(Protocol[C_contra]):
    def __call__(
        self,
        config: C_contra,
        api_key: str | None,
        messages: Sequence[ConversationMessage],
        tools: Sequence[ToolDefinition],
        inference: InferenceConfig,
        *,
        stream: bool,
    ) -> WireRequest: ...


@frozen
class Format(Generic[C]):
    """One provider's format.

    Attributes:
        name: The provider's name, as in a model string.
        build_request: The request for an answer.
        parse_response: A complete answer, from its body and content type.
        stream_parser: Makes the parser of a streamed answer.
        parse_error: The error that a status other than 2xx means, from status, headers and body; the last argument
            is what must not be shown.
        build_models_request: The request for the list of models.
        parse_models: That list, from its body and the request.
    """

    name: str
    build_request: BuildRequest[C]
    parse_response: Callable[[bytes, str, WireRequest], ModelResponse]
    stream_parser: Callable[[WireRequest], StreamParser]
    parse_error: Callable[[int, Mapping[str, str], bytes, WireRequest, Sequence[str]], ProviderError]
    build_models_request: Callable[[C, str | None], WireRequest]
    parse_models: Callable[[bytes, WireRequest], list[ModelInfo]]
