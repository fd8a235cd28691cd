"""Where requests go: what a user means by a base URL, and by the name of a model.

    https://host, https://host/path      https://host/v1beta/models/MODEL:…, https://host/path/v1beta/models/MODEL:…
    https://host/v1                      … /models/MODEL:…, whatever the version
    https://host/v1/publishers/google    … /models/MODEL:…, as everything below a version
    https://host/v1beta/models           the same as without /models; so too for a whole endpoint, and for /v1beta/openai

A trailing slash makes no difference, and a query is kept. A model may be named with or without the `models/` that the
list of models puts before each name.
"""

from __future__ import annotations

import re
from functools import lru_cache
from urllib.parse import quote, urlsplit, urlunsplit

__all__ = ["DEFAULT_BASE_URL", "GOOGLE_HOST", "generate_url", "models_url"]

GOOGLE_HOST = "generativelanguage.googleapis.com"
DEFAULT_BASE_URL = f"https://{GOOGLE_HOST}"

# Pages have 50 models where nothing is asked for, and 1,000 at most, which no list of models comes near.
WHOLE_LIST = "pageSize=1000"

_ENDPOINT = re.compile(r"/models(/[^/]+:\w+)?$|(?<=/v1beta)/openai$")
_VERSION = re.compile(r"/v\d+\w*(/|$)")
_COLLECTION = re.compile(r"(models|tunedModels|publishers|projects)/")


@lru_cache(maxsize=256)
def generate_url(base_url: str, api_version: str, model: str, stream: bool) -> str:
    """Where a model's answers come from.

    Args:
        base_url: The base URL, as the user gave it.
        api_version: The version of the API, for a base URL that has none.
        model: The model.
        stream: Whether the answer is to come as events.
    """
    name = model if _COLLECTION.match(model) else f"models/{model}"
    method, query = ("streamGenerateContent", "alt=sse") if stream else ("generateContent", "")
    return _url(base_url, api_version, f"{quote(name, safe='/:@')}:{method}", query)


@lru_cache(maxsize=256)
def models_url(base_url: str, api_version: str) -> str:
    """Where the models are listed; the arguments are those of `generate_url`."""
    return _url(base_url, api_version, "models", WHOLE_LIST)


def _url(base_url: str, api_version: str, endpoint: str, query: str) -> str:
    base = urlsplit(base_url)
    path = _ENDPOINT.sub("", base.path.rstrip("/"))
    if not _VERSION.search(path):
        path += f"/{api_version}"
    query = "&".join(filter(None, [base.query, query]))
    return urlunsplit((base.scheme, base.netloc, f"{path}/{endpoint}", query, ""))
