"""One request to the server, and the means to answer it, from whole answers down to bytes."""

from __future__ import annotations

import math
import socket
from collections.abc import Iterator, Mapping
from typing import Any, BinaryIO, Self

from .. import _json
from .._script import Answer, Part
from ._playing import play, send_error

__all__ = ["Exchange"]

PATIENCE = 10.0  # seconds for which an exchange waits for the client to go away


class Exchange:
    """One request to a `ModelServer`, and the means to answer it.

    What sends raises the builtin ConnectionError when the client is gone; the server expects that, so that there is
    no need to catch it.

    Attributes:
        method: HTTP method.
        target: Path and query.
        headers: The headers, their names in lower case.
        body: The body.
        connection: The socket, for whatever else can be done to one.
        has_begun: Whether anything was sent yet.
    """

    def __init__(
        self, connection: socket.socket, method: str, target: str, headers: Mapping[str, str], body: bytes
    ) -> None:
        self.connection = connection
        self.method = method
        self.target = target
        self.headers = headers
        self.body = body
        self.has_begun: bool = False

    @classmethod
    def read(cls, connection: socket.socket, stream: BinaryIO) -> Self | None:
        """The next request of a connection; None at its end, or where it does not speak HTTP."""
        line = stream.readline().decode("latin-1").split()
        if len(line) != 3 or not line[2].startswith("HTTP/"):
            return None
        headers: dict[str, str] = {}
        while header := stream.readline().decode("latin-1").strip():
            name, _, value = header.partition(":")
            headers[name.strip().lower()] = value.strip()
        body = stream.read(int(headers.get("content-length", 0)))
        return cls(connection, line[0], line[1], headers, body)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.method} {self.target}>"

    @property
    def path(self) -> str:
        """The target without its query."""
        return self.target.partition("?")[0]

    def json(self) -> Any:
        """The body's value.

        Raises:
            ValueError: The body is not JSON.
        """
        return _json.loads(self.body)

    # ---- whole answers

    def play(self, answer: Answer | Iterator[Part]) -> None:
        """Answer in the API's wire format: as a stream, or complete, as the request wants it.

        Raises:
            ValueError: The request is for the list of models.
            TypeError: Something in the answer is no part of one, or cannot be said in that API.
        """
        play(self, answer)

    def send_error(self, status: int, message: str, headers: Mapping[str, str] | None = None) -> None:
        """Answer with an error in the API's wire format.

        Args:
            status: HTTP status.
            message: What the API says.
            headers: Further headers.
        """
        send_error(self, status, message, headers)

    def send_json(self, value: object, status: int = 200, headers: Mapping[str, str] | None = None) -> None:
        """Answer with JSON."""
        body = _json.dumps(value)
        own = {"content-type": "application/json", "content-length": str(len(body))}
        self.send_head(status, {**own, **(headers or {})})
        self.send_raw(body)

    # ---- piece by piece

    def send_head(self, status: int = 200, headers: Mapping[str, str] | None = None) -> None:
        """Send status and headers."""
        lines = [f"HTTP/1.1 {status} ", *(f"{name}: {value}" for name, value in (headers or {}).items())]
        self.send_raw(("\r\n".join(lines) + "\r\n\r\n").encode())

    def start_chunks(self, content_type: str = "text/event-stream") -> None:
        """Send the head of a good answer whose body comes in chunks."""
        self.send_head(200, {"content-type": content_type, "transfer-encoding": "chunked"})

    def send_chunk(self, data: bytes) -> None:
        """Send a chunk of the body."""
        self.send_raw(b"%x\r\n%b\r\n" % (len(data), data))

    def end_chunks(self) -> None:
        """End the body."""
        self.send_raw(b"0\r\n\r\n")

    def send_raw(self, data: bytes) -> None:
        """Send bytes as they are."""
        self.has_begun = True
        self.connection.sendall(data)

    # ---- faults

    def disconnect(self) -> None:
        """End the connection."""
        try:
            self.connection.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass  # the client was faster

    def wait_for_disconnect(self, timeout: float = PATIENCE) -> bool:
        """Wait until the client has ended the connection.

        Args:
            timeout: Seconds after which it is given up.

        Returns:
            Whether it has.
        """
        self.connection.settimeout(None if timeout == math.inf else timeout)
        try:
            while self.connection.recv(4096):
                pass
        except TimeoutError:
            return False
        except OSError:
            pass
        finally:
            self.connection.settimeout(None)
        return True

    def delay(self, seconds: float) -> None:
        """Be silent for some seconds.

        Raises:
            ConnectionError: The client did not wait that long.
        """
        if self.wait_for_disconnect(seconds):
            raise ConnectionResetError("the client has ended the connection")
