"""Where an Ollama server is: what a user means by a base URL, or by `OLLAMA_HOST`.

    localhost, 192.168.1.5, [::1]     http, port 11434
    localhost:8080, :8080             that port; without a host, this machine
    http://host, https://host/path    as it says: the port of the scheme
    0.0.0.0, [::]                     where a server listens; it is reached at 127.0.0.1 and [::1]
    ollama.com                        https
    http://host/v1, http://host/api   the server itself: OpenAI's endpoints, or its own, are not part of its address

These are the forms of Ollama's own clients (`envconfig.Host` of the server, `_parse_host` of the Python library).
"""

from __future__ import annotations

import ipaddress
import re
from urllib.parse import urlsplit, urlunsplit

__all__ = ["DEFAULT_BASE_URL", "chat_url", "server_url", "tags_url"]

DEFAULT_BASE_URL = "http://localhost:11434"
PORT = 11434
CLOUD = "ollama.com"

_ENDPOINT = re.compile(r"(/api(/chat|/generate|/tags)?|/v1(/chat/completions)?)+$")


def server_url(text: str) -> str:
    """The URL of the server that a text means; a text that means none comes back for the validator to refuse."""
    text = text.strip().strip("\"'").strip()  # Ollama takes quotes off too: `set OLLAMA_HOST="…"` keeps them on Windows
    if not text:
        return DEFAULT_BASE_URL
    has_scheme = "://" in text
    if not has_scheme:
        is_bare_ipv6 = _is_ipv6(text)
        text = f"{'https' if text == CLOUD else 'http'}://{f'[{text}]' if is_bare_ipv6 else text}"
    try:
        parts = urlsplit(text)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        return text
    if not host and port is None:
        return text
    if port is None and not has_scheme and host != CLOUD:
        port = PORT
    user, at, _ = parts.netloc.rpartition("@")
    netloc = f"{user}{at}{_reachable(host)}{'' if port is None else f':{port}'}"
    return urlunsplit((parts.scheme, netloc, _server_path(parts.path), parts.query, ""))


def chat_url(base_url: str) -> str:
    """Where answers come from."""
    return _joined(base_url, "/api/chat")


def tags_url(base_url: str) -> str:
    """Where the models are listed."""
    return _joined(base_url, "/api/tags")


def _joined(base_url: str, endpoint: str) -> str:
    base, mark, query = base_url.partition("?")
    return f"{base}{endpoint}{mark}{query}"


def _server_path(path: str) -> str:
    return _ENDPOINT.sub("", path.rstrip("/")).rstrip("/")


def _is_ipv6(text: str) -> bool:
    try:
        return ipaddress.ip_address(text).version == 6
    except ValueError:
        return False


def _reachable(host: str) -> str:
    """The host as a client connects to it."""
    if not host:
        return "127.0.0.1"
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return host
    if address.version == 6:
        return "[::1]" if address.is_unspecified else f"[{host}]"
    return "127.0.0.1" if address.is_unspecified else host
