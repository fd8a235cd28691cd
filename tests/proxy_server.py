"""A proxy on this machine: passes requests on, tunnels CONNECT, and notes what it was asked for."""

from __future__ import annotations

import socket
import threading
from typing import Self
from urllib.parse import urlsplit

from tests.server import wake


class ProxyServer:
    """Serves until its with block is left.

    Attributes:
        asked: The first line of every request.
        authorizations: The credentials in every request, None where there were none.
    """

    def __init__(self, *, refuse: bool = False) -> None:
        self.asked: list[str] = []
        self.authorizations: list[str | None] = []
        self._refuse = refuse
        self._sockets: set[socket.socket] = set()
        self._threads: list[threading.Thread] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._listener.getsockname()[1]}"

    def __enter__(self) -> Self:
        self._start(self._accept)
        return self

    def __exit__(self, *exc_info: object) -> None:
        for sock in (self._listener, *self._sockets):
            wake(sock)
        self._listener.close()
        for thread in list(self._threads):
            thread.join(5)

    def _start(self, target: object, *args: object) -> None:
        thread = threading.Thread(target=target, args=args, daemon=True)  # type: ignore[arg-type]
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            self._sockets.add(client)
            self._start(self._serve, client)

    def _serve(self, client: socket.socket) -> None:
        with client:
            head = b""
            while b"\r\n\r\n" not in head:
                data = client.recv(65536)
                if not data:
                    return
                head += data
            first, *lines = head.partition(b"\r\n\r\n")[0].decode().split("\r\n")
            headers = dict(line.lower().split(": ", 1) for line in lines)
            self.asked.append(first)
            self.authorizations.append(headers.get("proxy-authorization"))
            method, target, _ = first.split()
            if self._refuse:
                client.sendall(b"HTTP/1.1 407 Proxy Authentication Required\r\ncontent-length: 0\r\n\r\n")
                return
            parts = urlsplit(f"//{target}" if method == "CONNECT" else target)
            assert parts.hostname is not None
            with socket.create_connection((parts.hostname, parts.port or 80)) as upstream:
                self._sockets.add(upstream)
                if method == "CONNECT":
                    client.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
                else:
                    path = target.partition("//")[2].partition("/")[2]
                    upstream.sendall(head.replace(target.encode(), f"/{path}".encode(), 1))
                self._start(copy, upstream, client)
                copy(client, upstream)


def copy(source: socket.socket, target: socket.socket) -> None:
    """Pass on what comes, to the end."""
    try:
        while data := source.recv(65536):
            target.sendall(data)
    except OSError:
        pass
    wake(source)
    wake(target)
