"""What can be seen of a process and its sockets from outside: conditions to wait for, and things that must not be left."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from pathlib import Path

LIMIT = 10.0  # seconds
SYN_SENT = "02"  # as /proc/net/tcp writes it


def wait_until(condition: Callable[[], object], what: str) -> None:
    """Wait for a condition; fail after a while."""
    end = time.monotonic() + LIMIT
    while not condition():
        assert time.monotonic() < end, f"after {LIMIT:g} s still not: {what}"
        time.sleep(0.005)


def kova_threads() -> list[str]:
    """Names of the threads that kova has started and that live."""
    return [thread.name for thread in threading.enumerate() if thread.name.startswith("kova")]


def sockets() -> int:
    """How many sockets this process has open."""
    count = 0
    for entry in os.scandir("/proc/self/fd"):
        try:
            count += os.readlink(entry.path).startswith("socket:")
        except OSError:
            pass  # the one that lists the folder
    return count


def connecting_to(port: int) -> int:
    """How many sockets of this machine have asked this port of 127.0.0.1 for a connection, and got no answer yet."""
    remote = f"0100007F:{port:04X}"
    lines = (line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:])
    return sum(line[2] == remote and line[3] == SYN_SENT for line in lines)
