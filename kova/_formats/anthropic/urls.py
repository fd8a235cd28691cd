"""Where requests go: what a user means by a base URL.

    https://host, https://host/path        https://host/v1/messages, https://host/path/v1/messages
    https://host/v1                        … /messages, whatever the version
    https://host/v1/messages               the same

A trailing slash makes no difference, and a query is kept.
"""

from __future__ import annotations

import re
from functools import lru_cache
from urllib.parse import urlsplit, urlunsplit

__all__ = ["ANTHROPIC_HOST", "DEFAULT_BASE_URL", "messages_url", "models_url"]

ANTHROPIC_HOST = "api.anthropic.com"
DEFAULT_BASE_URL = f"https://{ANTHROPIC_HOST}"
MESSAGES = "/messages"

# The list comes in pages of 20 where nothing else is asked for, and of at most 1,000.
MODELS, WHOLE_LIST = "/models", "limit=1000"

_VERSION = re.compile(r"/v\d+\w*$")


@lru_cache(maxsize=256)
def messages_url(base_url: str) -> str:
    """Where answers come from."""
    return _url(base_url, MESSAGES)


@lru_cache(maxsize=256)
def models_url(base_url: str) -> str:
    """Where the models are listed."""
    return _url(base_url, MODELS, WHOLE_LIST)


def _url(base_url: str, endpoint: str, query: str = "") -> str:
    base = urlsplit(base_url)
    path = base.path.rstrip("/").removesuffix(MESSAGES).rstrip("/")
    if not _VERSION.search(path):
        path += "/v1"
    return urlunsplit((base.scheme, base.netloc, path + endpoint, "&".join(filter(None, [base.query, query])), ""))
