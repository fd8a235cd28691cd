"""What is timed in a process that is warm: the same for both sides, once for each twin.

Whatever is not the work itself (making clients and histories, the first connection, loading modules on first use)
happens before the clock starts.
"""

import asyncio
import gc
import threading
import time
from collections.abc import Awaitable, Callable
from functools import partial
from typing import NamedTuple, Protocol, Self, TypeAlias

from . import streams
from .decode_by_hand import Decoded

TURNS_OF_A_THREAD = 2
WARM_TURNS = 5
HISTORY_ROUNDS = 10  # tool rounds of a turn on a history


class Sample(NamedTuple):
    """Seconds that a unit of work took: on the clock, and of this process's CPU."""

    wall: float
    cpu: float


class BlockingSide(Protocol):
    """The works by hand or with kova, blocking."""

    def turn(self) -> str: ...
    def stream(self) -> str: ...
    def tool_loop(self) -> str: ...
    def load_history(self, count: int) -> None: ...
    def answer_history(self) -> str: ...
    def decode(self, provider: str, pieces: list[bytes]) -> Decoded: ...
    def history_loop(self) -> str: ...
    def __enter__(self) -> Self: ...
    def __exit__(self, *exc_info: object) -> None: ...


class AsyncSide(Protocol):
    """The works by hand or with kova, async."""

    def turn(self) -> Awaitable[str]: ...
    def stream(self) -> Awaitable[str]: ...
    def tool_loop(self) -> Awaitable[str]: ...
    def load_history(self, count: int) -> None: ...
    def answer_history(self) -> Awaitable[str]: ...
    def history_loop(self) -> Awaitable[str]: ...
    async def __aenter__(self) -> Self: ...
    async def __aexit__(self, *exc_info: object) -> None: ...


class Stopwatch:
    """Times a with block."""

    def __enter__(self) -> Self:
        gc.collect()
        self._wall = time.perf_counter()
        self._cpu = time.process_time()
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._cpu = time.process_time() - self._cpu
        self._wall = time.perf_counter() - self._wall

    def per(self, units: int) -> Sample:
        """What one of so many units took."""
        return Sample(self._wall / units, self._cpu / units)


def expect(answers: list[str], count: int) -> None:
    """See that the work was done: as many answers as were due, and each of them with text."""
    if len(answers) != count or not all(answers):
        raise RuntimeError(f"{count} answers were due, and {sum(map(bool, answers))} came")


# ---- blocking


def turns(side: BlockingSide, count: int) -> Sample:
    """Turns, one after the other."""
    side.turn()
    with Stopwatch() as watch:
        answers = [side.turn() for _ in range(count)]
    expect(answers, count)
    return watch.per(count)


def stream(side: BlockingSide, count: int) -> Sample:
    """One streamed turn of so many events."""
    side.turn()
    with Stopwatch() as watch:
        text = side.stream()
    expect(text.split(), count)
    return watch.per(count)


def tool_loops(side: BlockingSide, rounds: int, loops: int = 10) -> Sample:
    """Turns of so many tool rounds; a round is the unit."""
    side.tool_loop()
    with Stopwatch() as watch:
        answers = [side.tool_loop() for _ in range(loops)]
    expect(answers, loops)
    return watch.per(loops * rounds)


def at_once(side: BlockingSide, count: int) -> Sample:
    """Two turns in each of so many threads, which share the side; all of them are the unit."""
    answers: list[str] = []

    def work() -> None:
        for _ in range(TURNS_OF_A_THREAD):
            answers.append(side.turn())

    side.turn()
    threads = [threading.Thread(target=work) for _ in range(count)]
    with Stopwatch() as watch:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    expect(answers, TURNS_OF_A_THREAD * count)
    return watch.per(1)


def history_cold(side: BlockingSide, count: int) -> Sample:
    """The first turn on a history of so many exchanges."""
    side.turn()
    side.load_history(count)
    with Stopwatch() as watch:
        expect([side.answer_history()], 1)
    return watch.per(1)


def history_warm(side: BlockingSide, count: int) -> Sample:
    """Later turns on it."""
    side.load_history(count)
    side.answer_history()
    with Stopwatch() as watch:
        answers = [side.answer_history() for _ in range(WARM_TURNS)]
    expect(answers, WARM_TURNS)
    return watch.per(WARM_TURNS)


def decode(side: BlockingSide, count: int, *, provider: str) -> Sample:
    """The bytes of a stream of so many pieces of text, one after the other."""
    side.decode(provider, streams.pieces(provider, 1))
    pieces = streams.pieces(provider, count)
    with Stopwatch() as watch:
        text, tokens = side.decode(provider, pieces)
    expect(text.split(), count)
    if tokens != count:
        raise RuntimeError(f"{count} tokens were due, and {tokens} came")
    return watch.per(count)


def history_rounds(side: BlockingSide, count: int) -> Sample:
    """A turn of ten tool rounds on a history that was sent before; a provider call is the unit, its tool included."""
    side.load_history(count)
    side.history_loop()
    with Stopwatch() as watch:
        answers = [side.history_loop()]
    expect(answers, 1)
    return watch.per(HISTORY_ROUNDS + 1)


# ---- async


async def turns_async(side: AsyncSide, count: int) -> Sample:
    """Turns, one after the other."""
    await side.turn()
    with Stopwatch() as watch:
        answers = [await side.turn() for _ in range(count)]
    expect(answers, count)
    return watch.per(count)


async def stream_async(side: AsyncSide, count: int) -> Sample:
    """One streamed turn of so many events."""
    await side.turn()
    with Stopwatch() as watch:
        text = await side.stream()
    expect(text.split(), count)
    return watch.per(count)


async def tool_loops_async(side: AsyncSide, rounds: int, loops: int = 10) -> Sample:
    """Turns of so many tool rounds; a round is the unit."""
    await side.tool_loop()
    with Stopwatch() as watch:
        answers = [await side.tool_loop() for _ in range(loops)]
    expect(answers, loops)
    return watch.per(loops * rounds)


async def at_once_async(side: AsyncSide, count: int) -> Sample:
    """So many turns at once, each on a new connection; CPU is that of one, the wall clock that of all."""
    await side.turn()
    with Stopwatch() as watch:
        answers = await asyncio.gather(*[side.turn() for _ in range(count)])
    expect(answers, count)
    return Sample(watch.per(1).wall, watch.per(count).cpu)


async def history_cold_async(side: AsyncSide, count: int) -> Sample:
    """The first turn on a history of so many exchanges."""
    await side.turn()
    side.load_history(count)
    with Stopwatch() as watch:
        expect([await side.answer_history()], 1)
    return watch.per(1)


async def history_warm_async(side: AsyncSide, count: int) -> Sample:
    """Later turns on it."""
    side.load_history(count)
    await side.answer_history()
    with Stopwatch() as watch:
        answers = [await side.answer_history() for _ in range(WARM_TURNS)]
    expect(answers, WARM_TURNS)
    return watch.per(WARM_TURNS)


async def history_rounds_async(side: AsyncSide, count: int) -> Sample:
    """A turn of ten tool rounds on a history that was sent before; a provider call is the unit, its tool included."""
    side.load_history(count)
    await side.history_loop()
    with Stopwatch() as watch:
        answers = [await side.history_loop()]
    expect(answers, 1)
    return watch.per(HISTORY_ROUNDS + 1)


BlockingWork: TypeAlias = Callable[[BlockingSide, int], Sample]
AsyncWork: TypeAlias = Callable[[AsyncSide, int], Awaitable[Sample]]

BLOCKING: dict[str, BlockingWork] = {
    "turns": turns,
    "stream": stream,
    "tool loops": tool_loops,
    "at once": at_once,
    "history cold": history_cold,
    "history warm": history_warm,
    **{f"decode {provider}": partial(decode, provider=provider) for provider in streams.STREAMS},
    "history rounds": history_rounds,
}
ASYNC: dict[str, AsyncWork] = {
    "turns": turns_async,
    "stream": stream_async,
    "tool loops": tool_loops_async,
    "at once": at_once_async,
    "history cold": history_cold_async,
    "history warm": history_warm_async,
    "history rounds": history_rounds_async,
}
