"""What counts as async."""

from __future__ import annotations

import functools

import pytest

from kova._runtime.callables import is_async_callable


async def fetch(number: int = 0) -> int:
    return number


def count(number: int = 0) -> int:
    return number


class Fetcher:
    async def __call__(self) -> int:
        return 1

    async def fetch(self) -> int:
        return 1

    def count(self) -> int:
        return 1

    @staticmethod
    async def fetch_all() -> int:
        return 1


class Counter:
    def __call__(self) -> int:
        return 1


@pytest.mark.parametrize(
    "function",
    [fetch, functools.partial(fetch, 1), Fetcher(), functools.partial(Fetcher()), Fetcher().fetch, Fetcher.fetch_all],
)
def test_what_gives_a_coroutine_is_async(function: object) -> None:
    assert is_async_callable(function)


@pytest.mark.parametrize("function", [count, functools.partial(count, 1), Counter(), Fetcher().count, len, Fetcher])
def test_what_gives_its_result_at_once_is_not(function: object) -> None:
    """A class is not async for what its instances do: calling it makes one."""
    assert not is_async_callable(function)


@pytest.mark.parametrize("value", [None, 3, "fetch"])
def test_what_cannot_be_called_is_not(value: object) -> None:
    assert not is_async_callable(value)
