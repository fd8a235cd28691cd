"""One object for each event loop: made once, and dropped with its loop."""

from __future__ import annotations

import asyncio
import gc
import subprocess
import sys
import threading
import weakref

import anyio
import pytest

from kova._runtime import aio, threads
from kova._runtime.owners import PerOwner

LIMIT = 20.0  # seconds; more than anything here should ever take


class Pool:
    """What belongs to a loop."""

    def __init__(self) -> None:
        self.is_open = True

    def close(self) -> None:
        assert self.is_open, "dropped twice"
        self.is_open = False


class Owner:
    """Stands for a loop, or for the process."""


@pytest.fixture
def pools() -> PerOwner[Pool]:
    return PerOwner(Pool, Pool.close)


async def pool_of_this_loop(pools: PerOwner[Pool]) -> Pool:
    await anyio.lowlevel.checkpoint()
    return pools.get(aio.owner())


def test_each_owner_has_one_object(pools: PerOwner[Pool]) -> None:
    first, second = Owner(), Owner()
    assert pools.get(first) is pools.get(first)
    assert pools.get(second) is not pools.get(first)


def test_clear_drops_the_objects_of_all_owners_and_new_ones_may_follow(pools: PerOwner[Pool]) -> None:
    first, second = Owner(), Owner()
    old = [pools.get(first), pools.get(second)]
    pools.clear()
    pools.clear()
    assert [pool.is_open for pool in old] == [False, False]
    assert pools.get(first) not in old


def test_an_object_goes_with_its_owner(pools: PerOwner[Pool]) -> None:
    owner = Owner()
    gone = weakref.ref(owner), weakref.ref(pools.get(owner))
    del owner
    gc.collect()
    assert [reference() for reference in gone] == [None, None]


@pytest.mark.anyio
async def test_code_in_one_loop_shares_an_object(pools: PerOwner[Pool]) -> None:
    """T13."""
    found: list[Pool] = []

    async def find() -> None:
        found.append(await pool_of_this_loop(pools))

    async with anyio.create_task_group() as tasks:
        for _ in range(3):
            tasks.start_soon(find)
    assert found == [found[0]] * 3


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_many_short_loops_leave_nothing_behind(pools: PerOwner[Pool], backend: str) -> None:
    """T2."""
    seen = weakref.WeakSet[Pool]()
    for _ in range(200):
        seen.add(anyio.run(pool_of_this_loop, pools, backend=backend))
    gc.collect()
    assert len([pool for pool in seen if pool.is_open]) <= 1
    assert len(seen) <= 1


def test_the_object_of_a_closed_loop_is_dropped_when_another_loop_comes(pools: PerOwner[Pool]) -> None:
    """T2: however long the closed loop is referred to."""
    loop = asyncio.new_event_loop()
    old = loop.run_until_complete(pool_of_this_loop(pools))
    assert loop.run_until_complete(pool_of_this_loop(pools)) is old
    loop.close()
    new = asyncio.run(pool_of_this_loop(pools))
    assert (old.is_open, new.is_open) == (False, True)
    assert pools.get(loop) is not old


def test_loops_in_several_threads_at_once_have_an_object_each(pools: PerOwner[Pool]) -> None:
    """T2."""
    barrier = threading.Barrier(8)
    found: list[Pool] = []

    async def main() -> None:
        barrier.wait(LIMIT)
        found.append(await pool_of_this_loop(pools))
        barrier.wait(LIMIT)
        assert await pool_of_this_loop(pools) is found[found.index(pools.get(aio.owner()))]
        barrier.wait(LIMIT)

    loops = [threading.Thread(target=asyncio.run, args=(main(),)) for _ in range(8)]
    for loop in loops:
        loop.start()
    for loop in loops:
        loop.join(LIMIT)
    assert len(set(found)) == 8


def test_threads_that_ask_at_once_get_the_same_object() -> None:
    """T3."""
    made: list[Pool] = []
    found: list[Pool] = []
    both_are_making = threading.Barrier(2)

    def make() -> Pool:
        try:
            both_are_making.wait(1)
        except threading.BrokenBarrierError:
            pass  # one thread waits for the other's object, which is as good
        made.append(Pool())
        return made[-1]

    pools = PerOwner(make, Pool.close)
    owner = Owner()
    askers = [threading.Thread(target=lambda: found.append(pools.get(owner))) for _ in range(2)]
    for asker in askers:
        asker.start()
    for asker in askers:
        asker.join(LIMIT)
    assert found == [pools.get(owner)] * 2
    assert [pool for pool in made if pool.is_open] == found[:1]


def test_the_blocking_twin_has_one_owner_in_all_threads() -> None:
    owners: list[object] = [threads.owner()]
    thread = threading.Thread(target=lambda: owners.append(threads.owner()))
    thread.start()
    thread.join(LIMIT)
    assert owners[0] is owners[1]


def test_a_forked_child_begins_without_objects_and_drops_none_of_its_parents() -> None:
    """T5: closing an inherited connection would end the parent's exchange."""
    script = """
import os
from kova._runtime.owners import PerOwner

class Owner: pass

def drop(pool):
    dropped.append(pool)

dropped, owner, pools = [], Owner(), PerOwner(object, drop)
parents = pools.get(owner)
child = os.fork()
if child == 0:
    mine = pools.get(owner)
    pools.clear()
    os._exit(0 if mine is not parents and dropped == [mine] else 3)
status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
assert pools.get(owner) is parents
raise SystemExit(status)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
