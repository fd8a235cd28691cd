"""Conversations in an SQLite file, a row for each message, for many processes."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterable
from datetime import timedelta

from .._message_json import messages_from_json, messages_to_json
from ..cancellation import CancellationToken
from ..errors import BuildError, MemoryStoreError, SerializationError
from ..history import trim_history
from ..messages import ConversationMessage, checked_messages
from .arguments import checked_age, checked_id, checked_limit, conflict
from .sqlite_connections import Connections

__all__ = ["SQLiteConversations"]


class SQLiteConversations:
    """Conversations by id. Thread-safe; every method may block.

    A revision is the number of the change among all changes of the store, so that none comes twice: not even when a
    deleted conversation has been forgotten and begins anew.

    Each method takes, at last, a token: cancelled, it makes the method give up, and nothing is written any more.
    """

    def __init__(self, path: str | os.PathLike[str], max_messages: int | None) -> None:
        self.path = _checked_path(path)
        self._max_messages = checked_limit(max_messages)
        self._connections = Connections(self.path)

    def load(self, conversation_id: str, stop: CancellationToken) -> tuple[list[ConversationMessage], int]:
        checked_id(conversation_id)

        def work(connection: sqlite3.Connection) -> tuple[list[bytes], int]:
            number, revision = _find(connection, conversation_id)
            return [text for _, text in _rows(connection, number)], revision

        texts, revision = self._connections.read(work, stop)
        messages = _messages(conversation_id, texts)
        return messages if self._max_messages is None else trim_history(messages, self._max_messages), revision

    def append(
        self,
        conversation_id: str,
        messages: Iterable[ConversationMessage],
        revision: int,
        stop: CancellationToken,
    ) -> int:
        checked_id(conversation_id)
        texts = [messages_to_json([message])[1:-1] for message in checked_messages(messages)]

        def work(connection: sqlite3.Connection) -> int:
            if _find(connection, conversation_id)[1] != revision:
                raise conflict(conversation_id)
            number, new_revision = _change(connection, conversation_id)
            rows = [(number, text) for text in texts]
            connection.executemany("INSERT INTO messages (conversation, message) VALUES (?, ?)", rows)
            if self._max_messages is not None:
                _trim(connection, conversation_id, number, self._max_messages)
            return new_revision

        return self._connections.write(work, stop)

    def clear(self, conversation_id: str, stop: CancellationToken) -> None:
        checked_id(conversation_id)
        self._connections.write(lambda connection: _clear(connection, conversation_id), stop)

    def list_conversations(self, stop: CancellationToken) -> list[str]:
        def work(connection: sqlite3.Connection) -> list[str]:
            query = f"SELECT id FROM conversations WHERE {_HAS_MESSAGES} ORDER BY revision DESC"
            return [name.decode() for (name,) in connection.execute(query)]

        return self._connections.read(work, stop)

    def prune(self, older_than: timedelta, stop: CancellationToken) -> int:
        oldest = time.time() - checked_age(older_than)

        def work(connection: sqlite3.Connection) -> int:
            old = f"SELECT id FROM conversations WHERE changed_at <= ? AND {_HAS_MESSAGES}"
            present = [name.decode() for (name,) in connection.execute(old, (oldest,))]
            deleted = f"DELETE FROM conversations WHERE changed_at <= ? AND NOT {_HAS_MESSAGES}"
            if connection.execute(deleted, (oldest,)).rowcount:
                connection.execute("UPDATE store SET unknown_revision = ?", (_next_revision(connection),))
            for name in present:
                _clear(connection, name)
            return len(present)

        return self._connections.write(work, stop)

    def close(self) -> None:
        self._connections.close()


def _checked_path(path: object) -> str:
    given = os.fspath(path) if isinstance(path, os.PathLike) else path
    if not isinstance(given, str):
        raise BuildError(f"path must be a str or a path, not {type(path).__name__}")
    if given in ("", ":memory:"):
        raise BuildError(f"path must be that of a file, not {given!r}: a store in memory is another class")
    try:
        return os.path.realpath(given)
    except ValueError as error:
        raise BuildError(f"path cannot be that of a file: {given!r:.100} ({error})") from error


# ---- single steps, inside a transaction

_HAS_MESSAGES = "EXISTS (SELECT 1 FROM messages WHERE conversation = conversations.number)"


def _find(connection: sqlite3.Connection, conversation_id: str) -> tuple[int | None, int]:
    """The number of a conversation, None for an unknown one, and its revision."""
    query = "SELECT number, revision FROM conversations WHERE id = ?"
    found: tuple[int, int] | None = connection.execute(query, (conversation_id,)).fetchone()
    return found or (None, connection.execute("SELECT unknown_revision FROM store").fetchone()[0])


def _rows(connection: sqlite3.Connection, number: int | None) -> list[tuple[int, bytes]]:
    query = "SELECT number, message FROM messages WHERE conversation = ? ORDER BY number"
    return connection.execute(query, (number,)).fetchall()


def _messages(conversation_id: str, texts: list[bytes]) -> list[ConversationMessage]:
    try:
        messages = messages_from_json(b"[" + b",".join(texts) + b"]")
    except SerializationError as error:
        raise MemoryStoreError(f"conversation {conversation_id!r} is damaged: {error}") from error
    if len(messages) != len(texts):
        raise MemoryStoreError(f"conversation {conversation_id!r} is damaged: a row is not one message")
    return messages


def _next_revision(connection: sqlite3.Connection) -> int:
    connection.execute("UPDATE store SET revision = revision + 1")
    revision: int = connection.execute("SELECT revision FROM store").fetchone()[0]
    return revision


def _change(connection: sqlite3.Connection, conversation_id: str) -> tuple[int, int]:
    """Give a conversation, known or not, its next revision; its number is given back too."""
    revision = _next_revision(connection)
    change = """INSERT INTO conversations (id, revision, changed_at) VALUES (?, ?, ?)
        ON CONFLICT (id) DO UPDATE SET revision = excluded.revision, changed_at = excluded.changed_at"""
    connection.execute(change, (conversation_id, revision, time.time()))
    number: int = connection.execute("SELECT number FROM conversations WHERE id = ?", (conversation_id,)).fetchone()[0]
    return number, revision


def _clear(connection: sqlite3.Connection, conversation_id: str) -> None:
    number, _ = _change(connection, conversation_id)
    connection.execute("DELETE FROM messages WHERE conversation = ?", (number,))


def _trim(connection: sqlite3.Connection, conversation_id: str, number: int, max_messages: int) -> None:
    count: int = connection.execute("SELECT count(*) FROM messages WHERE conversation = ?", (number,)).fetchone()[0]
    if count <= max_messages:
        return
    rows = _rows(connection, number)
    messages = _messages(conversation_id, [text for _, text in rows])
    kept = set(map(id, trim_history(messages, max_messages)))
    dropped = [(row[0],) for row, message in zip(rows, messages, strict=True) if id(message) not in kept]
    connection.executemany("DELETE FROM messages WHERE number = ?", dropped)
