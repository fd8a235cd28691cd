"""What an agent says about running tools, and the hooks through which the user sees and decides about them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, Protocol

from attrs import Factory, evolve, frozen

from .approvals import SessionApprovals
from .messages import TextBlock, ToolUseBlock
from .tools import ToolContext, ToolResult

__all__ = ["LifecycleHook", "ToolEndHook", "ToolPolicy", "ToolStartHook", "shortened"]


class ToolStartHook(Protocol):
    """Sees the calls that are about to be executed."""

    def on_tool_start(self, call: ToolUseBlock, context: ToolContext, /) -> Any:
        """A tool is about to run."""
        return None  # so that a subclass of `LifecycleHook` may leave it out


class ToolEndHook(Protocol):
    """Sees the calls that were executed."""

    def on_tool_end(self, call: ToolUseBlock, result: ToolResult, context: ToolContext, /) -> Any:
        """A tool has given its result."""
        return None  # likewise


class LifecycleHook(ToolStartHook, ToolEndHook, Protocol):
    """Sees the calls that are executed. Either method may be missing, and be async in the async twin."""


@frozen
class ToolPolicy:
    """What an agent says about running tools.

    Attributes:
        errors: What an exception of a tool means where the tool does not say: "raise" ends the turn, "report" tells
            the model.
        max_concurrent: Calls that may run at once.
        max_result_chars: Characters that a text of a result may have; None for any number.
        approval_handler: Is asked before each call.
        lifecycle_hook: Sees the calls.
        approvals: Decisions that hold for a session.
    """

    errors: Literal["raise", "report"] = "raise"
    max_concurrent: int = 10
    max_result_chars: int | None = None
    approval_handler: Callable[[ToolUseBlock, ToolContext], Any] | None = None
    lifecycle_hook: ToolStartHook | ToolEndHook | None = None
    approvals: SessionApprovals = Factory(SessionApprovals)


def shortened(result: ToolResult, max_chars: int | None) -> ToolResult:
    """A result whose texts are cut to head and tail where they are longer than permitted."""
    if max_chars is None:
        return result
    if isinstance(result.content, str):
        return evolve(result, content=_cut(result.content, max_chars))
    blocks = [
        TextBlock(_cut(block.text, max_chars)) if isinstance(block, TextBlock) else block for block in result.content
    ]
    return evolve(result, content=blocks)


def _cut(text: str, max_chars: int) -> str:
    if len(text) <= max_chars:
        return text
    head = (max_chars + 1) // 2
    tail = max_chars - head
    note = f"\n[… {len(text) - max_chars} of {len(text)} characters left out …]\n"
    return text[:head] + note + text[len(text) - tail :]
