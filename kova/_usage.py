"""Usage that is reported more than once."""

from __future__ import annotations

from .responses import UsageStats

__all__ = ["merge_usage"]


def merge_usage(known: UsageStats, latest: UsageStats) -> UsageStats:
    """The latest usage, with what only earlier reports knew: counts are cumulative, and null does not erase."""
    before, after = _parts(known), _parts(latest)
    merged = tuple([old if new is None else new for old, new in zip(before, after, strict=True)])
    if merged == before and (latest.total_tokens is None or merged != after):
        return known
    if merged == after:
        return latest
    input_tokens, output_tokens, thinking_tokens, cache_read_tokens, cache_creation_tokens = merged
    return UsageStats(
        input_tokens,
        output_tokens,
        thinking_tokens=thinking_tokens,
        cache_read_tokens=cache_read_tokens,
        cache_creation_tokens=cache_creation_tokens,
    )


def _parts(usage: UsageStats) -> tuple[int | None, ...]:
    return (
        usage.input_tokens,
        usage.output_tokens,
        usage.thinking_tokens,
        usage.cache_read_tokens,
        usage.cache_creation_tokens,
    )
