"""Usage as the Messages API reports it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...responses import UsageStats

__all__ = ["read_usage"]


def read_usage(usage: Mapping[str, Any]) -> UsageStats:
    """The usage that a report knows of; what is missing or null stays unknown.

    `input_tokens` is the prompt without what was read from the cache and what was written to it.
    """
    details = usage.get("output_tokens_details")
    cache_creation = _count(usage, "cache_creation_input_tokens")
    if cache_creation is None:
        cache_creation = _sum_of(usage.get("cache_creation"))
    return UsageStats(
        input_tokens=_count(usage, "input_tokens"),
        output_tokens=_count(usage, "output_tokens"),
        thinking_tokens=_count(details, "thinking_tokens") if isinstance(details, Mapping) else None,
        cache_read_tokens=_count(usage, "cache_read_input_tokens"),
        cache_creation_tokens=cache_creation,
    )


def _count(fields: Mapping[str, Any], name: str) -> int | None:
    value = fields.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _sum_of(counts: Any) -> int | None:
    """What was written to the cache, from its parts by how long they are kept."""
    if not isinstance(counts, Mapping):
        return None
    known = [count for name in counts if (count := _count(counts, name)) is not None]
    return sum(known) if known else None
