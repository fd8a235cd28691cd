"""A request on its way to a server: what is sent, and how long it is waited for."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from attrs import define, field

from .._runtime.scope import Deadline
from .jsonrpc import Message

__all__ = ["MOST_REPORTS", "Call", "Patience"]

MOST_REPORTS = 1_000  # of progress that wait to be taken; more are dropped


class Patience(Deadline):
    """When an answer is waited for no longer: progress of the work extends the time, up to a maximum.

    Args:
        what: What takes too long, for the error.
        timeout: Seconds from the beginning, and from each sign of progress.
        max_total: Seconds in all.
    """

    __slots__ = ("_ends", "_max_total", "_timeout")

    def __init__(self, what: str, timeout: float, max_total: float) -> None:
        seconds = timeout if timeout < max_total else max_total
        super().__init__(seconds, what)
        self._timeout = timeout
        self._max_total = max_total
        self._ends = self.at - seconds + max_total

    def extend(self) -> None:
        """Begin the time anew.

        Raises:
            TimeoutError: There is none left. A server that reports without a pause is not waited for anywhere else.
        """
        now = time.monotonic()
        self.at = now + self._timeout
        if self.at >= self._ends:
            self.at = self._ends
            self.seconds = self._max_total
            if self._ends <= now:
                raise self.error()


@define(eq=False)
class Call:
    """A request that is or will be under way.

    Attributes:
        id: Its id, small and never used twice on a connection.
        method: JSON-RPC method.
        params: Its parameters, `_meta` included.
        patience: How long its answer is waited for.
        headers: What HTTP transports send beside it.
    """

    id: int
    method: str
    params: Mapping[str, Any] | None
    patience: Patience
    headers: Mapping[str, str] = field(factory=dict)

    @property
    def message(self) -> Message:
        """What goes over the wire: a request, to be answered under its id."""
        message: Message = {"jsonrpc": "2.0", "id": self.id, "method": self.method}
        if self.params is not None:
            message["params"] = self.params
        return message
