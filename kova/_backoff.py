"""When a failed provider call is repeated, and after which pause."""

from __future__ import annotations

import random

from .config import RetryConfig
from .errors import KovaError

__all__ = ["pause_before_retry"]


def pause_before_retry(error: BaseException, attempt: int, config: RetryConfig, remaining: float) -> float | None:
    """Seconds to wait before the call is made again; None where it is not to be made again.

    Args:
        error: Why the call failed.
        attempt: How often it was made, this time included.
        config: The policy.
        remaining: Seconds until the nearest deadline: a pause that would not end before it is not begun.
    """
    if not isinstance(error, KovaError) or not error.is_retryable or attempt > config.max_retries:
        return None
    if error.retry_after is None:
        backoff = min(config.initial_backoff * config.multiplier ** (attempt - 1), config.max_backoff)
        pause = backoff * random.uniform(1 - config.jitter, 1 + config.jitter)
    elif error.retry_after <= config.max_retry_after:
        # Never earlier than the server says, and not all callers at once.
        pause = error.retry_after + random.uniform(0, config.jitter) * max(error.retry_after, config.initial_backoff)
    else:
        return None
    return pause if pause < remaining else None
