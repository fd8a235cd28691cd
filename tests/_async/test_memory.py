"""The stores of conversations, and the order of turns."""

from __future__ import annotations

import itertools
import os
import resource
import shutil
import sqlite3
import stat
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

import kova
from kova._async.memory import AsyncInMemoryStore, AsyncMemoryStore, AsyncSQLiteStore, conversation_turn
from kova._memory import sqlite_connections
from kova._memory.store_lines import lines_of
from kova._runtime import aio as rt
from kova._runtime.scope import Deadline
from kova.history import trim_history

pytestmark = pytest.mark.anyio

DATA = Path(__file__).parents[1] / "data"
QUICKLY = 1.5  # seconds: five times the 0.3 in which a wait must end
LONG = 60.0  # seconds

HI, HELLO = kova.user_message("Hi"), kova.assistant_message("Hello")
ADD = kova.ToolUseBlock("call_1", "add", {"a": 2, "b": [3.5, None, "ü"]}, {"signature": "c2ln"})
TURN = [
    kova.user_message("Add these.", kova.ImageBlock("image/png", b"\x89PNG\0"), kova.ImageBlock("image/gif", url="u")),
    kova.ConversationMessage("assistant", [kova.ThinkingBlock("Hm…", "c2ln"), kova.TextBlock("Well:\n"), ADD]),
    kova.tool_message("call_1", [kova.TextBlock("5.5 \ud800 \0"), kova.ImageBlock("image/png", b"5")], is_error=True),
    kova.ConversationMessage("assistant", []),
]

Open = Callable[..., Any]


@pytest.fixture(params=["in memory", "sqlite"])
async def open_store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Open]:
    """Makes stores of one of the two kinds; those in files use the same file."""
    opened: list[AsyncSQLiteStore] = []

    def make(**options: Any) -> AsyncInMemoryStore | AsyncSQLiteStore:
        if request.param == "in memory":
            return AsyncInMemoryStore(**options)
        opened.append(AsyncSQLiteStore(tmp_path / "chats.sqlite", **options))
        return opened[-1]

    yield make
    for store in opened:
        await store.close()


@pytest.fixture
async def store(open_store: Open) -> AsyncMemoryStore:
    """A store of either kind."""
    made: AsyncMemoryStore = open_store()
    return made


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """The file of an SQLite store."""
    return tmp_path / "chats.sqlite"


async def add(store: AsyncMemoryStore, conversation_id: str, *messages: kova.ConversationMessage) -> int:
    _, revision = await store.load(conversation_id)
    return await store.append(conversation_id, messages, revision)


async def messages_of(store: AsyncMemoryStore, conversation_id: str) -> list[kova.ConversationMessage]:
    messages, _ = await store.load(conversation_id)
    return messages


# ---- both kinds


async def test_what_is_appended_is_loaded(store: AsyncMemoryStore) -> None:
    assert isinstance(store, AsyncMemoryStore)
    messages, revision = await store.load("ada")
    assert messages == []
    first = await store.append("ada", TURN, revision)
    second = await store.append("ada", (HI, HELLO), first)
    assert await store.load("ada") == ([*TURN, HI, HELLO], second)
    assert revision < first < second
    assert await messages_of(store, "grace") == []


async def test_what_was_loaded_is_the_callers_own(store: AsyncMemoryStore) -> None:
    await add(store, "ada", HI)
    messages = await messages_of(store, "ada")
    messages.append(HELLO)
    assert await messages_of(store, "ada") == [HI]


async def test_of_two_turns_at_once_one_is_refused(store: AsyncMemoryStore) -> None:
    """C1: whole, and whether the conversation is a new one or not."""
    for before in ([], [HI, HELLO]):
        messages, revision = await store.load("ada")
        assert messages == before
        await store.append("ada", [HI, HELLO], revision)
        with pytest.raises(kova.MemoryStoreError, match="'ada' was changed by another turn") as caught:
            await store.append("ada", TURN, revision)
        assert caught.value.is_conflict
        assert await messages_of(store, "ada") == [*before, HI, HELLO]


async def test_a_deleted_conversation_is_not_brought_back_by_a_late_write(store: AsyncMemoryStore) -> None:
    """C4: not even when it has begun anew in the meantime."""
    _, new = await store.load("ada")
    first = await add(store, "ada", HI, HELLO)
    await store.clear("ada")
    assert await messages_of(store, "ada") == []
    for revision in (new, first):
        with pytest.raises(kova.MemoryStoreError):
            await store.append("ada", TURN, revision)
    again = await add(store, "ada", HELLO)
    assert again > first
    for revision in (new, first):
        with pytest.raises(kova.MemoryStoreError):
            await store.append("ada", TURN, revision)
    assert await messages_of(store, "ada") == [HELLO]


async def test_deleting_a_conversation_that_was_never_stored_refuses_its_first_turn(store: AsyncMemoryStore) -> None:
    """C4."""
    _, revision = await store.load("ada")
    await store.clear("ada")
    with pytest.raises(kova.MemoryStoreError) as caught:
        await store.append("ada", [HI, HELLO], revision)
    assert caught.value.is_conflict
    assert await messages_of(store, "ada") == []
    assert await store.list_conversations() == []


async def test_a_late_write_is_refused_even_when_the_deletion_is_forgotten(store: AsyncMemoryStore) -> None:
    """C4: what is known of deleted conversations does not grow for ever, and revisions never come twice."""
    _, new = await store.load("ada")
    first = await add(store, "ada", HI, HELLO)
    await store.clear("ada")
    assert await store.prune(timedelta(0)) == 0
    for revision in (new, first):
        with pytest.raises(kova.MemoryStoreError):
            await store.append("ada", TURN, revision)
    assert await add(store, "ada", HI) > first
    for revision in (new, first):
        with pytest.raises(kova.MemoryStoreError):
            await store.append("ada", TURN, revision)


async def test_conversations_are_listed_the_latest_first(store: AsyncMemoryStore) -> None:
    for conversation_id in ("ada", "grace", "b/ø\n\0x", "gone"):
        await add(store, conversation_id, HI)
    await add(store, "ada", HELLO)
    await store.clear("gone")
    assert await store.list_conversations() == ["ada", "b/ø\n\0x", "grace"]


async def test_old_conversations_are_deleted(store: AsyncMemoryStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """A turn that has loaded one before cannot bring it back."""
    await add(store, "old", HI)
    _, revision = await store.load("old")
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now + 7_200)
    await add(store, "new", HI)
    assert await store.prune(timedelta(days=1)) == 0
    assert await store.prune(timedelta(hours=1)) == 1
    assert await store.list_conversations() == ["new"]
    with pytest.raises(kova.MemoryStoreError):
        await store.append("old", [HELLO], revision)
    assert await store.prune(timedelta.max) == 0


async def test_the_oldest_messages_are_dropped(open_store: Open) -> None:
    """L6, C1: as trim_history does it; a late write is refused although no more messages are there than before."""
    store = open_store(max_messages=4)
    stored = [kova.system_message("Be brief.")]
    await add(store, "ada", *stored)
    for turn in ([HI, HELLO], TURN, [HI, HELLO], [HI]):
        _, revision = await store.load("ada")
        await store.append("ada", turn, revision)
        stored = trim_history([*stored, *turn], 4)
        assert await messages_of(store, "ada") == stored
        with pytest.raises(kova.MemoryStoreError):
            await store.append("ada", turn, revision)


@pytest.mark.parametrize(
    ("argument", "error", "complaint"),
    [
        (1, TypeError, "conversation_id must be str, not int"),
        ("", ValueError, "conversation_id must not be empty"),
        ("\ud800", ValueError, "conversation_id must be valid Unicode"),
    ],
)
async def test_a_wrong_id_is_refused(
    store: AsyncMemoryStore, argument: Any, error: type[Exception], complaint: str
) -> None:
    """An empty id would be shared by all who forget to give one."""
    with pytest.raises(error, match=complaint):
        await store.load(argument)
    with pytest.raises(error, match=complaint):
        await store.append(argument, [HI], 0)
    with pytest.raises(error, match=complaint):
        await store.clear(argument)


async def test_wrong_arguments_are_refused(store: AsyncMemoryStore) -> None:
    nonsense: Any = [HI, "Hello"]
    with pytest.raises(TypeError, match=r"messages\[1\] must be a ConversationMessage, not str"):
        await store.append("ada", nonsense, 0)
    seconds: Any = 3_600
    with pytest.raises(TypeError, match="older_than must be a timedelta, not int"):
        await store.prune(seconds)
    with pytest.raises(ValueError, match="older_than must not be negative"):
        await store.prune(timedelta(seconds=-1))
    assert await store.list_conversations() == []


@pytest.mark.parametrize("limit", [0, True, "10", 2.0])
async def test_a_wrong_limit_is_refused(open_store: Open, limit: Any) -> None:
    with pytest.raises(kova.BuildError, match="max_messages must be a positive integer or None"):
        open_store(max_messages=limit)


# ---- SQLite


async def test_stores_of_one_file_see_the_same(path: Path) -> None:
    async with AsyncSQLiteStore(path) as one, AsyncSQLiteStore(str(path)) as other:
        revision = await add(one, "ada", *TURN)
        assert await other.load("ada") == (TURN, revision)
        await other.clear("ada")
        with pytest.raises(kova.MemoryStoreError):
            await one.append("ada", [HI], revision)
    assert repr(one) == f"{type(one).__name__}({str(path)!r})"


async def test_a_smaller_limit_counts_at_once(path: Path) -> None:
    """A conversation that has grown too long for the model can be gone on with."""
    async with AsyncSQLiteStore(path) as store:
        await add(store, "ada", HI, HELLO, HI, HELLO)
    async with AsyncSQLiteStore(path, max_messages=2) as store:
        assert await messages_of(store, "ada") == [HI, HELLO]


async def test_the_files_are_their_owners_alone(path: Path) -> None:
    """Also where the process lets others read what it makes."""
    mask = os.umask(0)
    try:
        async with AsyncSQLiteStore(path) as store:
            await add(store, "ada", HI)
            modes = {file.name: stat.filemode(file.stat().st_mode) for file in path.parent.iterdir()}
    finally:
        os.umask(mask)
    names = ["chats.sqlite", "chats.sqlite-shm", "chats.sqlite-wal"]
    assert modes == dict.fromkeys(names, "-rw-------")
    assert [file.name for file in path.parent.iterdir()] == ["chats.sqlite"], "close leaves one file"


async def test_a_closed_store_cannot_be_used(path: Path) -> None:
    store = AsyncSQLiteStore(path)
    await add(store, "ada", HI)
    await store.close()
    await store.close()
    with pytest.raises(kova.MemoryStoreError, match=r"chats\.sqlite: the store is closed"):
        await store.load("ada")


async def test_a_store_that_is_not_used_makes_no_file(path: Path) -> None:
    """T6."""
    async with AsyncSQLiteStore(path):
        pass
    assert contents(path) is None


async def test_a_file_of_schema_1_loads(path: Path) -> None:
    """C3: whatever the present schema is."""
    shutil.copy(DATA / "conversations-v1.sqlite", path)
    async with AsyncSQLiteStore(path) as store:
        assert await store.list_conversations() == ["grace", "ada ø"]
        assert await store.load("ada ø") == ([kova.system_message("Be brief."), HI, HELLO, *TURN], 2)
        assert await store.load("grace") == ([HI], 4)
        assert await store.load("deleted") == ([], 5)
        assert await store.append("grace", [HELLO], 4) == 6
        with pytest.raises(kova.MemoryStoreError):
            await store.append("deleted", [HELLO], 3)
        assert await messages_of(store, "grace") == [HI, HELLO]


async def test_a_stored_conversation_grows_with_what_is_new(path: Path) -> None:
    """C3: the bytes of a turn do not depend on the turns before it."""
    sizes: list[int] = []
    turn = [kova.user_message("x" * 200), kova.assistant_message("x" * 600)]
    for _ in range(5):
        async with AsyncSQLiteStore(path) as store:
            for _ in range(25):
                await add(store, "ada", *turn)
        sizes.append(len(contents(path) or b""))
    growth = [later - earlier for earlier, later in itertools.pairwise(sizes)]
    assert max(growth) < 1.5 * min(growth)
    assert max(growth) < 1.5 * 25 * 900


def contents(path: Path) -> bytes | None:
    """What is in a file; None where there is none."""
    return path.read_bytes() if path.is_file() else None


def text_file(path: Path) -> None:
    path.write_text("Dear diary, " * 500)


def cut_file(path: Path) -> None:
    data = (DATA / "conversations-v1.sqlite").read_bytes()
    path.write_bytes(data[:4096] + b"\xff" * (len(data) - 4096))


def other_database(path: Path) -> None:
    database = sqlite3.connect(path)
    database.execute("CREATE TABLE books (title TEXT)")
    database.close()


def later_release(path: Path) -> None:
    shutil.copy(DATA / "conversations-v1.sqlite", path)
    database = sqlite3.connect(path)
    database.execute("PRAGMA user_version = 1000")
    database.close()


@pytest.mark.parametrize(
    ("spoil", "complaint"),
    [
        (text_file, "file is not a database"),
        (cut_file, "database disk image is malformed"),
        (other_database, "this is an SQLite database, but not a kova store"),
        (later_release, r"a later release of kova wrote this \(schema 1000; known are up to \d+\)"),
        (Path.mkdir, "unable to open database file"),
        (lambda path: path.symlink_to("nowhere/chats.sqlite"), "No such file or directory"),
    ],
)
async def test_a_file_that_cannot_be_used_says_why(path: Path, spoil: Callable[[Path], None], complaint: str) -> None:
    """And is left as it is."""
    spoil(path)
    before = contents(path)
    async with AsyncSQLiteStore(path) as store:
        with pytest.raises(kova.MemoryStoreError, match=complaint) as caught:
            await store.load("ada ø")
        assert not caught.value.is_conflict
        with pytest.raises(kova.MemoryStoreError, match=complaint):
            await store.append("ada ø", [HI], 0)
    assert contents(path) == before


@pytest.mark.parametrize("text", ['{"role": "user"', '{"role": "bot", "content": []}', b"\xff", ""])
async def test_a_damaged_message_is_said_to_be_so(path: Path, text: str | bytes) -> None:
    """S3: without what is in it. Other conversations can be read."""
    async with AsyncSQLiteStore(path) as store:
        await add(store, "ada", HI)
        await add(store, "grace", HI)
        database = sqlite3.connect(path)
        with database:
            database.execute("UPDATE messages SET message = CAST(? AS TEXT) WHERE conversation = 1", (text,))
        database.close()
        with pytest.raises(kova.MemoryStoreError, match="conversation 'ada' is damaged"):
            await store.load("ada")
        assert await messages_of(store, "grace") == [HI]


@pytest.mark.parametrize("argument", ["", ":memory:", b"chats.sqlite", None, 3])
async def test_a_wrong_path_is_refused(argument: Any) -> None:
    with pytest.raises(kova.BuildError, match="path must be"):
        AsyncSQLiteStore(argument)


async def test_what_cannot_be_written_changes_nothing(path: Path) -> None:
    unknown = kova.ConversationMessage("assistant", [kova.ToolUseBlock("1", "add", {"a": object()})])
    async with AsyncSQLiteStore(path) as store:
        before = await store.load("ada")
        with pytest.raises(kova.SerializationError):
            await store.append("ada", [HI, unknown], before[1])
        assert await store.load("ada") == before


@contextmanager
def full_disk() -> Iterator[None]:
    """No file grows beyond a size that is soon reached."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


async def test_a_full_disk_changes_nothing(path: Path) -> None:
    """L5: and the store can be used again when there is room."""
    async with AsyncSQLiteStore(path) as store:
        revision = await add(store, "ada", *TURN)
        with full_disk():
            with pytest.raises(kova.MemoryStoreError, match=r"chats\.sqlite: ") as caught:
                await store.append("ada", [HI, kova.assistant_message("x" * 1_000_000)], revision)
            assert not caught.value.is_conflict
            assert await store.load("ada") == (TURN, revision)
        await store.append("ada", [HI], revision)
        assert await messages_of(store, "ada") == [*TURN, HI]


# ---- a file that others keep locked


@contextmanager
def locked(path: Path) -> Iterator[sqlite3.Connection]:
    """Someone else writes, and does not end."""
    other = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    other.execute("BEGIN IMMEDIATE")
    try:
        yield other
    finally:
        other.close()


async def test_a_locked_file_is_waited_for(path: Path) -> None:
    """C2: and read in the meantime."""
    async with AsyncSQLiteStore(path) as store:
        revision = await add(store, "ada", HI)
        with locked(path) as other:
            assert await messages_of(store, "ada") == [HI]
            threading.Timer(0.2, other.rollback).start()
            await store.append("ada", [HELLO], revision)
        assert await messages_of(store, "ada") == [HI, HELLO]


async def test_a_file_that_is_locked_for_too_long_is_an_error(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite_connections, "BUSY_SECONDS", 0.1)
    async with AsyncSQLiteStore(path) as store:
        revision = await add(store, "ada", HI)
        with locked(path):
            with pytest.raises(kova.MemoryStoreError, match=r"was locked by others for 0\.1 s") as caught:
                await store.append("ada", [HELLO], revision)
        assert not caught.value.is_conflict


async def test_waiting_for_a_locked_file_ends_with_the_scope(path: Path) -> None:
    """T12, L5: and what was to be written is not written later."""
    async with AsyncSQLiteStore(path) as store:
        revision = await add(store, "ada", HI)
        with locked(path):
            start = time.monotonic()
            with pytest.raises(kova.TimeoutError):
                with rt.fail_at(Deadline(0.05, "the turn")):
                    await store.append("ada", [HELLO], revision)
            token = kova.CancellationToken()
            threading.Timer(0.05, token.cancel).start()
            with pytest.raises(kova.TurnCancelledError):
                with rt.cancel_on(token):
                    await store.clear("ada")
            assert time.monotonic() - start < 2 * QUICKLY
        assert await store.load("ada") == ([HI], revision)
        assert await store.append("ada", [HELLO], revision) > revision


async def test_many_calls_at_once_all_succeed(path: Path) -> None:
    """C5, T8: on a file that is not there yet, with few threads and few open files."""

    async def work(number: int) -> None:
        for turn in range(3):
            revision = await add(store, f"conversation {number}", HI, HELLO)
            assert len(await messages_of(store, f"conversation {number}")) == 2 * turn + 2
            assert revision > turn

    async with AsyncSQLiteStore(path) as store:
        async with rt.TaskGroup() as group:
            for number in range(40):
                group.start_soon(work, number)
        assert len(await store.list_conversations()) == 40


# ---- one turn after the other


async def test_turns_of_a_conversation_come_one_after_the_other(store: AsyncMemoryStore) -> None:
    """C1: in the order in which they were asked for, and none is lost."""
    order: list[int] = []
    inside: list[int] = []

    async def work(number: int) -> None:
        await rt.sleep(0.02 * number)
        async with conversation_turn(store, "ada"):
            inside.append(number)
            assert inside == [number]
            messages, revision = await store.load("ada")
            await rt.sleep(0.05)
            await store.append("ada", [HI, HELLO], revision)
            assert len(messages) == 2 * len(order)
            order.append(number)
            inside.remove(number)

    async with rt.TaskGroup() as group:
        for number in range(5):
            group.start_soon(work, number)
    assert order == list(range(5))
    assert len(await messages_of(store, "ada")) == 10
    assert len(lines_of(store)) == 0, "nothing is kept of conversations that nobody works on"


async def test_turns_of_other_conversations_and_stores_do_not_wait() -> None:
    one, other = AsyncInMemoryStore(), AsyncInMemoryStore()
    with rt.fail_at(Deadline(LONG, "waiting")):
        async with conversation_turn(one, "ada"), conversation_turn(one, "grace"), conversation_turn(other, "ada"):
            assert (len(lines_of(one)), len(lines_of(other))) == (2, 1)


class AsyncTurnOfAnother:
    """A turn that another task or thread has begun."""

    def __init__(self, store: object) -> None:
        self._turn = conversation_turn(store, "ada")

    async def __aenter__(self) -> None:
        async with rt.TaskGroup() as group:
            group.start_soon(self._turn.__aenter__)

    async def __aexit__(self, *exc_info: object) -> None:
        self._turn.end()

    def end(self) -> None:
        self._turn.end()


async def test_waiting_for_a_turn_ends_with_the_scope() -> None:
    """T12: and the next in the line is not held up."""
    store = AsyncInMemoryStore()
    token = kova.CancellationToken()
    async with AsyncTurnOfAnother(store):
        threading.Timer(0.05, token.cancel, ["enough"]).start()
        start = time.monotonic()
        with pytest.raises(kova.TurnCancelledError, match="enough"):
            with rt.cancel_on(token):
                async with conversation_turn(store, "ada"):
                    pytest.fail("the block was entered")
        with pytest.raises(kova.TimeoutError):
            with rt.fail_at(Deadline(0.05, "the turn")):
                async with conversation_turn(store, "ada"):
                    pytest.fail("the block was entered")
        assert time.monotonic() - start < 2 * QUICKLY
    async with conversation_turn(store, "ada"):
        pass
    assert len(lines_of(store)) == 0


async def test_a_turn_that_fails_lets_the_next_begin() -> None:
    store = AsyncInMemoryStore()
    with pytest.raises(ZeroDivisionError):
        async with conversation_turn(store, "ada"):
            _ = 1 / 0
    turn = conversation_turn(store, "ada")
    await turn.__aenter__()
    turn.end()
    turn.end()
    assert len(lines_of(store)) == 0


async def test_a_turn_may_be_ended_by_another_thread() -> None:
    store = AsyncInMemoryStore()
    turn = AsyncTurnOfAnother(store)
    await turn.__aenter__()
    threading.Timer(0.05, turn.end).start()
    with rt.fail_at(Deadline(LONG, "waiting")):
        async with conversation_turn(store, "ada"):
            pass


async def test_any_object_can_be_a_store_that_is_waited_for() -> None:
    """Equal ones are different stores, and one without a hash is one too."""

    class Store:
        def __eq__(self, other: object) -> bool:
            return True

    class Rigid:
        __slots__ = ()

    async with conversation_turn(Store(), "ada"), conversation_turn(Store(), "ada"):
        pass
    with pytest.raises(kova.BuildError, match="memory: cannot create weak reference to .*Rigid"):
        conversation_turn(Rigid(), "ada")
