"""Worker threads: used again, gone when idle, abandoned without harm."""

from __future__ import annotations

import subprocess
import sys
import threading
import weakref
from collections.abc import Callable
from functools import partial

import pytest

import kova
from kova._runtime import workers

LIMIT = 20.0  # seconds; more than anything here should ever take


def done_by(work: Callable[[], object] = lambda: None) -> threading.Thread:
    """The thread that has done the work."""
    threads: list[threading.Thread] = []
    done = threading.Event()

    def work_and_tell() -> None:
        work()
        threads.append(threading.current_thread())
        done.set()

    workers.start(work_and_tell)
    assert done.wait(LIMIT), "the work was lost"
    return threads[0]


def in_another_process(script: str) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", script], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_work_is_done_in_a_daemon_thread_that_says_whose_it_is() -> None:
    thread = done_by()
    assert thread is not threading.current_thread()
    assert thread.daemon
    assert thread.name.startswith("kova-worker-")


def test_threads_are_used_again() -> None:
    """T8: many calls leave the number of threads bounded."""
    assert len({done_by() for _ in range(1_000)}) < 50


def test_work_that_waits_for_other_work_does_not_wait_for_its_thread() -> None:
    gates = [threading.Event() for _ in range(20)]
    ended = threading.Semaphore(0)

    def wait_for_the_next(number: int) -> None:
        assert gates[number].wait(LIMIT)
        if number:
            gates[number - 1].set()
        ended.release()

    for number in range(20):
        workers.start(partial(wait_for_the_next, number))
    gates[-1].set()
    for _ in range(20):
        assert ended.acquire(timeout=LIMIT)


def test_an_idle_thread_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """T12: no thread stays behind."""
    monkeypatch.setattr(workers, "IDLE_SECONDS", 0.01)
    thread = done_by()
    thread.join(LIMIT)
    assert not thread.is_alive()


@pytest.mark.parametrize("idle", [0, 1e-5, 1e-4])
def test_no_work_is_lost_to_a_thread_that_is_just_ending(idle: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "IDLE_SECONDS", idle)
    lost: list[threading.Thread] = []

    def work_again_and_again() -> None:
        for _ in range(500):
            done = threading.Event()
            workers.start(done.set)
            if not done.wait(LIMIT):
                lost.append(threading.current_thread())
                return

    starters = [threading.Thread(target=work_again_and_again) for _ in range(4)]
    for starter in starters:
        starter.start()
    for starter in starters:
        starter.join(2 * LIMIT)
    assert lost == []


class Burden:
    """Something that work refers to."""

    def carry(self) -> None:
        pass


def test_a_waiting_thread_keeps_nothing_of_its_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "IDLE_SECONDS", LIMIT)
    gate = threading.Event()
    try:
        for _ in range(1_000):
            if not workers._idle.get():
                break
            workers.start(partial(gate.wait, LIMIT))  # so that the first burden gets a new thread
        for _ in range(3):
            burden = Burden()
            gone = threading.Event()
            weakref.finalize(burden, gone.set)
            workers.start(burden.carry)
            del burden
            assert gone.wait(LIMIT / 2)
    finally:
        gate.set()


def test_where_the_system_gives_no_more_threads_it_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """The caller must not do the work itself: it could not be abandoned any more."""

    def refuse(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    done: list[int] = []
    with pytest.raises(kova.KovaError, match="no thread can be started: can't start new thread"):
        workers.apart(lambda: workers.start(lambda: done.append(1)))
    assert not done


def test_a_forked_child_has_threads_of_its_own() -> None:
    """T5."""
    in_another_process(f"""
import os, threading
from kova._runtime import workers
done = threading.Semaphore(0)
workers.start(done.release)
done.acquire()
child = os.fork()
if child == 0:
    for _ in range(3):
        workers.start(done.release)
    os._exit(0 if all(done.acquire(timeout={LIMIT}) for _ in range(3)) else 3)
raise SystemExit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
""")


def test_a_script_ends_while_work_is_still_going_on() -> None:
    """T10."""
    in_another_process("""
import threading
from kova._runtime import workers
begun = threading.Event()
workers.start(lambda: (begun.set(), threading.Event().wait()))
begun.wait()
""")
