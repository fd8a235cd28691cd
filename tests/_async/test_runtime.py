"""The contract of the runtime layer: the same tests on asyncio, on trio and on threads."""

from __future__ import annotations

import contextvars
import socket
import threading
import time

import pytest

import kova
from kova._runtime import aio as rt
from kova._runtime.scope import Deadline
from tests.async_tools import give

pytestmark = pytest.mark.anyio

SOON = 0.05  # seconds
QUICKLY = 1.5  # seconds: five times the 0.3 in which a wait must end
LONG = 60.0  # seconds


def soon(what: str = "the block") -> Deadline:
    return Deadline(SOON, what)


async def test_a_deadline_ends_a_wait_with_its_error() -> None:
    start = time.monotonic()
    with pytest.raises(kova.TimeoutError, match=r"the nap took longer than 0\.05 s") as caught:
        with rt.fail_at(Deadline(SOON, "the nap", is_retryable=False)):
            await rt.sleep(LONG)
    assert time.monotonic() - start < QUICKLY
    assert (caught.value.duration, caught.value.is_retryable) == (SOON, False)


async def test_a_block_that_ends_in_time_is_left_alone() -> None:
    with rt.fail_at(Deadline(LONG, "the block")), rt.cancel_on(kova.CancellationToken()):
        await rt.sleep(0)
    with rt.fail_at(None), rt.cancel_on(None):
        await rt.sleep(0)


async def test_the_outer_of_two_deadlines_that_have_passed_speaks() -> None:
    with pytest.raises(kova.TimeoutError, match="outer"):
        with rt.fail_at(soon("outer")), rt.fail_at(Deadline(LONG, "inner")):
            await rt.sleep(LONG)


async def test_the_inner_deadline_speaks_when_only_it_has_passed() -> None:
    with pytest.raises(kova.TimeoutError, match="inner"):
        with rt.fail_at(Deadline(LONG, "outer")), rt.fail_at(soon("inner")):
            await rt.sleep(LONG)


async def test_move_on_after_just_leaves_the_block() -> None:
    reached = []
    with rt.move_on_after(SOON):
        await rt.sleep(LONG)
        reached.append("the end of the block")
    assert reached == []


async def test_move_on_after_does_not_hide_an_outer_deadline() -> None:
    with pytest.raises(kova.TimeoutError):
        with rt.fail_at(soon()), rt.move_on_after(LONG):
            await rt.sleep(LONG)


async def test_a_token_cancelled_by_another_thread_ends_a_wait() -> None:
    token = kova.CancellationToken()
    threading.Timer(SOON, token.cancel, ["enough"]).start()
    start = time.monotonic()
    with pytest.raises(kova.TurnCancelledError, match="enough"):
        with rt.cancel_on(token):
            await rt.sleep(LONG)
    assert time.monotonic() - start < QUICKLY


async def test_a_token_that_is_cancelled_already_lets_nothing_begin() -> None:
    token = kova.CancellationToken()
    token.cancel()
    with pytest.raises(kova.TurnCancelledError):
        with rt.cancel_on(token):
            pytest.fail("the block was entered")


async def test_of_nested_tokens_the_cancelled_one_speaks() -> None:
    outer, inner = kova.CancellationToken(), kova.CancellationToken()
    threading.Timer(SOON, inner.cancel).start()
    with rt.cancel_on(outer):
        with pytest.raises(kova.TurnCancelledError):
            with rt.cancel_on(inner):
                await rt.sleep(LONG)
        await rt.sleep(0)  # the outer block goes on


async def test_an_outer_token_ends_inner_blocks_too() -> None:
    outer, inner = kova.CancellationToken(), kova.CancellationToken()
    threading.Timer(SOON, outer.cancel, ["outer"]).start()
    with pytest.raises(kova.TurnCancelledError, match="outer"):
        with rt.cancel_on(outer), rt.cancel_on(inner), rt.fail_at(Deadline(LONG, "the block")):
            await rt.sleep(LONG)


async def test_remaining_is_the_time_to_the_nearest_deadline() -> None:
    assert rt.remaining() == float("inf")
    with rt.fail_at(Deadline(LONG, "outer")), rt.fail_at(Deadline(2 * LONG, "inner")):
        assert LONG - 5 < rt.remaining() <= LONG


async def test_a_shield_keeps_clean_up_from_being_ended() -> None:
    cleaned_up = []
    with pytest.raises(kova.TimeoutError):
        with rt.fail_at(soon()):
            try:
                await rt.sleep(LONG)
            finally:
                with rt.shield(LONG):
                    await rt.sleep(SOON)
                    cleaned_up.append(True)
    assert cleaned_up == [True]


async def test_a_shield_ends_after_its_grace() -> None:
    with rt.shield(SOON):
        await rt.sleep(LONG)


async def test_a_checkpoint_ends_what_is_over() -> None:
    with pytest.raises(kova.TimeoutError):
        with rt.fail_at(Deadline(-1, "the block")):
            await rt.checkpoint()


async def test_a_semaphore_lets_no_more_in_than_it_says() -> None:
    inside: list[int] = []
    most = []
    semaphore = rt.Semaphore(2)

    async def visit(number: int) -> None:
        async with semaphore:
            inside.append(number)
            most.append(len(inside))
            await rt.sleep(0.01)
            inside.remove(number)

    async with rt.TaskGroup() as group:
        for number in range(6):
            group.start_soon(visit, number)
    assert len(most) == 6
    assert max(most) == 2


async def test_waiting_for_a_semaphore_ends_with_the_scope_and_leaves_it_usable() -> None:
    semaphore = rt.Semaphore(1)
    async with semaphore:
        with pytest.raises(kova.TimeoutError):
            with rt.fail_at(soon()):
                await semaphore.acquire()
    async with semaphore:
        pass


async def test_a_channel_hands_over_what_is_put_in_order() -> None:
    channel: rt.Channel[int] = rt.Channel()
    channel.put(1)
    channel.put(2)
    assert [await channel.get(), await channel.get()] == [1, 2]
    with pytest.raises(kova.TimeoutError):
        with rt.fail_at(soon()):
            await channel.get()


async def test_a_group_waits_for_its_children() -> None:
    done: list[int] = []

    async def child(number: int) -> None:
        await rt.sleep(0.01)
        done.append(number)

    async with rt.TaskGroup() as group:
        for number in range(3):
            group.start_soon(child, number)
    assert sorted(done) == [0, 1, 2]


async def test_the_first_failure_cancels_the_siblings_and_comes_out_in_a_group() -> None:
    async def fail() -> None:
        raise ValueError("first")

    async def wait() -> None:
        await rt.sleep(LONG)

    start = time.monotonic()
    with pytest.raises(ExceptionGroup) as caught:
        async with rt.TaskGroup() as group:
            group.start_soon(wait)
            group.start_soon(fail)
    assert time.monotonic() - start < QUICKLY
    assert [str(error) for error in caught.value.exceptions] == ["first"]


async def test_a_deadline_that_ended_the_children_is_not_lost() -> None:
    async def wait() -> None:
        await rt.sleep(LONG)

    with pytest.raises(kova.TimeoutError):
        with rt.fail_at(soon()):
            async with rt.TaskGroup() as group:
                group.start_soon(wait)


async def test_a_cancelled_group_ends_quietly() -> None:
    async def wait() -> None:
        await rt.sleep(LONG)

    async with rt.TaskGroup() as group:
        group.start_soon(wait)
        group.cancel()


async def test_children_see_the_callers_context_variables() -> None:
    """T9."""
    variable = contextvars.ContextVar("variable", default="unset")
    variable.set("set by the caller")
    seen = []

    async def child() -> None:
        seen.append(variable.get())

    async with rt.TaskGroup() as group:
        group.start_soon(child)
        group.start_soon(child)
    assert seen == ["set by the caller"] * 2
    assert await rt.call(variable.get) == "set by the caller"


async def test_a_plain_function_gives_its_result_or_its_error() -> None:
    assert await rt.call(max, 1, 2) == 2
    with pytest.raises(ZeroDivisionError):
        await rt.call(divmod, 1, 0)
    assert await rt.run_blocking(max, 1, 2) == 2


async def test_a_plain_function_that_blocks_is_told_to_stop_and_abandoned() -> None:
    """T12: the late result is dropped."""
    release, stop = threading.Event(), kova.CancellationToken()
    start = time.monotonic()
    with pytest.raises(kova.TimeoutError):
        with rt.fail_at(soon()):
            await rt.call(release.wait, LONG, stop=stop)
    assert time.monotonic() - start < QUICKLY
    assert stop.is_cancelled
    release.set()


async def test_a_plain_function_that_sees_its_token_is_waited_for() -> None:
    stop = kova.CancellationToken()
    ended = []

    def work() -> None:
        stop.wait(LONG)
        ended.append(True)

    with pytest.raises(kova.TimeoutError):
        with rt.fail_at(soon()):
            await rt.call(work, stop=stop)
    assert ended == [True]


@pytest.mark.async_tools
async def test_an_async_function_works_in_both_twins() -> None:
    """In the blocking twin it runs in an event loop of its own, in another thread."""
    assert await rt.call(give, 1) == 1


async def test_receiving_ends_with_the_scope_and_sees_the_peers_end() -> None:
    here, there = socket.socketpair()
    with here, there:
        here.setblocking(False)
        with pytest.raises(kova.TimeoutError):
            with rt.fail_at(soon()):
                await rt.receive(here, 100)
        await rt.send(here, b"ping")
        assert there.recv(100) == b"ping"
        there.sendall(b"pong")
        assert await rt.receive(here, 100) == b"pong"
        there.shutdown(socket.SHUT_RDWR)
        assert await rt.receive(here, 100) == b""


async def test_receiving_ends_when_a_token_is_cancelled() -> None:
    here, there = socket.socketpair()
    token = kova.CancellationToken()
    with here, there:
        here.setblocking(False)
        threading.Timer(SOON, token.cancel).start()
        start = time.monotonic()
        with pytest.raises(kova.TurnCancelledError):
            with rt.cancel_on(token):
                await rt.receive(here, 100)
        assert time.monotonic() - start < QUICKLY


async def test_sending_to_a_peer_that_does_not_read_ends_with_the_scope() -> None:
    here, there = socket.socketpair()
    with here, there:
        here.setblocking(False)
        with pytest.raises(kova.TimeoutError):
            with rt.fail_at(soon()):
                await rt.send(here, bytes(50_000_000))


async def test_connecting_to_nobody_ends_with_the_scope() -> None:
    """A listener whose backlog is full answers no further connection."""
    with socket.create_server(("127.0.0.1", 0), backlog=0) as listener:
        address = listener.getsockname()
        fillers = [socket.socket() for _ in range(3)]
        for filler in fillers:
            filler.setblocking(False)
            filler.connect_ex(address)
        with socket.socket() as sock, pytest.raises(kova.TimeoutError):
            with rt.fail_at(Deadline(0.2, "connecting")):
                await rt.connect(sock, address)
        for filler in fillers:
            filler.close()
