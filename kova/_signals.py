"""Exceptions by which the handler of a signal interrupts whatever runs, such as a time limit of the program around."""

from __future__ import annotations

import signal
from collections.abc import Sequence
from functools import partial
from inspect import CO_VARARGS
from itertools import pairwise
from types import CodeType, FrameType

__all__ = ["raise_if_from_a_signal"]


def raise_if_from_a_signal(error: BaseException) -> None:
    """Raise an exception again that a signal's handler has raised: it is for the program, whatever it has hit by chance."""
    if _comes_from_a_signal(error):
        raise error


def _comes_from_a_signal(error: BaseException) -> bool:
    handlers = {number: _code(signal.getsignal(number)) for number in signal.valid_signals()}
    trace = error.__traceback__
    while trace is not None:
        frame = trace.tb_frame
        numbers = [number for number, code in handlers.items() if code == frame.f_code]
        if numbers and _is_called_with(frame, numbers):
            return True
        trace = trace.tb_next
    return False


def _code(handler: object) -> CodeType | None:
    while isinstance(handler, partial):
        handler = handler.func
    function = getattr(handler, "__func__", handler)
    if not hasattr(function, "__code__"):
        function = type(handler).__call__ if callable(handler) else None
    code = getattr(function, "__code__", None)
    return code if isinstance(code, CodeType) else None


def _is_called_with(frame: FrameType, numbers: Sequence[int]) -> bool:
    """Whether a call is that of a handler for one of the signals: all that a decorator wraps has the wrapper's code."""
    code, values = frame.f_code, frame.f_locals
    names = code.co_varnames[: code.co_argcount]
    if any(name not in values for name in names):
        return True  # handlers delete what they do not use; then nothing tells the calls apart
    arguments = [values[name] for name in names]
    if code.co_flags & CO_VARARGS:
        more = values.get(code.co_varnames[code.co_argcount + code.co_kwonlyargcount])
        arguments += more if isinstance(more, tuple) else ()
    return any(
        isinstance(number, int) and number in numbers and (stack is None or isinstance(stack, FrameType))
        for number, stack in pairwise(arguments)
    )
