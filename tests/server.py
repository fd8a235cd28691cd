"""`kova.testing.ModelServer` with answers in the words of OpenAI's API, for tests that care for what is on the wire.

    with ModelServer() as server:
        server.play(text("Hello"), calls(("add", {"a": 1, "b": 2})))

An answer is a function that gets the `Exchange`. Tests of agents have no need of this: they play plain scripts.
"""

from __future__ import annotations

import contextlib
import json
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias, cast

from kova import StopEvent, StopReason, ToolUseBlock, UsageStats
from kova import testing as kt

Answer: TypeAlias = Callable[["Exchange"], object]

USAGE = {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}


class Exchange(kt.Exchange):
    """One request, and the means to answer it chunk by chunk."""

    def start_stream(self) -> None:
        self.start_chunks("text/event-stream")

    def send_event(self, value: object) -> None:
        self.send_chunk(b"data: " + json.dumps(value).encode() + b"\n\n")

    def send_delta(self, delta: Mapping[str, object], finish: str | None = None, **more: object) -> None:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        self.send_event({"id": "c", "object": "chat.completion.chunk", "model": "m", "choices": [choice], **more})

    def end_stream(self) -> None:
        self.send_chunk(b"data: [DONE]\n\n")
        self.end_chunks()


class ModelServer(kt.ModelServer):
    """Answers with these exchanges."""

    _exchange_type = Exchange

    def play(self, *answers: kt.ServerAnswer | Answer) -> None:
        super().play(*cast("tuple[kt.ServerAnswer, ...]", answers))  # the exchanges are of our own type

    def always(self, answer: kt.ServerAnswer | Answer) -> None:
        super().always(cast("kt.ServerAnswer", answer))

    @property
    def exchanges(self) -> list[Exchange]:
        return cast("list[Exchange]", self.requests)

    @property
    def last(self) -> Exchange:
        return self.exchanges[-1]

    def forget(self) -> None:
        """Drop what was to be played."""
        self._coming.clear()

    def _play(self, exchange: kt.Exchange, answer: Any) -> None:
        answer(exchange)  # what it gives back is of no interest


def text(content: str, *, usage: Mapping[str, int] | None = USAGE) -> Answer:
    """An answer of plain text."""
    return message(content, (), "stop", usage)


def calls(*wanted: tuple[str, object], content: str = "", usage: Mapping[str, int] | None = USAGE) -> Answer:
    """An answer that calls tools, given by name and arguments (an object, or the raw text of it)."""
    return message(content, wanted, "tool_calls", usage)


def message(
    content: str, wanted: tuple[tuple[str, object], ...], finish: str, usage: Mapping[str, int] | None
) -> Answer:
    """An answer with its finish reason and usage in the API's own words. Its calls are numbered from "call_0" on."""
    parts: list[kt.Part] = [content]
    for index, (name, given) in enumerate(wanted):
        raw = given if isinstance(given, str) else json.dumps(given)
        parts.append(ToolUseBlock(f"call_{index}", name, {}, invalid_arguments=raw))
    parts.append(StopEvent(StopReason.UNKNOWN, finish))
    if usage:
        parts.append(UsageStats(usage["prompt_tokens"], usage["completion_tokens"], usage["total_tokens"]))
    return lambda exchange: exchange.play(parts)


def error(status: int, body: str = "broken", headers: Mapping[str, str] | None = None) -> Answer:
    """An error with the given message."""
    return lambda exchange: exchange.send_error(status, body, headers)


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
