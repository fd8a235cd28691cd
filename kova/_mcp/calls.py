"""A request on its way to a server: what is sent, and how long it is waited for."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from attrs import define, field

from .._runtime.scope import Deadline
from .jsonrpc import Message, request

__all__ = ["Call", "Patience"]


class Patience:
    """How long an answer is waited for: progress of the work extends the time, up to a maximum.

    Args:
        what: What takes too long, for the error.
        timeout: Seconds from the beginning, and from each sign of progress.
        max_total: Seconds in all.
    """

    def __init__(self, what: str, timeout: float, max_total: float) -> None:
        self._what = what
        self._timeout = timeout
        self._max_total = max_total
        self._ends = time.monotonic() + max_total
        self._deadline = Deadline(min(timeout, max_total), what)

    @property
    def deadline(self) -> Deadline:
        """When the present wait ends."""
        return self._deadline

    def extend(self) -> None:
        """Begin the time anew.

        Raises:
            TimeoutError: There is none left. A server that reports without a pause is not waited for anywhere else.
        """
        left = self._ends - time.monotonic()
        if left <= self._timeout:
            self._deadline = Deadline(left, self._what)
            self._deadline.seconds = self._max_total
            if left <= 0:
                raise self._deadline.error()
        else:
            self._deadline = Deadline(self._timeout, self._what)


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
        """What goes over the wire."""
        return request(self.id, self.method, self.params)
