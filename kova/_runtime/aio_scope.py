"""Limits of async code, as blocks: cancel scopes that say why they ended."""

from __future__ import annotations

from types import TracebackType

import anyio

from .._loops import loop_scheduler
from ..cancellation import CancellationToken
from ..errors import TurnCancelledError
from .scope import Deadline

__all__ = ["CancelOn", "FailAt"]


class FailAt:
    """A cancel scope that ends at a deadline, with the deadline's error."""

    def __init__(self, deadline: Deadline) -> None:
        self._deadline = deadline

    def __enter__(self) -> None:
        self._scope = anyio.CancelScope(deadline=anyio.current_time() + self._deadline.remaining())
        self._scope.__enter__()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        swallowed = self._scope.__exit__(kind, error, trace)
        if self._scope.cancelled_caught:
            raise self._deadline.error() from None
        return bool(swallowed)


class CancelOn:
    """A cancel scope that a token cancels, from whatever thread."""

    def __init__(self, token: CancellationToken) -> None:
        self._token = token

    def __enter__(self) -> None:
        self._token.raise_if_cancelled()
        self._scope = anyio.CancelScope()
        self._scope.__enter__()
        schedule, cancel = loop_scheduler(), self._scope.cancel
        self._forget = self._token.add_callback(lambda: schedule(cancel))

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        self._forget()
        swallowed = self._scope.__exit__(kind, error, trace)
        if self._scope.cancelled_caught:
            raise TurnCancelledError(self._token.reason) from None
        return bool(swallowed)
