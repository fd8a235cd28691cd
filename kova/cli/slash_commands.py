"""The commands that are typed in a chat, with a slash in front of them."""

from __future__ import annotations

import re
from collections.abc import Mapping

from attrs import frozen

__all__ = ["COMMANDS", "SlashCommand", "help_text", "parse"]

COMMANDS: Mapping[str, tuple[str, str]] = {
    "help": ("", "this list"),
    "history": ("", "the last conversations, for --continue"),
    "model": ("[PROVIDER:MODEL]", "the model, or go on with another one"),
    "new": ("", "begin a new conversation"),
    "quit": ("", "leave; so does Ctrl-D"),
}
KEYS = "Enter sends, Alt-Enter begins a new line, Ctrl-C stops a turn."

# A path such as /etc/hosts is no command.
_COMMAND = re.compile(r"/([A-Za-z]+)(?:\s+(.*))?", re.S)


@frozen
class SlashCommand:
    """A command as it was typed.

    Attributes:
        name: Its name, which need not be known.
        argument: What follows.
    """

    name: str
    argument: str


def parse(text: str) -> SlashCommand | None:
    """The command that a text is; None if it is a message."""
    found = _COMMAND.fullmatch(text.strip())
    return None if found is None else SlashCommand(found[1].lower(), (found[2] or "").strip())


def help_text() -> str:
    """The commands and keys."""
    shown = [(f"/{name} {argument}".rstrip(), what) for name, (argument, what) in COMMANDS.items()]
    width = max(len(name) for name, _ in shown)
    return "\n".join([*(f"{name:<{width}}  {what}" for name, what in shown), KEYS])
