"""Waiting in a line, and working when its time has come."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from contextlib import AbstractContextManager, nullcontext
from types import TracebackType
from typing import Self

from .._lines import Lines, Place
from .._runtime import aio as rt
from ..cancellation import CancellationToken
from ..errors import KovaError, TurnCancelledError

__all__ = ["AsyncTurnInLine"]


class AsyncTurnInLine:
    """The next turn in a line, as a with block that is entered when all earlier ones are over.

    Args:
        lines: The lines, whose users may be in any thread or event loop.
        key: Names one of them.
        circle: Makes the error for somebody who would wait for the end of what it is itself a part of.
    """

    def __init__(self, lines: Lines, key: Hashable, circle: Callable[[], KovaError]) -> None:
        self._lines = lines
        self._key = key
        self._circle = circle
        self._place: Place | None = None

    async def __aenter__(self) -> Self:
        worker = rt.task()
        if self._lines.would_wait_for_itself(self._key, worker):
            raise self._circle()
        place = self._lines.enter(self._key, worker)
        try:
            await _until_cancelled(place.called)
        except BaseException:
            self._lines.leave(place)
            raise
        self._place = place
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end()

    def work(self) -> AbstractContextManager[None]:
        """What is called in this block is a part of this turn."""
        return nullcontext() if self._place is None else self._place.work()

    def end(self) -> None:
        """Let the next turn begin. May be called twice, and in any thread."""
        place, self._place = self._place, None
        if place is not None:
            self._lines.leave(place)


HOUR = 3600.0


async def _until_cancelled(token: CancellationToken) -> None:
    """Wait for a token, which any thread may cancel, as for an event."""
    while not token.is_cancelled:
        try:
            with rt.cancel_on(token):
                await rt.sleep(HOUR)
        except TurnCancelledError:
            pass  # that is what was waited for
