"""What both runtimes do with sockets that needs no waiting."""

from __future__ import annotations

import socket
from typing import Any, TypeAlias

Socket: TypeAlias = socket.socket
Address: TypeAlias = tuple[int, Any]  # address family, and the address that belongs to it


def resolve(host: str, port: int) -> list[Address]:
    """The addresses of a host; blocks."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [(family, address) for family, _, _, _, address in found]


def open_socket(family: int) -> Socket:
    """A TCP socket that sends small writes at once."""
    sock = socket.socket(family, socket.SOCK_STREAM)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return sock


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
