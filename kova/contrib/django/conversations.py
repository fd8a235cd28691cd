"""Conversations in the tables of a Django database, through the blocking ORM.

It relies on the isolation that Django sets up by default: READ COMMITTED, or one writer at a time in SQLite. A
transaction begins with a write wherever it writes at all, so that SQLite has no read lock to turn into a write lock.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

from django.db import Error, IntegrityError, connections, transaction
from django.db.models import Exists, F, OuterRef
from django.utils import timezone

from ..._memory.arguments import checked_age, checked_id, checked_limit, conflict
from ..._message_json import messages_from_json, messages_to_json
from ...errors import BuildError, MemoryStoreError, SerializationError
from ...history import trim_history
from ...messages import ConversationMessage, checked_messages
from .models import Conversation, ForgottenConversations, Message

__all__ = ["DjangoConversations"]


class DjangoConversations:
    """Conversations by id.

    Args:
        using: The alias of the database.
        max_messages: How many messages of a conversation are kept.

    Raises:
        BuildError: There is no such database, or the limit is wrong.
    """

    def __init__(self, using: str, max_messages: int | None) -> None:
        if using not in connections:
            raise BuildError(f"using must be one of {', '.join(connections)} (settings.DATABASES), got {using!r}")
        self.using = using
        self._max_messages = checked_limit(max_messages)

    def load(self, conversation_id: str) -> tuple[list[ConversationMessage], int]:
        digest = _digest(conversation_id)
        with self._database("read"):
            # The revision first: messages that come in between then belong to a later one, and `append` is refused.
            revision = self._revision(digest)
            if revision is None:
                return [], self._forgotten_revision()
            texts = [text for _, text in self._rows(digest)]
        return _messages(conversation_id, texts), revision

    def append(self, conversation_id: str, messages: Iterable[ConversationMessage], revision: int) -> int:
        digest = _digest(conversation_id)
        texts = _texts(checked_messages(messages))
        with self._database("written"), transaction.atomic(self.using):
            known = self._conversations.filter(digest=digest, revision=revision)
            if not known.update(revision=revision + 1, changed_at=timezone.now()):
                self._begin(conversation_id, digest, revision)
            rows = [Message(conversation_id=digest, json=text) for text in texts]
            Message.objects.using(self.using).bulk_create(rows)
            if self._max_messages is not None:
                self._trim(conversation_id, digest, self._max_messages)
        return revision + 1

    def clear(self, conversation_id: str) -> None:
        digest = _digest(conversation_id)
        with self._database("deleted"), transaction.atomic(self.using):
            while not self._empty([digest]):
                try:
                    self._insert(conversation_id, digest, self._forgotten_revision() + 1)
                except IntegrityError:
                    continue  # another process was quicker, and now there is something to delete
                return

    def list_conversations(self) -> list[str]:
        with self._database("read"):
            return list(self._with_messages().order_by("-changed_at").values_list("name", flat=True))

    def prune(self, older_than: timedelta) -> int:
        age = checked_age(older_than)
        try:
            oldest = timezone.now() - timedelta(seconds=age)
        except OverflowError:
            return 0  # older than the calendar
        with self._database("deleted"), transaction.atomic(self.using):
            if not self._forgotten.update(revision=F("revision")):  # whoever else prunes waits here
                ForgottenConversations.objects.using(self.using).create(id=1, revision=0)
            old = self._conversations.filter(changed_at__lte=oldest)
            present = list(self._with_messages().filter(changed_at__lte=oldest).values_list("digest", flat=True))
            self._forget(list(old.exclude(digest__in=present).values_list("digest", flat=True)))
            return sum(self._empty([digest], changed_at__lte=oldest) for digest in present)

    # ---- one step each; those that write are called in a transaction

    @property
    def _conversations(self) -> Any:  # Django has no types
        return Conversation.objects.using(self.using)

    @property
    def _forgotten(self) -> Any:
        return ForgottenConversations.objects.using(self.using).filter(id=1)

    def _with_messages(self) -> Any:
        return self._conversations.filter(Exists(Message.objects.filter(conversation=OuterRef("pk"))))

    def _revision(self, digest: str) -> int | None:
        revision: int | None = self._conversations.filter(digest=digest).values_list("revision", flat=True).first()
        return revision

    def _forgotten_revision(self) -> int:
        revision: int | None = self._forgotten.values_list("revision", flat=True).first()
        return revision or 0

    def _rows(self, digest: str) -> list[tuple[int, str]]:
        rows = Message.objects.using(self.using).filter(conversation=digest).order_by("id")
        return list(rows.values_list("id", "json"))

    def _insert(self, conversation_id: str, digest: str, revision: int) -> None:
        with transaction.atomic(self.using):  # so that the transaction goes on when there is one already
            self._conversations.create(
                digest=digest, name=conversation_id, revision=revision, changed_at=timezone.now()
            )

    def _begin(self, conversation_id: str, digest: str, revision: int) -> None:
        """Make the row of a conversation that had none when it was loaded."""
        if self._revision(digest) is not None:
            raise conflict(conversation_id)
        try:
            self._insert(conversation_id, digest, revision + 1)
        except IntegrityError:
            raise conflict(conversation_id) from None
        # Only now: a row that was forgotten meanwhile has raised this number before it made room for ours.
        if self._forgotten_revision() != revision:
            raise conflict(conversation_id)

    def _empty(self, digests: Sequence[str], **conditions: object) -> int:
        """Delete the messages of conversations; gives the number of those that there were."""
        found = self._conversations.filter(digest__in=digests, **conditions)
        count: int = found.update(revision=F("revision") + 1, changed_at=timezone.now())
        if count:
            Message.objects.using(self.using).filter(conversation__in=digests).delete()
        return count

    def _forget(self, digests: list[str]) -> None:
        """Delete the rows of conversations without messages, for good."""
        for digest in digests:
            gone = self._conversations.select_for_update().filter(digest=digest).first()
            if gone is not None and not self._rows(digest):
                self._forgotten.filter(revision__lte=gone.revision).update(revision=gone.revision + 1)
                gone.delete()

    def _trim(self, conversation_id: str, digest: str, max_messages: int) -> None:
        rows = self._rows(digest)
        if len(rows) <= max_messages:
            return
        messages = _messages(conversation_id, [text for _, text in rows])
        kept = set(map(id, trim_history(messages, max_messages)))
        dropped = [row[0] for row, message in zip(rows, messages, strict=True) if id(message) not in kept]
        Message.objects.using(self.using).filter(id__in=dropped).delete()

    @contextmanager
    def _database(self, what: str) -> Iterator[None]:
        """A block that uses the database. A connection that it has opened lives as long as after a request.

        So a chat that began without a connection has none while the model thinks. Those to SQLite are left to the end
        of the request: they cost nobody anything, but closing the last one writes the file's log back.
        """
        connection = connections[self.using]
        is_left_open = connection.connection is not None or connection.vendor == "sqlite"
        try:
            yield
        except Error as error:
            problem = f"{type(error).__name__}: {error}"
            raise MemoryStoreError(f"conversations cannot be {what} in database {self.using!r}: {problem}") from error
        finally:
            if not is_left_open:
                connection.close_if_unusable_or_obsolete()


def _digest(conversation_id: str) -> str:
    text = checked_id(conversation_id)
    if "\0" in text:
        raise ValueError(f"conversation_id must not contain U+0000, which not every database keeps: {text!r:.100}")
    return hashlib.sha256(text.encode()).hexdigest()


def _texts(messages: Sequence[ConversationMessage]) -> list[str]:
    return [messages_to_json([message])[1:-1] for message in messages]


def _messages(conversation_id: str, texts: list[str]) -> list[ConversationMessage]:
    try:
        messages = messages_from_json(f"[{','.join(texts)}]")
    except SerializationError as error:
        raise MemoryStoreError(f"conversation {conversation_id!r} is damaged: {error}") from error
    if len(messages) != len(texts):
        raise MemoryStoreError(f"conversation {conversation_id!r} is damaged: a row is not one message")
    return messages
