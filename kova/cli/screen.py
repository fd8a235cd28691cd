"""What the chat needs of whatever shows it: a terminal, or plain lines where there is none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

from ..approvals import ApprovalDecision
from ..messages import ContentBlock, ToolUseBlock

__all__ = ["Screen"]


class Screen(Protocol):
    """Shows a chat, and asks for its input. Whatever is given to it may hold terminal escapes: it shows none."""

    def opened(self) -> AbstractContextManager[None]:
        """The block in which the screen is used."""

    def read(self) -> str | None:
        """What the user says next; None when they leave."""

    def show_status(self, text: str) -> None:
        """Show, where there is a place for it, in what state the chat is."""

    def note(self, text: str) -> None:
        """Show a remark of the shell itself."""

    def problem(self, text: str) -> None:
        """Show what went wrong."""

    def message(self, role: str, text: str) -> None:
        """Show a message of before."""

    def begin_turn(self) -> None:
        """A turn begins: the model is waited for."""

    def idle_after(self) -> float | None:
        """Seconds until `refresh` is to be called; None if there is nothing to do then."""

    def refresh(self) -> None:
        """Show what has come since the last time."""

    def text(self, piece: str) -> None:
        """A piece of the answer."""

    def thinking(self, piece: str) -> None:
        """A piece of the model's reasoning."""

    def call(self, call_id: str, name: str, arguments: Mapping[str, Any]) -> None:
        """The model has called a tool."""

    def ask(self, call: ToolUseBlock) -> ApprovalDecision | None:
        """Ask whether a call may run; None means that the turn is to be stopped."""

    def result(self, call_id: str, name: str, result: str | Sequence[ContentBlock], is_error: bool) -> None:
        """A call has ended."""

    def end_turn(self) -> None:
        """The turn is over."""
