"""OpenRouter's `reasoning_details`: reasoning in pieces of several types, some signed, some encrypted.

A message with tool calls has to come back with them as they were, or models that sign their thinking refuse the next
request: 400 "Gemini models require OpenRouter reasoning details to be preserved in each request".
"""

from __future__ import annotations

from typing import Any

__all__ = ["DETAILS", "add_details"]

DETAILS = "reasoning_details"
"""The message field; also the key in a thinking block's `provider_metadata` under which they are kept."""

_GROWING = ("text", "summary")


def add_details(known: list[dict[str, Any]], further: Any, *, whole: bool) -> None:
    """Add a delta's details to those of the deltas before it: the pieces of one text are put together again.

    Args:
        known: The details as far as they have come.
        further: What the delta has in their field.
        whole: Whether it has whole details, as in a message.
    """
    for detail in further if isinstance(further, list) else ():
        if not isinstance(detail, dict):
            continue
        last = known[-1] if known else {}
        is_other = any(last.get(name) != detail.get(name) for name in ("type", "index"))
        if whole or is_other or detail.get("type") == "reasoning.encrypted":
            known.append(dict(detail))
            continue
        for name, value in detail.items():
            if name in _GROWING and isinstance(value, str):
                last[name] = (last.get(name) or "") + value
            elif value is not None:
                last[name] = value  # the signature comes with the last piece
