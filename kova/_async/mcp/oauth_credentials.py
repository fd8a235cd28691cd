"""OAuth for MCP servers over HTTP, as a `TokenProvider` for an application that acts for itself (client credentials)."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from attrs import evolve

from ..._mcp import oauth_requests as requests
from ..._mcp.oauth_assertion import ASSERTION_TYPE, check_private_key, client_assertion
from ..._mcp.oauth_challenges import Challenge
from ..._mcp.oauth_discovery import AuthorizationServer
from ..._mcp.oauth_grant import Grant
from ..._mcp.oauth_requests import OAuthClient
from ...errors import BuildError
from .oauth_base import AsyncOAuthBase

__all__ = ["AsyncOAuthClientCredentials"]


class AsyncOAuthClientCredentials(AsyncOAuthBase):
    """Tokens for the application itself, without any user.

    Args:
        url: The MCP server's URL, as the transport has it.
        client_id: The application, as the authorization server knows it.
        client_secret: Its secret; needs `issuer`.
        private_key: Its private key in PEM, in place of a secret: it is not sent, but signs. Needs the extra `oauth`.
        algorithm: How the key signs.
        scopes: The scopes to ask for, in place of those that the server names.
        issuer: The authorization server, if no other may be used.
        trusted_origins: Further origins that the authorization server's endpoints may have.
        token_file: Where the token is kept, readable by this user alone; None keeps it in memory.

    Raises:
        BuildError: An argument is wrong.
    """

    def __init__(
        self,
        url: str,
        client_id: str,
        *,
        client_secret: str | None = None,
        private_key: str | None = None,
        algorithm: str = "ES256",
        scopes: Sequence[str] = (),
        issuer: str | None = None,
        trusted_origins: Sequence[str] = (),
        token_file: str | os.PathLike[str] | None = None,
    ) -> None:
        super().__init__(url, issuer=issuer, scopes=scopes, trusted_origins=trusted_origins, token_file=token_file)
        if (client_secret is None) == (private_key is None):
            raise BuildError("a client shows who it is with client_secret or with private_key: give one of them")
        if client_secret is not None and issuer is None:
            raise BuildError("client_secret needs issuer: it is shown to no other authorization server")
        if private_key is not None:
            check_private_key(private_key, algorithm)
        self._client_id = client_id
        self._client_secret = client_secret
        self._private_key = private_key
        self._algorithm = algorithm

    async def _renew(self, status: int, challenge: Challenge) -> None:
        grant = self._grant
        if status != 401 and grant is not None and set(challenge.scopes) <= set(grant.scopes):
            return
        resource, server = await self._oauth.find(challenge.resource_metadata)
        scopes = self._wanted_scopes(challenge, resource, server)
        client = OAuthClient(self._client_id, self._client_secret, requests.auth_method(server, self._client_secret))
        form = {"grant_type": "client_credentials"} | ({"scope": " ".join(scopes)} if scopes else {})
        answer = await self._ask_for_tokens(server, client, resource.resource, form)
        tokens = requests.parse_tokens(server, *answer)
        kept = evolve(client, secret=None)  # the secret is the user's to keep
        await self._keep(Grant(self.url, server.issuer, resource.resource, kept, tokens, scopes))

    def _client_authentication(
        self, server: AuthorizationServer, client: OAuthClient
    ) -> tuple[Mapping[str, str], Mapping[str, str]]:
        if self._private_key is None:
            return super()._client_authentication(server, client)
        assertion = client_assertion(self._private_key, self._algorithm, client.id, server.issuer)
        return {"client_id": client.id, "client_assertion_type": ASSERTION_TYPE, "client_assertion": assertion}, {}
