"""Proxies, as the usual environment variables (and the system's settings, where it has them) name them.

`HTTP_PROXY`, `HTTPS_PROXY` and `ALL_PROXY` say which proxy is used, `NO_PROXY` for which hosts none is; lower-case
names too. The rules are those of the standard library, which httpx follows as well.
"""

from __future__ import annotations

import base64
import os
import sys
from collections.abc import Callable
from urllib.parse import unquote, urlsplit

from attrs import field, frozen

from .errors import ConnectionError

__all__ = ["Proxy", "environment_proxies"]

DEFAULT_PORTS = {"http": 80, "https": 443}


@frozen
class Proxy:
    """A proxy for HTTP.

    Attributes:
        scheme: "http", or "https" for TLS to the proxy itself.
        host: Where it is.
        port: On which port.
        authorization: Value of the `Proxy-Authorization` header, if it wants one.
    """

    scheme: str
    host: str
    port: int
    authorization: str | None = field(default=None, repr=False)


def environment_proxies() -> Callable[[str, str], Proxy | None]:
    """The proxies as the environment names them now: a function of scheme and host.

    It raises `ConnectionError` for a proxy of a kind that kova does not speak to.
    """
    if sys.platform not in ("darwin", "win32") and not any(name.lower().endswith("_proxy") for name in os.environ):
        return lambda scheme, host: None
    from urllib.request import getproxies, proxy_bypass  # dear to import, and needed by few

    proxies = getproxies()

    def proxy_for(scheme: str, host: str) -> Proxy | None:
        url = proxies.get(scheme) or proxies.get("all")
        return None if not url or proxy_bypass(host) else _proxy(url)

    return proxy_for


def _proxy(url: str) -> Proxy:
    parts = urlsplit(url if "://" in url else f"http://{url}")
    if parts.scheme not in DEFAULT_PORTS or not parts.hostname:
        raise ConnectionError(
            f"cannot use a proxy of the kind {parts.scheme!r}: give the provider an http_client that can"
        )
    authorization = None
    if parts.username is not None:
        pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
        authorization = f"Basic {base64.b64encode(pair.encode()).decode()}"
    return Proxy(parts.scheme, parts.hostname, parts.port or DEFAULT_PORTS[parts.scheme], authorization)
