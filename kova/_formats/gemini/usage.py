"""Usage as the API reports it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...responses import UsageStats

__all__ = ["read_usage"]


def read_usage(usage: Mapping[str, Any]) -> UsageStats:
    """The usage of one call, from `usageMetadata`; what is not reported stays unknown.

    `promptTokenCount` holds what was read from a cache. What the API's own tools gave the model is input too, and
    thoughts are output, although both are counted apart: "the sum of prompt_token_count, candidates_token_count,
    tool_use_prompt_token_count, and thoughts_token_count" is the total.
    """
    prompt = _sum(_count(usage, "promptTokenCount"), _count(usage, "toolUsePromptTokenCount"))
    cache_read = _count(usage, "cachedContentTokenCount")
    answer = _count(usage, "candidatesTokenCount")
    thinking = _count(usage, "thoughtsTokenCount")
    total = _count(usage, "totalTokenCount")
    # Some models and gateways count thoughts in: https://github.com/BerriAI/litellm/pull/10141
    is_counted_in = answer is not None and total is not None and total == (prompt or 0) + answer
    return UsageStats(
        input_tokens=None if prompt is None else max(prompt - (cache_read or 0), 0),
        output_tokens=answer if is_counted_in else _sum(answer, thinking),
        total_tokens=total,
        thinking_tokens=thinking,
        cache_read_tokens=cache_read,
    )


def _sum(one: int | None, other: int | None) -> int | None:
    return one if other is None else (one or 0) + other


def _count(usage: Mapping[str, Any], name: str) -> int | None:
    value = usage.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None
