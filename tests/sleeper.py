"""An async tool that sleeps until it is cancelled, in both twins: a file of its own, which has no twin."""

from __future__ import annotations

import threading

import anyio

import kova


class Sleeper:
    """A tool that sleeps until it is cancelled, and what is known of its calls.

    Args:
        calls: How many are to come.

    Attributes:
        all_asleep: Set when all have come.
        cleaned_up: How many were cancelled, and have ended.
    """

    def __init__(self, calls: int) -> None:
        self.all_asleep = threading.Event()
        self.cleaned_up = 0
        self._awake = calls
        self._lock = threading.Lock()  # each call may have a thread and a loop of its own
        self.sleep = kova.tool(self._sleep, name="sleep")

    async def _sleep(self) -> None:
        """Sleep."""
        with self._lock:
            self._awake -= 1
            if not self._awake:
                self.all_asleep.set()
        try:
            await anyio.sleep(60)
        finally:
            with anyio.CancelScope(shield=True):
                await anyio.sleep(0.01)
            with self._lock:
                self.cleaned_up += 1
