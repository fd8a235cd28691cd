"""Requests for OAuth: metadata, registration and tokens, at the origins that `kova._mcp.oauth_discovery` allows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlencode, urlsplit

from ... import _json
from ..._log import log
from ..._mcp import oauth_discovery as discovery
from ..._mcp.http_rules import HTTPRequest
from ..._mcp.oauth_discovery import AuthorizationServer, ProtectedResource, failure
from ..._runtime import aio as rt
from ..._runtime.scope import Deadline
from ...errors import BuildError, ConnectionError
from ..http import AsyncHTTPClient, read_body

__all__ = ["AsyncOAuthServer"]

REQUEST_SECONDS = 30.0


class AsyncOAuthServer:
    """Finds the authorization server of an MCP server, and asks it.

    Args:
        server: URL of the MCP server.
        issuer: The authorization server, if the user knows it; else it is the first that the MCP server names.
        trusted_origins: Further origins that its endpoints may have.

    Raises:
        BuildError: A URL is not safe.
    """

    def __init__(self, server: str, issuer: str | None, trusted_origins: Sequence[str]) -> None:
        self.server = server
        self._issuer = issuer
        self._trusted_origins = tuple(trusted_origins)
        self._is_local = discovery.origin_of(server) is not None and discovery.is_loopback(server)
        for url, what in [(server, "url"), (issuer, "issuer"), *((url, "trusted_origins") for url in trusted_origins)]:
            if url is not None:
                check_setting(url, what)
        self._client = AsyncHTTPClient(max_connections=10, connect_timeout=REQUEST_SECONDS)

    async def find(self, named: str | None) -> tuple[ProtectedResource, AuthorizationServer]:
        """The metadata of both servers.

        Args:
            named: Where the MCP server says that its metadata are.

        Raises:
            ConnectionError: They cannot be got, or are not to be trusted.
        """
        resource = await self._find_resource(named)
        issuer = self._issuer or resource.issuers[0]
        if issuer not in resource.issuers:
            raise failure(f"{self.server.partition('?')[0]} does not name {issuer} as an authorization server any more")
        return resource, await self.find_issuer(issuer)

    async def _find_resource(self, named: str | None) -> ProtectedResource:
        for url in discovery.resource_metadata_urls(self.server, named):
            document = await self._document(url)
            if document is not None:
                return discovery.parse_protected_resource(self.server, document)
        # As in MCP 2025-03-26, which knew no such metadata: the server is its own authorization server.
        parts = urlsplit(self.server)
        return ProtectedResource(
            self.server.partition("?")[0], (self._issuer or f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}",)
        )

    async def find_issuer(self, issuer: str) -> AuthorizationServer:
        """The metadata of an authorization server."""
        discovery.check_url(issuer, "the authorization server", is_local=self._is_local)
        for url in discovery.authorization_server_urls(issuer):
            document = await self._document(url)
            if document is not None:
                return discovery.parse_authorization_server(
                    issuer, document, is_local=self._is_local, trusted_origins=self._trusted_origins
                )
        raise failure(f"the authorization server {issuer[:200]} has no metadata where they should be")

    async def _document(self, url: str) -> dict[str, Any] | None:
        status, answer = await self._send(HTTPRequest("GET", url, {"accept": "application/json"}))
        if status >= 500:  # there may be some, later
            raise ConnectionError(f"the metadata at {url} cannot be got: HTTP {status}")
        if status != 200:
            log.debug("there are no OAuth metadata", url=url, status=status)
            return None
        return answer

    async def post_json(self, url: str, value: Mapping[str, Any]) -> tuple[int, dict[str, Any]]:
        """Status and body of the answer to JSON."""
        headers = {"accept": "application/json", "content-type": "application/json"}
        return await self._send(HTTPRequest("POST", url, headers, _json.dumps(value)))

    async def post_form(
        self, url: str, form: Mapping[str, str], headers: Mapping[str, str]
    ) -> tuple[int, dict[str, Any]]:
        """Status and body of the answer to a form."""
        own = {"accept": "application/json", "content-type": "application/x-www-form-urlencoded"}
        return await self._send(HTTPRequest("POST", url, {**own, **headers}, urlencode(form).encode()))

    async def _send(self, request: HTTPRequest) -> tuple[int, dict[str, Any]]:
        """Redirects are not followed: what is sent here is for nobody else."""
        with rt.fail_at(Deadline(REQUEST_SECONDS, f"the request to {request.url.partition('?')[0]}")):
            response = await self._client.send(request)
            body = await read_body(response)
        try:
            answer = _json.loads(body)
        except ValueError:
            answer = None
        return response.status, answer if isinstance(answer, dict) else {}

    async def close(self) -> None:
        """Close the connections; more can be made."""
        await self._client.close()


def check_setting(url: object, name: str) -> None:
    """Refuse a URL to which no secret should go.

    Raises:
        BuildError: It has no TLS, and is not on this machine.
    """
    origin = discovery.origin_of(url) if isinstance(url, str) else None
    if origin is None or (origin[0] != "https" and not discovery.is_loopback(str(url))):
        raise BuildError(f"{name} must be an https URL (http only on this machine), not {url!r}")
