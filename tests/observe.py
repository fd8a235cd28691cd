"""What can be seen of a process and its sockets from outside: conditions to wait for, and things that must not be left."""

from __future__ import annotations

import gc
import os
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

LIMIT = 10.0  # seconds
# What the interpreter keeps for the next objects, and gives back whenever it likes, is no leak.
MOST_OBJECTS, MOST_BLOCKS = 200, 500
SYN_SENT = "02"  # as /proc/net/tcp writes it


def wait_until(condition: Callable[[], object], what: str, *, limit: float = LIMIT) -> None:
    """Wait for a condition; fail after a while."""
    end = time.monotonic() + limit
    while not condition():
        assert time.monotonic() < end, f"after {limit:g} s still not: {what}"
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


def leaves_things_where_they_were(work: Callable[[int], Any], *, before: int, then: int) -> None:
    """See that work needs nothing lasting, when a part of it has filled what kova keeps on purpose.

    Args:
        work: Does it so many times.
        before: How many times it is done before anything is counted.
        then: And then.
    """
    work(before)
    open_sockets, blocks, objects = sockets(), blocks_of_memory(), len(gc.get_objects())
    work(then)
    grown, more = blocks_of_memory() - blocks, len(gc.get_objects()) - objects
    wait_until(lambda: sockets() <= open_sockets, "all sockets are closed")
    wait_until(lambda: not kova_threads(), "no thread of kova's is left")
    assert grown < max(MOST_BLOCKS, then // 5), f"{grown} more blocks of memory are in use"
    assert more < MOST_OBJECTS, f"{more} more objects are there"


def blocks_of_memory() -> int:
    """Blocks that objects occupy now: as telling as tracemalloc, and free; any object that is kept holds several."""
    gc.collect()
    return sys.getallocatedblocks()


def connecting_to(port: int) -> int:
    """How many sockets of this machine have asked this port of 127.0.0.1 for a connection, and got no answer yet."""
    remote = f"0100007F:{port:04X}"
    lines = (line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:])
    return sum(line[2] == remote and line[3] == SYN_SENT for line in lines)


def failing_agents(error: BaseException) -> list[str]:
    """The agents that an error's notes name, the innermost first."""
    return [note.split("'")[1] for note in getattr(error, "__notes__", ()) if note.startswith("raised by the agent")]
