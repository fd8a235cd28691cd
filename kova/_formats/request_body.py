"""How a body is put together from a history that is encoded already."""

from __future__ import annotations

from typing import Any

from .. import _json

__all__ = ["joined_body"]


def joined_body(
    fragments: list[bytes],
    tools: bytes,
    options: dict[str, Any],
    name: str = "messages",
    tools_name: str = "tools",
) -> tuple[bytes, int]:
    """The body, and how many of its first bytes hold the messages.

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
    if not fragments:
        return b"{" + rest, 0
    # Head and tail go with the first and the last message, so that a long history is copied once.
    tail = b"]}" if rest == b"}" else b"]," + rest
    fragments[0] = b'{"%b":[%b' % (name.encode(), fragments[0])
    fragments[-1] += tail
    body = b",".join(fragments)
    return body, len(body) - len(tail)
