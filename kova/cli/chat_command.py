"""`kova chat`: talk to a model in the terminal."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from importlib.util import find_spec

from .. import Role
from ..errors import BuildError
from .agent_options import agent_builder, chosen_model
from .chat_loop import ChatLoop, texts_of
from .exit_codes import DONE
from .history_file import history_path, known_conversation, new_conversation, open_history
from .plain_screen import PlainScreen
from .screen import Screen
from .turn_thread import Turns

__all__ = ["run"]

LIBRARIES = ("rich", "prompt_toolkit")  # of the extra


def run(options: argparse.Namespace) -> int:
    """Chat until the user leaves."""
    if any(find_spec(library) is None for library in LIBRARIES):
        raise BuildError("kova chat needs the extra cli; type: pip install 'kova-sdk[cli]'")
    model = chosen_model(options)
    with open_history(history_path(options.history, os.environ)) as store:
        is_new = options.continued is None
        conversation = new_conversation() if is_new else known_conversation(store, options.continued)
        messages = store.load(conversation)[0]
        said = texts_of(messages, Role.USER)
        screen = _screen(said)
        turns = Turns()
        with agent_builder(options, turns) as builder:
            chat = ChatLoop(screen, turns, builder, store, conversation, model)
            with screen.opened():
                _greet(screen, conversation, said, texts_of(messages, Role.ASSISTANT))
                chat.run()
        if store.load(chat.conversation)[0]:
            screen.note(f"to go on: kova chat --continue {chat.conversation}")
    return DONE


def _screen(said: Sequence[str]) -> Screen:
    """Of a terminal, unless input or output is none, or one that cannot move its cursor."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()) or os.environ.get("TERM") in (None, "", "dumb"):
        return PlainScreen()
    from .terminal_screen import TerminalScreen

    return TerminalScreen(said)


def _greet(screen: Screen, conversation: str, said: Sequence[str], answers: Sequence[str]) -> None:
    """Show where a conversation was left."""
    if said:
        screen.note(f"conversation {conversation}, {len(said)} turn{'s' * (len(said) != 1)} so far; the last one:")
        screen.message("user", said[-1])
        if answers:
            screen.message("assistant", answers[-1])
