"""Where servers put text and reasoning in a delta, or in a message."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

__all__ = ["content_parts", "reasoning"]

# In the order in which they are looked for: a server that repeats its reasoning in several fields means it once.
_REASONING_FIELDS = ("reasoning_content", "reasoning", "reasoning_text", "thinking")  # the third: GitHub Copilot

_REASONING_PARTS = frozenset({"thinking", "reasoning"})  # Mistral; Databricks


def reasoning(delta: dict[str, Any]) -> str:
    """The reasoning that is beside the content."""
    for name in _REASONING_FIELDS:
        text = delta.get(name)
        if text and isinstance(text, str):
            return text
    details = delta.get("reasoning_details")  # OpenRouter; encrypted ones have neither text nor summary
    if not isinstance(details, list):
        return ""
    pieces = [item.get("text") or item.get("summary") for item in details if isinstance(item, dict)]
    return "".join([piece for piece in pieces if isinstance(piece, str)])


def content_parts(content: Any) -> Iterator[tuple[str, str]]:
    """The parts of content that comes in parts: of each whether it is text, reasoning or a refusal, and what it says."""
    for part in content if isinstance(content, list) else [content]:
        kind = part.get("type") if isinstance(part, dict) else None
        if kind in _REASONING_PARTS:
            yield "reasoning", "".join(_text(part.get(name)) for name in ("thinking", "summary", "text"))
        elif kind == "refusal":
            yield kind, _text(part.get("refusal"))
        else:
            yield "text", _text(part)


def _text(content: Any) -> str:
    """The text of a content part, of a list of them, or of a text in its place."""
    parts = content if isinstance(content, list) else [content]
    texts = [part.get("text") if isinstance(part, dict) else part for part in parts]
    return "".join([text for text in texts if isinstance(text, str)])
