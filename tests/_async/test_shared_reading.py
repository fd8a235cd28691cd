"""Reading from one socket for many who wait: whoever reads, each gets what is for it, and nothing is lost."""

from __future__ import annotations

import time

import pytest

import kova
from kova._runtime import aio as rt
from kova._runtime.scope import Deadline
from kova._runtime.sockets import open_pair

pytestmark = pytest.mark.anyio

SOON = 0.1  # seconds
QUICKLY = 1.5


class Post:
    """Each byte that comes is for the inbox of that number; `!` ends it all. The loop runs for the time of a block."""

    def __init__(self) -> None:
        self.inboxes: dict[int, rt.Inbox[int]] = {}
        self.unclaimed: list[int] = []
        self.has_ended: list[bool] = []
        self.ours, self.theirs = open_pair()
        self.reader = rt.SharedReader(self.ours, self._take, lambda: bool(self.inboxes))
        self._background = rt.Background()

    def _take(self, data: bytes) -> bool:
        for number in data:
            inbox = self.inboxes.pop(number, None)
            if inbox is None:
                self.unclaimed.append(number)
            else:
                inbox.put(number)
        return b"!" not in data

    def expect(self, number: int) -> rt.Inbox[int]:
        self.inboxes[number] = rt.Inbox()
        return self.inboxes[number]

    async def get(self, number: int) -> int:
        return await self.reader.get(self.expect(number), Deadline(30, "an item"))

    async def _run(self) -> None:
        await self.reader.run()
        self.has_ended.append(True)

    async def __aenter__(self) -> Post:
        self._background.start_soon(self._run)
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        self.theirs.close()
        await self.until_ended()
        self.ours.close()

    async def until_ended(self) -> None:
        with rt.fail_at(Deadline(10, "the end")):
            while not self.has_ended:
                await rt.sleep(0.001)


async def test_each_gets_what_is_for_it() -> None:
    async with Post() as post:
        got: list[int] = []

        async def wait(number: int) -> None:
            got.append(await post.get(number))

        async with rt.TaskGroup() as group:
            for number in range(1, 31):
                group.start_soon(wait, number)
            with rt.fail_at(Deadline(10, "waiting")):
                while len(post.inboxes) < 30:
                    await rt.sleep(0.001)
            for number in range(30, 0, -1):
                post.theirs.send(bytes([number]))
        assert sorted(got) == list(range(1, 31))
        assert post.unclaimed == []


async def test_one_after_another() -> None:
    """The one who waits reads by itself, where that is the cheaper way."""
    async with Post() as post:
        for number in range(100, 256):
            inbox = post.expect(number)
            post.theirs.send(bytes([number]))
            assert await post.reader.get(inbox, Deadline(10, "an item")) == number


async def test_what_nobody_waits_for_is_read_all_the_same() -> None:
    """Also just after somebody has read by itself."""
    async with Post() as post:
        for number in (1, 2, 3):
            post.theirs.send(bytes([number, 50]))
            with rt.fail_at(Deadline(10, "reading")):
                while post.unclaimed[-1:] != [50]:
                    await rt.sleep(0.001)
            post.unclaimed.clear()


@pytest.mark.parametrize("limit", ["time", "token"])
async def test_one_who_stops_waiting_leaves_the_stream_to_the_others(limit: str) -> None:
    async with Post() as post:
        start = time.monotonic()
        if limit == "time":
            with pytest.raises(kova.TimeoutError), rt.fail_at(Deadline(SOON, "waiting")):
                await post.get(1)
        else:
            token = kova.CancellationToken()
            token.cancel_after(SOON)
            with pytest.raises(kova.TurnCancelledError), rt.cancel_on(token):
                await post.get(1)
        assert time.monotonic() - start < QUICKLY
        inbox = post.expect(2)
        post.theirs.send(bytes([3, 2]))
        with rt.fail_at(Deadline(10, "an item")):
            assert await post.reader.get(inbox, Deadline(10, "an item")) == 2
        assert post.unclaimed == [3]


@pytest.mark.parametrize("how", ["peer", "take"])
async def test_the_loop_ends_with_the_stream(how: str) -> None:
    async with Post() as post:
        if how == "peer":
            post.theirs.close()
        else:
            post.theirs.send(b"!")
        await post.until_ended()
