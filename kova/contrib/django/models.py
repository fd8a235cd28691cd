"""The tables of a store: conversations, their messages, and what became of those that are forgotten."""

from __future__ import annotations

from django.db import models


class Conversation(models.Model):
    """What is known of a conversation. A deleted one stays, without messages: by its revision a late write is refused.

    Attributes:
        digest: SHA-256 of the name, in hex. Unlike the name itself it is told apart from all others by every database,
            whatever its collation does to upper and lower case, and however long the name is.
        name: The id that the agent was given.
        revision: Grows with every change.
        changed_at: When the last change was.
    """

    digest = models.CharField(max_length=64, primary_key=True)
    name = models.TextField()
    revision = models.BigIntegerField()
    changed_at = models.DateTimeField(db_index=True)

    def __str__(self) -> str:
        return str(self.name)


class Message(models.Model):
    """A message. Their numbers have the order of the conversation.

    Attributes:
        conversation: The conversation.
        json: As `kova.messages_to_json` writes it, in ASCII: a column of type JSON would refuse U+0000, which model
            and tools may write.
    """

    conversation = models.ForeignKey(Conversation, models.CASCADE, related_name="messages")
    json = models.TextField()


class ForgottenConversations(models.Model):
    """What is still known of conversations whose rows are gone; at most one row, with the id 1.

    Attributes:
        revision: That of every conversation without a row; higher than the last one of any that is forgotten.
    """

    revision = models.BigIntegerField()
