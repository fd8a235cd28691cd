"""Where tokens for a server come from: its own metadata (RFC 9728), and those of its authorization server (RFC 8414).

S2: what these documents name is used only as far as the user's configured server may decide it. Its own metadata are
read from its own origin; they name the authorization server, whose metadata must be those of exactly that issuer; and
its endpoints, which are sent codes and secrets, must be of the issuer's origin, or of one that the user trusts.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from attrs import frozen

from ..errors import ConnectionError

__all__ = [
    "AuthorizationServer",
    "ProtectedResource",
    "authorization_server_urls",
    "check_url",
    "failure",
    "is_loopback",
    "origin_of",
    "parse_authorization_server",
    "parse_protected_resource",
    "resource_metadata_urls",
]

DEFAULT_PORTS = {"http": 80, "https": 443}


@frozen
class ProtectedResource:
    """What a server says of itself.

    Attributes:
        resource: Its name, for the `resource` parameter of requests for tokens (RFC 8707).
        issuers: The authorization servers that give tokens for it.
        scopes: The scopes that basic use of it needs; None where it does not say.
    """

    resource: str
    issuers: tuple[str, ...]
    scopes: tuple[str, ...] | None = None


@frozen
class AuthorizationServer:
    """What an authorization server says of itself.

    Attributes:
        issuer: Its name.
        authorization_endpoint: Where users grant access, in their browser.
        token_endpoint: Where tokens are got.
        registration_endpoint: Where clients register themselves, if they can.
        auth_methods: How clients may show who they are at the token endpoint; None where it does not say.
        scopes: The scopes that it knows; None where it does not say.
        has_pkce: Whether it takes PKCE with S256.
        takes_metadata_urls: Whether a client's id may be the URL of a document about it.
        names_itself: Whether it puts its name into its redirects (RFC 9207).
    """

    issuer: str
    authorization_endpoint: str | None
    token_endpoint: str
    registration_endpoint: str | None
    auth_methods: tuple[str, ...] | None
    scopes: tuple[str, ...] | None
    has_pkce: bool
    takes_metadata_urls: bool
    names_itself: bool


def failure(message: str) -> ConnectionError:
    """An error of authorization, which another attempt does not mend."""
    error = ConnectionError(message)
    error.is_retryable = False
    return error


def origin_of(url: str) -> tuple[str, str, int] | None:
    """Scheme, host and port of a URL; None for what is no HTTP URL."""
    try:
        parts = urlsplit(url)
        if parts.scheme not in DEFAULT_PORTS or not parts.hostname:
            return None
        return parts.scheme, parts.hostname, parts.port or DEFAULT_PORTS[parts.scheme]
    except ValueError:
        return None


def is_loopback(url: str) -> bool:
    """Whether a URL leads to this machine itself."""
    host = urlsplit(url).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


# ---- the server


def resource_metadata_urls(server: str, named: str | None) -> list[str]:
    """Where the server's metadata are looked for, in this order.

    Args:
        server: The server's URL, as the user has configured it.
        named: The URL in its challenge; it counts only if it is of the same origin.
    """
    if named is not None and origin_of(named) == origin_of(server):
        return [named]
    parts = urlsplit(server)
    known = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}/.well-known/oauth-protected-resource"
    path = parts.path.rstrip("/")
    return [known + path, known] if path else [known]


def parse_protected_resource(server: str, document: Mapping[str, Any]) -> ProtectedResource:
    """The server's metadata.

    Raises:
        ConnectionError: They are for another server, or name no authorization server.
    """
    resource = document.get("resource")
    if not isinstance(resource, str) or not _covers(resource, server):
        raise failure(f"the metadata at {_shown(server)} are for another server: {str(resource)[:200]!r}")
    issuers = _texts(document.get("authorization_servers"))
    if not issuers:
        raise failure(f"{_shown(server)} names no authorization server")
    return ProtectedResource(resource, issuers, _texts(document.get("scopes_supported")))


def _covers(resource: str, server: str) -> bool:
    """Whether a resource is the server itself, or a path above it."""
    above, path = urlsplit(resource).path.rstrip("/"), urlsplit(server).path.rstrip("/")
    return origin_of(resource) == origin_of(server) and (path == above or path.startswith(above + "/"))


# ---- its authorization server


def authorization_server_urls(issuer: str) -> list[str]:
    """Where an authorization server's metadata are looked for, in this order."""
    parts = urlsplit(issuer)
    root, path = f"{parts.scheme}://{parts.netloc}", parts.path.rstrip("/")
    urls = [f"{root}/.well-known/oauth-authorization-server{path}", f"{root}/.well-known/openid-configuration{path}"]
    return [*urls, f"{root}{path}/.well-known/openid-configuration"] if path else urls


def parse_authorization_server(
    issuer: str, document: Mapping[str, Any], *, is_local: bool, trusted_origins: Sequence[str] = ()
) -> AuthorizationServer:
    """An authorization server's metadata.

    Args:
        issuer: The authorization server as it was named.
        document: What it says of itself.
        is_local: Whether the user's server is on this machine, so that this one may be too, and need not have TLS.
        trusted_origins: Further origins that its endpoints may have.

    Raises:
        ConnectionError: It is another one's, or an endpoint is not to be trusted.
    """
    if document.get("issuer") != issuer:
        raise failure(f"the metadata of {issuer} are those of another issuer: {str(document.get('issuer'))[:200]!r}")
    trusted = {origin_of(issuer), *map(origin_of, trusted_origins)}

    def endpoint(name: str, *, in_browser: bool = False) -> str | None:
        url = document.get(name)
        if url is None:
            return None
        check_url(str(url), f"the {name} of {issuer}", is_local=is_local)
        if not in_browser and origin_of(str(url)) not in trusted:
            raise failure(
                f"the {name} of {issuer} is of another origin, {str(url)[:200]!r}, and is sent nothing: "
                "name that origin in trusted_origins if it is right"
            )
        return str(url)

    token_endpoint = endpoint("token_endpoint")
    if token_endpoint is None:
        raise failure(f"{issuer} names no token_endpoint")
    return AuthorizationServer(
        issuer,
        endpoint("authorization_endpoint", in_browser=True),
        token_endpoint,
        endpoint("registration_endpoint"),
        _texts(document.get("token_endpoint_auth_methods_supported")),
        _texts(document.get("scopes_supported")),
        "S256" in (_texts(document.get("code_challenge_methods_supported")) or ()),
        document.get("client_id_metadata_document_supported") is True,
        document.get("authorization_response_iss_parameter_supported") is True,
    )


def check_url(url: str, what: str, *, is_local: bool) -> None:
    """Refuse a URL without TLS. One that leads to this machine needs none, if the user's own server is here too."""
    origin = origin_of(url)
    if origin is None:
        raise failure(f"{what} is no http or https URL: {url[:200]!r}")
    if is_loopback(url):
        if not is_local:
            raise failure(f"{what} leads to this machine: {url[:200]!r}")
    elif origin[0] != "https":
        raise failure(f"{what} is not https: {url[:200]!r}")


def _texts(value: object) -> tuple[str, ...] | None:
    if not isinstance(value, list):
        return None
    return tuple(item for item in value if isinstance(item, str))


def _shown(url: str) -> str:
    return url.partition("?")[0]
