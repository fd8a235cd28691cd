"""T1-T9 in the workers of Celery: the same agent, which the parent has used before the fork, in each of the pools."""

from __future__ import annotations

import os
from typing import Any

import pytest

from tests import server as play
from tests.kernel.celery_host import Worker
from tests.server import Exchange, ModelServer

pytestmark = pytest.mark.timeout(180)

LIMIT = 60.0  # seconds


@pytest.fixture
def tasks(worker: Worker) -> Any:
    """The tasks, as a program that sends them has them."""
    from tests.kernel import host_tasks

    return host_tasks


def test_no_event_loop(tasks: Any) -> None:
    """T1."""
    assert tasks.ask_without_loops.delay().get(LIMIT) == "Hello"


def test_the_async_twin_in_loops_of_its_own(tasks: Any, celery_server: ModelServer, pool: str) -> None:
    """T2: four in a row, and two tasks at once. Greenlets have one thread, and so one loop at a time between them."""
    asked, at_once = len(celery_server.exchanges), 1 if pool == "gevent" else 2
    results = [tasks.ask_async.delay() for _ in range(at_once)]
    assert [result.get(LIMIT) for result in results] == [["Hello"] * 4] * at_once
    assert len(celery_server.exchanges) - asked == 4 * at_once


def test_many_turns_at_once(tasks: Any, celery_server: ModelServer, pool: str) -> None:
    """T3, T5: 100 turns, by children of a fork, threads or greenlets; connections are made once, and then kept."""
    before = celery_server.connections
    results = [tasks.ask.delay("Hi") for _ in range(100)]
    answers = [result.get(LIMIT) for result in results]
    assert [text for text, _ in answers] == ["Hello"] * 100
    processes = {process for _, process in answers}
    assert os.getpid() not in processes
    assert (len(processes) > 1) == (pool == "prefork")
    assert celery_server.connections - before <= 50


def test_turns_see_their_own(tasks: Any, celery_server: ModelServer) -> None:
    """T4, T9: the state and the context variables of their own task."""

    def echo(exchange: Exchange) -> None:
        last = exchange.json()["messages"][-1]
        play.calls(("look", {}))(exchange) if last["role"] == "user" else play.text(last["content"])(exchange)

    celery_server.always(echo)
    results = [tasks.look_around.delay(number) for number in range(20)]
    assert [result.get(LIMIT) for result in results] == [f"{number} user {number}" for number in range(20)]


def test_no_thread_is_left(tasks: Any) -> None:
    """T12: what watches for an abort ends with its task; nothing of kova's is left when it has been idle."""
    first, _ = tasks.threads.delay().get(LIMIT)
    for number in range(10):
        assert tasks.chat_once.delay(f"thread {number}").get(LIMIT) == "Hello"
    assert tasks.threads.delay().get(LIMIT)[0] <= first
