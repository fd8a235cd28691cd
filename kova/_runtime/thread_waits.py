"""How a thread waits within its scope."""

from __future__ import annotations

from typing import Any

from .._mailbox import Empty, Mailbox
from .thread_scope import current

__all__ = ["LONGEST_WAIT", "wait_for"]

# Seconds. A Ctrl-C that comes just before a wait begins does not end it, and is seen when the next one begins.
LONGEST_WAIT = 0.2


class _Wake:
    """Put into a queue to end the wait for it."""


_WAKE = _Wake()


def wait_for(queue: Mailbox[Any]) -> Any:
    """The next item of a queue, waited for within the current scope. All waits but those for sockets are this one."""
    scope = current.get()
    while True:
        timeout = scope.timeout()
        forget = scope.token.add_callback(lambda: queue.put(_WAKE)) if scope.token is not None else None
        try:
            item = queue.get(timeout=min(LONGEST_WAIT, LONGEST_WAIT if timeout is None else timeout))
        except Empty:
            continue  # if the scope is over, it says so
        finally:
            if forget is not None:
                forget()
        if item is not _WAKE:  # which may also be left over from a wait that is long past
            return item
