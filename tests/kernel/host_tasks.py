"""Tasks for the tests of Celery's pools, beside those of the example, in the same worker with the same agent."""

from __future__ import annotations

import asyncio
import os
import threading
from contextvars import ContextVar
from typing import Any

from celery.contrib.abortable import AbortableTask
from celery.exceptions import SoftTimeLimitExceeded
from celery.signals import worker_init

import kova
from examples.celery_tasks import aborts, agent, app

USER: ContextVar[str] = ContextVar("user")
LONG = 60.0  # seconds
URL = os.environ["OPENAI_BASE_URL"]

async_agent = kova.AsyncAgent("openai:m")


@worker_init.connect
def use_the_agent_before_the_fork(**_: Any) -> None:
    """What a prefork worker's children inherit is an agent with an open connection."""
    assert agent.run("Hi", timeout=20).text == "Hello"


@kova.tool
def look(context: kova.ToolContext) -> str:
    """Look around."""
    return f"{context.state} {USER.get()}"


@kova.tool
def sleep(context: kova.ToolContext, file: str) -> str:
    """Run a program that takes long, and first writes its id into a file."""
    return context.run_process(["sh", "-c", f"echo $$ > '{file}'; exec sleep 300"]).stdout


looking = kova.Agent("openai:m", tools=[look])
sleeping = kova.Agent("openai:m", tools=[sleep])
reporting = kova.Agent("openai:m", tools=[sleep], tool_errors="report")


@app.task
def ask(text: str) -> tuple[str, int]:
    """A turn, and in which process."""
    return agent.run(text, timeout=20).text, os.getpid()


@app.task
def ask_without_loops() -> str:
    """A turn, while making an event loop is an error."""
    make = asyncio.new_event_loop
    asyncio.new_event_loop = lambda: 1 / 0  # type: ignore[assignment, return-value]
    try:
        return agent.run("Hi", timeout=20).text
    finally:
        asyncio.new_event_loop = make


@app.task
def look_around(number: int) -> str:
    """A turn with a tool that reads the state and a context variable of this task."""
    USER.set(f"user {number}")
    return looking.run("go", state=number, timeout=20).text


@app.task
def ask_async() -> list[str]:
    """Turns of the async twin, each in a loop of its own."""

    async def turn() -> str:
        return (await async_agent.run("Hi", timeout=20)).text

    return [asyncio.run(turn()) for _ in range(4)]


@app.task(bind=True, base=AbortableTask)
def sleep_in_a_tool(self: Any) -> str:
    """A turn whose tool runs a program, until the task is aborted."""
    with aborts(self) as token:
        return sleeping.run("go", cancel=token).text


@app.task(soft_time_limit=1, time_limit=LONG)
def overdue() -> str:
    """A turn that Celery ends while its tool runs a program."""
    try:
        return reporting.run("go", timeout=LONG).text
    except SoftTimeLimitExceeded:
        return "the soft limit"


@app.task(time_limit=1)
def long_overdue() -> str:
    """A turn that Celery ends for good."""
    return reporting.run("go", timeout=LONG).text


@app.task
def threads() -> tuple[int, list[str]]:
    """How many threads this process has, and their names."""
    return threading.active_count(), [thread.name for thread in threading.enumerate()]


@app.task(bind=True, base=AbortableTask)
def chat_once(self: Any, text: str) -> str:
    """A turn that could be aborted."""
    with aborts(self) as token:
        return agent.run(text, cancel=token).text
