"""Usage as the many servers report it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...responses import UsageStats

__all__ = ["read_usage"]


def read_usage(usage: Mapping[str, Any]) -> UsageStats:
    """The usage of one call; what is not reported stays unknown.

    `prompt_tokens` is the whole prompt: what was read from a cache, or written to it, is taken out of the input.
    """
    prompt_details = _details(usage, "prompt_tokens_details")
    prompt = _count(usage, "prompt_tokens", "input_tokens")
    cache_read = _count(prompt_details, "cached_tokens")
    if cache_read is None:
        # DeepSeek; Moonshot; Mistral; Claude behind gateways
        cache_read = _count(
            usage, "prompt_cache_hit_tokens", "cached_tokens", "num_cached_tokens", "cache_read_input_tokens"
        )
    cache_creation = _count(prompt_details, "cache_write_tokens", "cache_creation_tokens")  # OpenRouter; LiteLLM
    if cache_creation is None:
        cache_creation = _count(usage, "cache_creation_input_tokens")
    thinking = _count(_details(usage, "completion_tokens_details"), "reasoning_tokens")
    if thinking is None:
        thinking = _count(usage, "reasoning_tokens")
    total = _count(usage, "total_tokens")
    output = _count(usage, "completion_tokens", "output_tokens")
    if output is not None and thinking and _is_on_top(prompt, output, thinking, total):
        output += thinking
    cached = (cache_read or 0) + (cache_creation or 0)
    return UsageStats(
        input_tokens=None if prompt is None else max(prompt - cached, 0),
        output_tokens=output,
        total_tokens=total,
        thinking_tokens=thinking,
        cache_read_tokens=cache_read,
        cache_creation_tokens=cache_creation,
    )


def _is_on_top(prompt: int | None, output: int, thinking: int, total: int | None) -> bool:
    """Whether reasoning is counted apart from the completion: xAI does so, OpenAI counts it in."""
    if prompt is None or total is None or thinking > output:
        return thinking > output
    return total == prompt + output + thinking


def _details(usage: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    details = usage.get(name)
    return details if isinstance(details, Mapping) else {}


def _count(fields: Mapping[str, Any], *names: str) -> int | None:
    for name in names:
        value = fields.get(name)
        if isinstance(value, float) and value.is_integer():
            value = int(value)  # a server whose language has no integers
        if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
            return value
    return None
