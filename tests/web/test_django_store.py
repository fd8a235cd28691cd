"""The stores in Django's databases keep to what is promised of every store. Both twins, by the same tests."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.core.management import call_command
from django.db import connection, connections, transaction
from django.db.models import F
from django.test.utils import CaptureQueriesContext

import kova
from kova.contrib.django import AsyncDjangoStore, DjangoStore
from kova.contrib.django.models import Conversation, Message
from kova.history import trim_history

pytestmark = pytest.mark.usefixtures("database")

HI, HELLO = kova.user_message("Hi"), kova.assistant_message("Hello")
ADD = kova.ToolUseBlock("call_1", "add", {"a": 2, "b": [3.5, None, "ü"]}, {"signature": "c2ln"})
TURN = [
    kova.user_message("Add these.", kova.ImageBlock("image/png", b"\x89PNG\0"), kova.ImageBlock("image/gif", url="u")),
    kova.ConversationMessage("assistant", [kova.ThinkingBlock("Hm…", "c2ln"), kova.TextBlock("Well:\n"), ADD]),
    kova.tool_message("call_1", [kova.TextBlock("5.5 \ud800 \0"), kova.ImageBlock("image/png", b"5")], is_error=True),
    kova.ConversationMessage("assistant", []),
]

Open = Callable[..., kova.MemoryStore]


class Awaited:
    """An async store, called as Django's blocking code would call it."""

    def __init__(self, store: AsyncDjangoStore) -> None:
        assert isinstance(store, kova.AsyncMemoryStore)
        self._store = store

    def __getattr__(self, name: str) -> Any:
        return async_to_sync(getattr(self._store, name))


@pytest.fixture(params=["DjangoStore", "AsyncDjangoStore"])
def open_store(request: pytest.FixtureRequest) -> Open:
    """Makes stores of one of the two twins."""

    def make(**options: Any) -> Any:
        return DjangoStore(**options) if request.param == "DjangoStore" else Awaited(AsyncDjangoStore(**options))

    return make


@pytest.fixture
def store(open_store: Open) -> kova.MemoryStore:
    return open_store()


def add(store: kova.MemoryStore, conversation_id: str, *messages: kova.ConversationMessage) -> int:
    _, revision = store.load(conversation_id)
    return store.append(conversation_id, messages, revision)


def refuse(
    store: kova.MemoryStore, conversation_id: str, revision: int, messages: Sequence[kova.ConversationMessage] = TURN
) -> None:
    with pytest.raises(kova.MemoryStoreError, match=f"'{conversation_id}' was changed by another turn") as caught:
        store.append(conversation_id, messages, revision)
    assert caught.value.is_conflict


def grow_older(seconds: float) -> None:
    Conversation.objects.update(changed_at=F("changed_at") - timedelta(seconds=seconds))


def test_what_is_appended_is_loaded(store: kova.MemoryStore) -> None:
    messages, revision = store.load("ada")
    assert messages == []
    first = store.append("ada", TURN, revision)
    second = store.append("ada", (HI, HELLO), first)
    assert store.load("ada") == ([*TURN, HI, HELLO], second)
    assert revision < first < second
    assert store.load("grace") == ([], revision)


def test_of_two_turns_at_once_one_is_refused(store: kova.MemoryStore) -> None:
    """C1: whole, and whether the conversation is a new one or not."""
    for before in ([], [HI, HELLO]):
        messages, revision = store.load("ada")
        assert messages == before
        store.append("ada", [HI, HELLO], revision)
        refuse(store, "ada", revision)
        assert store.load("ada")[0] == [*before, HI, HELLO]


def test_a_deleted_conversation_is_not_brought_back_by_a_late_write(store: kova.MemoryStore) -> None:
    """C4: not even when it has begun anew, was deleted twice, or its deletion is forgotten."""
    revisions = [store.load("ada")[1], add(store, "ada", HI, HELLO)]
    store.clear("ada")
    revisions.append(store.load("ada")[1])
    store.clear("ada")
    for revision in revisions:
        refuse(store, "ada", revision)
    revisions.append(store.load("ada")[1])
    assert store.prune(timedelta(0)) == 0
    assert not Conversation.objects.exists()
    for revision in revisions:
        refuse(store, "ada", revision)
    assert add(store, "ada", HELLO) > max(revisions)
    for revision in revisions:
        refuse(store, "ada", revision)
    assert store.load("ada")[0] == [HELLO]


def test_deleting_a_conversation_that_was_never_stored_refuses_its_first_turn(store: kova.MemoryStore) -> None:
    """C4."""
    _, revision = store.load("ada")
    store.clear("ada")
    refuse(store, "ada", revision)
    assert store.load("ada")[0] == []
    assert store.list_conversations() == []


def test_a_revision_never_comes_twice(store: kova.MemoryStore) -> None:
    """C1: whatever is done with two conversations, one revision is always higher than the one before."""
    steps: dict[str, Callable[[], object]] = {
        "add": lambda: add(store, "ada", HI),
        "clear": lambda: store.clear("ada"),
        "forget": lambda: (store.clear("ada"), store.prune(timedelta(0))),
        "other": lambda: (store.clear("grace"), add(store, "grace", HI), store.clear("grace")),
    }
    for order in itertools.permutations(steps):
        for name in order:
            _, before = store.load("ada")
            steps[name]()
            _, after = store.load("ada")
            assert (after == before) if name == "other" else (after > before), order


def test_conversations_are_listed_the_latest_first(store: kova.MemoryStore) -> None:
    for conversation_id in ("ada", "grace", "b/ø\n", "gone"):
        add(store, conversation_id, HI)
    add(store, "ada", HELLO)
    store.clear("gone")
    assert store.list_conversations() == ["ada", "b/ø\n", "grace"]


def test_names_that_look_alike_are_different_conversations(store: kova.MemoryStore) -> None:
    """Whatever the collation of the database makes of them."""
    names = ["ada", "Ada", "ada ", "àda", "a" * 5_000]
    for name in names:
        add(store, name, kova.user_message(name))
    assert [store.load(name)[0] for name in names] == [[kova.user_message(name)] for name in names]


def test_old_conversations_are_deleted(store: kova.MemoryStore) -> None:
    """A turn that has loaded one before cannot bring it back."""
    add(store, "old", HI)
    _, revision = store.load("old")
    grow_older(7_200)
    add(store, "new", HI)
    assert store.prune(timedelta(days=1)) == 0
    assert store.prune(timedelta(hours=1)) == 1
    assert store.list_conversations() == ["new"]
    refuse(store, "old", revision)
    assert store.prune(timedelta.max) == 0
    grow_older(7_200)
    assert store.prune(timedelta(hours=1)) == 1
    assert [known.name for known in Conversation.objects.all()] == ["new"]


def test_the_oldest_messages_are_dropped(open_store: Open) -> None:
    """L6, C1."""
    store = open_store(max_messages=4)
    stored = [kova.system_message("Be brief.")]
    add(store, "ada", *stored)
    for turn in ([HI, HELLO], TURN, [HI, HELLO], [HI]):
        _, revision = store.load("ada")
        store.append("ada", turn, revision)
        stored = trim_history([*stored, *turn], 4)
        assert store.load("ada")[0] == stored
        refuse(store, "ada", revision, turn)


def test_another_database(open_store: Open) -> None:
    add(open_store(using="other"), "ada", HI)
    assert open_store().load("ada")[0] == []
    assert open_store(using="other").load("ada")[0] == [HI]
    with pytest.raises(kova.BuildError, match="using must be one of default, other .*, got 'nowhere'"):
        open_store(using="nowhere")


def test_the_callers_transaction_decides(store: kova.MemoryStore) -> None:
    """A refused turn leaves the transaction usable; what it has stored goes with it when it is rolled back."""
    stale = store.load("ada")[1]
    add(store, "ada", HI)
    with transaction.atomic():
        refuse(store, "ada", stale)
        add(store, "ada", HELLO)
    assert store.load("ada")[0] == [HI, HELLO]
    with transaction.atomic():
        add(store, "ada", HI)
        add(store, "new", HI)
        store.clear("deleted")
        transaction.set_rollback(True)
    assert store.load("ada")[0] == [HI, HELLO]
    assert store.list_conversations() == ["ada"]


def test_stored_bytes_grow_with_what_is_new() -> None:
    """C3: a turn is written by two statements, however long the conversation is."""
    store = DjangoStore()
    add(store, "ada", *[HI, HELLO] * 500)
    _, revision = store.load("ada")
    with CaptureQueriesContext(connection) as queries:
        store.append("ada", [HI, HELLO], revision)
    statements = [query["sql"] for query in queries if query["sql"].startswith(("UPDATE", "INSERT", "SELECT"))]
    assert len(statements) == 2
    assert Message.objects.count() == 1_002


def test_a_connection_is_left_as_it_was_found(store: kova.MemoryStore) -> None:
    """T11: a chat that began without a connection has none while the model thinks; SQLite's are left to Django."""
    connections.close_all()
    add(store, "ada", HI)
    assert (connection.connection is not None) == (connection.vendor == "sqlite")
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
        add(store, "ada", HI)
        assert cursor.fetchone() == (1,)
    assert connection.connection is not None


@pytest.mark.parametrize(
    ("conversation_id", "error"), [("", ValueError), (None, TypeError), ("\ud800", ValueError), ("a\0", ValueError)]
)
def test_an_id_that_is_none(store: kova.MemoryStore, conversation_id: Any, error: type[Exception]) -> None:
    for call in (store.load, store.clear, lambda name: store.append(name, [HI], 0)):
        with pytest.raises(error, match="conversation_id must"):
            call(conversation_id)


def test_a_damaged_conversation_is_said_to_be_so(store: kova.MemoryStore) -> None:
    add(store, "ada", HI)
    Message.objects.update(json="{")
    with pytest.raises(kova.MemoryStoreError, match="conversation 'ada' is damaged"):
        store.load("ada")


def test_a_missing_table_is_an_error_of_the_store(open_store: Open) -> None:
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute("ALTER TABLE kova_message RENAME TO kova_elsewhere")
        with pytest.raises(kova.MemoryStoreError, match="cannot be written in database 'default'"):
            DjangoStore().append("ada", [HI], 0)
        with transaction.atomic(), pytest.raises(kova.MemoryStoreError):
            DjangoStore().append("ada", [HI], 0)
        transaction.set_rollback(True)


def test_the_migration_makes_the_tables_of_the_models() -> None:
    call_command("makemigrations", "kova", check=True, dry_run=True, verbosity=0)
