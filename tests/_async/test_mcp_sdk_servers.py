"""M2: servers on the Python SDK of both major versions, over every transport: the old protocol and the new."""

from __future__ import annotations

import uuid
from typing import Any

import pytest

import kova
from kova._runtime import aio as rt
from kova._runtime.scope import Deadline
from tests.real_servers import SDKS, RealServers

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(300)]

VERSIONS = {"sdk-1": "2025-11-25", "sdk-2": "2026-07-28"}


@pytest.fixture(params=SDKS)
def name(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


async def test_what_tools_give(real_servers: RealServers, name: str) -> None:
    """Results, errors, progress; and the user is asked: in the old era by a request, in the new by a further round."""
    asked: list[dict[str, Any]] = []
    told: list[tuple[Any, ...]] = []

    def on_elicitation(params: dict[str, Any]) -> dict[str, Any]:
        asked.append(params)
        return {"action": "accept", "content": {"name": "Ada"}}

    async with kova.AsyncMCPClient(real_servers.transport(name), on_elicitation=on_elicitation) as client:
        version = "2025-11-25" if name == "sdk-2-sse" else VERSIONS[name[:5]]  # HTTP+SSE is of the old era only
        assert (client.protocol_version, client.server_info["name"]) == (version, name[:5])
        assert client.instructions == "Add with add."
        tools = {tool.name: tool for tool in await client.list_tools()}
        assert {"add", "weather", "picture", "fail", "steps", "wait", "greet", "grow"} <= tools.keys()
        assert tools["add"].description == "Add two numbers."
        assert set(tools["add"].input_schema["properties"]) == {"a", "b"}

        result = await client.call_tool("add", {"a": 17, "b": 25})
        assert (result.text, result.structured_content, result.is_error) == ("42", {"result": 42}, False)
        result = await client.call_tool("weather", {"city": "Rome"})
        assert result.structured_content == {"city": "Rome", "degrees": 21.5}
        result = await client.call_tool("picture")
        assert [type(block) for block in result.content] == [kova.ImageBlock]
        for wrong, arguments in (("fail", {}), ("add", {"a": "x"}), ("unknown", {})):
            assert (await client.call_tool(wrong, arguments)).is_error

        result = await client.call_tool("steps", {"count": 3}, on_progress=lambda *values: told.append(values))
        assert result.text == "done"
        assert told == [(step, 3, f"step {step}") for step in (1, 2, 3)]

        assert (await client.call_tool("greet")).text == "Hello Ada"
        (params,) = asked
        assert params["message"] == "Who are you?"
        assert params["requestedSchema"]["required"] == ["name"]


async def test_what_happens_beside_calls(real_servers: RealServers, name: str) -> None:
    """The server is told of calls that nobody waits for any more, and tells when its tools change."""
    changed: list[bool] = []
    new = f"extra_{uuid.uuid4().hex}"  # the servers over HTTP are there for all tests
    transport = real_servers.transport(name)
    async with kova.AsyncMCPClient(transport, on_tools_changed=lambda: changed.append(True)) as client:
        before = int((await client.call_tool("how_many_were_cancelled")).text)
        with pytest.raises(kova.TimeoutError, match="the MCP tool wait took longer than 0.3 s"):
            await client.call_tool("wait", timeout=0.3)
        token = kova.CancellationToken()
        token.cancel_after(0.3)
        with pytest.raises(kova.TurnCancelledError):
            await client.call_tool("wait", cancel=token)
        with rt.fail_at(Deadline(30, "telling the server")):
            while int((await client.call_tool("how_many_were_cancelled")).text) < before + 2:
                await rt.sleep(0.02)

        assert new not in [tool.name for tool in await client.list_tools()]
        await client.call_tool("grow", {"name": new})
        with rt.fail_at(Deadline(30, "being told of a new tool")):
            while not changed:
                await rt.sleep(0.01)
        assert new in [tool.name for tool in await client.list_tools()]
        assert (await client.call_tool(new)).text == new
