"""What the stores are made of: both kinds are alike, a schema can be brought up to date, nothing is loaded in vain."""

from __future__ import annotations

import gc
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

import kova
from kova._lines import Lines
from kova._memory import sqlite_schema, store_lines
from kova._memory.in_memory import InMemoryConversations
from kova._memory.sqlite import SQLiteConversations
from kova._memory.sqlite_connections import Connections
from kova._memory.store_lines import lines_of
from tests import strategies

GOLDEN = Path(__file__).parents[1] / "data" / "conversations-v1.sqlite"
HI = kova.user_message("Hi")

NEVER = kova.CancellationToken()
IDS = st.sampled_from(["ada", "grace", "barbara"])
MESSAGES = st.lists(st.just(HI) | strategies.any_messages, max_size=3)


class BothKinds(RuleBasedStateMachine):
    """C1, C4: whatever is done, in memory and in a file, with old revisions too, has the same outcome."""

    limit: int | None = None

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.in_memory = InMemoryConversations(self.limit)
        self.in_file = SQLiteConversations(Path(self.folder.name) / "chats", self.limit)
        self.revisions = [0]

    def teardown(self) -> None:
        self.in_file.close()
        self.folder.cleanup()

    def both(self, call: Callable[..., Any]) -> Any:
        outcomes: list[Any] = []
        for store, stop in ((self.in_memory, ()), (self.in_file, (NEVER,))):
            try:
                outcomes.append(call(store, *stop))
            except kova.MemoryStoreError as error:
                outcomes.append((str(error), error.is_conflict))
        assert outcomes[0] == outcomes[1]
        return outcomes[0]

    @rule(name=IDS, messages=MESSAGES)
    def append(self, name: str, messages: list[kova.ConversationMessage]) -> None:
        before, revision = self.in_memory.load(name)
        new = self.both(lambda store, *stop: store.append(name, messages, revision, *stop))
        assert new > max(self.revisions)
        self.revisions.append(new)
        if self.limit is None:
            assert self.in_memory.load(name) == (before + messages, new)

    @rule(name=IDS, messages=MESSAGES, data=st.data())
    def append_late(self, name: str, messages: list[kova.ConversationMessage], data: st.DataObject) -> None:
        revision = data.draw(st.sampled_from(self.revisions))
        before = self.in_memory.load(name)
        if revision != before[1]:
            _, is_conflict = self.both(lambda store, *stop: store.append(name, messages, revision, *stop))
            assert is_conflict
            assert self.in_memory.load(name) == before

    @rule(name=IDS)
    def clear(self, name: str) -> None:
        self.both(lambda store, *stop: store.clear(name, *stop))
        assert self.in_memory.load(name)[0] == []

    @rule(age=st.sampled_from([timedelta(0), timedelta(days=1)]))
    def prune(self, age: timedelta) -> None:
        self.both(lambda store, *stop: store.prune(age, *stop))
        assert age or self.in_memory.list_conversations() == []

    @invariant()
    def both_hold_the_same(self) -> None:
        self.both(lambda store, *stop: store.list_conversations(*stop))
        for name in ("ada", "grace", "barbara"):
            self.both(lambda store, *stop, name=name: store.load(name, *stop))


class BothKindsTrimmed(BothKinds):
    """The same, with a limit."""

    limit = 3


TestBothKinds = BothKinds.TestCase
TestBothKindsTrimmed = BothKindsTrimmed.TestCase
TestBothKinds.settings = TestBothKindsTrimmed.settings = settings(
    max_examples=10, stateful_step_count=20, deadline=None
)


# ---- the schema


def test_a_file_of_an_earlier_schema_is_brought_up_to_date(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """C3: once, and whole."""
    path = tmp_path / "chats"
    shutil.copy(GOLDEN, path)
    step = ("ALTER TABLE conversations ADD COLUMN title TEXT", "UPDATE conversations SET title = upper(id)")
    monkeypatch.setattr(sqlite_schema, "MIGRATIONS", [sqlite_schema.MIGRATIONS[0], (*step, "SELECT nonsense")])
    broken = SQLiteConversations(path, None)
    with pytest.raises(kova.MemoryStoreError, match="no such column: nonsense"):
        broken.load("grace", NEVER)
    broken.close()
    monkeypatch.setattr(sqlite_schema, "MIGRATIONS", [sqlite_schema.MIGRATIONS[0], step])
    for _ in range(2):
        store = SQLiteConversations(path, None)
        assert store.load("grace", NEVER) == ([HI], 4)
        store.close()
    database = sqlite3.connect(path)
    assert database.execute("SELECT title FROM conversations WHERE id = 'grace'").fetchall() == [("GRACE",)]
    assert database.execute("PRAGMA user_version").fetchone() == (2,)
    database.close()


def test_the_golden_file_has_the_schema_that_it_stands_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """C3: statements that a release has used are never changed."""
    monkeypatch.setattr(sqlite_schema, "MIGRATIONS", sqlite_schema.MIGRATIONS[:1])
    new = tmp_path / "chats"
    store = SQLiteConversations(new, None)
    store.load("ada", NEVER)
    store.close()
    schemas = []
    for path in (GOLDEN, new):
        shutil.copy(path, tmp_path / "copy")
        database = sqlite3.connect(tmp_path / "copy")
        schemas.append(database.execute("SELECT name, sql FROM sqlite_schema ORDER BY name").fetchall())
        database.close()
    assert schemas[0] == schemas[1]


def test_what_is_deleted_does_not_stay_in_the_file(tmp_path: Path) -> None:
    path = tmp_path / "chats"
    store = SQLiteConversations(path, None)
    store.append("ada", [kova.user_message("my secret " * 1_000)], 0, NEVER)
    store.append("grace", [HI], 0, NEVER)
    store.clear("ada", NEVER)
    store.close()
    assert b"my secret" not in path.read_bytes()
    assert b"Hi" in path.read_bytes()


def test_closing_a_store_waits_for_nobody_and_closes_what_is_in_use_later(tmp_path: Path) -> None:
    path = tmp_path / "chats"
    connections = Connections(str(path))
    is_working, go_on = threading.Event(), threading.Event()
    open_files = []

    def work(connection: sqlite3.Connection) -> None:
        is_working.set()
        assert go_on.wait(20)

    thread = threading.Thread(target=connections.write, args=(work, NEVER))
    thread.start()
    assert is_working.wait(20)
    connections.close()
    open_files.append(sorted(file.name for file in tmp_path.iterdir()))
    go_on.set()
    thread.join()
    open_files.append(sorted(file.name for file in tmp_path.iterdir()))
    assert open_files == [["chats", "chats-shm", "chats-wal"], ["chats"]]


def test_work_that_is_given_up_is_not_committed(tmp_path: Path) -> None:
    """L5: not even when it is given up while it is being done."""
    connections, stop = Connections(str(tmp_path / "chats")), kova.CancellationToken()

    def work(connection: sqlite3.Connection) -> None:
        connection.execute("UPDATE store SET revision = 7")
        stop.cancel()

    with pytest.raises(kova.TurnCancelledError):
        connections.write(work, stop)
    revision = connections.read(lambda connection: connection.execute("SELECT revision FROM store").fetchone(), NEVER)
    assert revision == (0,)
    connections.close()


def test_a_store_that_is_dropped_closes_its_file(tmp_path: Path) -> None:
    connections = Connections(str(tmp_path / "chats"))
    connections.read(lambda connection: None, NEVER)
    assert len(list(tmp_path.iterdir())) == 3
    del connections
    gc.collect()
    assert [file.name for file in tmp_path.iterdir()] == ["chats"]


# ---- lines of turns


def test_places_are_called_in_order_and_may_be_left_at_any_time() -> None:
    lines = Lines()
    first, second, third = (lines.enter("ada") for _ in range(3))
    lines.leave(second)
    assert (first.called.is_cancelled, third.called.is_cancelled) == (True, False)
    lines.leave(first)
    assert third.called.is_cancelled
    lines.leave(first)
    lines.leave(second)
    fourth = lines.enter("ada")
    assert not fourth.called.is_cancelled
    lines.leave(third)
    lines.leave(fourth)
    assert len(lines) == 0


def test_the_lines_of_a_store_end_with_it() -> None:
    store = InMemoryConversations(None)
    lines = lines_of(store)
    assert lines_of(store) is lines
    before = len(store_lines._lines)
    del store
    gc.collect()
    assert len(store_lines._lines) == before - 1


def test_the_lines_bear_many_threads() -> None:
    """C5: one at a time, nobody forgotten, nothing left."""
    lines, inside, visits = Lines(), [], []

    def work() -> None:
        for _ in range(300):
            place = lines.enter("ada")
            assert place.called.wait(20)
            inside.append(place)
            assert len(inside) == 1
            inside.pop()
            visits.append(place)
            lines.leave(place)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(visits) == 2_400
    assert len(lines) == 0


# ---- what is loaded


def test_without_a_store_in_a_file_sqlite_is_not_loaded() -> None:
    """T6."""
    script = "import sys, kova._async.memory; kova._async.memory.AsyncInMemoryStore(); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True)
    assert "sqlite3" not in done.stdout.split()
