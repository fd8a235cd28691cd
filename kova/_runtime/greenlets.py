"""gevent, where it has put greenlets in the place of threads: what must have a thread of its own gets a real one.

Greenlets share the thread that they run in, and asyncio allows one running loop in each thread. gevent is neither
imported nor asked for anything here unless the program has patched itself with it.
"""

from __future__ import annotations

import contextvars
import sys
from collections.abc import Callable
from contextvars import ContextVar
from typing import TypeVar

from . import workers
from .owners import drop_all

__all__ = ["in_a_real_thread", "owner"]

T = TypeVar("T")


class _Realm:
    """Stands for this process; under gevent also for a further thread of it, as threads cannot share its sockets."""


_PROCESS = _Realm()
_realm: ContextVar[_Realm] = ContextVar("kova_realm", default=_PROCESS)


def owner() -> object:
    """Whose connections the present code may use: those of this process, wherever gevent does not divide it."""
    return _realm.get()


def in_a_real_thread(function: Callable[[], T]) -> T:
    """Call a function in a thread in which no other code can have an event loop, with the present context.

    This thread is one, unless it is a greenlet, which then waits while others run.
    """
    if not _threads_are_greenlets():
        return function()
    from gevent.threadpool import ThreadPool

    results: list[T] = []
    errors: list[BaseException] = []

    def work() -> None:  # raises nothing: the pool would print it
        realm = _Realm()
        _realm.set(realm)
        try:
            results.append(workers.apart(function))
        except BaseException as raised:
            errors.append(raised)
        finally:
            drop_all(realm)

    pool = ThreadPool(1)  # that of the hub has few threads, which look up names of hosts
    try:
        pool.apply(contextvars.copy_context().run, (work,))
    finally:
        pool.kill()
    if errors:
        raise errors.pop()
    return results.pop()


def _threads_are_greenlets() -> bool:
    monkey = sys.modules.get("gevent.monkey")
    return monkey is not None and bool(monkey.is_module_patched("threading"))
