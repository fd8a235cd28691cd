"""Links to a scripted MCP server over HTTP, for the tests of them."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from kova._async.mcp.streamable import AsyncStreamableLink
from kova._mcp.calls import Call
from kova._mcp.jsonrpc import Message, notification
from kova._runtime import aio as rt
from kova.mcp import StreamableHTTPTransport
from tests.mcp_http_server import VERSION, MCPHTTPServer, Seen, call

LIMIT = 10.0  # seconds
INITIALIZED = notification("notifications/initialized")


@asynccontextmanager
async def linked(
    server: MCPHTTPServer, seen: Seen | None = None, *, auth: Any = None, **options: Any
) -> AsyncIterator[AsyncStreamableLink]:
    """A link that is closed in the end."""
    transport = StreamableHTTPTransport(server.url, headers={"X-Mine": "1"}, auth=auth)
    link = AsyncStreamableLink(transport, seen or Seen(), **options)
    await link.open()
    try:
        yield link
    finally:
        await link.close()


async def begin_session(link: AsyncStreamableLink) -> None:
    """The handshake, as far as the link sees it."""
    await answer_to(link, call("initialize"))
    link.negotiated(VERSION, is_modern=False)
    await link.send(INITIALIZED)


async def messages_of(link: AsyncStreamableLink, wanted: Call) -> list[Message]:
    """All that comes for a call, the answer last."""
    pending = await link.begin(wanted)
    try:
        messages = [await pending.next()]
        while "method" in messages[-1]:
            messages.append(await pending.next())
        return messages
    finally:
        await pending.close()


async def answer_to(link: AsyncStreamableLink, wanted: Call) -> Message:
    return (await messages_of(link, wanted))[-1]


async def until(condition: Callable[[], object], what: str) -> None:
    """Let others go on until something has happened."""
    start = time.monotonic()
    while not condition():
        assert time.monotonic() - start < LIMIT, f"after {LIMIT:g} s still not: {what}"
        await rt.sleep(0.005)
