"""An MCP server over HTTP that does what a test says, on real sockets.

    with MCPHTTPServer() as server:
        server.on("tools/call", lambda exchange: exchange.answer({"content": []}))

What is not said is answered as a good server does: `initialize` gives a session, notifications get a 202, a GET a 405.
"""

from __future__ import annotations

import itertools
import json
import threading
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from kova import testing as kt
from kova._mcp.calls import Call, Patience
from kova._mcp.jsonrpc import Message

Answer: TypeAlias = "Callable[[Exchange], None]"

SESSION = "session-1"
VERSION = "2025-11-25"


class Exchange(kt.Exchange):
    """One request to the server, and the means to answer it."""

    @property
    def message(self) -> Message:
        """The JSON-RPC message that was posted."""
        message: Message = self.json()
        return message

    @property
    def kind(self) -> str:
        """The JSON-RPC method of a POST ("answer" for an answer), else the HTTP method."""
        return self.message.get("method", "answer") if self.method == "POST" else self.method

    def answer(self, result: Mapping[str, Any], **headers: str) -> None:
        """Answer the call with JSON."""
        self.send_json(self.result(result), 200, {name.replace("_", "-"): value for name, value in headers.items()})

    def result(self, result: Mapping[str, Any], id: object = None) -> Message:
        return {"jsonrpc": "2.0", "id": self.message["id"] if id is None else id, "result": result}

    def refuse(self, status: int, code: int = -32000, message: str = "no", id: object = None, **headers: str) -> None:
        """Answer with an error status and a JSON-RPC error."""
        body = {"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}}
        self.send_json(body, status, {name.replace("_", "-"): value for name, value in headers.items()})

    def send_status(self, status: int, **headers: str) -> None:
        """Answer with a status and no body."""
        more = {name.replace("_", "-"): value for name, value in headers.items()}
        self.send_head(status, {"content-length": "0", **more})

    def send_event(self, message: object, **fields: str) -> None:
        """Send an event of a stream, with `id`, `event` and `retry` as they are given; a text is sent as it is."""
        data = message if isinstance(message, str) else json.dumps(message)
        lines = [f"{name}: {value}" for name, value in fields.items()] + [f"data: {data}"]
        self.send_chunk(("\n".join(lines) + "\n\n").encode())

    def progress(self, progress: float, token: object = None) -> Message:
        token = self.message["id"] if token is None else token
        params = {"progressToken": token, "progress": progress}
        return {"jsonrpc": "2.0", "method": "notifications/progress", "params": params}

    def stream(self, *messages: object) -> None:
        """Answer with a whole stream of these messages."""
        self.start_chunks()
        for message in messages:
            self.send_event(message)
        self.end_chunks()


class MCPHTTPServer(kt.ModelServer):
    """Answers each kind of request (see `Exchange.kind`) as the test has said; the last answer to a kind is kept."""

    _exchange_type = Exchange

    def __init__(self) -> None:
        super().__init__()
        self.url = f"http://127.0.0.1:{self.port}/mcp"
        self._answers: dict[str, deque[Answer]] = {}

    def on(self, kind: str, *answers: Answer) -> None:
        """Answer requests of that kind like this, one after the other; the last answer is given for ever."""
        self._answers[kind] = deque(answers)

    def of(self, kind: str) -> list[Exchange]:
        """The requests of that kind so far."""
        exchanges: list[Exchange] = list(self.requests)  # type: ignore[arg-type]
        return [exchange for exchange in exchanges if exchange.kind == kind]

    def _take(self, exchange: kt.Exchange) -> Any:
        assert isinstance(exchange, Exchange)
        with self._lock:
            self.requests.append(exchange)
            answers = self._answers.get(exchange.kind, deque([usual]))
            return answers.popleft() if len(answers) > 1 else answers[0]


def usual(exchange: Exchange) -> None:
    """What a good server answers."""
    if exchange.kind == "initialize":
        result = {"protocolVersion": VERSION, "capabilities": {}, "serverInfo": {"name": "s", "version": "1"}}
        exchange.answer(result, mcp_session_id=SESSION)
    elif exchange.method == "POST":
        exchange.answer({}) if "id" in exchange.message and "method" in exchange.message else exchange.send_status(202)
    else:
        exchange.send_status(405)


def hang(exchange: Exchange) -> None:
    """Never answer."""
    exchange.wait_for_disconnect()


class Seen:
    """A receiver that keeps what it is given."""

    def __init__(self) -> None:
        self.messages: list[Message] = []
        self.arrived = threading.Event()

    def __call__(self, message: Message) -> None:
        self.messages.append(message)
        self.arrived.set()

    @property
    def methods(self) -> list[str]:
        return [message["method"] for message in self.messages]


_ids = itertools.count(1)


def call(method: str = "tools/call", params: Mapping[str, Any] | None = None, **headers: str) -> Call:
    """A call of which nothing but the method matters."""
    patience = Patience(method, 30.0, 60.0)
    return Call(next(_ids), method, params, patience, {name.replace("_", "-"): text for name, text in headers.items()})


NOTE: Message = {"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": "hello"}}
PING: Message = {"jsonrpc": "2.0", "id": "s1", "method": "ping"}
