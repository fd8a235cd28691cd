"""M2: the protocol's own example servers from npm, over every transport that each has."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest

import kova
from kova._runtime import aio as rt
from kova._runtime.scope import Deadline
from kova.mcp import MCPResource, MCPResourceLink
from tests.mcp_links import children
from tests.real_servers import EVERYTHING, RealServers

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(300)]


@pytest.fixture(params=EVERYTHING)
def name(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


async def test_every_kind_of_result(real_servers: RealServers, name: str) -> None:
    async with kova.AsyncMCPClient(real_servers.transport(name)) as client:
        assert client.protocol_version == "2025-11-25"
        tools = {tool.name: tool for tool in await client.list_tools()}
        assert {"echo", "get-sum", "get-tiny-image", "get-structured-content"} <= tools.keys()
        assert "get-roots-list" not in tools  # it is offered to those who have roots
        assert tools["get-structured-content"].output_schema is not None

        assert (await client.call_tool("echo", {"message": "a\u2028b ü"})).text == "Echo: a\u2028b ü"
        result = await client.call_tool("get-tiny-image")
        assert [type(block).__name__ for block in result.content] == ["TextBlock", "ImageBlock", "TextBlock"]
        result = await client.call_tool("get-structured-content", {"location": "New York"})
        assert result.structured_content == {"temperature": 33, "conditions": "Cloudy", "humidity": 82}
        result = await client.call_tool("get-resource-reference", {"resourceType": "Text", "resourceId": 1})
        (resource,) = [block for block in result.content if isinstance(block, MCPResource)]
        assert (resource.uri, resource.media_type) == ("demo://resource/dynamic/text/1", "text/plain")
        result = await client.call_tool("get-resource-reference", {"resourceType": "Blob", "resourceId": 1})
        assert any(isinstance(block, MCPResource) for block in result.content)
        result = await client.call_tool("get-resource-links", {"count": 3})
        assert sum(isinstance(block, MCPResourceLink) for block in result.content) == 3
        result = await client.call_tool("get-annotated-message", {"messageType": "error", "includeImage": True})
        assert result.text.startswith("Error")
        result = await client.call_tool("get-sum", {"a": 1})
        assert result.is_error
        assert "expected number" in result.text
        data = "data:text/plain;base64," + base64.b64encode(b"x" * 1000).decode()
        result = await client.call_tool("gzip-file-as-resource", {"data": data, "outputType": "resource"})
        assert not result.is_error


async def test_a_long_operation_tells_of_its_progress_and_may_be_left(real_servers: RealServers, name: str) -> None:
    """Progress extends the time of a call; without it the time is over."""
    told: list[tuple[Any, ...]] = []
    long = {"duration": 1.5, "steps": 10}
    async with kova.AsyncMCPClient(real_servers.transport(name)) as client:
        result = await client.call_tool(
            "trigger-long-running-operation", long, timeout=1.0, on_progress=lambda *values: told.append(values)
        )
        assert "completed" in result.text
        assert told == [(step, 10, None) for step in range(1, 11)]
        with pytest.raises(kova.TimeoutError, match="took longer than 0.2 s"):
            await client.call_tool("trigger-long-running-operation", long, timeout=0.2)
        token = kova.CancellationToken()
        token.cancel_after(0.2)
        with pytest.raises(kova.TurnCancelledError):
            await client.call_tool("trigger-long-running-operation", long, cancel=token)
        assert (await client.call_tool("echo", {"message": "still here"})).text == "Echo: still here"


async def test_what_the_server_asks_for(real_servers: RealServers, name: str, tmp_path: Path) -> None:
    """Roots, a model's answer, a user's input: it offers tools for them to those who have them."""
    asked: list[dict[str, Any]] = []

    def on_sampling(params: dict[str, Any]) -> dict[str, Any]:
        asked.append(params)
        return {"role": "assistant", "model": "m", "content": {"type": "text", "text": "sampled"}}

    def on_elicitation(params: dict[str, Any]) -> dict[str, Any]:
        asked.append(params)
        return {"action": "accept", "content": {"name": "Ada"}}

    client = kova.AsyncMCPClient(
        real_servers.transport(name), on_sampling=on_sampling, on_elicitation=on_elicitation, roots=[str(tmp_path)]
    )
    async with client:
        tools = [tool.name for tool in await client.list_tools()]
        assert {"get-roots-list", "trigger-sampling-request", "trigger-elicitation-request"} <= set(tools)
        assert tmp_path.as_uri() in (await client.call_tool("get-roots-list")).text
        result = await client.call_tool("trigger-sampling-request", {"prompt": "Hello", "maxTokens": 10})
        assert '"text": "sampled"' in result.text
        assert asked[0]["maxTokens"] == 10
        result = await client.call_tool("trigger-elicitation-request")
        assert "- Name: Ada" in result.text
        assert asked[1]["requestedSchema"]["required"] == ["name"]


async def test_log_messages_reach_their_handler_and_a_lingering_server_is_ended(real_servers: RealServers) -> None:
    """M1: with simulated logging on, the server goes on when its input has ended."""
    logged: list[tuple[Any, ...]] = []
    transport = real_servers.transport("everything-stdio")
    async with kova.AsyncMCPClient(transport, on_log=lambda *values: logged.append(values)) as client:
        assert "Started" in (await client.call_tool("toggle-simulated-logging")).text
        with rt.fail_at(Deadline(30, "a message")):
            while not logged:
                await rt.sleep(0.01)
        level, data, _ = logged[0]
        assert level in ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")
        assert data
    assert not children()


async def test_files(real_servers: RealServers, tmp_path: Path) -> None:
    """Reading and writing within the folder that is allowed, and not without."""
    folder = tmp_path.resolve() / "allowed"  # noqa: ASYNC240 - once, in a test
    folder.mkdir()
    (tmp_path / "secret").write_text("secret")
    async with kova.AsyncMCPClient(real_servers.example("filesystem", str(folder))) as client:
        tools = await client.tools(prefix="fs_", include=["read_text_file", "write_file", "list_directory"])
        assert sorted(tool.name for tool in tools) == ["fs_list_directory", "fs_read_text_file", "fs_write_file"]
        text = "Grüße\u2028\n" * 100_000
        result = await client.call_tool("write_file", {"path": str(folder / "new.txt"), "content": text})
        assert not result.is_error
        assert (folder / "new.txt").read_text() == text
        assert (await client.call_tool("read_text_file", {"path": str(folder / "new.txt")})).text == text
        assert (await client.call_tool("list_directory", {"path": str(folder)})).text == "[FILE] new.txt"
        result = await client.call_tool("read_text_file", {"path": str(tmp_path / "secret")})
        assert result.is_error
        assert "outside allowed directories" in result.text


async def test_a_memory_outlives_its_server(real_servers: RealServers, tmp_path: Path) -> None:
    transport = real_servers.example("memory", env={"MEMORY_FILE_PATH": str(tmp_path / "memory.json")})
    ada = {"name": "Ada", "entityType": "person", "observations": ["likes engines"]}
    async with kova.AsyncMCPClient(transport) as client:
        await client.call_tool("create_entities", {"entities": [ada]})
        await client.reconnect()
        result = await client.call_tool("search_nodes", {"query": "engines"})
    assert json.loads(result.text)["entities"] == [ada]
    assert result.structured_content is not None
