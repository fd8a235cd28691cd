"""Connections to one SQLite file, for many threads, beside other processes.

SQLite's own waiting for locks is not used: nothing can interrupt it, and some steps, such as the switch to WAL, never
wait. A transaction that finds the file locked is rolled back, and begun again after a pause.
"""

from __future__ import annotations

import os
import random
import sqlite3
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeAlias, TypeVar
from weakref import WeakSet, finalize

from ..cancellation import CancellationToken
from ..errors import MemoryStoreError
from .sqlite_schema import WrongSchema, is_current, make_current

__all__ = ["Connections"]

T = TypeVar("T")
Work: TypeAlias = Callable[[sqlite3.Connection], T]

MAX_CONNECTIONS = 8  # at once; further threads wait
BUSY_SECONDS = 60.0  # how long others may keep the file locked
FIRST_PAUSE, LONGEST_PAUSE = 0.001, 0.02  # seconds
FORK_SECONDS = 5.0  # how long a fork waits for work that is under way

_LOCKED = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_PROTOCOL})


class Connections:
    """Runs transactions on a file. Thread-safe.

    Args:
        path: The file, which is made when it is first needed.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._idle: deque[sqlite3.Connection] = deque()
        self._is_closed = False
        self.renew()
        _all.add(self)
        finalize(self, _close_all, self._idle)

    def renew(self) -> None:
        """Make the locks anew, which a forked child may find held."""
        self.permits = threading.Semaphore(MAX_CONNECTIONS)
        self.writing = threading.Lock()

    def read(self, work: Work[T], stop: CancellationToken) -> T:
        """The result of work that reads, all of it from one state of the file.

        Args:
            work: What to do; it may be done more than once.
            stop: When this is cancelled, the work is given up.

        Raises:
            MemoryStoreError: The file cannot be used, or was locked for too long.
            TurnCancelledError: The work was given up.
        """
        return self._run("BEGIN", work, stop, time.monotonic() + BUSY_SECONDS)

    def write(self, work: Work[T], stop: CancellationToken) -> T:
        """The result of work that writes, all of it or nothing; the rest is as in `read`."""
        end = time.monotonic() + BUSY_SECONDS
        with self.writing:  # in line, while those of other processes have to try again and again
            return self._run("BEGIN IMMEDIATE", work, stop, end)

    def _run(self, begin: str, work: Work[T], stop: CancellationToken, end: float) -> T:
        pauses = _pauses()
        while True:
            stop.raise_if_cancelled()
            try:
                with self._borrowed() as connection:
                    connection.execute(begin)
                    result = work(connection)
                    stop.raise_if_cancelled()  # nobody waits for it any more, and so it must not be written
                    connection.execute("COMMIT")
                    return result
            except (sqlite3.Error, OSError, WrongSchema) as error:
                if not _is_locked(error):
                    raise MemoryStoreError(f"{self._path}: {getattr(error, 'strerror', None) or error}") from error
                if time.monotonic() > end:
                    raise MemoryStoreError(f"{self._path} was locked by others for {BUSY_SECONDS:g} s") from error
            stop.wait(next(pauses))

    @contextmanager
    def _borrowed(self) -> Iterator[sqlite3.Connection]:
        """A connection for one transaction, which is rolled back unless it was committed."""
        with self.permits:
            if self._is_closed:
                raise MemoryStoreError(f"{self._path}: the store is closed")
            try:
                connection = self._idle.pop()
            except IndexError:
                connection = _open(self._path)
            try:
                yield connection
            finally:
                self._give_back(connection)

    def _give_back(self, connection: sqlite3.Connection) -> None:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        self._idle.append(connection)
        if self._is_closed:
            self.close_idle()

    def close(self) -> None:
        """Close all connections; those in use, when their work is done."""
        self._is_closed = True
        self.close_idle()

    def close_idle(self) -> None:
        """Close those that are not in use."""
        _close_all(self._idle)


def _pauses() -> Iterator[float]:
    longest = FIRST_PAUSE
    while True:
        yield random.uniform(0, longest)
        longest = min(2 * longest, LONGEST_PAUSE)


def _is_locked(error: Exception) -> bool:
    code: int = getattr(error, "sqlite_errorcode", 0)
    return code & 0xFF in _LOCKED  # the higher bits tell details


# ---- opening and closing

_making = threading.Lock()


def _open(path: str) -> sqlite3.Connection:
    with _making:
        # Closing a file frees the locks that the process has on it, so that nobody may have opened it yet.
        if not os.path.exists(path):
            os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
    connection = sqlite3.connect(path, timeout=0, isolation_level=None, check_same_thread=False)
    try:
        _set_up(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def _set_up(connection: sqlite3.Connection) -> None:
    connection.text_factory = bytes
    connection.execute("BEGIN")
    is_ready = is_current(connection)
    connection.execute("COMMIT")
    if connection.execute("PRAGMA journal_mode").fetchone()[0] != b"wal":
        connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")  # what was committed outlives a power failure
    connection.execute("PRAGMA secure_delete = ON")  # what was deleted does not stay in the file
    if not is_ready:
        connection.execute("BEGIN IMMEDIATE")
        make_current(connection)
        connection.execute("COMMIT")


def _close_all(connections: deque[sqlite3.Connection]) -> None:
    while True:
        try:
            connection = connections.pop()
        except IndexError:
            return
        connection.close()


# ---- forks: SQLite's locks are the process's, and connections must not be carried over into a child, not even closed

_all: WeakSet[Connections] = WeakSet()
_forking = threading.Lock()
_held: list[threading.Semaphore] = []


def _before_fork() -> None:
    """Let the work that is under way end, begin no other, and close the connections."""
    _forking.acquire()
    end = time.monotonic() + FORK_SECONDS
    for connections in list(_all):
        for _ in range(MAX_CONNECTIONS):
            if connections.permits.acquire(timeout=max(0.0, end - time.monotonic())):
                _held.append(connections.permits)
        connections.close_idle()


def _after_fork_in_parent() -> None:
    while _held:
        _held.pop().release()
    _forking.release()


def _after_fork_in_child() -> None:
    global _forking, _making
    _forking, _making = threading.Lock(), threading.Lock()
    _held.clear()
    for connections in list(_all):
        connections.renew()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork_in_parent, after_in_child=_after_fork_in_child)
