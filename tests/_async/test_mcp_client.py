"""The MCP client over HTTP, in both eras: versions, lists, calls, and what a server may ask on the way."""

from __future__ import annotations

from typing import Any

import pytest

import kova
from tests._async.mcp_http_links import until
from tests.mcp_http_server import Exchange, MCPHTTPServer
from tests.mcp_modern import TEXT, be_modern, be_old, discover, needs_input

pytestmark = pytest.mark.anyio


def client(server: MCPHTTPServer, **options: Any) -> kova.AsyncMCPClient:
    return kova.AsyncMCPClient(kova.StreamableHTTPTransport(server.url), **options)


# ---- which protocol


async def test_a_modern_server_is_spoken_to_without_any_handshake(mcp_server: MCPHTTPServer) -> None:
    be_modern(mcp_server)
    async with client(mcp_server) as mcp:
        assert mcp.protocol_version == "2026-07-28"
        assert mcp.server_info == {"name": "modern", "version": "2"}
        assert mcp.instructions == "One city at a time."
        assert (await mcp.call_tool("weather", {"city": "Köln"})).text == "sunny"
    assert not mcp_server.of("initialize")
    assert not mcp_server.of("GET")
    assert not mcp_server.of("DELETE")
    sent = mcp_server.of("tools/call")[0]
    assert sent.headers["mcp-method"] == "tools/call"
    assert sent.headers["mcp-name"] == "weather"
    assert sent.headers["mcp-param-city"] == "=?base64?S8O2bG4=?="
    meta = sent.message["params"]["_meta"]
    assert meta["io.modelcontextprotocol/protocolVersion"] == sent.headers["mcp-protocol-version"] == "2026-07-28"


async def test_an_old_server_is_found_out_and_initialized(mcp_server: MCPHTTPServer) -> None:
    be_old(mcp_server)
    async with client(mcp_server) as mcp:
        assert mcp.protocol_version == "2025-11-25"
        assert (await mcp.call_tool("weather", {"city": "Oslo"})).text == "sunny"
    kinds = [exchange.kind for exchange in mcp_server.requests if exchange.kind != "GET"]  # type: ignore[attr-defined]
    assert kinds == ["server/discover", "initialize", "notifications/initialized", "tools/call", "DELETE"]


async def test_what_was_found_out_is_remembered(mcp_server: MCPHTTPServer) -> None:
    be_old(mcp_server)
    for _ in range(3):
        async with client(mcp_server):
            pass
    assert len(mcp_server.of("server/discover")) == 1


async def test_the_user_decides_on_the_protocol(mcp_server: MCPHTTPServer) -> None:
    be_old(mcp_server)
    async with client(mcp_server, protocol="legacy"):
        pass
    assert not mcp_server.of("server/discover")
    with pytest.raises(kova.MCPError, match="no session"):
        async with client(mcp_server, protocol="2026-07-28"):
            pass


@pytest.mark.parametrize("status", [403, 429, 500, 503])
async def test_a_server_that_serves_nobody_is_not_asked_in_another_way(mcp_server: MCPHTTPServer, status: int) -> None:
    mcp_server.on("server/discover", lambda exchange: exchange.send_status(status))
    with pytest.raises(kova.ConnectionError, match=str(status)) as caught:
        async with client(mcp_server):
            pass
    assert type(caught.value) is kova.ConnectionError
    assert len(mcp_server.requests) == 1


async def test_an_http_error_with_an_error_in_its_body_is_that_error(mcp_server: MCPHTTPServer) -> None:
    be_old(mcp_server)
    mcp_server.on("tools/call", lambda exchange: exchange.refuse(400, -32602, "city is missing"))
    async with client(mcp_server) as mcp:
        with pytest.raises(kova.MCPError, match="city is missing") as caught:
            await mcp.call_tool("weather")
    assert caught.value.code == -32602


# ---- the list of tools


async def test_a_list_is_asked_for_once_and_all_of_it(mcp_server: MCPHTTPServer) -> None:
    be_old(mcp_server)

    def page(exchange: Exchange) -> None:
        cursor = (exchange.message.get("params") or {}).get("cursor")
        number = 0 if cursor is None else int(cursor or 1)
        cursors: dict[int, str] = {0: "", 1: "2"}
        result: dict[str, Any] = {"tools": [{"name": f"t{number}"}]}
        exchange.answer(result | ({"nextCursor": cursors[number]} if number in cursors else {}))

    mcp_server.on("tools/list", page)
    async with client(mcp_server) as mcp:
        assert [tool.name for tool in await mcp.list_tools()] == ["t0", "t1", "t2"]
        assert [tool.name for tool in await mcp.tools(prefix="x.")] == ["x_t0", "x_t1", "x_t2"]
    assert len(mcp_server.of("tools/list")) == 3


async def test_an_endless_list_is_an_error(mcp_server: MCPHTTPServer) -> None:
    be_old(mcp_server)
    count = iter(range(10_000))
    mcp_server.on("tools/list", lambda exchange: exchange.answer({"tools": [], "nextCursor": str(next(count))}))
    async with client(mcp_server) as mcp:
        with pytest.raises(kova.StreamError, match="more than 1000 pages"):
            await mcp.list_tools()


async def test_a_list_without_time_to_live_is_asked_for_again(mcp_server: MCPHTTPServer) -> None:
    be_modern(mcp_server)
    mcp_server.on("tools/list", lambda exchange: exchange.answer({"tools": [], "ttlMs": 0}))
    async with client(mcp_server) as mcp:
        await mcp.list_tools()
        await mcp.list_tools()
    assert len(mcp_server.of("tools/list")) == 2


async def test_a_subscription_tells_of_a_change_and_of_nothing_else(mcp_server: MCPHTTPServer) -> None:
    be_modern(mcp_server)
    mcp_server.on("server/discover", lambda exchange: discover(exchange, listChanged=True))
    changed = {"jsonrpc": "2.0", "method": "notifications/tools/list_changed", "params": {}}

    def tell(exchange: Exchange) -> None:
        exchange.start_chunks()
        exchange.send_event(changed)
        exchange.wait_for_disconnect()

    told = kova.CancellationToken()
    mcp_server.on("subscriptions/listen", tell)
    async with client(mcp_server, on_tools_changed=told.cancel) as mcp:
        await mcp.list_tools()
        await until(lambda: told.is_cancelled, "told of the change")
        await mcp.list_tools()
    assert len(mcp_server.of("tools/list")) == 2
    assert mcp_server.of("subscriptions/listen")[0].message["params"]["notifications"] == {"toolsListChanged": True}


async def test_a_subscription_that_makes_no_sense_is_over(mcp_server: MCPHTTPServer) -> None:
    be_modern(mcp_server)
    mcp_server.on("server/discover", lambda exchange: discover(exchange, listChanged=True))
    mcp_server.on("subscriptions/listen", lambda exchange: exchange.stream("no JSON"))
    async with client(mcp_server) as mcp:
        for times in (1, 2):
            await mcp.list_tools()
            await until(lambda times=times: len(mcp_server.of("subscriptions/listen")) == times, "it listens, again")
            generation = times - 1
            await until(lambda old=generation: mcp._connection.session.generation > old, "the list is taken to be old")
    assert len(mcp_server.of("tools/list")) == 2


async def test_a_tool_whose_headers_have_changed_is_looked_at_again(mcp_server: MCPHTTPServer) -> None:
    be_modern(mcp_server)
    mcp_server.on(
        "tools/call",
        lambda exchange: exchange.refuse(400, -32020, "Header mismatch"),
        lambda exchange: exchange.answer(TEXT),
    )
    async with client(mcp_server) as mcp:
        await mcp.list_tools()
        assert (await mcp.call_tool("weather", {"city": "Oslo"})).text == "sunny"
    assert len(mcp_server.of("tools/list")) == 2


# ---- input that a call needs


async def test_a_call_that_needs_input_is_made_again_with_it(mcp_server: MCPHTTPServer) -> None:
    be_modern(mcp_server)
    mcp_server.on("tools/call", needs_input, lambda exchange: exchange.answer(TEXT))
    async with client(mcp_server, on_elicitation=lambda params: {"action": "accept"}) as mcp:
        assert (await mcp.call_tool("weather", {"city": "Oslo"})).text == "sunny"
    first, second = (exchange.message for exchange in mcp_server.of("tools/call"))
    assert second["params"]["inputResponses"] == {"form": {"action": "accept", "content": {"sure": True}}}
    assert second["params"]["requestState"] == "s/1="
    assert second["params"]["arguments"] == {"city": "Oslo"}
    assert first["id"] != second["id"]


async def test_no_state_is_sent_where_none_was_given(mcp_server: MCPHTTPServer) -> None:
    be_modern(mcp_server)
    mcp_server.on(
        "tools/call", lambda exchange: needs_input(exchange, state=None), lambda exchange: exchange.answer(TEXT)
    )
    async with client(mcp_server, on_elicitation=lambda params: {"action": "decline"}) as mcp:
        await mcp.call_tool("weather", {"city": "Oslo"})
    again = mcp_server.of("tools/call")[1].message["params"]
    assert "requestState" not in again
    assert again["inputResponses"] == {"form": {"action": "decline"}}


async def test_input_that_nobody_can_give_is_an_error(mcp_server: MCPHTTPServer) -> None:
    be_modern(mcp_server)
    mcp_server.on("tools/call", needs_input)
    async with client(mcp_server) as mcp:
        with pytest.raises(kova.MCPError, match="no handler"):
            await mcp.call_tool("weather", {"city": "Oslo"})
    assert "elicitation" not in str(mcp_server.of("tools/call")[0].message["params"]["_meta"])


async def test_a_handler_that_raises_fails_the_call(mcp_server: MCPHTTPServer) -> None:
    def raises(params: dict[str, Any]) -> dict[str, Any]:
        raise ValueError("no form today")

    be_modern(mcp_server)
    mcp_server.on("tools/call", needs_input)
    async with client(mcp_server, on_elicitation=raises) as mcp:
        with pytest.raises(kova.MCPError, match="ValueError: no form today") as caught:
            await mcp.call_tool("weather", {"city": "Oslo"})
    assert isinstance(caught.value.__cause__, ValueError)


async def test_a_server_is_not_asked_for_ever(mcp_server: MCPHTTPServer) -> None:
    be_modern(mcp_server)
    mcp_server.on("tools/call", needs_input)
    async with client(mcp_server, on_elicitation=lambda params: {"action": "accept"}) as mcp:
        with pytest.raises(kova.MCPError, match="more than 10 times"):
            await mcp.call_tool("weather", {"city": "Oslo"})
    assert len(mcp_server.of("tools/call")) == 10


async def test_an_unknown_kind_of_result_is_an_error(mcp_server: MCPHTTPServer) -> None:
    be_modern(mcp_server)
    mcp_server.on("tools/call", lambda exchange: exchange.answer({"resultType": "hologram"}))
    async with client(mcp_server) as mcp:
        with pytest.raises(kova.MCPError, match="unknown type 'hologram'"):
            await mcp.call_tool("weather", {"city": "Oslo"})


# ---- what a server of the handshake asks by itself


@pytest.mark.parametrize(
    ("method", "params", "answer"),
    [
        ("ping", {}, {}),
        ("roots/list", {}, {"roots": [{"uri": "file:///srv"}]}),
        (
            "elicitation/create",
            {"requestedSchema": {"properties": {"n": {"default": 3}}}},
            {"action": "accept", "content": {"n": 3}},
        ),
        (
            "sampling/createMessage",
            {"messages": [{"role": "user", "content": {"type": "text", "text": "Hi"}}], "maxTokens": 5},
            {
                "role": "assistant",
                "content": {"type": "text", "text": "Hello"},
                "model": "unknown",
                "stopReason": "endTurn",
            },
        ),
    ],
)
async def test_a_request_within_a_call_is_answered(
    mcp_server: MCPHTTPServer, method: str, params: Any, answer: Any
) -> None:
    be_old(mcp_server)
    answered = kova.CancellationToken()

    def ask(exchange: Exchange) -> None:
        exchange.start_chunks()
        exchange.send_event({"jsonrpc": "2.0", "id": "q1", "method": method, "params": params})
        assert answered.wait(10)
        exchange.send_event(exchange.result(TEXT))
        exchange.end_chunks()

    def take(exchange: Exchange) -> None:
        exchange.send_status(202)
        answered.cancel()

    mcp_server.on("tools/call", ask)
    mcp_server.on("answer", take)
    model = kova.testing.AsyncScriptedProvider("Hello")
    handlers = {"on_elicitation": lambda params: {"action": "accept"}, "on_sampling": model, "roots": ["file:///srv"]}
    async with client(mcp_server, **handlers) as mcp:
        assert (await mcp.call_tool("weather", {"city": "Oslo"})).text == "sunny"
    given = mcp_server.of("answer")[0].message
    assert given["id"] == "q1"
    assert given["result"] == answer
    declared = mcp_server.of("initialize")[0].message["params"]["capabilities"]
    assert set(declared) == {"sampling", "elicitation", "roots"}


async def test_what_nobody_handles_is_refused(mcp_server: MCPHTTPServer) -> None:
    be_old(mcp_server)
    answered = kova.CancellationToken()

    def ask(exchange: Exchange) -> None:
        exchange.start_chunks()
        exchange.send_event({"jsonrpc": "2.0", "id": 7, "method": "sampling/createMessage", "params": {}})
        assert answered.wait(10)
        exchange.send_event(exchange.result(TEXT))
        exchange.end_chunks()

    def take(exchange: Exchange) -> None:
        exchange.send_status(202)
        answered.cancel()

    mcp_server.on("tools/call", ask)
    mcp_server.on("answer", take)
    async with client(mcp_server) as mcp:
        await mcp.call_tool("weather", {"city": "Oslo"})
    assert mcp_server.of("answer")[0].message["error"]["code"] == -32601
    assert mcp_server.of("initialize")[0].message["params"]["capabilities"] == {}


# ---- bad arguments


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"timeout": 0}, "timeout must be a positive number"),
        ({"max_total_timeout": "5"}, "max_total_timeout must be"),
        ({"protocol": "2025-11-25"}, "protocol must be"),
        ({"on_elicitation": 5}, "on_elicitation must be callable"),
        ({"on_sampling": object()}, "on_sampling must be callable"),
        ({"roots": "file:///a"}, "roots must be a sequence"),
        ({"roots": 5}, "roots must be a sequence"),
        ({"roots": [5]}, "roots must be paths or URIs"),
        ({"roots": ["/\ud800"]}, "roots: .* cannot be written as a URI"),
    ],
)
def test_a_wrong_option_is_named(options: dict[str, Any], message: str) -> None:
    with pytest.raises(kova.BuildError, match=message):
        kova.AsyncMCPClient(kova.StdioTransport("x"), **options)


def test_a_transport_is_needed() -> None:
    wrong: Any = "npx server"
    with pytest.raises(kova.BuildError, match="transport must be one of StdioTransport"):
        kova.AsyncMCPClient(wrong)


async def test_a_wrong_argument_of_a_call_is_refused_before_anything_is_sent(mcp_server: MCPHTTPServer) -> None:
    wrong: Any = ["city"]
    mcp = client(mcp_server)
    with pytest.raises(TypeError, match="arguments must be a mapping"):
        await mcp.call_tool("weather", wrong)
    with pytest.raises(TypeError, match="name must be"):
        await mcp.call_tool("")
    with pytest.raises(ValueError, match="timeout must be"):
        await mcp.call_tool("weather", timeout=-1)
    nobody: Any = "cancel"
    with pytest.raises(TypeError, match="cancel must be a CancellationToken"):
        await mcp.call_tool("weather", cancel=nobody)
    assert not mcp_server.requests


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"prefix": 5}, "prefix must be a text"),
        ({"include": 5}, "include must be names of tools"),
        ({"include": [5, "weather"]}, "include must be names of tools"),
        ({"exclude": [[]]}, "exclude must be names of tools"),
    ],
)
async def test_a_wrong_choice_of_tools_is_named(
    mcp_server: MCPHTTPServer, options: dict[str, Any], message: str
) -> None:
    be_old(mcp_server)
    async with client(mcp_server) as mcp:
        with pytest.raises(kova.BuildError, match=message):
            await mcp.tools(**options)
