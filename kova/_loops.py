"""The running event loop, asyncio's or trio's, as seen from other threads."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

__all__ = ["Scheduler", "loop_scheduler"]

Scheduler: TypeAlias = Callable[[Callable[[], object]], None]


def loop_scheduler() -> Scheduler:
    """A function that makes the now running loop call something soon; for use by any thread.

    It does nothing once the loop is closed: nobody is there to be told.
    """
    import sniffio

    if sniffio.current_async_library() == "trio":
        return _trio_scheduler()
    return _asyncio_scheduler()


def _asyncio_scheduler() -> Scheduler:
    import asyncio

    loop = asyncio.get_running_loop()

    def schedule(callback: Callable[[], object]) -> None:
        try:
            loop.call_soon_threadsafe(callback)
        except RuntimeError:
            if not loop.is_closed():
                raise

    return schedule


def _trio_scheduler() -> Scheduler:
    import trio

    token = trio.lowlevel.current_trio_token()

    def schedule(callback: Callable[[], object]) -> None:
        try:
            token.run_sync_soon(callback)
        except trio.RunFinishedError:
            pass

    return schedule
