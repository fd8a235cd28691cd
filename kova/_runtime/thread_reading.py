"""Reading from a socket that several threads wait for, each for something else.

To hand what has come from one thread to another costs several times what all the rest of a short call does. So whoever
waits and finds that nobody reads does it for all, until its own has come. A loop in a thread of its own reads when
several wait, and while nobody does.
"""

from __future__ import annotations

import math
import select
import time
from collections import deque
from collections.abc import Callable
from typing import Generic, TypeVar

from .._mailbox import Empty, Mailbox
from .._signals import raise_if_from_a_signal
from .scope import Deadline
from .sockets import Socket
from .thread_scope import Cancelled, FailAt, Scope, current
from .thread_waits import LONGEST_WAIT, wait_for

__all__ = ["Inbox", "SharedReader"]

T = TypeVar("T")

MAX_READ = 65_536  # bytes; a larger buffer is fetched from the system anew each time, which costs more than to read
LONGEST_MILLISECONDS = int(LONGEST_WAIT * 1000)
PAUSE_SECONDS = 0.05  # for the next caller to read by itself, before the loop does


class Inbox(Generic[T]):
    """What comes for one who waits; any thread may put."""

    __slots__ = ("_bell", "_items")

    def __init__(self) -> None:
        self._items: deque[T] = deque()
        self._bell: Mailbox[None] | None = None  # made when it is needed, which it seldom is

    def put(self, item: T) -> None:
        self._items.append(item)
        bell = self._bell
        if bell is not None:
            bell.put(None)

    def __len__(self) -> int:
        return len(self._items)

    def wait(self) -> None:
        """Wait until there is something."""
        if self._bell is None:
            self._bell = Mailbox()
        while not self._items:
            wait_for(self._bell)


class SharedReader:
    """Reads for all who wait.

    Args:
        sock: What is read from, for as long as `run` runs.
        take: Takes what was read, and puts what it finds there into the inboxes; false ends the reading.
        has_waiting: Whether somebody waits for something that is due soon.

    Attributes:
        is_over: Whether nothing will be read any more.
    """

    def __init__(self, sock: Socket, take: Callable[[bytes], bool], has_waiting: Callable[[], bool]) -> None:
        self._sock = sock
        self._take = take
        self._has_waiting = has_waiting
        self._turn: dict[None, object] = {}  # whose it is to read, if anybody's
        self._poll = select.poll()
        self._poll.register(sock, select.POLLIN)
        self._calls_for_loop: Mailbox[None] = Mailbox()
        self._is_loop_waiting = False
        self._is_ending = False
        self.is_over = False

    def run(self) -> None:
        """The loop, which ends with the stream."""
        while True:
            if self._turn.setdefault(None, self) is self:
                try:
                    self._read_until_idle()
                finally:
                    del self._turn[None]
                if self.is_over:
                    return
                self._pause(PAUSE_SECONDS)
            else:
                self._is_loop_waiting = True
                if self._turn:  # else it was given back just now
                    self._pause(None)
                self._is_loop_waiting = False

    def get(self, inbox: Inbox[T], deadline: Deadline) -> T:
        """The next item of an inbox, read for if nobody does.

        Raises:
            TimeoutError: The deadline has passed.
        """
        items = inbox._items
        if not items:
            scope = current.get()
            if scope.token is None:  # a token could end the wait only by breaking the connection
                self._read_for(inbox, scope, deadline)
            if not items:
                if not self._turn:
                    self._call_loop()
                with FailAt(deadline):
                    inbox.wait()
        return items.popleft()

    def _read_for(self, inbox: Inbox[T], scope: Scope, deadline: Deadline) -> None:
        """Read until there is something in an inbox, if nobody reads."""
        turn, items = self._turn, inbox._items
        try:
            if turn.setdefault(None, inbox) is inbox:
                while not items and not self.is_over:
                    if self._poll.poll(_milliseconds_left(scope, deadline)):
                        self._read()
        finally:
            # Ctrl-C is seen after a call and at the end of a loop, so never before the turn is given back.
            if None in turn and turn[None] is inbox:
                del turn[None]
                if self._is_loop_waiting or self.is_over or self._has_waiting():
                    self._call_loop()

    def expect_end(self) -> None:
        """Have the loop read from now on, as the stream is about to end."""
        self._is_ending = True
        self._call_loop()

    def _call_loop(self) -> None:
        if not self._calls_for_loop:
            self._calls_for_loop.put(None)

    def _pause(self, seconds: float | None) -> None:
        try:
            self._calls_for_loop.get(seconds)
        except Empty:
            pass

    def _read_until_idle(self) -> None:
        while not self.is_over:
            self._poll.poll()
            was_waited_for = self._has_waiting()
            self._read()
            if was_waited_for and not self._has_waiting() and not self._is_ending:
                return

    def _read(self) -> None:
        try:
            try:
                data = self._sock.recv(MAX_READ)
            except BlockingIOError:
                return
            except OSError as error:
                raise_if_from_a_signal(error)
                data = b""  # as good as an end
            if not data or not self._take(data):
                self.is_over = True
        except BaseException:
            self.is_over = True  # Ctrl-C may have lost a part of it
            raise


def _milliseconds_left(scope: Scope, deadline: Deadline) -> int:
    """How long one wait may take: so that limits end it, and Ctrl-C is seen.

    Raises:
        Cancelled, TimeoutError: A limit has passed.
    """
    seconds = (deadline.at if deadline.at < scope.deadline else scope.deadline) - time.monotonic()
    if seconds > LONGEST_WAIT:
        return LONGEST_MILLISECONDS
    if seconds <= 0:
        if scope.is_over():
            raise Cancelled
        raise deadline.error()
    return math.ceil(seconds * 1000)
