"""Another thread, with an event loop of its own where it needs one: for tests of both twins."""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Callable
from typing import Any


def in_another_thread(method: Callable[[], Any]) -> None:
    """Call a method, which may be async, in a new thread, and wait for it."""
    raised: list[BaseException] = []

    async def run_async() -> None:
        await method()

    def run() -> None:
        try:
            if inspect.iscoroutinefunction(method):
                asyncio.run(run_async())
            else:
                method()
        except BaseException as error:
            raised.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    if raised:
        raise raised[0]
