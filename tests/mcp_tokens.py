"""Token providers, plain and async; in a file of its own, since the generator makes plain functions of async ones."""

from __future__ import annotations

import threading
import time


class Tokens:
    """Gives "token-0", and after each refresh the next one."""

    def __init__(self, *, pause: float = 0.0) -> None:
        self.number = 0
        self.refreshes = 0
        self._pause = pause
        self._lock = threading.Lock()

    def token(self) -> str | None:
        return f"token-{self.number}"

    def refresh(self) -> str | None:
        with self._lock:
            self.refreshes += 1
        time.sleep(self._pause)
        self.number += 1
        return self.token()


class TokensOfALoop:
    """The same, async."""

    def __init__(self) -> None:
        self._tokens = Tokens()

    async def token(self) -> str | None:
        return self._tokens.token()

    async def refresh(self) -> str | None:
        return self._tokens.refresh()


class Failing(Tokens):
    """Whose refresh fails."""

    def __init__(self, error: Exception) -> None:
        super().__init__()
        self._error = error

    def refresh(self) -> str | None:
        self.refreshes += 1
        time.sleep(0.5)  # all that were refused with the first come to wait for it
        raise self._error


class Widening(Tokens):
    """That wants to know why a token was refused."""

    def __init__(self) -> None:
        super().__init__()
        self.challenges: list[tuple[int, str]] = []

    def challenged(self, status: int, challenge: str) -> str | None:
        self.challenges.append((status, challenge))
        return self.refresh()
