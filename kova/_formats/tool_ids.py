"""Ids of tool calls as a provider's API accepts them.

A history may come from another provider, whose ids are longer or have other characters. An id is rewritten the same way
in the call and in its result, by nothing but the id itself, so that both can be encoded apart.
"""

from __future__ import annotations

import hashlib
import re

__all__ = ["acceptable_id"]


def acceptable_id(own: str, accepted: str) -> str:
    """The id, or one made from it where the API would refuse it.

    Args:
        own: The id.
        accepted: Pattern that matches a whole acceptable id.
    """
    if re.fullmatch(accepted, own):
        return own
    digest = hashlib.blake2b(own.encode(errors="surrogatepass")).hexdigest()
    made = f"call_{digest[:24]}"
    return made if re.fullmatch(accepted, made) else digest[:9]  # Mistral: exactly 9 letters and digits
