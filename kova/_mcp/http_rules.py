"""What MCP asks of HTTP, without any I/O: headers, and what a status or a body says about a call.

The facts are the protocol's (https://modelcontextprotocol.io/specification/2025-11-25/basic/transports), and those that
servers add to them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from attrs import field, frozen

from .._formats.error_body import failure_message, json_body
from .._formats.secrets import MASK, SHORTEST_SECRET, mask
from ..errors import BuildError
from .jsonrpc import Message

__all__ = [
    "HTTPRequest",
    "checked_headers",
    "is_event_stream",
    "is_header_text",
    "is_lost_session",
    "names_lost_session",
    "refusal",
    "wants_more_scope",
]

FRAMING = frozenset({"host", "content-length", "transfer-encoding", "connection"})
NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
VALUE = re.compile(r"[!-~](?:[\t -~]*[!-~])?")

# How servers call a session that they do not have any more: "Session not found", "No valid session ID provided",
# "Session has been terminated" … A tool's own error about some session of its own must not be taken for that: it
# would be called again.
_LOST_SESSION = re.compile(
    r"\b(?:no (?:valid|active)|invalid|unknown|missing|expired|terminated) (?:mcp[- ])?session\b"
    r"|\b(?:mcp[- ])?session(?:[- ]id)?\b[^.;]{0,60}?"
    r"\b(?:not found|expired|invalid|unknown|missing|required|terminated|closed|no longer|does not exist|not exist)",
    re.IGNORECASE,
)
_TRANSPORT_ERRORS = frozenset({-32000, -32001, -32002, -32600})  # the codes that the SDKs use for it


@frozen
class HTTPRequest:
    """A request as it goes out.

    Attributes:
        method: HTTP method.
        url: Where it goes.
        headers: Its headers, the names in lower case.
        body: Its body.
    """

    method: str
    url: str = field(repr=False)  # a key may be in the query
    headers: Mapping[str, str] = field(repr=False)
    body: bytes = field(default=b"", repr=False)


def is_header_text(value: str) -> bool:
    """Whether a text can be sent as the value of a header."""
    return VALUE.fullmatch(value) is not None


def checked_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """A user's headers, the names in lower case.

    Raises:
        BuildError: One cannot be sent.
    """
    checked: dict[str, str] = {}
    for name, value in headers.items():
        if not NAME.fullmatch(name) or name.lower() in FRAMING:
            raise BuildError(f"headers cannot have one that is called {name!r}")
        if value and not is_header_text(value):
            raise BuildError(f"headers: the value of {name!r} has characters that cannot be sent")
        checked[name.lower()] = value
    return checked


def is_event_stream(headers: Mapping[str, str]) -> bool:
    """Whether a body is a stream of events."""
    return headers.get("content-type", "").partition(";")[0].strip().lower() == "text/event-stream"


def names_lost_session(text: str) -> bool:
    """Whether an error's words say that a session has gone."""
    return _LOST_SESSION.search(text) is not None


def is_lost_session(error: Mapping[str, object]) -> bool:
    """Whether a JSON-RPC error that came with a good status says that the session has gone."""
    return error.get("code") in _TRANSPORT_ERRORS and names_lost_session(str(error.get("message", "")))


def wants_more_scope(status: int, challenge: str) -> bool:
    """Whether a 403 means that the token is good, and its scope too small (RFC 6750)."""
    return status == 403 and re.search(r'\berror\s*=\s*"?insufficient_scope\b', challenge) is not None


def refusal(
    status: int, headers: Mapping[str, str], body: bytes, secrets: tuple[str, ...]
) -> tuple[str, Message | None]:
    """What an error status means, in words, and the JSON-RPC error in its body, where there is one.

    Args:
        status: The status.
        headers: The answer's headers, the names in lower case.
        body: The answer's body.
        secrets: What must not be shown, if the server repeats it.
    """
    for secret in secrets:
        if len(secret) >= SHORTEST_SECRET:
            body = body.replace(secret.encode(), MASK.encode())
    payload = json_body(body)
    items = payload if isinstance(payload, list) else [payload]
    answers = [item for item in items if isinstance(item, dict) and isinstance(item.get("error"), dict)]
    words = mask(failure_message(status, headers, body, payload, secrets), secrets)
    if f"HTTP {status}" not in words:
        words = f"HTTP {status}: {words}"
    return words, answers[0] if answers else None
