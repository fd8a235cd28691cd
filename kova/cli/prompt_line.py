"""Input in a terminal: the prompt of the chat, and the terminal's echo while nothing is asked."""

from __future__ import annotations

import sys
import termios
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from prompt_toolkit import PromptSession
from prompt_toolkit.history import InMemoryHistory
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.styles import Style

__all__ = ["PromptLine", "ask_line", "forget_typed_ahead", "without_echo"]

LEAVE = "Ctrl-C again, or Ctrl-D, leaves"
STYLE = Style.from_dict({"bottom-toolbar": "noreverse ansibrightblack", "prompt": "bold ansicyan"})


class PromptLine:
    """The prompt of the chat, with several lines and a history.

    Args:
        said: What was said before, for the arrow keys.
        status: Gives the line below the prompt.
    """

    def __init__(self, said: Sequence[str], status: Callable[[], str]) -> None:
        self._is_leaving = False  # Ctrl-C was pressed at the empty prompt
        self._status = status
        self._session: PromptSession[str | None] = PromptSession(
            history=InMemoryHistory(list(said)),
            key_bindings=self._keys(),
            multiline=True,
            bottom_toolbar=lambda: LEAVE if self._is_leaving else self._status(),
            style=STYLE,
            prompt_continuation="  ",
        )
        self._session.default_buffer.on_text_changed += self._stay

    def read(self) -> str | None:
        """What is typed; None for leaving."""
        self._is_leaving = False
        try:
            return self._session.prompt([("class:prompt", "> ")])
        except EOFError:
            return None

    def _stay(self, _: object) -> None:
        self._is_leaving = False

    def _keys(self) -> KeyBindings:
        keys = KeyBindings()

        @keys.add("enter")
        def _send(event: KeyPressEvent) -> None:
            event.current_buffer.validate_and_handle()

        @keys.add("escape", "enter")
        def _new_line(event: KeyPressEvent) -> None:
            event.current_buffer.insert_text("\n")

        @keys.add("c-c")
        @keys.add("<sigint>")
        def _interrupt(event: KeyPressEvent) -> None:
            if event.current_buffer.text:
                event.current_buffer.reset()
            elif self._is_leaving:
                event.app.exit(result=None)
            else:
                self._is_leaving = True

        return keys


def ask_line(question: str) -> str | None:
    """One line in answer to a question; None for Ctrl-C or Ctrl-D. What was typed before it was put does not count."""
    forget_typed_ahead()
    session: PromptSession[str] = PromptSession(style=STYLE)
    try:
        return session.prompt([("class:prompt", question)])
    except (EOFError, KeyboardInterrupt):
        return None


def forget_typed_ahead() -> None:
    """Drop the keys that were pressed and not read yet."""
    termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)


@contextmanager
def without_echo() -> Iterator[None]:
    """In this block, keys do not show and wait for whoever reads next; Ctrl-C and its like still act."""
    terminal = sys.stdin.fileno()
    before = termios.tcgetattr(terminal)
    changed = termios.tcgetattr(terminal)
    changed[3] &= ~(termios.ECHO | termios.ICANON)
    termios.tcsetattr(terminal, termios.TCSANOW, changed)
    try:
        yield
    finally:
        termios.tcsetattr(terminal, termios.TCSANOW, before)
