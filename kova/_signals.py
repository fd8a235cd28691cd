"""Exceptions by which the handler of a signal interrupts whatever runs, such as a time limit of the program around."""

from __future__ import annotations

import signal
from functools import partial
from types import CodeType

__all__ = ["raise_if_from_a_signal"]


def raise_if_from_a_signal(error: BaseException) -> None:
    """Raise an exception again that a signal's handler has raised: it is for the program, whatever it has hit by chance."""
    if _comes_from_a_signal(error):
        raise error


def _comes_from_a_signal(error: BaseException) -> bool:
    handlers = {_code(signal.getsignal(number)) for number in signal.valid_signals()} - {None}
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code in handlers:
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
