"""What is known of families of models."""

from __future__ import annotations

import re
from functools import lru_cache

__all__ = ["wants_signatures"]

# Gemini 3 and later: 400 "Function call is missing a thought_signature" for the first call of a message, as far back as
# the last message of the user's. Earlier models, and what else answers behind this API, do not ask for one.
# https://ai.google.dev/gemini-api/docs/thought-signatures
_SIGNING = re.compile(r"gemini-([3-9]|[1-9]\d|(pro|flash|flash-lite)-latest)(?!\d)")


@lru_cache(maxsize=256)
def wants_signatures(model: str) -> bool:
    """Whether a model refuses a history in which its own calls have no thought signatures."""
    return _SIGNING.search(model.lower()) is not None
