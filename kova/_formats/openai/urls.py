"""Where requests go: what a user means by a base URL.

    https://host                                   https://host/v1/chat/completions   (or the host's own path)
    https://host/v1, /api/v1, /api/paas/v4         … /chat/completions, whatever the version
    https://host/some/path                         … /chat/completions, as the path says
    https://host/v1/chat/completions               the same
    https://NAME.openai.azure.com                  /openai/v1/chat/completions, or with an `api_version`
                                                   /openai/deployments/MODEL/chat/completions

A trailing slash makes no difference, a query is kept, and a path given for an endpoint replaces all that is appended.
"""

from __future__ import annotations

from functools import lru_cache
from urllib.parse import quote, urlencode, urlsplit, urlunsplit

from .hosts import AZURE, AZURE_PARAMETER, AZURE_PATH, OTHER, host_of

__all__ = ["chat_url", "models_url"]

CHAT = "/chat/completions"
MODELS = "/models"


@lru_cache(maxsize=256)
def chat_url(base_url: str, path: str | None, api_version: str | None, model: str) -> str:
    """The URL that answers come from.

    Args:
        base_url: The base URL, as the user gave it.
        path: The endpoint's path, if the user gave one.
        api_version: For the query, as Azure wants it.
        model: Part of the path at Azure.
    """
    return _url(base_url, path, api_version, CHAT, model)


@lru_cache(maxsize=256)
def models_url(base_url: str, path: str | None, api_version: str | None) -> str:
    """The URL of the list of models; the arguments are those of `chat_url`."""
    return _url(base_url, path, api_version, MODELS, None)


def _url(base_url: str, path: str | None, api_version: str | None, endpoint: str, model: str | None) -> str:
    base = urlsplit(base_url)
    base_path = base.path.rstrip("/").removesuffix(CHAT)
    queries = [base.query]
    if path is None:
        full_path = _api_path(base_url, base_path, api_version, model) + endpoint
    else:
        path, _, query = path.partition("?")
        queries.append(query)
        full_path = _joined(base_path, path)
    if api_version:
        given = [pair for query in queries for pair in query.split("&") if not pair.startswith(AZURE_PARAMETER)]
        queries = [*given, urlencode({"api-version": api_version})]
    return urlunsplit((base.scheme, base.netloc, full_path, "&".join(filter(None, queries)), ""))


def _api_path(base_url: str, base_path: str, api_version: str | None, model: str | None) -> str:
    """The path that endpoints are appended to."""
    host = host_of(base_url)
    if host is OTHER and api_version:
        host = AZURE
    if host is AZURE and api_version and base_path in ("", "/openai"):
        return "/openai" if model is None else f"{AZURE_PATH}{quote(model, safe='')}"
    if host is AZURE and model is None and AZURE_PATH in f"{base_path}/":
        return base_path[: base_path.index(AZURE_PATH)] + "/openai"  # models are listed for the whole resource
    # A base URL that stops short of the host's path, such as https://openrouter.ai/api, means all of it.
    return host.base_path if f"{host.base_path}/".startswith(f"{base_path}/") else base_path


def _joined(base_path: str, path: str) -> str:
    """A path below a base, where the path may begin with the end of the base: /v1 and /v1/chat/completions."""
    base, parts = base_path.split("/")[1:], path.strip("/").split("/")
    sizes = range(min(len(base), len(parts)), -1, -1)
    overlap = next(size for size in sizes if base[len(base) - size :] == parts[:size])
    return "/".join(["", *base, *parts[overlap:]])
