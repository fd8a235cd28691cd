"""What stores are given, checked the same way by all of them."""

from __future__ import annotations

from datetime import timedelta

from ..errors import BuildError, MemoryStoreError
from ..messages import ConversationMessage, checked_messages

__all__ = ["checked_age", "checked_history", "checked_id", "checked_limit", "conflict"]


def checked_id(conversation_id: object) -> str:
    """The id of a conversation.

    Raises:
        TypeError: It is not text.
        ValueError: It is empty, which all who forget to give one would share, or no valid Unicode.
    """
    if not isinstance(conversation_id, str):
        raise TypeError(f"conversation_id must be str, not {type(conversation_id).__name__}")
    if not conversation_id:
        raise ValueError("conversation_id must not be empty")
    try:
        conversation_id.encode()
    except UnicodeEncodeError:
        raise ValueError(f"conversation_id must be valid Unicode, not {conversation_id!r:.100}") from None
    return conversation_id


def checked_history(loaded: object) -> tuple[list[ConversationMessage], int]:
    """What a store's `load` gave: messages, and a revision.

    Raises:
        TypeError: It is something else.
    """
    if not isinstance(loaded, tuple) or len(loaded) != 2:
        raise TypeError(f"load must give a tuple of messages and revision, not {type(loaded).__name__}")
    messages, revision = loaded
    return checked_messages(messages), revision


def checked_age(older_than: object) -> float:
    """An age in seconds.

    Raises:
        TypeError: It is not a timedelta.
        ValueError: It is negative.
    """
    if not isinstance(older_than, timedelta):
        raise TypeError(f"older_than must be a timedelta, not {type(older_than).__name__}")
    if older_than < timedelta(0):
        raise ValueError(f"older_than must not be negative, got {older_than}")
    return older_than.total_seconds()


def checked_limit(max_messages: object) -> int | None:
    """How many messages a conversation may have; None for any number.

    Raises:
        BuildError: It is not a positive integer.
    """
    if max_messages is None:
        return None
    if isinstance(max_messages, bool) or not isinstance(max_messages, int) or max_messages < 1:
        raise BuildError(f"max_messages must be a positive integer or None, got {max_messages!r}")
    return max_messages


def conflict(conversation_id: str) -> MemoryStoreError:
    """The error for a write that comes too late."""
    return MemoryStoreError(
        f"conversation {conversation_id!r} was changed by another turn, or deleted, since it was loaded",
        is_conflict=True,
    )
