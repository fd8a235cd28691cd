"""Stores of conversations, and the order in which turns work on one."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from datetime import timedelta
from types import TracebackType
from typing import Protocol, Self, TypeVar, runtime_checkable

from .._memory.in_memory import InMemoryConversations
from .._memory.store_lines import lines_of
from .._runtime import aio as rt
from .._runtime.owners import PerOwner
from ..cancellation import CancellationToken
from ..errors import MemoryStoreError
from ..messages import ConversationMessage
from .turn_in_line import AsyncTurnInLine

__all__ = ["AsyncInMemoryStore", "AsyncMemoryStore", "AsyncSQLiteStore", "conversation_turn"]

T = TypeVar("T")

MAX_CALLS = 8  # of a SQLite store at once, in an event loop: each has a thread


@runtime_checkable
class AsyncMemoryStore(Protocol):
    """What an agent needs of a store of conversations. One of your own needs no more than these methods.

    Every change of a conversation gives it a higher revision, and so does its deletion: whoever has loaded it before
    cannot append to it any more. An unknown conversation has a revision too.
    """

    async def load(self, conversation_id: str) -> tuple[list[ConversationMessage], int]:
        """The messages of a conversation, and its revision; no messages where there is no such conversation.

        Raises:
            MemoryStoreError: It cannot be read.
        """

    async def append(self, conversation_id: str, messages: Sequence[ConversationMessage], revision: int) -> int:
        """Add messages to a conversation, all of them or none.

        Args:
            conversation_id: The conversation, which may be a new one.
            messages: What to add.
            revision: The revision that `load` gave.

        Returns:
            The new revision.

        Raises:
            MemoryStoreError: They cannot be written. If `is_conflict` is true, the conversation has another revision.
        """

    async def clear(self, conversation_id: str) -> None:
        """Delete a conversation, even one that there is not.

        Raises:
            MemoryStoreError: It cannot be deleted.
        """

    async def list_conversations(self) -> list[str]:
        """The ids of the conversations that have messages, the one that was changed last being the first.

        Raises:
            MemoryStoreError: They cannot be read.
        """

    async def prune(self, older_than: timedelta) -> int:
        """Delete the conversations that have not been changed for this time, and forget those deleted as long ago.

        Returns:
            How many were deleted.

        Raises:
            MemoryStoreError: They cannot be deleted.
        """


class AsyncInMemoryStore:
    """Conversations in the memory of this process. Usable from several threads and event loops at once.

    Args:
        max_messages: How many messages of a conversation are kept. The oldest are dropped, as `trim_history` does.

    Raises:
        BuildError: `max_messages` is wrong.
    """

    def __init__(self, max_messages: int | None = None) -> None:
        self._conversations = InMemoryConversations(max_messages)

    async def load(self, conversation_id: str) -> tuple[list[ConversationMessage], int]:
        """The messages of a conversation, and its revision; no messages where there is no such conversation."""
        return self._conversations.load(conversation_id)

    async def append(self, conversation_id: str, messages: Sequence[ConversationMessage], revision: int) -> int:
        """Add messages to a conversation that still has the given revision.

        Returns:
            The new revision.

        Raises:
            MemoryStoreError: It has another one; `is_conflict` is true.
        """
        return self._conversations.append(conversation_id, messages, revision)

    async def clear(self, conversation_id: str) -> None:
        """Delete a conversation, even one that there is not: a turn that has begun with it cannot store it again."""
        self._conversations.clear(conversation_id)

    async def list_conversations(self) -> list[str]:
        """The ids of the conversations that have messages, the one that was changed last being the first."""
        return self._conversations.list_conversations()

    async def prune(self, older_than: timedelta) -> int:
        """Delete the conversations that have not been changed for this time, and forget those deleted as long ago.

        Returns:
            How many were deleted.
        """
        return self._conversations.prune(older_than)


class AsyncSQLiteStore:
    """Conversations in an SQLite file, which may be used by many processes, threads and event loops at once.

    The file is made when it is first needed, for its owner alone (mode 0600); beside it are `-wal` and `-shm` files
    while it is in use. A turn is written whole or not at all, whatever happens to the process. A call that is
    cancelled writes nothing, unless it is just being committed.

    Args:
        path: The file. Its folder must exist, and must not be on a network.
        max_messages: How many messages of a conversation are kept. The oldest are dropped, as `trim_history` does.

    Raises:
        BuildError: An argument is wrong; the message names it.
    """

    def __init__(self, path: str | os.PathLike[str], max_messages: int | None = None) -> None:
        from .._memory.sqlite import SQLiteConversations  # sqlite3 is needed by few, and dear to import

        self._conversations = SQLiteConversations(path, max_messages)
        self._gates = PerOwner(lambda: rt.Semaphore(MAX_CALLS), lambda gate: None)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._conversations.path!r})"

    async def load(self, conversation_id: str) -> tuple[list[ConversationMessage], int]:
        """The messages of a conversation, and its revision; no messages where there is no such conversation.

        Raises:
            MemoryStoreError: The file cannot be read, is damaged, no kova store, or of a later release of kova.
        """
        return await self._call(self._conversations.load, conversation_id)

    async def append(self, conversation_id: str, messages: Sequence[ConversationMessage], revision: int) -> int:
        """Add messages to a conversation that still has the given revision.

        Returns:
            The new revision.

        Raises:
            MemoryStoreError: It has another one; `is_conflict` is true. Or the file cannot be written; it is then as
                it was before.
            SerializationError: JSON has no form for something in the messages.
        """
        return await self._call(self._conversations.append, conversation_id, messages, revision)

    async def clear(self, conversation_id: str) -> None:
        """Delete a conversation, even one that there is not: a turn that has begun with it cannot store it again.

        Raises:
            MemoryStoreError: The file cannot be written.
        """
        await self._call(self._conversations.clear, conversation_id)

    async def list_conversations(self) -> list[str]:
        """The ids of the conversations that have messages, the one that was changed last being the first.

        Raises:
            MemoryStoreError: The file cannot be read.
        """
        return await self._call(self._conversations.list_conversations)

    async def prune(self, older_than: timedelta) -> int:
        """Delete the conversations that have not been changed for this time, and forget those deleted as long ago.

        Returns:
            How many were deleted.

        Raises:
            MemoryStoreError: The file cannot be written.
        """
        return await self._call(self._conversations.prune, older_than)

    async def _call(self, method: Callable[..., T], *args: object) -> T:
        """Call a method that may block; it gives up when nobody waits for it any more."""
        stop = CancellationToken()
        async with self._gates.get(rt.owner()):
            result: T = await rt.call(method, *args, stop, stop=stop)
            return result

    async def close(self) -> None:
        """Close the file. The store cannot be used afterwards. May be called twice."""
        await rt.run_blocking(self._conversations.close)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()


# ---- one turn after the other


def conversation_turn(store: object, conversation_id: str) -> AsyncTurnInLine:
    """The next turn of a conversation, as a with block that is entered when all earlier ones are over.

    All who use the same store object wait for one another, in whatever thread or event loop they are.

    Args:
        store: The store that has the conversation, of any class.
        conversation_id: The conversation.

    Raises:
        BuildError: The store cannot be referred to weakly.
        MemoryStoreError: When it is entered by what is a part of such a turn, and would wait for itself.
    """

    def circle() -> MemoryStoreError:
        return MemoryStoreError(
            f"a turn of conversation {conversation_id!r} waits for itself: neither what a turn calls, such as a tool, "
            "nor the block of its stream can begin another turn of its conversation"
        )

    return AsyncTurnInLine(lines_of(store), conversation_id, circle)
