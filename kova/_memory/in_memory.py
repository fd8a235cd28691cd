"""Conversations in the memory of this process."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable
from datetime import timedelta

from attrs import frozen

from .._forks import renew_in_children
from ..history import trim_history
from ..messages import ConversationMessage, checked_messages
from .arguments import checked_age, checked_id, checked_limit, conflict

__all__ = ["InMemoryConversations"]


@frozen
class _Conversation:
    """What is known of a conversation. One that was deleted has no messages, but still a revision.

    Attributes:
        revision: Of its last change.
        changed_at: When that was, in seconds since the epoch.
        messages: Its messages.
    """

    revision: int
    changed_at: float
    messages: tuple[ConversationMessage, ...]


class InMemoryConversations:
    """Conversations by id. Thread-safe.

    A revision is the number of the change among all changes of the store. So none comes twice, not even when a deleted
    conversation has been forgotten and begins anew.
    """

    def __init__(self, max_messages: int | None) -> None:
        self._max_messages = checked_limit(max_messages)
        self._conversations: dict[str, _Conversation] = {}
        self._revision = 0
        self._unknown = _Conversation(0, 0.0, ())  # stands for all of which nothing is known, or no longer
        self.renew()
        renew_in_children(self)

    def renew(self) -> None:
        self._lock = threading.Lock()

    def load(self, conversation_id: str) -> tuple[list[ConversationMessage], int]:
        found = self._conversations.get(checked_id(conversation_id), self._unknown)
        return list(found.messages), found.revision

    def append(self, conversation_id: str, messages: Iterable[ConversationMessage], revision: int) -> int:
        checked_id(conversation_id)
        added = checked_messages(messages)
        with self._lock:
            found = self._conversations.get(conversation_id, self._unknown)
            if found.revision != revision:
                raise conflict(conversation_id)
            kept = [*found.messages, *added]
            if self._max_messages is not None:
                kept = trim_history(kept, self._max_messages)
            return self._change(conversation_id, kept)

    def clear(self, conversation_id: str) -> None:
        checked_id(conversation_id)
        with self._lock:
            self._change(conversation_id, ())

    def list_conversations(self) -> list[str]:
        with self._lock:
            present = [(known.revision, name) for name, known in self._conversations.items() if known.messages]
        return [name for _, name in sorted(present, reverse=True)]

    def prune(self, older_than: timedelta) -> int:
        oldest = time.time() - checked_age(older_than)
        with self._lock:
            old = [(name, known) for name, known in self._conversations.items() if known.changed_at <= oldest]
            deleted = [name for name, known in old if not known.messages]
            if deleted:
                for name in deleted:
                    del self._conversations[name]
                self._revision += 1
                self._unknown = _Conversation(self._revision, 0.0, ())
            present = [name for name, known in old if known.messages]
            for name in present:
                self._change(name, ())
        return len(present)

    def _change(self, conversation_id: str, messages: Iterable[ConversationMessage]) -> int:
        self._revision += 1
        self._conversations[conversation_id] = _Conversation(self._revision, time.time(), tuple(messages))
        return self._revision
