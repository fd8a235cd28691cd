"""Model providers: one HTTP client that drives the pure formats of `kova._formats`.

A provider makes exactly one attempt for each call; retrying is the agent's.
"""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterator, Sequence
from types import TracebackType
from typing import Any, ClassVar, Generic, Protocol, Self, TypeVar, cast, runtime_checkable

import attrs

from .._formats.base_config import shown_url
from .._formats.error_classes import request_id
from .._formats.format import Format, ProviderConfig, StreamParser
from .._formats.wire import WireRequest
from .._runtime import aio as rt
from .._runtime.scope import deadline_after
from ..config import InferenceConfig
from ..errors import BuildError, KovaError, StreamError
from ..messages import ConversationMessage
from ..responses import ModelInfo, ModelResponse, StreamEvent, UsageStats
from ..tools import ToolDefinition
from .http import AsyncClient, AsyncHTTPResponse, http_client_for, read_body

__all__ = ["AsyncHTTPProvider", "AsyncLLMProvider", "AsyncProviderStream"]

C = TypeVar("C", bound=ProviderConfig)

DEFAULT_INFERENCE = InferenceConfig()


@runtime_checkable
class AsyncLLMProvider(Protocol):
    """What an agent needs of a provider. One of your own may leave out everything else."""

    async def chat_completion(
        self,
        messages: Sequence[ConversationMessage],
        tools: Sequence[ToolDefinition] = (),
        config: InferenceConfig = DEFAULT_INFERENCE,
    ) -> ModelResponse:
        """The model's answer to the messages."""

    def chat_completion_stream(
        self,
        messages: Sequence[ConversationMessage],
        tools: Sequence[ToolDefinition] = (),
        config: InferenceConfig = DEFAULT_INFERENCE,
    ) -> AsyncIterator[StreamEvent]:
        """The same answer as events; a generator that yields them is enough."""


class AsyncHTTPProvider(Generic[C]):
    """A provider that is reached over HTTP; the base of those that kova ships.

    One provider may be used from several threads and event loops at once. `with_options` gives copies that share
    its connections.
    """

    _format: ClassVar[Format[Any]]
    _config_type: ClassVar[type[Any]]

    _config: C
    _client: AsyncClient

    def _set_up(self, config: C, http_client: object) -> None:
        if callable(config.api_key):
            rt.check_callable(config.api_key, "api_key")
        self._config = config
        self._client = http_client_for(
            http_client,
            timeout=config.timeout,
            max_connections=config.max_connections,
            connect_timeout=config.connect_timeout,
            verify=config.verify,
        )

    @classmethod
    def from_config(cls, config: C, *, http_client: object = None) -> Self:
        """A provider with the given settings.

        Args:
            config: The settings, which both twins can share.
            http_client: An AsyncClient of httpx or httpx2 to use in place of kova's own; it is never closed.

        Raises:
            BuildError: A setting is wrong.
        """
        if not isinstance(config, cls._config_type):
            raise BuildError(f"config must be of class {cls._config_type.__name__}, not {type(config).__name__}")
        provider = cls.__new__(cls)
        provider._set_up(config, http_client)
        return provider

    def with_options(self, **changes: Any) -> Self:
        """A copy with other settings that shares this provider's connections.

        Raises:
            BuildError: There is no such setting, or it belongs to the shared connections.
        """
        if shared := {"connect_timeout", "max_connections", "verify"} & changes.keys():
            raise BuildError(f"{', '.join(sorted(shared))} belongs to the shared connections: make a new provider")
        known = [setting.name for setting in attrs.fields(cast(Any, type(self._config)))]
        if unknown := sorted(changes.keys() - set(known)):
            raise BuildError(f"with_options: there is no setting {', '.join(unknown)}; there are {', '.join(known)}")
        config: C = attrs.evolve(cast(Any, self._config), **changes)
        provider = type(self).from_config(config)
        provider._client = self._client
        return provider

    @property
    def config(self) -> C:
        """The provider's settings."""
        return self._config

    @property
    def name(self) -> str:
        """The provider's name, as in a model string."""
        return self._format.name

    @property
    def model(self) -> str:
        """The model that is asked where a call names no other."""
        return self._config.model

    def __repr__(self) -> str:
        return f"{type(self).__name__}(model={self._config.model!r}, base_url={shown_url(self._config.base_url)})"

    async def chat_completion(
        self,
        messages: Sequence[ConversationMessage],
        tools: Sequence[ToolDefinition] = (),
        config: InferenceConfig = DEFAULT_INFERENCE,
    ) -> ModelResponse:
        """The model's answer to the messages, as a whole.

        Args:
            messages: The history, the newest message last.
            tools: Tools that the model may call.
            config: How the model is asked.

        Raises:
            ProviderError: The API answered with an error.
            ConnectionError: It cannot be reached, or the connection was lost.
            TimeoutError: The answer took longer than the provider's `timeout`.
        """
        with self._request_limit():
            request = await self._request(messages, tools, config, stream=False)
            response = await self._open(request)
            body = await read_body(response)
        answer = self._format.parse_response(body, response.headers.get("content-type", ""), request)
        return attrs.evolve(answer, request_id=answer.request_id or request_id(response.headers))

    def chat_completion_stream(
        self,
        messages: Sequence[ConversationMessage],
        tools: Sequence[ToolDefinition] = (),
        config: InferenceConfig = DEFAULT_INFERENCE,
    ) -> AsyncProviderStream:
        """The model's answer to the messages, as events while it is made.

        Use it in a with block, which closes the connection. The request is sent when the first event is asked for.
        Arguments and errors are those of `chat_completion`; iterating may also raise `StreamError`, when the stream
        breaks off or makes no sense.
        """
        return AsyncProviderStream(self, messages, tools, config)

    async def list_models(self) -> list[ModelInfo]:
        """The models that the provider offers.

        Raises:
            ProviderError: The API answered with an error.
            ConnectionError: It cannot be reached, or the connection was lost.
            TimeoutError: The answer took longer than the provider's `timeout`.
        """
        with self._request_limit():
            request = self._format.build_models_request(await self._settings(), await self._api_key())
            request = await self._finished(request)
            body = await read_body(await self._open(request))
        return self._format.parse_models(body, request)

    async def close(self) -> None:
        """Close the provider's connections, those of its `with_options` copies included. May be called twice."""
        await self._client.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    # ---- for the stream as well

    def _request_limit(self) -> Any:
        return rt.fail_at(deadline_after(self._config.timeout, f"the request to {self._format.name}"))

    async def _request(
        self,
        messages: Sequence[ConversationMessage],
        tools: Sequence[ToolDefinition],
        config: InferenceConfig,
        *,
        stream: bool,
    ) -> WireRequest:
        settings, key = await self._settings(), await self._api_key()
        request = self._format.build_request(settings, key, messages, tools, config, stream=stream)
        return await self._finished(request)

    async def _finished(self, request: WireRequest) -> WireRequest:
        """The request as it is sent, with what can only be added when all else is known: a signature."""
        return request

    async def _settings(self) -> C:
        """The settings of a request that is about to be made."""
        return self._config

    async def _api_key(self) -> str | None:
        key = self._config.api_key
        if not callable(key):
            return key
        given = await rt.call(key)
        if not isinstance(given, str):
            raise BuildError(f"api_key must give a str, not {type(given).__name__}")
        return given

    async def _open(self, request: WireRequest) -> AsyncHTTPResponse:
        """The response to a request, if it is a good one."""
        response = await self._client.send(request)
        if 200 <= response.status < 300:
            return response
        try:
            body = await read_body(response)
        except KovaError:
            body = b""  # the status says more than why its body did not arrive
        raise self._format.parse_error(response.status, response.headers, body, request, request.secrets)


class AsyncProviderStream:
    """A streamed answer: an iterator of events, and a with block that closes it."""

    def __init__(
        self,
        provider: AsyncHTTPProvider[Any],
        messages: Sequence[ConversationMessage],
        tools: Sequence[ToolDefinition],
        config: InferenceConfig,
    ) -> None:
        self._provider = provider
        self._arguments = (messages, tools, config)
        self._ready: deque[StreamEvent] = deque()
        self._parser: StreamParser | None = None
        self._http: AsyncHTTPResponse | None = None
        self._request_id: str | None = None
        self._ended = False
        self._closed = False

    @property
    def response(self) -> ModelResponse:
        """The assembled answer, once the stream has ended.

        Raises:
            StreamError: It has not.
        """
        if self._parser is None or not self._ended:
            raise StreamError("the stream has not ended yet: its response is known when all events have been read")
        answer = self._parser.response()
        return attrs.evolve(answer, request_id=answer.request_id or self._request_id)

    @property
    def usage(self) -> UsageStats:
        """Tokens reported so far."""
        return UsageStats() if self._parser is None else self._parser.response().usage

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> StreamEvent:
        while not self._ready:
            events = await self.next_events()
            if not events:
                raise StopAsyncIteration
            self._ready.extend(events)
        return self._ready.popleft()

    async def next_events(self) -> list[StreamEvent]:
        """The next events, as many as have arrived together; none at the end."""
        if self._ended or self._closed:
            return []
        try:
            if self._http is None or self._parser is None:
                self._http, self._parser = await self._open()
            with rt.fail_at(self._idle_limit()):
                return await self._next_events(self._http, self._parser)
        except BaseException:
            await self.close()
            raise

    async def _open(self) -> tuple[AsyncHTTPResponse, StreamParser]:
        provider = self._provider
        with provider._request_limit():
            request = await provider._request(*self._arguments, stream=True)
            response = await provider._open(request)
        self._request_id = request_id(response.headers)
        return response, provider._format.stream_parser(request)

    def _idle_limit(self) -> Any:
        return deadline_after(self._provider.config.idle_timeout, "waiting for the next event of the stream")

    async def _next_events(self, response: AsyncHTTPResponse, parser: StreamParser) -> list[StreamEvent]:
        if parser.error is not None:
            raise parser.error
        while True:
            piece = await response.next_piece()
            events = parser.feed(piece) if piece else parser.close()
            if parser.finished or not piece:
                self._ended = True
                await response.close(drain=bool(piece))
                return events
            if events:
                return events

    async def close(self) -> None:
        """Close the connection; what has not been read is lost. May be called twice."""
        self._closed = True
        self._ready.clear()
        response, self._http = self._http, None
        if response is not None:
            await response.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()
