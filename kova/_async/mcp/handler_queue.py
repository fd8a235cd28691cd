"""What a server wants from the user's handlers, waiting for its turn: a flood of it costs neither threads nor memory."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

from ..._mcp.jsonrpc import Message
from ..._runtime import aio as rt

__all__ = ["AsyncHandlerQueue"]


class AsyncHandlerQueue:
    """Messages that are worked on in the background, in the order in which they came.

    Args:
        work: Takes a message; raises nothing.
        background: Where it runs.
        at_once: How many are worked on at once.
        most: How many may wait.
    """

    # Without a lock, like the semaphores of the blocking runtime: who adds a message or a place looks again until one
    # of the two is used up.

    def __init__(self, work: Callable[[Message], Any], background: rt.Background, *, at_once: int, most: int) -> None:
        self._work = work
        self._background = background
        self._most = most
        self._free = deque([None] * at_once)
        self._waiting: deque[Message] = deque()

    def put(self, message: Message) -> bool:
        """Have a message worked on. Never waits; tells whether there was room for it."""
        if len(self._waiting) >= self._most:
            return False
        self._waiting.append(message)
        self._serve()
        return True

    def _serve(self) -> None:
        while self._waiting:
            try:
                self._free.pop()
            except IndexError:
                return
            self._background.start_soon(self._run)

    async def _run(self) -> None:
        try:
            while self._waiting:
                try:
                    message = self._waiting.popleft()
                except IndexError:
                    break  # another thread has taken the last one
                await self._work(message)
        finally:
            self._free.append(None)
        self._serve()
