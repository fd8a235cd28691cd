"""What kind of callable a user has given."""

from __future__ import annotations

import functools
import inspect


def is_async_callable(function: object) -> bool:
    """Whether calling it gives a coroutine: `async def`, partials of one, objects whose `__call__` is one."""
    while isinstance(function, functools.partial):
        function = function.func
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(type(function).__call__)
