"""How a body is put together from a history that is encoded already."""

from __future__ import annotations

import re
from typing import Any

from .. import _json

__all__ = ["joined_body"]


# An escaped backslash, a whole pair of surrogates, or half of one.
_ESCAPES = re.compile(rb"\\\\|\\ud[89ab]..\\ud[c-f]..|\\ud[89a-f]..")
_HALF = len(rb"\ud800")
_REPLACEMENT = "\N{REPLACEMENT CHARACTER}".encode()


def joined_body(
    fragments: list[bytes],
    tools: bytes,
    options: dict[str, Any],
    name: str = "messages",
    tools_name: str = "tools",
) -> tuple[bytes, int]:
    """The body, and how many of its first bytes hold the messages.

    Half characters, which come from file names and from cut texts, are replaced: the APIs refuse the whole request for
    one ("The request body is not valid JSON: no low surrogate in string").

    Args:
        fragments: The encoded messages; the list may be changed. None at all where the options bring their own.
        tools: The encoded tools; empty where there are none, or where the options bring their own.
        options: All else, under the names that it has on the wire.
        name: The name of the list of messages on the wire.
        tools_name: That of the tools.

    Raises:
        TypeError, ValueError: An option cannot be written as JSON.
    """
    rest = _json.dumps(options)[1:]
    if tools and tools_name not in options:
        rest = b'"%b":%b%b%b' % (tools_name.encode(), tools, b"," if options else b"", rest)
    rest = _without_halves(rest)
    if not fragments:
        return b"{" + rest, 0
    # Head and tail go with the first and the last message, so that a long history is copied once.
    tail = b"]}" if rest == b"}" else b"]," + rest
    fragments[0] = b'{"%b":[%b' % (name.encode(), fragments[0])
    fragments[-1] += tail
    body = _without_halves(b",".join(fragments))
    return body, len(body) - len(tail)


def _without_halves(text: bytes) -> bytes:
    """JSON text without the halves of surrogate pairs; nothing else in it is written as an escape that begins so."""
    if rb"\ud" not in text:
        return text
    return _ESCAPES.sub(lambda found: _REPLACEMENT if len(found[0]) == _HALF else found[0], text)
