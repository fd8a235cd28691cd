"""Clients that go away while a WSGI server waits for a model.

A WSGI server learns that the client has gone when it writes to it, so a model that says nothing would think on for
nobody. gunicorn gives the client's socket to the application (`gunicorn.socket`): one thread looks now and then at
those of the turns that are running, and ends with the last of them. It only peeks, and so takes nothing from the server;
for the same reason it cannot see an end behind something that the server has not read, such as TLS's own farewell.
"""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from ..._forks import renew_in_children
from ...cancellation import CancellationToken

__all__ = ["cancel_when_gone"]

PAUSE = 0.2  # seconds from one look to the next


@contextmanager
def cancel_when_gone(client: socket.socket | None, cancel: CancellationToken) -> Iterator[None]:
    """A block in which the token is cancelled when the client has ended its connection.

    Args:
        client: The connection to it; None where the server gives none, and nothing is done.
        cancel: The token.
    """
    if client is None:
        yield
        return
    peephole = _peephole(client)
    _clients.add(peephole, cancel)
    try:
        yield
    finally:
        _clients.remove(peephole)


class _Clients:
    """The clients that are watched, and the thread that does it."""

    def __init__(self) -> None:
        self.renew()
        renew_in_children(self)

    def renew(self) -> None:
        self._watched: dict[socket.socket, CancellationToken] = {}
        self._lock = threading.Lock()
        self._is_running = False

    def add(self, peephole: socket.socket, cancel: CancellationToken) -> None:
        with self._lock:
            self._watched[peephole] = cancel
            if not self._is_running:
                self._is_running = True
                threading.Thread(target=self._watch, name="kova-clients", daemon=True).start()

    def remove(self, peephole: socket.socket) -> None:
        with self._lock:
            self._watched.pop(peephole, None)
            peephole.close()

    def _watch(self) -> None:
        pause = threading.Event()
        while True:
            pause.wait(PAUSE)
            with self._lock:
                if not self._watched:
                    self._is_running = False
                    return
                gone = [peephole for peephole in self._watched if _is_gone(peephole)]
                tokens = [self._watched.pop(peephole) for peephole in gone]
            for token in tokens:
                token.cancel("the client has gone")


_clients = _Clients()


def _peephole(client: socket.socket) -> socket.socket:
    """Another handle of a connection, by which a look never waits, whether the server's own handle does or not."""
    peephole = socket.socket(client.family, client.type, client.proto, os.dup(client.fileno()))
    if not os.get_blocking(peephole.fileno()):
        peephole.settimeout(0)  # gevent would wait otherwise
    return peephole


def _is_gone(peephole: socket.socket) -> bool:
    try:
        return peephole.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT) == b""
    except BlockingIOError:
        return False
    except OSError:
        return True
