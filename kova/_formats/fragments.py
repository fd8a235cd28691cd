"""What requests are put together from: encoded messages, kept on the messages themselves."""

from __future__ import annotations

from ..messages import ConversationMessage

__all__ = ["fragment_of", "keep_fragment"]


def fragment_of(message: ConversationMessage, key: str) -> bytes | None:
    """What was kept under the key, if anything was."""
    kept = message._fragments
    return None if kept is None else kept.get(key)


def keep_fragment(message: ConversationMessage, key: str, fragment: bytes) -> None:
    """Keep a fragment for the next request.

    A message never changes, and so neither does what is made of it. Two threads that encode the same message at once
    make the same; it does no harm when one of them overwrites what the other kept.
    """
    object.__setattr__(message, "_fragments", {**(message._fragments or {}), key: fragment})
