"""Async tools for the tests of both twins; in a file of their own, since the generator makes plain functions of those
that stand in a test.
"""

from __future__ import annotations

import contextvars

import kova
from kova import testing as kt

variable = contextvars.ContextVar("variable", default="unset")


@kova.tool
async def double(n: int) -> int:
    """Double it."""
    return 2 * n


@kova.tool
async def read_variable() -> str:
    """Read the context variable."""
    return variable.get()


@kova.tool
async def run_program(argv: list[str], context: kova.ToolContext) -> str:
    """Run a program in the root folder, and give its output."""
    return (await context.run_process_async(argv, cwd="/")).stdout.strip()


async def give(value: int) -> int:
    """A plain coroutine function."""
    return value


def agents_of_both_twins() -> list[object]:
    """An agent of each kind, for what wants only one of them."""
    return [kova.Agent(kt.ScriptedProvider()), kova.AsyncAgent(kt.AsyncScriptedProvider())]
