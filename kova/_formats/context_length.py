"""Whether an error's words say that the prompt is too long for the model, as the many servers put it."""

from __future__ import annotations

import re

from ..errors import ProviderErrorClass

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


_EXCESS = re.compile(r"exceed|too (long|large|many)|(long|larg|great)er than|overflow|maximum", re.IGNORECASE)

_REFUSED = ProviderErrorClass.INVALID_REQUEST
_BROKEN = (ProviderErrorClass.OVERLOADED, ProviderErrorClass.OTHER)


def says_too_long(message: str, provider_class: ProviderErrorClass) -> bool:
    """Whether an error says so; one that is no refusal has to be clear, and one of a rate means the tokens of a minute.

    Args:
        message: What it says.
        provider_class: What it is as far as that is known.
    """
    if provider_class not in (_REFUSED, *_BROKEN) or _WORDS.search(message) is None:
        return False
    return provider_class is _REFUSED or _EXCESS.search(message) is not None
