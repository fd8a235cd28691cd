"""The schema of a SQLite store, and the way to it from an empty file or from that of an earlier release.

A file says by its `application_id` that it is a kova store, and by its `user_version` which schema it has.
"""

from __future__ import annotations

import sqlite3

__all__ = ["WrongSchema", "is_current", "make_current"]

APPLICATION_ID = int.from_bytes(b"kova", "big")

# The statements that lead from each version to the next; the first are those for an empty file. A release may add
# another tuple, and must leave the ones before it as they are.
MIGRATIONS: list[tuple[str, ...]] = [
    (
        # The last revision of any conversation, and the one that an unknown conversation has.
        "CREATE TABLE store (revision INTEGER NOT NULL, unknown_revision INTEGER NOT NULL)",
        "INSERT INTO store VALUES (0, 0)",
        # A deleted one stays here, without messages: by its revision a late write is refused.
        """CREATE TABLE conversations (
            number INTEGER PRIMARY KEY,
            id TEXT NOT NULL UNIQUE,
            revision INTEGER NOT NULL,
            changed_at REAL NOT NULL -- seconds since the epoch
        )""",
        """CREATE TABLE messages (
            number INTEGER PRIMARY KEY, -- in the order of the conversation
            conversation INTEGER NOT NULL REFERENCES conversations (number),
            message TEXT NOT NULL -- as messages_to_json writes it
        )""",
        "CREATE INDEX messages_by_conversation ON messages (conversation)",
    ),
]


class WrongSchema(Exception):
    """The file is not this release's to use; the text says why."""


def is_current(connection: sqlite3.Connection) -> bool:
    """Whether the file can be used as it is. It cannot when it is empty or an earlier release's.

    Must be called inside a transaction, so that no other process changes the file in between.

    Raises:
        WrongSchema: It is something else's, or a later release's.
    """
    version = _pragma(connection, "user_version")
    if _pragma(connection, "application_id") != APPLICATION_ID:
        if version or _pragma(connection, "schema_version"):
            raise WrongSchema("this is an SQLite database, but not a kova store")
        return False
    if version > len(MIGRATIONS):
        raise WrongSchema(f"a later release of kova wrote this (schema {version}; known are up to {len(MIGRATIONS)})")
    return version == len(MIGRATIONS)


def make_current(connection: sqlite3.Connection) -> None:
    """Bring the file to this release's schema, inside a write transaction."""
    if is_current(connection):
        return
    for statements in MIGRATIONS[_pragma(connection, "user_version") :]:
        for statement in statements:
            connection.execute(statement)
    connection.execute(f"PRAGMA user_version = {len(MIGRATIONS)}")
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")


def _pragma(connection: sqlite3.Connection, name: str) -> int:
    value: int = connection.execute(f"PRAGMA {name}").fetchone()[0]
    return value
