"""The pauses between attempts."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

import kova
from kova._backoff import pause_before_retry

CONFIG = kova.RetryConfig(max_retries=5, initial_backoff=1.0, max_backoff=8.0, jitter=0.25)


def rate_limited(retry_after: float | None = None, **options: bool) -> kova.ProviderError:
    return kova.ProviderError("slow down", 429, kova.ProviderErrorClass.RATE_LIMITED, retry_after, **options)


@given(attempt=st.integers(1, 5))
def test_pauses_grow_up_to_their_limit_and_vary(attempt: int) -> None:
    pause = pause_before_retry(rate_limited(), attempt, CONFIG, math.inf)
    expected = min(2.0 ** (attempt - 1), 8.0)
    assert pause is not None
    assert 0.75 * expected <= pause <= 1.25 * expected


def test_a_hundred_callers_told_the_same_wake_spread_out_and_none_early() -> None:
    """R2."""
    pauses = [pause_before_retry(rate_limited(1.0), 1, CONFIG, math.inf) for _ in range(100)]
    known = [pause for pause in pauses if pause is not None]
    assert len(known) == 100
    assert min(known) >= 1.0
    assert len(set(known)) > 90


@pytest.mark.parametrize(
    "error",
    [
        rate_limited(61.0),
        rate_limited(is_quota_exhausted=True),
        kova.ProviderError("no", 400, kova.ProviderErrorClass.INVALID_REQUEST),
        kova.StreamError("broke off"),
        kova.TimeoutError("the turn took too long", 1.0, is_retryable=False),
        ValueError("not kova's"),
    ],
)
def test_some_failures_are_not_repeated(error: Exception) -> None:
    assert pause_before_retry(error, 1, CONFIG, math.inf) is None


def test_the_number_of_retries_and_the_deadline_bound_them() -> None:
    assert pause_before_retry(rate_limited(), 6, CONFIG, math.inf) is None
    assert pause_before_retry(rate_limited(3.0), 1, CONFIG, 2.0) is None
    assert pause_before_retry(rate_limited(), 1, kova.RetryConfig.disabled(), math.inf) is None
