"""Daemon threads for work that its caller must be able to abandon.

The pools of the standard library and of anyio join their threads at exit, so that one stuck tool keeps the
interpreter alive; these threads are daemons. Idle ones are used again, and end after a moment without work.
"""

from __future__ import annotations

import itertools
import os
import sys
import threading
from collections import deque
from collections.abc import Callable
from contextvars import ContextVar
from typing import TypeAlias, TypeVar

from .._mailbox import Empty, Mailbox
from ..errors import KovaError

IDLE_SECONDS = 1.0

T = TypeVar("T")
Work: TypeAlias = Callable[[], object]
Inboxes: TypeAlias = deque[Mailbox[Work]]

_everybodys: Inboxes = deque()  # those of waiting threads; its operations are atomic
_idle: ContextVar[Inboxes] = ContextVar("kova_idle_workers", default=_everybodys)
_numbers = itertools.count(1)


def start(work: Work) -> None:
    """Run `work`, which must not raise, in another thread.

    Raises:
        KovaError: The system gives no more threads.
    """
    idle = _idle.get()
    try:
        idle.pop().put(work)
    except IndexError:
        inbox: Mailbox[Work] = Mailbox()
        inbox.put(work)
        name = f"kova-worker-{next(_numbers)}"
        try:
            threading.Thread(target=_serve, args=(inbox, idle), name=name, daemon=True).start()
        except RuntimeError as error:
            if "shutdown" not in str(error) and not sys.is_finalizing():
                raise KovaError(f"no thread can be started: {error}") from error
            work()  # the interpreter is about to exit, and starts no more threads: nobody can abandon this


def apart(function: Callable[[], T]) -> T:
    """Call a function whose workers are used again by nobody else: they are greenlets, which end with its thread."""
    before = _idle.set(deque())
    try:
        return function()
    finally:
        _idle.reset(before)


def _serve(inbox: Mailbox[Work], idle: Inboxes) -> None:
    while (work := _next(inbox, idle)) is not None:
        work()
        del work  # what it refers to must not live on while this thread waits
        idle.append(inbox)


def _next(inbox: Mailbox[Work], idle: Inboxes) -> Work | None:
    try:
        return inbox.get(timeout=IDLE_SECONDS)
    except Empty:
        pass
    try:
        idle.remove(inbox)
    except ValueError:
        return inbox.get()  # chosen at this very moment: its work is on the way
    return None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_everybodys.clear)  # the parent's threads do not exist in the child
