"""Amazon Bedrock: whatever model it serves, through its Converse API."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self

from .._formats.bedrock import FORMAT
from .._formats.bedrock.config import BedrockProviderConfig, check_extra
from .._formats.bedrock.credentials import Account
from .._formats.wire import WireRequest
from .._runtime import aio as rt
from .._runtime.owners import PerOwner
from .provider import AsyncHTTPProvider

if TYPE_CHECKING:
    import ssl

__all__ = ["AsyncBedrockProvider"]

# What decides whose credentials sign, and where: copies that differ in none of it share what was found.
ACCOUNT_SETTINGS = frozenset(
    {"region", "profile", "access_key_id", "secret_access_key", "session_token", "default_headers"}
)


class AsyncBedrockProvider(AsyncHTTPProvider[BedrockProviderConfig]):
    """Models on Amazon Bedrock. Needs the extra: `pip install 'kova-sdk[bedrock]'`.

    Credentials are the given ones, else those of the profile, else what AWS's default chain finds. Those that are not
    given are looked up by the first request, once for all requests that wait for them, and renewed in time.

    Args:
        model: The model to ask: its id, an inference profile's id, or an ARN.
        region: The AWS region, in place of `AWS_REGION` or the profile's.
        profile: A profile of AWS's shared files.
        access_key_id: Explicit credentials: the id of the access key.
        secret_access_key: The secret that belongs to it.
        session_token: The token that belongs to temporary credentials.
        endpoint_url: Where the API is, in place of the region's endpoint.
        timeout: Seconds for a whole answer, or for a stream to begin.
        idle_timeout: Seconds without an event inside a stream.
        connect_timeout: Seconds for connecting, the TLS handshake included.
        max_connections: Requests at once; more wait for their turn.
        verify: Whether certificates are checked, or the SSL context that says how.
        default_headers: Sent with every request. With an `authorization` among them, such as that of a Bedrock API
            key, requests are not signed.
        http_client: An AsyncClient of httpx or httpx2 to use in place of kova's own; it is never closed.
        additional_model_request_fields: What only the model knows, such as `{"thinking": {…}}`.

    Raises:
        BuildError: An argument is wrong, and the message names it; or the extra is missing.
    """

    _format = FORMAT
    _config_type = BedrockProviderConfig

    _account: Account
    _turns: PerOwner[rt.Semaphore]

    def __init__(
        self,
        model: str,
        *,
        region: str | None = None,
        profile: str | None = None,
        access_key_id: str | None = None,
        secret_access_key: str | None = None,
        session_token: str | None = None,
        endpoint_url: str | None = None,
        timeout: float | None = 600.0,
        idle_timeout: float | None = 300.0,
        connect_timeout: float | None = 10.0,
        max_connections: int = 1000,
        verify: bool | ssl.SSLContext = True,
        default_headers: Mapping[str, str] | None = None,
        http_client: object = None,
        additional_model_request_fields: Mapping[str, Any] | None = None,
    ) -> None:
        config = BedrockProviderConfig(
            model=model,
            region=region,
            profile=profile,
            access_key_id=access_key_id,
            secret_access_key=secret_access_key,
            session_token=session_token,
            endpoint_url=endpoint_url,
            timeout=timeout,
            idle_timeout=idle_timeout,
            connect_timeout=connect_timeout,
            max_connections=max_connections,
            verify=verify,
            default_headers=default_headers,
            additional_model_request_fields=additional_model_request_fields,
        )
        self._set_up(config, http_client)

    def _set_up(self, config: BedrockProviderConfig, http_client: object) -> None:
        check_extra()
        super()._set_up(config, http_client)
        self._account = Account(config)
        self._turns = PerOwner(_one_at_a_time, _nothing_to_free)

    def with_options(self, **changes: Any) -> Self:
        """A copy with other settings that shares this provider's connections, and its credentials if it may.

        Raises:
            BuildError: There is no such setting, or it belongs to the shared connections.
        """
        provider = super().with_options(**changes)
        if not ACCOUNT_SETTINGS & changes.keys():
            provider._account, provider._turns = self._account, self._turns
        return provider

    def __repr__(self) -> str:
        return f"{type(self).__name__}(model={self._config.model!r}, region={self._account.region!r})"

    async def _settings(self) -> BedrockProviderConfig:
        if not self._account.is_known:
            await self._look_up()
        return self._account.configured(self._config)

    async def _look_up(self) -> None:
        """Find credentials and region; requests that come meanwhile wait, and share what comes of it."""
        account = self._account
        before = account.look_ups
        async with self._turns.get(rt.owner()):
            if account.look_ups == before:
                await rt.run_blocking(account.look_up)
        account.check()

    async def _finished(self, request: WireRequest) -> WireRequest:
        account = self._account
        if not account.signs:
            return request
        return account.signed(request) if account.is_fresh else await rt.run_blocking(account.signed, request)


def _one_at_a_time() -> rt.Semaphore:
    return rt.Semaphore(1)


def _nothing_to_free(turns: rt.Semaphore) -> None:
    """A semaphore holds nothing."""
