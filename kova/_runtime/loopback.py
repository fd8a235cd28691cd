"""A tiny web server on this machine that waits for one visit of the user's browser. It blocks: give it a worker."""

from __future__ import annotations

import selectors
import socket
import threading
from collections.abc import Callable
from http import HTTPStatus
from urllib.parse import parse_qsl, urlsplit

from ..cancellation import CancellationToken

__all__ = ["LoopbackListener"]

HOST = "127.0.0.1"
MAX_REQUEST = 65_536  # bytes of a request's head
MAX_CONNECTIONS = 32  # browsers open some that they never use
LONGEST_SEND = 2.0  # seconds


class LoopbackListener:
    """Listens at an address of this machine only, from its making on.

    Args:
        path: The path that the browser will come to.
        port: The port; 0 for any that is free.

    Raises:
        OSError: The port is taken.
    """

    def __init__(self, path: str, port: int = 0) -> None:
        self._path = path
        self._listener = socket.create_server((HOST, port), backlog=MAX_CONNECTIONS)
        self._listener.setblocking(False)
        self._waker, self._wakened = socket.socketpair()
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._listener, selectors.EVENT_READ)
        self._selector.register(self._wakened, selectors.EVENT_READ)
        self._open: dict[socket.socket, bytes] = {}  # connections, and what has come on them
        self._lock = threading.Lock()
        self._is_waiting = False
        self._is_closed = False
        self.url = f"http://{HOST}:{self._listener.getsockname()[1]}{path}"

    def wait(self, accept: Callable[[dict[str, str]], str | None], stop: CancellationToken) -> dict[str, str] | None:
        """The query of the first visit that is accepted; None when it was told to stop, or closed.

        Args:
            accept: Gives the text that the visitor sees, or None for a visit that is none of ours.
            stop: Ends the wait, from any thread.
        """
        with self._lock:
            if self._is_closed:
                return None
            self._is_waiting = True
        forget = stop.add_callback(self._wake)
        try:
            while not stop.is_cancelled and not self._is_closed:
                for key, _ in self._selector.select():
                    connection = key.data
                    if key.fileobj is self._listener:
                        self._accept()
                    elif connection in self._open and (query := self._read(connection, accept)) is not None:
                        return query  # one that is not there was dropped for a newer one just now
            return None
        finally:
            forget()
            with self._lock:
                self._is_waiting = False
                if self._is_closed:
                    self._close_sockets()

    def _wake(self) -> None:
        self._waker.send(b"x")

    def _accept(self) -> None:
        try:
            connection, _ = self._listener.accept()
        except OSError:
            return  # it has gone already
        connection.setblocking(False)
        if len(self._open) == MAX_CONNECTIONS:
            self._drop(next(iter(self._open)))
        self._open[connection] = b""
        self._selector.register(connection, selectors.EVENT_READ, connection)

    def _read(self, connection: socket.socket, accept: Callable[[dict[str, str]], str | None]) -> dict[str, str] | None:
        try:
            data = connection.recv(MAX_REQUEST)
        except OSError:
            data = b""
        head = self._open[connection] = self._open[connection] + data
        if data and b"\r\n\r\n" not in head and len(head) < MAX_REQUEST:
            return None
        query, text = self._visit(head, accept)
        if data:
            _answer(connection, text)
        self._drop(connection)
        return query

    def _visit(
        self, head: bytes, accept: Callable[[dict[str, str]], str | None]
    ) -> tuple[dict[str, str] | None, str | None]:
        """The query of a visit that is accepted, and what the visitor sees."""
        words = head.partition(b"\r\n")[0].decode("latin-1").split()
        if len(words) != 3 or words[0] != "GET":
            return None, None
        parts = urlsplit(words[1])
        if parts.path != self._path:
            return None, None  # browsers ask for an icon, too
        query = dict(parse_qsl(parts.query, keep_blank_values=True))
        text = accept(query)
        return (None if text is None else query), text

    def _drop(self, connection: socket.socket) -> None:
        del self._open[connection]
        self._selector.unregister(connection)
        connection.close()

    def close(self) -> None:
        """Listen no longer. Never waits: sockets that a thread waits at are closed by that thread."""
        with self._lock:
            if self._is_closed:
                return
            self._is_closed = True
            if self._is_waiting:
                self._wake()
            else:
                self._close_sockets()

    def _close_sockets(self) -> None:
        self._selector.close()
        for sock in (*self._open, self._listener, self._waker, self._wakened):
            sock.close()
        self._open.clear()


def _answer(connection: socket.socket, text: str | None) -> None:
    status = HTTPStatus.NOT_FOUND if text is None else HTTPStatus.OK
    body = (text or "There is nothing here.").encode()
    head = (
        f"HTTP/1.1 {status.value} {status.phrase}\r\ncontent-type: text/plain; charset=utf-8\r\n"
        f"content-length: {len(body)}\r\ncache-control: no-store\r\nconnection: close\r\n\r\n"
    )
    try:
        connection.settimeout(LONGEST_SEND)
        connection.sendall(head.encode() + body)
        connection.shutdown(socket.SHUT_WR)
    except OSError:
        pass  # the browser did not wait
