"""A session with one MCP server, over a link that does what a test says."""

from __future__ import annotations

import pytest

from kova._async.mcp.handlers import AsyncServerHandlers
from kova._async.mcp.session import AsyncMCPSession
from kova._mcp.calls import Call, Patience
from kova._mcp.dialect import Handshake
from kova._mcp.jsonrpc import Message, result_answer

pytestmark = pytest.mark.anyio


class RetiringLink:
    """Answers each call; what `while_closing` raises comes when the call is freed."""

    is_open = True

    def __init__(self, session: AsyncMCPSession) -> None:
        self.closed = 0
        self._session = session

    async def begin(self, call: Call) -> RetiringCall:
        return RetiringCall(self._session, call)

    async def close(self) -> None:
        self.closed += 1


class RetiringCall:
    """A call, during which the session is retired, and which is interrupted while it is freed."""

    def __init__(self, session: AsyncMCPSession, call: Call) -> None:
        self._session = session
        self._call = call

    async def next(self) -> Message:
        await self._session.retire()
        return result_answer(self._call.id, {})

    async def abandon(self) -> None:
        pass

    async def close(self) -> None:
        raise KeyboardInterrupt


async def test_a_retired_session_is_closed_whatever_hits_its_last_call() -> None:
    nobody = AsyncServerHandlers(on_sampling=None, on_elicitation=None, roots=None, on_log=None, on_tools_changed=None)
    session = AsyncMCPSession(nobody)
    session.link = link = RetiringLink(session)
    session.dialect = Handshake("2025-11-25")
    with pytest.raises(KeyboardInterrupt):
        await session.exchange("tools/call", {}, Patience("the call", 30, 30))
    assert link.closed == 1
