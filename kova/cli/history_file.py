"""Where conversations are kept, and what they are called."""

from __future__ import annotations

import secrets
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from .. import SQLiteStore
from ..errors import BuildError, KovaOSError
from ..messages import ConversationMessage, Role, TextBlock
from .call_text import one_line

__all__ = ["first_words", "history_path", "known_conversation", "new_conversation", "open_history"]

NEWEST = 5  # conversations that are named to who asks for one that there is not


def history_path(given: str | None, environ: Mapping[str, str]) -> Path:
    """The file of conversations: as given, as `KOVA_HISTORY` says, or in the platform's folder for data."""
    if chosen := given or environ.get("KOVA_HISTORY", "").strip():
        return Path(chosen).expanduser()
    if sys.platform == "darwin":
        return Path("~/Library/Application Support/kova/history.db").expanduser()
    folder = environ.get("XDG_DATA_HOME", "").strip() or "~/.local/share"
    return Path(folder).expanduser() / "kova" / "history.db"


def open_history(path: Path) -> SQLiteStore:
    """The store in this file, whose folder is made if need be, for its owner alone.

    Raises:
        KovaOSError: The folder cannot be made.
    """
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise KovaOSError(f"the folder for conversations cannot be made: {error}") from error
    return SQLiteStore(path)


def new_conversation() -> str:
    """An id for a new conversation: when it began, and what tells it from others of that second."""
    return f"{time.strftime('%Y%m%d-%H%M%S')}-{secrets.token_hex(2)}"


def known_conversation(store: SQLiteStore, asked: str) -> str:
    """The conversation that `--continue` means: the one of this id, or, for an empty text, the last one.

    Raises:
        BuildError: There is none.
    """
    known = store.list_conversations()
    if not known:
        raise BuildError("--continue: there is no conversation yet")
    if not asked:
        return known[0]
    if asked not in known:
        raise BuildError(f"--continue: there is no conversation {asked}; the last ones are {', '.join(known[:NEWEST])}")
    return asked


def first_words(messages: Sequence[ConversationMessage], width: int) -> str:
    """The beginning of what the user said first."""
    for message in messages:
        if message.role is Role.USER:
            texts = [block.text for block in message.content if isinstance(block, TextBlock)]
            return one_line(" ".join(texts), width)
    return ""
