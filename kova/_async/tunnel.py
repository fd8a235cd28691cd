"""A way through a proxy to a host that speaks TLS: the CONNECT request of HTTP/1.1."""

from __future__ import annotations

import h11

from .._proxies import Proxy
from .._signals import raise_if_from_a_signal
from .._wire.http_faults import fault_text
from ..errors import ConnectionError
from .network import AsyncNetworkStream

__all__ = ["open_tunnel"]


async def open_tunnel(stream: AsyncNetworkStream, proxy: Proxy, host: str, port: int) -> None:
    """Make the proxy at the other end of the stream pass on what follows to host and port.

    Raises:
        ConnectionError: The proxy refuses, or what it says is not HTTP.
    """
    http = h11.Connection(h11.CLIENT)
    target = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    headers = [("host", target)]
    if proxy.authorization is not None:
        headers.append(("proxy-authorization", proxy.authorization))
    try:
        await stream.write(http.send(h11.Request(method="CONNECT", target=target, headers=headers)) or b"")
        while not isinstance(event := http.next_event(), h11.Response):
            if event is h11.NEED_DATA:
                http.receive_data(await stream.read())
    except OSError as error:
        raise_if_from_a_signal(error)
        raise ConnectionError(f"the proxy {proxy.host}:{proxy.port} failed: {error}") from error
    except h11.RemoteProtocolError as error:
        raise ConnectionError(f"the proxy {proxy.host}:{proxy.port} failed: {fault_text(error)}") from None
    if not 200 <= event.status_code < 300:
        raise ConnectionError(f"the proxy {proxy.host}:{proxy.port} refused to connect: HTTP {event.status_code}")
