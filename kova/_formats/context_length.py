"""Whether an error's words say that the prompt is too long for the model, as the many servers put it."""

from __future__ import annotations

import re

__all__ = ["says_too_long"]

_WORDS = re.compile(
    r"context ?(length|window|size|limit)"
    r"|exceeds? (the |your )?(available |maximum )?context"
    r"|(prompt|input) (is )?too (long|large)"
    r"|prompt exceeds max length"  # Zhipu
    r"|longer than the maximum model length"  # vLLM
    r"|(exceeds? the )?maximum (allowed )?(prompt|input) length"  # xAI, and models behind OpenRouter
    r"|exceeded model token limit"  # Moonshot
    r"|range of input length should be"  # DashScope
    r"|input token count .*exceeds the maximum"  # Gemini
    r"|input tokens exceed the configured limit"  # Azure
    r"|`?inputs`? (tokens \+ `?max_new_tokens`? must be|must have less than)"  # TGI, and Together
    r"|too many (input )?tokens|reduce the length of the",
    re.IGNORECASE,
)


def says_too_long(message: str) -> bool:
    """Whether a message says so; one of an error of a rate may speak of too many tokens, too, and must not be asked."""
    return _WORDS.search(message) is not None
