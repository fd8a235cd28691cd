"""A model server on this machine: real sockets, answered by the functions that a test gives it.

    with ModelServer() as server:
        server.play(text("Hello"), calls(("add", {"a": 1, "b": 2})))

Each request is answered by the next of the played answers; an answer is a function that gets the `Exchange`.
"""

from __future__ import annotations

import contextlib
import json
import queue
import re
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from typing import Any, BinaryIO, Self, TypeAlias

Answer: TypeAlias = Callable[["Exchange"], None]

DISCONNECT_LIMIT = 10.0  # seconds for which an exchange waits for the client to go away


class Exchange:
    """One request, and the means to answer it."""

    def __init__(self, connection: socket.socket, method: str, target: str, headers: dict[str, str], body: bytes):
        self.connection = connection
        self.method = method
        self.target = target
        self.headers = headers
        self.body = body
        self.disconnected = threading.Event()

    def json(self) -> Any:
        """The request's body."""
        return json.loads(self.body)

    def send_raw(self, data: bytes) -> None:
        self.connection.sendall(data)

    def send_head(self, status: int = 200, headers: Mapping[str, str] | None = None) -> None:
        lines = [f"HTTP/1.1 {status} Status", *(f"{name}: {value}" for name, value in (headers or {}).items())]
        self.send_raw(("\r\n".join(lines) + "\r\n\r\n").encode())

    def send_json(self, value: object, status: int = 200, headers: Mapping[str, str] | None = None) -> None:
        body = json.dumps(value).encode()
        own = {"content-type": "application/json", "content-length": str(len(body))}
        self.send_head(status, {**own, **(headers or {})})
        self.send_raw(body)

    def start_stream(self) -> None:
        self.send_head(200, {"content-type": "text/event-stream", "transfer-encoding": "chunked"})

    def send_chunk(self, data: bytes) -> None:
        self.send_raw(b"%x\r\n%b\r\n" % (len(data), data))

    def send_event(self, value: object) -> None:
        self.send_chunk(b"data: " + json.dumps(value).encode() + b"\n\n")

    def send_delta(self, delta: Mapping[str, object], finish: str | None = None, **more: object) -> None:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        self.send_event({"id": "c", "object": "chat.completion.chunk", "model": "m", "choices": [choice], **more})

    def end_stream(self) -> None:
        self.send_chunk(b"data: [DONE]\n\n")
        self.send_raw(b"0\r\n\r\n")

    def wait_for_disconnect(self) -> bool:
        """Wait until the client has closed the connection; False if it does not."""
        self.connection.settimeout(DISCONNECT_LIMIT)
        try:
            while self.connection.recv(4096):
                pass
        except TimeoutError:
            return False
        except OSError:
            pass
        self.disconnected.set()
        return True


class ModelServer:
    """Serves until its with block is left.

    Attributes:
        exchanges: All requests so far.
        connections: Number of connections that clients have made.
    """

    def __init__(self) -> None:
        self.exchanges: list[Exchange] = []
        self.connections = 0
        self._answers: queue.SimpleQueue[Answer] = queue.SimpleQueue()
        self._default: Answer | None = None
        self._open: set[socket.socket] = set()
        self._threads: list[threading.Thread] = []
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=512)
        self.port = self._listener.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"

    def play(self, *answers: Answer) -> None:
        """Answer the next requests like this, one after the other."""
        for answer in answers:
            self._answers.put(answer)

    def forget(self) -> None:
        """Drop what was to be played."""
        self._answers = queue.SimpleQueue()

    def always(self, answer: Answer) -> None:
        """Answer every request for which nothing was played like this."""
        self._default = answer

    @property
    def last(self) -> Exchange:
        return self.exchanges[-1]

    def __enter__(self) -> Self:
        self._start(self._accept)
        return self

    def __exit__(self, *exc_info: object) -> None:
        wake(self._listener)
        self._listener.close()
        for connection in list(self._open):
            wake(connection)
        for thread in self._threads:
            thread.join(5)

    def _start(self, target: Callable[..., None], *args: object) -> None:
        thread = threading.Thread(target=target, args=args, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.connections += 1
            self._open.add(connection)
            self._start(self._serve, connection)

    def _serve(self, connection: socket.socket) -> None:
        try:
            with connection, connection.makefile("rb") as stream:
                while exchange := read_request(connection, stream):
                    self.exchanges.append(exchange)
                    self._answer()(exchange)
        except OSError:
            pass  # the client went away, which is its right
        finally:
            self._open.discard(connection)

    def _answer(self) -> Answer:
        try:
            return self._answers.get_nowait()
        except queue.Empty:
            return self._default or unexpected


def unexpected(exchange: Exchange) -> None:
    exchange.send_json({"error": {"message": "the test has no answer for this request"}}, status=400)


def read_request(connection: socket.socket, stream: BinaryIO) -> Exchange | None:
    line = stream.readline().decode("latin-1").split()
    if len(line) != 3:
        return None
    headers: dict[str, str] = {}
    while header := stream.readline().decode("latin-1").strip():
        name, _, value = header.partition(":")
        headers[name.strip().lower()] = value.strip()
    body = stream.read(int(headers.get("content-length", 0)))
    return Exchange(connection, line[0], line[1], headers, body)


@contextlib.contextmanager
def greeter() -> Iterator[int]:
    """A port where a greeting is all that one gets: neither HTTP nor TLS."""

    def greet() -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = listener.accept()
                with connection:
                    connection.sendall(b"220 mail.example.org ESMTP\r\n")
                    connection.recv(65536)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=greet, daemon=True)
        thread.start()
        yield listener.getsockname()[1]
        wake(listener)
        thread.join(5)


def wake(sock: socket.socket) -> None:
    try:
        sock.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass


# ---- answers in OpenAI's format; each is given as a stream if a stream was asked for

USAGE = {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}


def text(content: str, *, usage: Mapping[str, int] | None = USAGE) -> Answer:
    """An answer of plain text."""
    return message(content, (), "stop", usage)


def calls(*wanted: tuple[str, object], content: str = "", usage: Mapping[str, int] | None = USAGE) -> Answer:
    """An answer that calls tools, given by name and arguments (an object, or the raw text of it)."""
    return message(content, wanted, "tool_calls", usage)


def message(
    content: str, wanted: tuple[tuple[str, object], ...], finish: str, usage: Mapping[str, int] | None
) -> Answer:
    entries = [
        {
            "index": index,
            "id": f"call_{index}",
            "type": "function",
            "function": {"name": name, "arguments": args if isinstance(args, str) else json.dumps(args)},
        }
        for index, (name, args) in enumerate(wanted)
    ]

    def answer(exchange: Exchange) -> None:
        if exchange.json().get("stream"):
            exchange.start_stream()
            for piece in pieces(content):
                exchange.send_delta({"content": piece})
            for entry in entries:
                exchange.send_delta({"tool_calls": [entry]})
            exchange.send_delta({}, finish)
            if usage:
                exchange.send_event({"id": "c", "model": "m", "choices": [], "usage": usage})
            exchange.end_stream()
            return
        choice = {"role": "assistant", "content": content or None}
        if entries:
            choice["tool_calls"] = entries  # type: ignore[assignment]
        choices = [{"index": 0, "message": choice, "finish_reason": finish}]
        exchange.send_json({"id": "c", "model": "m", "choices": choices, **({"usage": usage} if usage else {})})

    return answer


def pieces(content: str) -> list[str]:
    """The text in words, each with the space after it."""
    return [word for word in re.split(r"(?<= )", content) if word]


def error(status: int, body: str = "broken", headers: Mapping[str, str] | None = None) -> Answer:
    """An error with the given message."""
    return lambda exchange: exchange.send_json({"error": {"message": body}}, status, headers)
