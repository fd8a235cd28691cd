"""How requests are written in each era of the protocol."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attrs import frozen

from .._version import __version__
from .header_values import header_value
from .versions import MODERN_VERSION

__all__ = ["CLIENT_INFO", "Dialect", "Handshake", "Modern"]

CLIENT_INFO = {"name": "kova", "version": __version__}
META = "io.modelcontextprotocol/"

Params = Mapping[str, Any]


@frozen
class Handshake:
    """The protocol up to 2025-11-25: what a request needs was settled at the beginning."""

    version: str
    is_modern = False

    def params(self, params: Params | None, progress_token: int | None) -> Params | None:
        """The parameters of a request.

        Args:
            params: Its own.
            progress_token: Asks for reports of progress under this token.
        """
        if progress_token is None:
            return params
        return {**(params or {}), "_meta": {**_meta(params), "progressToken": progress_token}}


@frozen
class Modern:
    """The stateless protocol: each request says all that the server must know.

    Attributes:
        capabilities: What this client can answer.
        log_level: From which level on the server's log is wanted; None for none of it.
    """

    capabilities: Mapping[str, Any]
    log_level: str | None
    version: str = MODERN_VERSION
    is_modern = True

    def params(self, params: Params | None, progress_token: int | None) -> Params:
        """The parameters of a request.

        Args:
            params: Its own.
            progress_token: Asks for reports of progress under this token.
        """
        meta: dict[str, Any] = {
            **_meta(params),
            f"{META}protocolVersion": self.version,
            f"{META}clientInfo": CLIENT_INFO,
            f"{META}clientCapabilities": self.capabilities,
        }
        if self.log_level is not None:
            meta[f"{META}logLevel"] = self.log_level
        if progress_token is not None:
            meta["progressToken"] = progress_token
        return {**(params or {}), "_meta": meta}

    def headers(self, method: str, params: Params | None) -> dict[str, str]:
        """What HTTP transports send beside the request."""
        headers = {"mcp-protocol-version": self.version, "mcp-method": method}
        name = (params or {}).get("name", (params or {}).get("uri"))
        if isinstance(name, str):
            headers["mcp-name"] = header_value(name)
        return headers


Dialect = Handshake | Modern


def _meta(params: Params | None) -> dict[str, Any]:
    """What is said beside a request already: the span that it belongs to."""
    meta: dict[str, Any] = (params or {}).get("_meta", {})
    return meta
