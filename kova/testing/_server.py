"""A model server on this machine: real sockets, plain threads, answers from a script."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from types import TracebackType
from typing import ClassVar, Self, TypeAlias

from .._script import Answer, Part, Script, checked
from ..errors import KovaError
from ..responses import ModelInfo
from ._exchange import Exchange
from ._playing import models_body

__all__ = ["ModelServer", "ServerAnswer"]

ServerAnswer: TypeAlias = Answer | Callable[[Exchange], Answer | Iterator[Part] | None]

JOIN_SECONDS = 5.0  # for answers that are being given when the server ends


class ModelServer(Script[Exchange, ServerAnswer]):
    """A server that plays a script, from the beginning of its with block to the end.

    It answers in the wire format of the API that it is asked for (OpenAI's chat completions, Anthropic's messages,
    Gemini, Ollama, Bedrock's Converse), streamed or complete as the request wants it. A
    ProviderError of a script is sent as an answer with its status, or as an error in the middle of a stream; a
    ConnectionError ends the connection; a Delay is silence, which ends early when the client leaves.

    An answer may also be a function, which is called with the `Exchange` in a thread of the server. What it gives is
    played: any answer, or an iterator, whose parts are sent as they come; None means that it has answered by itself.

    What such a function raises, and a request for which there is no answer, fail that request, and are raised when
    the block is left.

    Args:
        answers: What to answer, one request after the other.
        models: The models that are listed to those who ask for them, beside the script. Where they are not given,
            such a request is answered from the script, by a function.

    Attributes:
        requests: All requests so far.
        connections: Number of connections that clients have made.
        url: The base URL for a provider.
        port: The port of it.
    """

    _exchange_type: ClassVar[type[Exchange]] = Exchange

    def __init__(self, *answers: ServerAnswer, models: Sequence[ModelInfo] | None = None) -> None:
        super().__init__(answers)
        self.connections: int = 0
        self._models = models
        self._failures: list[BaseException] = []
        self._open: set[socket.socket] = set()
        self._threads: list[threading.Thread] = []
        self._is_over = False
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=512)
        self.port: int = self._listener.getsockname()[1]
        self.url: str = f"http://127.0.0.1:{self.port}"

    def __enter__(self) -> Self:
        self._acceptor = self._start(self._accept, self._listener)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._is_over = True
        socket.create_connection(("127.0.0.1", self.port), JOIN_SECONDS).close()  # ends the wait for the next one
        self._acceptor.join(JOIN_SECONDS)
        self._listener.close()
        for connection in list(self._open):
            _wake(connection)
        for thread in list(self._threads):
            thread.join(JOIN_SECONDS)
        if error is None and self._failures:
            raise self._failures[0]

    def _checked(self, answer: ServerAnswer) -> ServerAnswer:
        return answer if callable(answer) else checked(answer)

    def _start(self, serve: Callable[[socket.socket], None], sock: socket.socket) -> threading.Thread:
        def run() -> None:
            try:
                serve(sock)
            except OSError:
                pass  # the client has gone, or the server ends
            finally:
                self._threads.remove(threading.current_thread())

        thread = threading.Thread(target=run, name="model-server", daemon=True)
        self._threads.append(thread)
        thread.start()
        return thread

    def _accept(self, listener: socket.socket) -> None:
        while True:
            connection, _ = listener.accept()
            if self._is_over:
                connection.close()
                return
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.connections += 1
            self._open.add(connection)
            self._start(self._serve, connection)

    def _serve(self, connection: socket.socket) -> None:
        try:
            with connection, connection.makefile("rb") as stream:
                while (exchange := self._exchange_type.read(connection, stream)) is not None:
                    self._reply(exchange)
        finally:
            self._open.discard(connection)

    def _reply(self, exchange: Exchange) -> None:
        try:
            if not self._list_models(exchange):
                self._play(exchange, self._take(exchange))
        except BaseException as error:  # pytest.fail in a function is no Exception
            if not _client_has_gone(error):
                self._failures.append(error)
                if not exchange.has_begun:
                    exchange.send_error(400, f"{type(error).__name__}: {error}")  # a status that is not retried
            exchange.disconnect()

    def _list_models(self, exchange: Exchange) -> bool:
        body = None if self._models is None else models_body(exchange, self._models)
        if body is None:
            return False
        self.requests.append(exchange)
        exchange.send_json(body)
        return True

    def _play(self, exchange: Exchange, answer: ServerAnswer) -> None:
        given = answer(exchange) if callable(answer) else answer
        if given is not None:
            exchange.play(given)


def _client_has_gone(error: BaseException) -> bool:
    """Whether it is a socket's error, which comes when the client has ended the connection, as it may."""
    is_of_function = isinstance(error, (KovaError, TimeoutError))  # which may be OSErrors as well
    return isinstance(error, OSError) and error.filename is None and not is_of_function


def _wake(sock: socket.socket) -> None:
    """End what waits for a socket."""
    try:
        sock.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass
