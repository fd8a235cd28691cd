"""The stores of conversations for both twins."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import TypeVar

from asgiref.sync import sync_to_async

from ...messages import ConversationMessage
from .conversations import DjangoConversations

__all__ = ["AsyncDjangoStore", "DjangoStore"]

T = TypeVar("T")


class DjangoStore:
    """Conversations in a Django database, for any number of threads and processes.

    Each change is a transaction, or a savepoint where the caller is in one (`transaction.atomic`): then a turn is
    stored for good when the caller commits. Where the caller's thread has no open connection, the store opens one for
    each operation and treats it as Django does after a request, by `CONN_MAX_AGE`: none is held while a model thinks.
    Connections to SQLite are left to Django.

    Args:
        using: The alias of the database, in `settings.DATABASES`.
        max_messages: How many messages of a conversation are kept. The oldest are dropped, as `trim_history` does.

    Raises:
        BuildError: An argument is wrong; the message names it.
    """

    def __init__(self, using: str = "default", max_messages: int | None = None) -> None:
        self._conversations = DjangoConversations(using, max_messages)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(using={self._conversations.using!r})"

    def load(self, conversation_id: str) -> tuple[list[ConversationMessage], int]:
        """The messages of a conversation, and its revision; no messages where there is no such conversation.

        Raises:
            MemoryStoreError: The database cannot be read, or the conversation is damaged.
        """
        return self._conversations.load(conversation_id)

    def append(self, conversation_id: str, messages: Sequence[ConversationMessage], revision: int) -> int:
        """Add messages to a conversation that still has the given revision.

        Returns:
            The new revision.

        Raises:
            MemoryStoreError: It has another one; `is_conflict` is true. Or the database cannot be written.
            SerializationError: JSON has no form for something in the messages.
        """
        return self._conversations.append(conversation_id, messages, revision)

    def clear(self, conversation_id: str) -> None:
        """Delete a conversation, even one that there is not: a turn that has begun with it cannot store it again.

        Raises:
            MemoryStoreError: The database cannot be written.
        """
        self._conversations.clear(conversation_id)

    def list_conversations(self) -> list[str]:
        """The ids of the conversations that have messages, the one that was changed last being the first.

        Raises:
            MemoryStoreError: The database cannot be read.
        """
        return self._conversations.list_conversations()

    def prune(self, older_than: timedelta) -> int:
        """Delete the conversations that have not been changed for this time, and forget those deleted as long ago.

        Returns:
            How many were deleted.

        Raises:
            MemoryStoreError: The database cannot be written.
        """
        return self._conversations.prune(older_than)


class AsyncDjangoStore:
    """Conversations in a Django database, for any number of tasks, threads and processes, on asyncio.

    Django has no transactions in its async ORM. So each operation is made whole in the thread that Django keeps for the
    blocking code of the request (`sync_to_async`), in the transaction that may be open there.

    Args:
        using: The alias of the database, in `settings.DATABASES`.
        max_messages: How many messages of a conversation are kept. The oldest are dropped, as `trim_history` does.

    Raises:
        BuildError: An argument is wrong; the message names it.
    """

    def __init__(self, using: str = "default", max_messages: int | None = None) -> None:
        self._conversations = DjangoConversations(using, max_messages)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(using={self._conversations.using!r})"

    async def load(self, conversation_id: str) -> tuple[list[ConversationMessage], int]:
        """The messages of a conversation, and its revision; no messages where there is no such conversation.

        Raises:
            MemoryStoreError: The database cannot be read, or the conversation is damaged.
        """
        return await self._call(self._conversations.load, conversation_id)

    async def append(self, conversation_id: str, messages: Sequence[ConversationMessage], revision: int) -> int:
        """Add messages to a conversation that still has the given revision.

        Returns:
            The new revision.

        Raises:
            MemoryStoreError: It has another one; `is_conflict` is true. Or the database cannot be written.
            SerializationError: JSON has no form for something in the messages.
        """
        return await self._call(self._conversations.append, conversation_id, messages, revision)

    async def clear(self, conversation_id: str) -> None:
        """Delete a conversation, even one that there is not: a turn that has begun with it cannot store it again.

        Raises:
            MemoryStoreError: The database cannot be written.
        """
        await self._call(self._conversations.clear, conversation_id)

    async def list_conversations(self) -> list[str]:
        """The ids of the conversations that have messages, the one that was changed last being the first.

        Raises:
            MemoryStoreError: The database cannot be read.
        """
        return await self._call(self._conversations.list_conversations)

    async def prune(self, older_than: timedelta) -> int:
        """Delete the conversations that have not been changed for this time, and forget those deleted as long ago.

        Returns:
            How many were deleted.

        Raises:
            MemoryStoreError: The database cannot be written.
        """
        return await self._call(self._conversations.prune, older_than)

    async def _call(self, method: Callable[..., T], *args: object) -> T:
        result: T = await sync_to_async(method)(*args)
        return result
