"""Keeping secrets out of what is shown: API keys and tokens that servers echo in their messages."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from urllib.parse import parse_qsl, quote, urlsplit

__all__ = ["mask", "mask_url", "plain_name", "request_secrets", "secret_headers"]

MASK = "***"
SHORTEST_SECRET = 7  # characters; shorter keys are words such as "none" or "ollama", wherever a server needs no key

_SHAPES = re.compile(
    r"""
    (?P<kept>
        \b(?:bearer|basic)\s+                                                   # Authorization: Bearer …
        | \b(?:api[-_]?key|access[-_]?token|authorization)["']?\s*[:=]\s*["']?  # api-key: …
        | [?&](?:key|api[-_]?key|token|access_token|sig)=                       # …?key=…
    )
    [^\s"'&,;<>)\]}*]{16,}
    | \b(?:sk-|gsk_|xai-|hf_|pplx-|nvapi-)[A-Za-z0-9_-]{12,}                    # keys that name their issuer
    | \bAIza[A-Za-z0-9_-]{30,}
    """,
    re.VERBOSE | re.IGNORECASE,
)
_PLAIN_NAME = re.compile(r"[A-Za-z_.-]{1,40}(_\d{8})?")  # with the date of a version
_SECRET_NAME = re.compile(r"authorization|cookie|key|token|secret|password|\bsig\b", re.IGNORECASE)


def mask(text: str, secrets: Iterable[str] = ()) -> str:
    """The text without secrets: the given ones, and whatever has the shape of one."""
    for secret in sorted(secrets, key=len, reverse=True):
        if len(secret) >= SHORTEST_SECRET:
            text = text.replace(secret, MASK).replace(quote(secret, safe=""), MASK)
    return _SHAPES.sub(lambda found: (found["kept"] or "") + MASK, text)


def plain_name(name: object) -> str:
    """A name that a server has for something, as the log may show it: not one in which a secret could be."""
    return name if isinstance(name, str) and _PLAIN_NAME.fullmatch(name) else MASK


def mask_url(url: str) -> str:
    """A URL as it may be shown: the values of its query are masked."""
    base, mark, query = url.partition("?")
    return base + mark + re.sub(r"=[^&]+", f"={MASK}", query)


def secret_headers(headers: Mapping[str, str]) -> tuple[str, ...]:
    """The values among a request's headers that must not be shown."""
    values = [value for name, value in headers.items() if _SECRET_NAME.search(name)]
    return tuple(dict.fromkeys(part for value in values for part in (value, value.rpartition(" ")[2]) if part))


def request_secrets(url: str, headers: Mapping[str, str]) -> tuple[str, ...]:
    """What must not be shown of a request: values of its headers, and of the URL's query, where some gateways want keys."""
    if "?" not in url:
        return secret_headers(headers)
    query = [value for name, value in parse_qsl(urlsplit(url).query) if _SECRET_NAME.search(name)]
    return (*secret_headers(headers), *query)
