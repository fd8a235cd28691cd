"""examples/celery_tasks.py with a real Redis and real workers: progress, aborts, retries, deliveries that come twice."""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path
from typing import Any

import pytest

import kova
from tests import server as play
from tests.kernel.celery_host import POOLS, Worker
from tests.observe import wait_until
from tests.server import Exchange, ModelServer

pytestmark = [
    pytest.mark.filterwarnings("ignore:Call to deprecated setex:DeprecationWarning"),  # a call of Celery's
    pytest.mark.timeout(180),
]

LIMIT = 60.0  # seconds
ABORTS_WITHIN = 2.5  # seconds: five times the 0.2 between two looks, and the 0.3 in which a turn ends


@pytest.fixture
def example(worker: Worker) -> Any:
    """The module, as a program that sends the tasks has it."""
    from examples import celery_tasks

    return celery_tasks


class Silent:
    """A model that begins to answer and then says nothing more."""

    def __init__(self, *, streams: bool = True) -> None:
        self.asked, self.left = threading.Event(), threading.Event()
        self._streams = streams

    def __call__(self, exchange: Exchange) -> None:
        if self._streams:
            exchange.start_stream()
            exchange.send_delta({"content": "first "})
        self.asked.set()
        if exchange.wait_for_disconnect():
            self.left.set()


def test_progress_comes_as_it_happens(example: Any, celery_server: ModelServer, pool: str) -> None:
    """T7: the model says its second word only when the first has come here."""
    seen = threading.Event()

    def answer(exchange: Exchange) -> None:
        exchange.start_stream()
        exchange.send_delta({"content": "first "})
        assert seen.wait(LIMIT)
        exchange.send_delta({"content": "second"}, "stop")
        exchange.end_stream()

    celery_server.play(answer)
    task = example.chat.delay(f"progress {pool}", "Hi", 0)
    events = []
    for event in example.follow(task.id):
        events.append(event)
        if event == ("text", "first "):
            seen.set()
    assert events == [("begin", ""), ("text", "first "), ("text", "second"), ("end", "")]
    assert task.get(LIMIT) == "first second"
    assert list(example.follow(task.id)) == events  # whoever comes late


@pytest.mark.parametrize("streams", [False, True], ids=["waiting", "streaming"])
def test_an_abort_ends_the_turn(example: Any, celery_server: ModelServer, pool: str, streams: bool) -> None:
    """T11, T12: the server sees the worker leave, nothing is stored, and the caller is told."""
    silent = Silent(streams=streams)
    celery_server.play(silent)
    conversation = f"abort {pool} {streams}"
    task = example.chat.AsyncResult(example.chat.delay(conversation, "Hi", 0).id)
    assert silent.asked.wait(LIMIT)
    at = time.monotonic()
    task.abort()
    with pytest.raises(kova.TurnCancelledError, match="^the turn was cancelled: aborted$"):
        task.get(LIMIT)
    assert time.monotonic() - at < ABORTS_WITHIN
    assert silent.left.wait(5)
    assert example.store.load(conversation) == ([], 0)
    assert example.chat.delay(conversation, "Hi", 0).get(LIMIT) == "Hello"  # the worker is as good as before


def test_an_abort_before_the_task_has_begun(example: Any, celery_server: ModelServer, pool: str) -> None:
    """T12: a task that waits for its turn."""
    silent = Silent()
    celery_server.always(silent)
    late = example.chat.apply_async((f"late {pool}", "Hi", 0), countdown=1)
    example.chat.AsyncResult(late.id).abort()
    with pytest.raises(kova.TurnCancelledError):
        late.get(LIMIT)


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """A file in which a tool's program writes its process id."""
    return tmp_path / "pid"


def is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


def test_an_abort_while_a_tool_runs_a_program(
    example: Any, celery_server: ModelServer, pool: str, program: Path
) -> None:
    """T12: the program is killed."""
    from tests.kernel import host_tasks

    celery_server.play(play.calls(("sleep", {"file": str(program)})))
    task = host_tasks.sleep_in_a_tool.AsyncResult(host_tasks.sleep_in_a_tool.delay().id)
    wait_until(lambda: program.exists() and program.read_text().endswith("\n"), "the program runs")
    task.abort()
    with pytest.raises(kova.TurnCancelledError):
        task.get(LIMIT)
    wait_until(lambda: not is_running(int(program.read_text())), "the program is gone")


def test_revoke_with_terminate(example: Any, celery_server: ModelServer, pool: str, worker: Worker) -> None:
    """T11: the hard way. Nothing is stored, and the worker goes on."""
    from celery.exceptions import TaskRevokedError

    silent = Silent()
    celery_server.play(silent)
    task = example.chat.delay(f"revoke {pool}", "Hi", 0)
    assert silent.asked.wait(LIMIT)
    example.app.control.revoke(task.id, terminate=True)
    if pool == "threads":  # Celery has no way to end a thread, and says so: an abort is what ends the turn
        wait_until(lambda: "does not implement kill_job" in worker.log, "the worker says that it cannot")
        assert not silent.left.is_set()
        example.chat.AsyncResult(task.id).abort()
    with pytest.raises(kova.TurnCancelledError if pool == "threads" else TaskRevokedError):
        task.get(LIMIT)
    assert silent.left.wait(5)
    assert example.store.load(f"revoke {pool}") == ([], 0)
    assert example.chat.delay(f"revoke {pool}", "Hi", 0).get(LIMIT) == "Hello"


@pytest.mark.parametrize("pool", ["prefork", "gevent"], scope="module")
def test_revoke_with_terminate_while_a_tool_runs_a_program(
    example: Any, celery_server: ModelServer, pool: str, program: Path
) -> None:
    """T11: the program is killed as well."""
    from celery.exceptions import TaskRevokedError

    from tests.kernel import host_tasks

    celery_server.play(play.calls(("sleep", {"file": str(program)})))
    task = host_tasks.sleep_in_a_tool.delay()
    wait_until(lambda: program.exists() and program.read_text().endswith("\n"), "the program runs")
    example.app.control.revoke(task.id, terminate=True)
    with pytest.raises(TaskRevokedError):
        task.get(LIMIT)
    wait_until(lambda: not is_running(int(program.read_text())), "the program is gone")


@pytest.mark.parametrize("pool", ["prefork"], scope="module")
def test_the_soft_limit_while_a_tool_runs_a_program(
    example: Any, celery_server: ModelServer, pool: str, program: Path
) -> None:
    """T10: the task is told, and not the model, to which the agent reports what tools raise. The program is killed."""
    from tests.kernel import host_tasks

    celery_server.play(play.calls(("sleep", {"file": str(program)})))
    asked = len(celery_server.exchanges)
    assert host_tasks.overdue.delay().get(LIMIT) == "the soft limit"
    assert len(celery_server.exchanges) - asked == 1
    wait_until(lambda: not is_running(int(program.read_text())), "the program is gone")


@pytest.mark.parametrize("pool", ["prefork", "gevent"], scope="module")
def test_the_hard_limit_while_a_tool_runs_a_program(
    example: Any, celery_server: ModelServer, pool: str, program: Path
) -> None:
    """T11: it ends the process, or raises gevent's Timeout; the model is not asked again."""
    from celery.exceptions import TimeLimitExceeded

    from tests.kernel import host_tasks

    celery_server.play(play.calls(("sleep", {"file": str(program)})))
    asked = len(celery_server.exchanges)
    with pytest.raises(TimeLimitExceeded):
        host_tasks.long_overdue.delay().get(LIMIT)
    assert host_tasks.ask.delay("Hi").get(LIMIT)[0] == "Hello"
    assert len(celery_server.exchanges) - asked == 2
    if pool == "gevent":  # a process that is killed has no time for it
        wait_until(lambda: not is_running(int(program.read_text())), "the program is gone")


def test_retries_do_not_multiply(example: Any, celery_server: ModelServer, pool: str) -> None:
    """R1: the agent's three attempts, and none of Celery's."""
    celery_server.always(play.error(503, headers={"retry-after": "0.01"}))
    asked = len(celery_server.exchanges)
    with pytest.raises(kova.ProviderError) as caught:
        example.chat.delay(f"busy {pool}", "Hi", 0).get(LIMIT)
    assert (caught.value.status_code, caught.value.provider_class) == (503, kova.ProviderErrorClass.OVERLOADED)
    assert len(celery_server.exchanges) - asked == 3


def test_a_long_pause_is_celerys(example: Any, celery_server: ModelServer, pool: str) -> None:
    """R1, R2: the agent makes one attempt, the worker is free in the meantime, and Celery makes another."""
    celery_server.play(play.error(429, headers={"retry-after": "3"}))
    asked, at = len(celery_server.exchanges), time.monotonic()
    assert example.chat.delay(f"limit {pool}", "Hi", 0).get(LIMIT) == "Hello"
    assert len(celery_server.exchanges) - asked == 2
    assert time.monotonic() - at > 2.9


def test_a_task_that_is_delivered_twice_has_one_effect(example: Any, celery_server: ModelServer, pool: str) -> None:
    """C1: afterwards, and at the same time."""
    asked = len(celery_server.exchanges)
    conversation = f"twice {pool}"
    assert [example.chat.delay(conversation, "Hi", 0).get(LIMIT) for _ in range(2)] == ["Hello"] * 2
    assert len(celery_server.exchanges) - asked == 1
    messages, revision = example.store.load(conversation)
    at_once = [example.chat.delay(conversation, "Again", revision) for _ in range(2)]
    assert [task.get(LIMIT) for task in at_once] == ["Hello"] * 2
    assert [message.text for message in example.store.load(conversation)[0]] == ["Hi", "Hello", "Again", "Hello"]
    with pytest.raises(kova.MemoryStoreError, match="has gone on") as caught:
        example.chat.delay(conversation, "Something else", revision).get(LIMIT)
    assert caught.value.is_conflict
    assert len(messages) == 2


@pytest.mark.parametrize("pool", ["prefork"], indirect=False, scope="module")
def test_a_child_that_is_killed(example: Any, celery_server: ModelServer) -> None:
    """L5: the turn is delivered again, and stored once; whoever follows is told that it begins again."""
    from tests.kernel import host_tasks

    silent = Silent()
    celery_server.play(silent)
    task = example.chat.delay("killed", "Hi", 0)
    assert silent.asked.wait(LIMIT)
    [busy] = [
        active["worker_pid"]
        for of_worker in example.app.control.inspect(timeout=5).active().values()
        for active in of_worker
        if active["id"] == task.id
    ]
    os.kill(busy, signal.SIGKILL)
    assert task.get(LIMIT) == "Hello"
    assert [event for event in example.follow(task.id) if event[0] != "end"] == [
        ("begin", ""),
        ("text", "first "),
        ("begin", ""),
        ("text", "Hello"),
    ]
    assert [message.text for message in example.store.load("killed")[0]] == ["Hi", "Hello"]
    assert host_tasks.ask.delay("Hi").get(LIMIT)[0] == "Hello"


@pytest.mark.parametrize("pool", POOLS)
def test_a_warm_shutdown(
    pool: str, celery_environment: dict[str, str], celery_server: ModelServer, tmp_path: Path
) -> None:
    """T10: a worker that is told to stop ends its turn first, and then itself, soon."""
    from examples import celery_tasks

    celery_server.forget()
    celery_server.always(play.text("Hello"))
    worker = Worker(pool, tmp_path / "log", {**celery_environment, "OPENAI_BASE_URL": celery_server.url})
    try:
        asked, go = threading.Event(), threading.Event()

        def slow(exchange: Exchange) -> None:
            asked.set()
            assert go.wait(LIMIT)
            play.text("done")(exchange)

        celery_server.play(slow)
        task = celery_tasks.chat.delay(f"shutdown {pool}", "Hi", 0)
        assert asked.wait(LIMIT)
        threading.Timer(1, go.set).start()
        assert worker.stop() < 30, worker.log
        assert task.get(LIMIT) == "done"
        assert "ERROR" not in worker.log
    finally:
        worker.close()
