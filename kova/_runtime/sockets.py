"""What both runtimes do with sockets that needs no waiting."""

from __future__ import annotations

import os
import socket
from typing import Any, TypeAlias

Address: TypeAlias = tuple[int, Any]  # address family, and the address that belongs to it


class Socket(socket.socket):
    """A socket that is closed when it is dropped, and does not warn of it.

    Nobody else closes those of a loop that is gone, or the copies that a forked child has: these it may only close, as
    the connections are its parent's.
    """

    __slots__ = ("_process",)

    def __init__(self, family: int, fileno: int | None = None) -> None:
        super().__init__(family, socket.SOCK_STREAM, fileno=fileno)
        self._process = os.getpid()

    def __del__(self) -> None:
        try:
            self.close()
        except AttributeError:
            pass  # Ctrl-C came while it was being made

    def shutdown(self, how: int) -> None:
        if self._process == os.getpid():
            super().shutdown(how)


def numeric(host: str, port: int) -> list[Address]:
    """The address that a host is when it is no name; nothing for a name."""
    for family in (socket.AF_INET, socket.AF_INET6):
        try:
            socket.inet_pton(family, host)
        except OSError:
            continue
        return [(family, (host, port))]
    return []


def resolve(host: str, port: int) -> list[Address]:
    """The addresses of a host name; blocks."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [(family, address) for family, _, _, _, address in found]


def open_socket(family: int) -> Socket:
    """A TCP socket that sends small writes at once."""
    sock = Socket(family)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return sock


def open_pair() -> tuple[Socket, socket.socket]:
    """Two connected sockets: one for this process, and one for a child, to which it is a pipe in both directions."""
    ours, theirs = socket.socketpair()
    os.set_blocking(theirs.fileno(), True)  # as programs expect, whatever sockets of this process are
    mine = Socket(ours.family, ours.detach())
    mine.setblocking(False)
    return mine, theirs


def is_connected(sock: socket.socket) -> bool:
    """Whether a socket that is being connected has reached its peer already."""
    try:
        sock.getpeername()
    except OSError:
        return False
    return True


def is_readable(sock: Socket) -> bool:
    """Whether an idle connection has something to read: its end, as nothing else is due."""
    try:
        sock.setblocking(False)
        sock.recv(1, socket.MSG_PEEK)
    except BlockingIOError:
        return False
    except OSError:
        pass
    return True


def wake(sock: Socket) -> None:
    """Make whatever waits for the socket, in any thread or loop, find it at its end."""
    try:
        sock.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass  # not connected any more, or not yet: then there is nothing to wake
