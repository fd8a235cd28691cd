"""What all OAuth for MCP servers has in common: where tokens come from, when a new one is wanted, where they are kept.

The protocol is MCP's (https://modelcontextprotocol.io/specification/2026-07-28/basic/authorization), which goes for
servers of 2025-11-25 as well.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..._mcp import oauth_requests as requests
from ..._mcp.oauth_challenges import Challenge, parse_challenge
from ..._mcp.oauth_discovery import AuthorizationServer, ProtectedResource, origin_of
from ..._mcp.oauth_grant import Grant, dump_grant, load_grant
from ..._mcp.oauth_requests import OAuthClient
from ..._runtime import aio as rt
from ..._runtime.private_file import read_private, write_private
from ...errors import BuildError, KovaOSError
from .oauth_server import AsyncOAuthServer

__all__ = ["AsyncOAuthBase"]


class AsyncOAuthBase:
    """What both ways to a token have in common: where tokens come from, and where they are kept."""

    def __init__(
        self,
        url: str,
        *,
        issuer: str | None,
        scopes: Sequence[str],
        trusted_origins: Sequence[str],
        token_file: str | os.PathLike[str] | None,
    ) -> None:
        if isinstance(scopes, str) or isinstance(trusted_origins, str):
            raise BuildError("scopes and trusted_origins must be sequences of texts")
        self._oauth = AsyncOAuthServer(url, issuer, trusted_origins)
        self._scopes = tuple(scopes)
        self._file = None if token_file is None else Path(token_file).expanduser()
        self._turn = rt.Semaphore(1)
        self._grant: Grant | None = None
        self._is_loaded = False

    @property
    def url(self) -> str:
        """The server that the tokens are for."""
        return self._oauth.server

    def gives_tokens_for(self, url: str) -> bool:
        """Whether its tokens may be sent to a URL: they are for one origin only."""
        return origin_of(url) == origin_of(self.url)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.url.partition('?')[0]!r})"

    async def token(self) -> str | None:
        """The present access token; None before there is one."""
        if not self._is_loaded:
            await self._load()
        grant = self._grant
        return None if grant is None or grant.tokens is None else grant.tokens.access

    async def refresh(self) -> str | None:
        """Get a new access token, as after a refusal that says no more."""
        return await self.challenged(401, "")

    async def challenged(self, status: int, challenge: str) -> str | None:
        """Get a token that the server takes.

        Args:
            status: HTTP status of the refusal: 401, or 403 where the scope is too small.
            challenge: Its `WWW-Authenticate` header.

        Returns:
            The token, or None where asking again would bring none that is better.

        Raises:
            ConnectionError: The user, or the authorization server, does not grant it.
        """
        before = await self.token()
        async with self._turn:
            await self._load()  # another process may have renewed it, or another task just now
            if await self.token() == before:
                await self._get_tokens(status, parse_challenge(challenge))
            return await self.token()

    async def _get_tokens(self, status: int, challenge: Challenge) -> None:
        try:
            await self._renew(status, challenge)
        finally:
            await self._oauth.close()  # it may be an hour until the next time

    async def _renew(self, status: int, challenge: Challenge) -> None:
        raise NotImplementedError

    def _wanted_scopes(
        self, challenge: Challenge, resource: ProtectedResource, server: AuthorizationServer
    ) -> tuple[str, ...]:
        """The scopes to ask for: the user's or the challenge's, else the server's; and what was asked for before."""
        first = self._scopes or challenge.scopes or resource.scopes or ()
        before = () if self._grant is None else self._grant.scopes
        return tuple(dict.fromkeys((*before, *first, *challenge.scopes)))

    async def _ask_for_tokens(
        self, server: AuthorizationServer, client: OAuthClient, resource: str, form: Mapping[str, str]
    ) -> tuple[int, dict[str, Any], Mapping[str, str]]:
        """Status and body of the token endpoint's answer, and what was sent to it."""
        parameters, headers = self._client_authentication(server, client)
        whole = {**form, **parameters, "resource": resource}
        status, answer = await self._oauth.post_form(server.token_endpoint, whole, headers)
        return status, answer, whole

    def _client_authentication(
        self, server: AuthorizationServer, client: OAuthClient
    ) -> tuple[Mapping[str, str], Mapping[str, str]]:
        return requests.client_authentication(client)

    async def _load(self) -> None:
        self._is_loaded = True
        if self._file is not None:
            try:
                data = await rt.run_blocking(read_private, self._file)
            except OSError as error:
                raise KovaOSError(f"cannot read token_file: {error}") from error
            if data is not None:
                self._grant = load_grant(data, self.url)

    async def _keep(self, grant: Grant) -> None:
        self._grant = grant
        if self._file is not None:
            try:
                await rt.run_blocking(write_private, self._file, dump_grant(grant))
            except OSError as error:
                raise KovaOSError(f"cannot write token_file: {error}") from error
