"""Cancellation tokens: from any thread, callback, signal handler or event loop."""

from __future__ import annotations

import asyncio
import copy
import gc
import logging
import math
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from functools import partial
from types import FrameType
from typing import Any

import anyio
import anyio.lowlevel
import pytest
import trio

import kova
from kova import CancellationToken, cancellation
from kova._loops import Scheduler, loop_scheduler

LIMIT = 20.0  # seconds; more than anything here should ever take
LONG = 3_600.0  # seconds
THREADS = 8


def in_threads(functions: list[Callable[[], object]]) -> None:
    """Call all functions at the same moment, each in a thread of its own."""
    barrier = threading.Barrier(len(functions))

    def start_together(function: Callable[[], object]) -> None:
        barrier.wait(LIMIT)
        function()

    threads = [threading.Thread(target=start_together, args=(function,)) for function in functions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(LIMIT)
        assert not thread.is_alive()


def timer_threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "kova-timers"]


@pytest.fixture(autouse=True)
def _timers_end() -> Iterator[None]:
    yield
    for thread in timer_threads():
        thread.join(LIMIT)
        assert not thread.is_alive(), "the timer thread goes on although nothing waits for it"


@pytest.fixture
def token() -> CancellationToken:
    return CancellationToken()


# ---- a token is cancelled once and for good


def test_a_token_tells_whether_to_stop(token: CancellationToken) -> None:
    token.raise_if_cancelled()
    assert (token.is_cancelled, token.reason, repr(token)) == (False, None, "<CancellationToken active>")
    token.cancel("the user left")
    assert (token.is_cancelled, token.reason, repr(token)) == (True, "the user left", "<CancellationToken cancelled>")
    with pytest.raises(kova.TurnCancelledError, match="the turn was cancelled: the user left"):
        token.raise_if_cancelled()


def test_only_the_first_call_counts(token: CancellationToken) -> None:
    called: list[int] = []
    token.add_callback(lambda: called.append(1))
    token.cancel()
    token.cancel("again")
    assert (token.reason, called) == (None, [1])


def test_a_copy_that_nobody_would_cancel_is_refused(token: CancellationToken) -> None:
    for copied in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError, match="cannot be copied or pickled"):
            copied(token)


# ---- children


def test_children_are_cancelled_with_their_parent(token: CancellationToken) -> None:
    called: list[str] = []
    child = token.child()
    grandchild = child.child()
    grandchild.add_callback(lambda: called.append("grandchild"))
    token.cancel("enough")
    assert (child.is_cancelled, grandchild.is_cancelled, grandchild.reason) == (True, True, "enough")
    assert called == ["grandchild"]
    assert child.child().is_cancelled


def test_a_child_may_be_cancelled_alone(token: CancellationToken) -> None:
    called: list[str] = []
    child, sibling = token.child(), token.child()
    child.add_callback(lambda: called.append("child"))
    sibling.add_callback(lambda: called.append("sibling"))
    child.cancel("enough")
    assert (token.is_cancelled, child.is_cancelled, sibling.is_cancelled) == (False, True, False)
    token.cancel("all")
    assert called == ["child", "sibling"]
    assert (child.reason, sibling.reason) == ("enough", "all")


def test_a_child_of_a_cancelled_token_keeps_its_reason(token: CancellationToken) -> None:
    child = token.child()
    token.cancel("enough")
    child.cancel("me too")
    assert child.reason == "enough"


def test_a_long_lived_token_does_not_collect_the_children_of_all_turns(token: CancellationToken) -> None:
    children: list[weakref.ref[CancellationToken]] = []
    for number in range(100):
        child = token.child()
        grandchild = child.child()
        children += [weakref.ref(child), weakref.ref(grandchild)]
        forget = grandchild.add_callback(lambda: None)
        child.add_callback(lambda: None)
        grandchild.wait(0)
        if number % 2:
            forget()
        child.cancel()
    del child, grandchild, forget
    gc.collect()
    assert [reference() for reference in children] == [None] * 200
    assert token._callbacks == {}


def test_children_that_have_a_time_leave_nothing_behind_when_it_is_over(token: CancellationToken) -> None:
    for child in [token.child() for _ in range(10)]:
        child.cancel_after(0)
        assert child.wait(LIMIT)
    assert token._callbacks == {}


# ---- callbacks


def test_callbacks_run_in_the_cancelling_thread_in_the_order_in_which_they_came(token: CancellationToken) -> None:
    called: list[tuple[int, int]] = []
    for number in range(3):
        token.add_callback(lambda number=number: called.append((number, threading.get_ident())))  # type: ignore[misc]
    thread = threading.Thread(target=token.cancel)
    thread.start()
    thread.join(LIMIT)
    assert called == [(0, thread.ident), (1, thread.ident), (2, thread.ident)]


def test_a_callback_that_comes_too_late_runs_at_once(token: CancellationToken) -> None:
    called: list[int] = []
    token.cancel()
    forget = token.add_callback(lambda: called.append(threading.get_ident()))
    assert called == [threading.get_ident()]
    forget()
    assert token._callbacks == {}


def test_a_callback_that_was_taken_back_does_not_run(token: CancellationToken) -> None:
    called: list[int] = []
    forget = token.child().add_callback(lambda: called.append(1))
    forget()
    forget()
    token.cancel()
    assert called == []


def test_the_same_function_may_be_added_twice(token: CancellationToken) -> None:
    called: list[int] = []
    callback = partial(called.append, 1)
    token.add_callback(callback)()
    token.add_callback(callback)
    token.add_callback(callback)
    token.cancel()
    assert called == [1, 1]


def test_what_a_callback_raises_is_logged_and_stops_nothing(
    token: CancellationToken, caplog: pytest.LogCaptureFixture
) -> None:
    called: list[int] = []
    token.add_callback(lambda: 1 / 0)
    token.add_callback(sys.exit)
    token.child().add_callback(lambda: called.append(1))
    with caplog.at_level(logging.ERROR, logger="kova"):
        token.cancel()
    assert called == [1]
    assert [record.exc_info[0] for record in caplog.records if record.exc_info] == [ZeroDivisionError, SystemExit]


def test_after_ctrl_c_in_a_callback_the_others_can_still_be_told(token: CancellationToken) -> None:
    called: list[int] = []

    def interrupted() -> None:
        raise KeyboardInterrupt

    token.add_callback(interrupted)
    token.add_callback(lambda: called.append(1))
    with pytest.raises(KeyboardInterrupt):
        token.cancel("first")
    token.cancel("second")
    assert (called, token.reason) == ([1], "first")


def test_callbacks_may_use_the_token(token: CancellationToken) -> None:
    called: list[str] = []

    def callback() -> None:
        token.cancel("again")
        token.add_callback(lambda: called.append("inner"))
        called.append("outer")

    token.add_callback(callback)
    token.cancel()
    assert called == ["inner", "outer"]


def test_a_callback_must_be_callable(token: CancellationToken) -> None:
    with pytest.raises(TypeError, match="callback must be callable, not NoneType"):
        token.add_callback(None)  # type: ignore[arg-type]  # that is the point


# ---- races


@pytest.mark.parametrize("child", [False, True], ids=["of the token", "of children"])
def test_callbacks_that_race_with_cancel_run_exactly_once(child: bool) -> None:
    """T12."""
    for _ in range(100):
        token = CancellationToken()
        called: list[tuple[int, int]] = []

        def add(thread: int, token: CancellationToken = token, called: list[tuple[int, int]] = called) -> None:
            mine = token.child() if child else token
            for number in range(20):
                mine.add_callback(partial(called.append, (thread, number)))

        in_threads([*[partial(add, thread) for thread in range(THREADS)], token.cancel])
        assert sorted(called) == [(thread, number) for thread in range(THREADS) for number in range(20)]
        assert token._callbacks == {}


def test_threads_that_cancel_at_once_agree_on_one_reason() -> None:
    for _ in range(100):
        token = CancellationToken()
        child = token.child()
        called: list[int] = []
        child.add_callback(partial(called.append, 1))
        seen: list[str | None] = []

        def cancel(
            reason: str,
            tokens: tuple[CancellationToken, ...] = (token, child),
            seen: list[str | None] = seen,
        ) -> None:
            for each in tokens:
                each.cancel(reason)
            seen.append(tokens[0].reason)

        in_threads([partial(cancel, str(number)) for number in range(THREADS)])
        assert called == [1]
        assert len(set(seen)) == 1


def test_a_callback_that_is_taken_back_while_the_token_is_cancelled_runs_once_or_never() -> None:
    for _ in range(200):
        token = CancellationToken()
        called: list[int] = []
        forget = token.child().add_callback(partial(called.append, 1))
        in_threads([forget, token.cancel])
        assert len(called) <= 1
        assert token._callbacks == {}


# ---- signal handlers


def steps_of(module_file: str, action: Callable[[], object], interrupt: Callable[[], object], at: int) -> bool:
    """Do the action, interrupted before its `at`-th step within the module, as by a signal handler."""
    left = at
    interrupted = False

    def trace(frame: FrameType, event: str, argument: object) -> Any:
        nonlocal left, interrupted
        if frame.f_code.co_filename != module_file:
            return None
        frame.f_trace_opcodes = True
        if event == "opcode":
            left -= 1
            if left == 0:
                interrupted = True
                interrupt()
        return trace

    before = sys.gettrace()
    sys._getframe().f_trace_opcodes = True  # Python 3.12 traces steps only where it is said before it begins
    sys.settrace(trace)
    try:
        action()
    finally:
        sys.settrace(before)
    return interrupted


@pytest.mark.parametrize("child", [False, True], ids=["token", "child"])
def test_a_signal_handler_may_cancel_at_any_step_of_adding_a_callback(child: bool) -> None:
    """T12: a wait that is about to begin must not miss it."""
    at = 0
    interrupted = True
    while interrupted:
        at += 1
        token = CancellationToken()
        mine = token.child() if child else token
        called: list[int] = []
        add = partial(mine.add_callback, partial(called.append, 1))
        interrupted = steps_of(cancellation.__file__, add, token.cancel, at)
        token.cancel()
        assert called == [1], f"interrupted before step {at}"
        assert token._callbacks == mine._callbacks == {}
    assert at > 20


def test_a_signal_handler_may_cancel_at_any_step_of_a_cancellation() -> None:
    at = 0
    interrupted = True
    while interrupted:
        at += 1
        token = CancellationToken()
        called: list[int] = []
        for number in range(3):
            token.child().add_callback(partial(called.append, number))
        seen: list[str | None] = []

        def handler(token: CancellationToken = token, seen: list[str | None] = seen) -> None:
            token.cancel("handler")
            seen.append(token.reason)

        interrupted = steps_of(cancellation.__file__, partial(token.cancel, "main"), handler, at)
        assert sorted(called) == [0, 1, 2], f"interrupted before step {at}"
        assert {token.reason, *seen} == {token.reason}
    assert at > 20


def test_a_signal_handler_may_cancel_at_any_step_of_setting_a_time() -> None:
    at = 0
    interrupted = True
    while interrupted:
        at += 1
        token = CancellationToken()
        interrupted = steps_of(cancellation.__file__, partial(token.cancel_after, LONG), token.cancel, at)
        token.cancel()
    assert at > 20


def test_a_signal_handler_ends_a_wait_of_the_main_thread(token: CancellationToken) -> None:
    before = signal.signal(signal.SIGUSR1, lambda *_: token.cancel("signal"))
    try:
        sender = threading.Timer(0.05, os.kill, [os.getpid(), signal.SIGUSR1])
        sender.start()
        assert token.wait(LIMIT)
        sender.join(LIMIT)
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert token.reason == "signal"


# ---- waiting


def test_wait_tells_whether_the_token_is_cancelled(token: CancellationToken) -> None:
    assert not token.wait(0)
    assert not token.wait(0.01)
    assert not token.wait(-1)
    assert token._callbacks == {}
    token.cancel()
    assert token.wait()
    assert token.wait(0)
    assert token.child().wait(math.inf)
    assert token._callbacks == {}


def test_a_wait_ends_when_another_thread_cancels(token: CancellationToken) -> None:
    ended: list[bool] = []
    in_threads([*[lambda: ended.append(token.child().wait(LIMIT))] * 3, token.cancel])
    assert ended == [True] * 3


# ---- waiting in an event loop


@pytest.mark.anyio
async def test_wait_async_ends_when_another_thread_cancels(token: CancellationToken) -> None:
    """T13."""
    thread = threading.Timer(0.05, token.cancel)
    thread.start()
    with anyio.fail_after(LIMIT):
        await token.child().wait_async()
    thread.join(LIMIT)
    assert token.is_cancelled
    assert token._callbacks == {}


@pytest.mark.anyio
async def test_wait_async_ends_when_the_same_loop_cancels(token: CancellationToken) -> None:
    with anyio.fail_after(LIMIT):
        async with anyio.create_task_group() as tasks:
            for _ in range(3):
                tasks.start_soon(token.wait_async)
            await anyio.lowlevel.checkpoint()
            token.cancel()


@pytest.mark.anyio
async def test_wait_async_ends_at_once_where_the_token_is_cancelled(token: CancellationToken) -> None:
    token.cancel()
    with anyio.fail_after(LIMIT):
        await token.wait_async()


@pytest.mark.anyio
async def test_a_wait_that_was_given_up_leaves_nothing_behind(token: CancellationToken) -> None:
    child = token.child()
    with anyio.move_on_after(0.01):
        await child.wait_async()
    assert token._callbacks == child._callbacks == {}


async def scheduler_of_this_loop() -> Scheduler:
    return loop_scheduler()


@pytest.mark.parametrize("run", [lambda main: asyncio.run(main()), trio.run], ids=["asyncio", "trio"])
def test_a_loop_that_is_over_is_not_told(
    run: Callable[[Any], Scheduler], token: CancellationToken, caplog: pytest.LogCaptureFixture
) -> None:
    """T2."""
    called: list[int] = []
    schedule = run(scheduler_of_this_loop)
    token.add_callback(lambda: schedule(lambda: called.append(1)))
    token.cancel()
    assert (called, caplog.records) == ([], [])


def test_a_waiting_loop_may_be_closed_before_the_token_is_cancelled(
    token: CancellationToken, caplog: pytest.LogCaptureFixture
) -> None:
    waiting: list[Any] = []

    async def main() -> None:
        waiting.append(token.wait_async())
        waiting[0].send(None)  # it waits now, and its loop will end without it

    asyncio.run(main())
    token.cancel()
    waiting[0].close()
    assert caplog.records == []
    assert token._callbacks == {}


# ---- time


def test_a_token_is_cancelled_when_its_time_is_over(token: CancellationToken) -> None:
    start = time.monotonic()
    token.cancel_after(0.05)
    assert not token.is_cancelled
    assert token.wait(LIMIT)
    assert time.monotonic() - start >= 0.05
    assert token.reason == "the time given to cancel_after is over"


def test_the_shorter_time_counts_whichever_was_set_first() -> None:
    late, soon = CancellationToken(), CancellationToken()
    late.cancel_after(LONG)
    soon.cancel_after(LONG)
    soon.cancel_after(0.01)
    assert soon.wait(LIMIT)
    assert not late.is_cancelled
    late.cancel()


def test_no_time_at_all_is_now(token: CancellationToken) -> None:
    token.cancel_after(0)
    assert token.wait(LIMIT)


@pytest.mark.parametrize("seconds", [-1, -0.001, math.nan])
def test_a_time_is_not_negative(token: CancellationToken, seconds: float) -> None:
    with pytest.raises(ValueError, match="seconds must be a number of at least 0"):
        token.cancel_after(seconds)


def test_one_thread_serves_all_tokens_and_ends_when_none_is_left() -> None:
    """T12: no thread stays behind."""
    tokens = [CancellationToken() for _ in range(50)]
    for number, token in enumerate(tokens):
        token.cancel_after(0.1 if number % 2 else LONG)
    (thread,) = timer_threads()
    assert all(token.wait(LIMIT) for token in tokens[1::2])
    assert thread.is_alive()
    for token in tokens:
        token.cancel()
    thread.join(LIMIT)
    assert not thread.is_alive()


@pytest.mark.parametrize("how", ["itself", "its parent"])
def test_a_token_that_is_cancelled_waits_for_its_time_no_longer(token: CancellationToken, how: str) -> None:
    child = token.child()
    child.cancel_after(LONG)
    (thread,) = timer_threads()
    (child if how == "itself" else token).cancel("enough")
    thread.join(LIMIT)
    assert not thread.is_alive()
    assert child.reason == "enough"


def test_a_cancelled_token_starts_no_thread(token: CancellationToken) -> None:
    token.cancel()
    token.cancel_after(LONG)
    assert timer_threads() == []


def test_tokens_that_are_given_a_time_while_the_thread_is_ending_are_served() -> None:
    for _ in range(300):
        tokens = [CancellationToken() for _ in range(4)]
        in_threads([partial(token.cancel_after, 0) for token in tokens])
        assert all(token.wait(LIMIT) for token in tokens)


def test_a_callback_that_fails_does_not_stop_the_time(caplog: pytest.LogCaptureFixture) -> None:
    first, second = CancellationToken(), CancellationToken()
    first.add_callback(sys.exit)
    first.cancel_after(0)
    second.cancel_after(0.02)
    assert second.wait(LIMIT)
    assert len(caplog.records) == 1


def test_the_thread_keeps_no_token_that_it_has_cancelled(token: CancellationToken) -> None:
    token.cancel_after(LONG)
    gone = threading.Event()
    short = CancellationToken()
    weakref.finalize(short, gone.set)
    short.cancel_after(0)
    del short
    assert gone.wait(LIMIT)
    token.cancel()


# ---- fork


def forked(script: str) -> None:
    """Run a script that forks, in a process that has no other threads."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", script], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_a_forked_child_has_a_timer_thread_of_its_own() -> None:
    """T5."""
    forked(f"""
import os, kova
kova.CancellationToken().cancel_after({LONG})
child = os.fork()
if child == 0:
    token = kova.CancellationToken()
    token.cancel_after(0.01)
    os._exit(0 if token.wait({LIMIT}) else 3)
raise SystemExit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
""")


def test_a_forked_child_may_cancel_what_the_parent_was_waiting_for() -> None:
    """T5: whatever lock another thread held at the moment of the fork."""
    forked(f"""
import os, threading, kova
from kova import cancellation
token, called = kova.CancellationToken(), []
token.cancel_after({LONG})
token.add_callback(lambda: called.append(1))
held = threading.Event()
def hold():
    with cancellation._timers._changed:
        held.set()
        threading.Event().wait({LIMIT})
threading.Thread(target=hold, daemon=True).start()
held.wait({LIMIT})
child = os.fork()
if child == 0:
    token.cancel()
    os._exit(0 if called == [1] else 3)
raise SystemExit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
""")
