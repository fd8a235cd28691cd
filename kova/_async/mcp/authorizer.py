"""The bearer tokens of one server: asked for with each request, and renewed once for all requests that were refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..._formats.secrets import mask
from ..._mcp.http_rules import is_header_text
from ..._runtime import aio as rt
from ..._signals import raise_if_from_a_signal
from ...errors import BuildError, ConnectionError, KovaError
from ...mcp.transports import TokenProvider

__all__ = ["AsyncAuthorizer"]


class AsyncAuthorizer:
    """Asks a `TokenProvider`, whose methods may be plain or async.

    Args:
        provider: The user's provider; None where the server wants no token.
        url: The server.

    Raises:
        BuildError: A method is async, and cannot be called here; or its tokens are for another server.

    Attributes:
        renewals: How many have ended, failed ones included.
    """

    def __init__(self, provider: TokenProvider | None, url: str) -> None:
        is_for = getattr(provider, "gives_tokens_for", None)
        if is_for is not None and not is_for(url):
            raise BuildError(f"auth is {provider!r}, whose tokens are not sent to {url.partition('?')[0]}")
        self._provider = provider
        # An optional method of a provider, which is then called in place of `refresh`: it is told the HTTP status and
        # the `WWW-Authenticate` header, from which OAuth learns where tokens come from and which scope is wanted.
        self._challenged: Callable[[int, str], object] | None = getattr(provider, "challenged", None)
        if provider is not None:
            rt.check_callable(provider.token, "auth.token")
            rt.check_callable(provider.refresh, "auth.refresh")
        if self._challenged is not None:
            rt.check_callable(self._challenged, "auth.challenged")
        self._turn = rt.Semaphore(1)
        self.renewals = 0
        self._failure: Exception | None = None  # of the last one
        self._given: str | None = None  # by the last one
        self._last: str | None = None  # which a provider's error must not show

    @property
    def can_widen(self) -> bool:
        """Whether the provider can get a token with more scope."""
        return self._challenged is not None

    async def token(self) -> str | None:
        """The token for a request that is about to be sent; None for none.

        Raises:
            BuildError: What the provider gives is no token.
            ConnectionError: It raised.
        """
        if self._provider is None:
            return None
        return await self._ask("token", self._provider.token)

    async def renewed(self, refused: str | None, before: int, status: int, challenge: str) -> str | None:
        """A token other than the one that the server has refused; None where there is none to be had.

        Of all requests that were under way with that token one asks the provider; the others take what it got, its
        failure included. It is not asked where it has a newer token by now.

        Args:
            refused: The token of the refused request.
            before: `renewals` when that was sent.
            status: The HTTP status: 401, or 403 for a token whose scope is too small.
            challenge: The `WWW-Authenticate` header, or nothing.
        """
        if self._provider is None:
            return None
        async with self._turn:
            token = await self.token()
            if token != refused:
                return token
            if self.renewals == before:
                await self._renew(self._provider, status, challenge)
            if self._failure is not None:
                raise _final(str(self._failure)) from self._failure
            token = self._given or await self.token()
        return None if token == refused else token

    async def _renew(self, provider: TokenProvider, status: int, challenge: str) -> None:
        self._failure = self._given = None
        try:
            if self._challenged is not None:
                self._given = await self._ask("challenged", self._challenged, status, challenge)
            else:
                self._given = await self._ask("refresh", provider.refresh)
        except Exception as error:
            self._failure = error
            self.renewals += 1
            raise
        self.renewals += 1  # but not when it was cancelled: then the next in the queue asks

    async def _ask(self, name: str, method: Callable[..., Any], *args: Any) -> str | None:
        try:
            token = await rt.call(method, *args)
        except KovaError:
            raise
        except Exception as error:
            raise_if_from_a_signal(error)
            text = mask(str(error), filter(None, [self._last])) or "(no message)"
            raise _final(f"auth.{name} raised {type(error).__name__}: {text}") from error
        if token is None:
            return None
        if not isinstance(token, str):
            raise BuildError(f"auth.{name} must give a text or None, not {type(token).__name__}")
        if not is_header_text(token):
            raise BuildError(f"auth.{name} gave a text that cannot be sent as a bearer token")
        self._last = token
        return token


def _final(message: str) -> ConnectionError:
    """An error that another attempt does not mend."""
    error = ConnectionError(message)
    error.is_retryable = False
    return error
