"""The tools of MCP servers in an agent's hands (M2, M4)."""

from __future__ import annotations

from typing import Any

import pytest

import kova
from kova.testing import AsyncScriptedProvider, call
from tests._async.mcp_http_links import until
from tests.mcp_http_server import Exchange, MCPHTTPServer
from tests.mcp_modern import TEXT, be_modern

pytestmark = pytest.mark.anyio


def client(server: MCPHTTPServer, **options: Any) -> kova.AsyncMCPClient:
    return kova.AsyncMCPClient(kova.StreamableHTTPTransport(server.url), **options)


def give(server: MCPHTTPServer, **result: Any) -> None:
    """Have the server answer every call with this result."""
    server.on("tools/call", lambda exchange: exchange.answer(result))


def first_result(response: kova.AgentResponse) -> kova.ToolResultBlock:
    block = response.new_messages[1].content[0]
    assert isinstance(block, kova.ToolResultBlock)
    return block


async def test_m2_an_agent_calls_a_tool_of_a_server(mcp_server: MCPHTTPServer) -> None:
    be_modern(mcp_server)
    model = AsyncScriptedProvider(call("met_weather", city="Oslo"), "Sunny.")
    async with client(mcp_server) as mcp:
        agent = kova.AsyncAgent(model, tools=await mcp.tools(prefix="met_"))
        response = await agent.run("How is the weather in Oslo?")
    assert response.text == "Sunny."
    assert first_result(response).content == "sunny"
    assert mcp_server.of("tools/call")[0].message["params"]["arguments"] == {"city": "Oslo"}
    offered = model.requests[0].tools[0]
    assert (offered.name, offered.description) == ("met_weather", "The weather somewhere.")
    assert offered.parameters["properties"]["city"]["type"] == "string"


async def test_a_tool_that_fails_tells_the_model(mcp_server: MCPHTTPServer) -> None:
    be_modern(mcp_server)
    give(mcp_server, content=[{"type": "text", "text": "no such city"}], isError=True)
    model = AsyncScriptedProvider(call("weather", city="Atlantis"), "There is no Atlantis.")
    async with client(mcp_server) as mcp:
        response = await kova.AsyncAgent(model, tools=await mcp.tools()).run("Weather in Atlantis?")
    assert first_result(response).is_error
    assert first_result(response).content == "no such city"


async def test_an_error_of_the_server_ends_the_turn_or_is_reported(mcp_server: MCPHTTPServer) -> None:
    be_modern(mcp_server)
    mcp_server.on("tools/call", lambda exchange: exchange.refuse(400, -32602, "city is missing"))
    async with client(mcp_server) as mcp:
        tools = await mcp.tools()
        with pytest.raises(kova.MCPError, match="city is missing"):
            await kova.AsyncAgent(AsyncScriptedProvider(call("weather")), tools=tools).run("Weather?")
        reporting = kova.AsyncAgent(
            AsyncScriptedProvider(call("weather"), "Which city?"), tools=tools, tool_errors="report"
        )
        response = await reporting.run("Weather?")
    assert response.text == "Which city?"
    assert "city is missing" in str(first_result(response).content)


async def test_images_and_links_reach_the_model(mcp_server: MCPHTTPServer) -> None:
    be_modern(mcp_server)
    image = {"type": "image", "mimeType": "image/png", "data": "iVBORw=="}
    link = {"type": "resource_link", "uri": "file:///a.txt", "name": "a"}
    give(mcp_server, content=[image, link])
    model = AsyncScriptedProvider(call("weather", city="Oslo"), "Nice.")
    async with client(mcp_server) as mcp:
        response = await kova.AsyncAgent(model, tools=await mcp.tools()).run("Show me.")
    assert first_result(response).content == (
        kova.ImageBlock("image/png", b"\x89PNG"),
        kova.TextBlock("a: file:///a.txt"),
    )


async def test_the_turns_deadline_ends_the_call(mcp_server: MCPHTTPServer) -> None:
    be_modern(mcp_server)
    told = kova.CancellationToken()

    def hang(exchange: Exchange) -> None:
        exchange.wait_for_disconnect()
        told.cancel()

    mcp_server.on("tools/call", hang)
    async with client(mcp_server) as mcp:
        agent = kova.AsyncAgent(AsyncScriptedProvider(call("weather", city="Oslo")), tools=await mcp.tools())
        with pytest.raises(kova.TimeoutError, match="the turn"):
            await agent.run("Weather?", timeout=0.3)
        await until(lambda: told.is_cancelled, "the server sees that nobody waits")


async def test_the_user_is_asked_before_a_tool_of_a_server_runs(mcp_server: MCPHTTPServer) -> None:
    be_modern(mcp_server)
    model = AsyncScriptedProvider(call("weather", city="Oslo"), "Then not.")
    async with client(mcp_server) as mcp:
        agent = kova.AsyncAgent(
            model, tools=await mcp.tools(), approval_handler=lambda call, context: kova.ApprovalDecision.DENIED
        )
        assert (await agent.run("Weather?")).text == "Then not."
    assert not mcp_server.of("tools/call")


async def test_the_approval_handler_sees_the_names_that_the_model_uses(mcp_server: MCPHTTPServer) -> None:
    offering(mcp_server, "files.read")
    mcp_server.on("tools/call", lambda exchange: exchange.answer(TEXT))
    seen: list[tuple[str, object]] = []

    def decide(call: kova.ToolUseBlock, context: kova.ToolContext) -> kova.ApprovalDecision:
        seen.append((call.name, dict(call.input)))
        return kova.ApprovalDecision.APPROVED

    model = AsyncScriptedProvider(call("my_files_read", path="x"), "Read.")
    async with client(mcp_server) as mcp:
        tools = await mcp.tools(prefix="my_")
        agent = kova.AsyncAgent(model, tools=tools, approval_handler=decide)
        assert (await agent.run("Read x.")).text == "Read."
    assert seen == [("my_files_read", {"path": "x"})]
    assert [tool.name for tool in tools] == ["my_files_read"]
    assert mcp_server.of("tools/call")[0].message["params"]["name"] == "files.read"


# ---- names


def offering(server: MCPHTTPServer, *names: str) -> None:
    be_modern(server)
    server.on("tools/list", lambda exchange: exchange.answer({"tools": [{"name": name} for name in names]}))


async def test_m4_servers_whose_tools_clash_are_refused_and_a_prefix_helps(mcp_server: MCPHTTPServer) -> None:
    offering(mcp_server, "search")
    async with client(mcp_server) as one, client(mcp_server) as other:
        builder = kova.AsyncAgentBuilder().provider(AsyncScriptedProvider())
        builder = builder.mcp_client(one, "library").mcp_client(other, "shop")
        with pytest.raises(kova.BuildError) as caught:
            await builder.build()
        for words in ("'search'", "the MCP server library", "the MCP server shop"):
            assert words in str(caught.value)
        builder = kova.AsyncAgentBuilder().provider(AsyncScriptedProvider())
        agent = await builder.mcp_client(one, "library").mcp_client(other, "shop", prefix="shop_").build()
    assert "'search', 'shop_search'" in repr(agent)


async def test_m4_a_clash_with_a_function_names_both(mcp_server: MCPHTTPServer) -> None:
    offering(mcp_server, "search")

    def search(query: str) -> str:
        """Search."""
        return query

    async with client(mcp_server) as mcp:
        with pytest.raises(kova.BuildError, match=r"function .*search.*the MCP server http"):
            kova.AsyncAgent(AsyncScriptedProvider(), tools=[search, *await mcp.tools()])


async def test_m4_a_name_that_no_provider_takes_is_rewritten_and_called_by_its_own(mcp_server: MCPHTTPServer) -> None:
    offering(mcp_server, "files.read/all", "files_read/all", "ü" * 100)
    give(mcp_server, content=[])
    async with client(mcp_server) as mcp:
        tools = await mcp.tools()
        names = [tool.name for tool in tools]
        assert len(set(names)) == 3
        assert names[0] == "files_read_all"
        await kova.AsyncAgent(AsyncScriptedProvider(call(names[1]), "Done."), tools=tools).run("Read.")
    assert mcp_server.of("tools/call")[0].message["params"]["name"] == "files_read/all"


async def test_m4_a_tool_that_is_not_there_cannot_be_chosen(mcp_server: MCPHTTPServer) -> None:
    offering(mcp_server, "search")
    async with client(mcp_server) as mcp:
        with pytest.raises(kova.BuildError, match="has no tool 'find'; it has search"):
            await mcp.tools(include=["find"])
        assert await mcp.tools(exclude=["search"]) == []


# ---- the builder


async def test_building_fails_as_the_server_does(mcp_server: MCPHTTPServer) -> None:
    def refuse(exchange: Exchange) -> None:
        exchange.refuse(400, -32603, "out of order")

    be_modern(mcp_server)
    mcp_server.on("tools/list", refuse)
    async with client(mcp_server) as mcp:
        builder = kova.AsyncAgentBuilder().provider(AsyncScriptedProvider()).mcp_client(mcp, "broken")
        with pytest.raises(kova.MCPError, match="out of order"):
            await builder.build()


def test_only_a_client_is_taken() -> None:
    nonsense: Any = "npx server"
    with pytest.raises(kova.BuildError, match="must be an MCP client, not str"):
        kova.AsyncAgentBuilder().mcp_client(nonsense, "server")
