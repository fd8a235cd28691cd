"""Repeating provider calls that failed for a passing reason."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .._backoff import pause_before_retry
from .._runtime import aio as rt
from ..config import RetryConfig
from ..errors import KovaError
from ..telemetry.failures import warn_of_retry
from ..telemetry.watch import CallWatch

if TYPE_CHECKING:
    from tenacity import RetryCallState

__all__ = ["with_retries"]


async def with_retries(call: Callable[[], Any], config: RetryConfig, watch: CallWatch) -> Any:
    """The result of a call, which is repeated as the configuration says; the watch is told of that.

    Raises:
        KovaError: What the last attempt raised.
    """
    try:
        return await _attempt(call)
    except KovaError as error:
        if pause_before_retry(error, 1, config, rt.remaining()) is None:
            raise
        return await _retry(call, error, config, watch)


async def _attempt(call: Callable[[], Any]) -> Any:
    try:
        return await call()
    except KovaError:
        await rt.checkpoint()  # a turn that was cancelled meanwhile says so, and not why this call failed
        raise


async def _retry(call: Callable[[], Any], first_error: KovaError, config: RetryConfig, watch: CallWatch) -> Any:
    from tenacity import AsyncRetrying  # loading it takes time, which calls that succeed need not pay

    failed: list[KovaError] = [first_error]
    pause: float | None = None

    async def attempt() -> Any:
        if failed:
            raise failed.pop()
        return await _attempt(call)

    def is_worth_it(state: RetryCallState) -> bool:
        nonlocal pause
        error = state.outcome.exception() if state.outcome is not None else None
        pause = None if error is None else pause_before_retry(error, state.attempt_number, config, rt.remaining())
        return pause is not None

    def tell(state: RetryCallState) -> None:
        error = state.outcome.exception() if state.outcome is not None else None
        if isinstance(error, KovaError):
            warn_of_retry(error, state.attempt_number, state.upcoming_sleep)
            watch.retried(error, state.attempt_number, state.upcoming_sleep)

    retrying = AsyncRetrying(retry=is_worth_it, wait=lambda state: pause or 0.0, before_sleep=tell, sleep=rt.sleep)
    return await retrying(attempt)
