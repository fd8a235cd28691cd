"""Spans where tasks are cancelled, dropped, or die with their loop: none stays open, nothing is complained about."""

from __future__ import annotations

import asyncio
import contextvars
import gc
import logging
from collections.abc import AsyncIterator

import pytest

import kova
from kova.testing import AsyncScriptedProvider, Delay
from tests.spans import RecordedSpans, recorded

FOR_EVER = 3600.0


def agent() -> kova.AsyncAgent:
    return kova.AsyncAgent(AsyncScriptedProvider(*[["one two", Delay(FOR_EVER), "three"]] * 10))


async def words() -> AsyncIterator[str]:
    async with agent().run_stream("Hi") as stream:
        async for text in stream.text_deltas():
            yield text


async def read_on() -> None:
    async for _ in words():
        pass


async def first_words() -> AsyncIterator[str]:
    """A generator that has given its first word."""
    generator = words()
    await anext(generator)
    return generator


def ended(spans: RecordedSpans, caplog: pytest.LogCaptureFixture) -> bool:
    complaints = [record for record in caplog.records if "context" in record.getMessage()]
    return spans.open == 0 and not complaints


@pytest.mark.parametrize("streamed", [False, True])
def test_a_task_that_is_cancelled(streamed: bool, caplog: pytest.LogCaptureFixture) -> None:
    """O2."""

    async def main() -> None:
        task = asyncio.create_task(read_on() if streamed else agent().run("Hi"))  # type: ignore[arg-type]
        await asyncio.sleep(0.05)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    with caplog.at_level(logging.DEBUG), recorded() as spans:
        asyncio.run(main())
    assert ended(spans, caplog)
    assert [span.attributes["error.type"] for span in spans.all] == ["cancelled", "cancelled"]


def test_tasks_that_die_with_their_loop(caplog: pytest.LogCaptureFixture) -> None:
    """O2."""

    async def main() -> list[asyncio.Task[object]]:
        tasks: list[asyncio.Task[object]] = [asyncio.create_task(agent().run("Hi")) for _ in range(3)]
        tasks += [asyncio.create_task(read_on()) for _ in range(3)]
        await asyncio.sleep(0.05)
        return tasks

    with caplog.at_level(logging.DEBUG), recorded() as spans:
        asyncio.run(main())
        gc.collect()
    assert ended(spans, caplog)
    assert len(spans.named("invoke_agent")) == 6


def test_a_generator_that_is_finalised_in_another_task(caplog: pytest.LogCaptureFixture) -> None:
    """O2: it was begun in one task, and is closed by the loop or by another one."""

    async def main() -> None:
        dropped = await asyncio.create_task(first_words(), context=contextvars.copy_context())
        closed = await asyncio.create_task(first_words())
        del dropped
        gc.collect()
        await closed.aclose()  # type: ignore[attr-defined]
        await asyncio.sleep(0.05)

    with caplog.at_level(logging.DEBUG), recorded() as spans:
        asyncio.run(main())
        gc.collect()
    assert ended(spans, caplog)
    assert len(spans.named("invoke_agent")) == 2


def test_a_coroutine_that_nobody_waits_for_any_more(caplog: pytest.LogCaptureFixture) -> None:
    """O2: closed outside of any task, in another context than it was begun in."""

    async def main() -> None:
        coroutine = agent().run("Hi")
        context = contextvars.copy_context()
        context.run(coroutine.send, None)
        coroutine.close()

    with caplog.at_level(logging.DEBUG), recorded() as spans:
        asyncio.run(main())
    assert ended(spans, caplog)
