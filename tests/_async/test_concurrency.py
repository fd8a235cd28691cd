"""Many turns at once on one agent: all succeed, none sees anything of another."""

from __future__ import annotations

import contextvars
import threading
from typing import Any

import pytest

import kova
from kova._runtime import aio as rt
from tests import async_tools
from tests import server as play
from tests.server import Answer, Exchange, ModelServer

pytestmark = pytest.mark.anyio

PATIENCE = 10.0  # seconds


def provider(server: ModelServer, **options: Any) -> kova.AsyncOpenAICompatibleProvider:
    return kova.AsyncOpenAICompatibleProvider("m", base_url=server.url, **options)


# ---- many at once


@pytest.mark.parametrize("streamed", [False, True])
async def test_eight_callers_make_25_turns_each(server: ModelServer, streamed: bool) -> None:
    """T3: 200 successes, none hangs, and no caller needs more than a connection of its own."""
    server.always(play.text("Hello"))
    texts: list[str] = []

    async def ask(agent: kova.AsyncAgent) -> None:
        for _ in range(25):
            texts.append(await text_of(agent, "Hi", streamed))

    async with provider(server) as model:
        agent = kova.AsyncAgent(model)
        async with rt.TaskGroup() as group:
            for _ in range(8):
                group.start_soon(ask, agent)
    assert texts == ["Hello"] * 200
    assert len(server.exchanges) == 200
    assert server.connections <= 8


async def test_300_turns_at_once(server: ModelServer) -> None:
    """T3: really at once, as the server answers only when it has been asked by all."""
    hello, all_are_there = play.text("Hello"), threading.Barrier(300)

    def together(exchange: Exchange) -> None:
        all_are_there.wait(PATIENCE)
        hello(exchange)

    server.always(together)
    assert await ask_at_once(provider(server), 300) == ["Hello"] * 300
    assert len(server.exchanges) == 300


async def test_300_turns_over_ten_connections(server: ModelServer) -> None:
    """T3: waiting for a connection is never an error, however many wait."""
    server.always(play.text("Hello"))
    assert await ask_at_once(provider(server, max_connections=10), 300) == ["Hello"] * 300
    assert len(server.exchanges) == 300
    assert server.connections <= 10


async def ask_at_once(model: kova.AsyncOpenAICompatibleProvider, count: int) -> list[str]:
    texts: list[str] = []

    async def ask(agent: kova.AsyncAgent) -> None:
        texts.append(await text_of(agent, "Hi", streamed=False))

    async with model:
        agent = kova.AsyncAgent(model)
        async with rt.TaskGroup() as group:
            for _ in range(count):
                group.start_soon(ask, agent)
    return texts


async def text_of(agent: kova.AsyncAgent, question: str, streamed: bool) -> str:
    if not streamed:
        return (await agent.run(question)).text
    async with agent.run_stream(question) as stream:
        async for _ in stream:
            pass
        return stream.response.text


# ---- each for itself


def ask_back(exchange: Exchange) -> None:
    """Let the model call `meet` with the name it was told, and then say what came of it."""
    *_, last = exchange.json()["messages"]
    tokens = 10 * len(last["content"])
    usage = {"prompt_tokens": tokens, "completion_tokens": 1, "total_tokens": tokens + 1}
    answer: Answer
    if last["role"] == "tool":
        answer = play.text(last["content"], usage=usage)
    else:
        answer = play.calls(("meet", {"name": last["content"]}), usage=usage)
    answer(exchange)


@pytest.mark.parametrize("streamed", [False, True])
async def test_turns_at_once_on_one_agent_see_only_their_own(server: ModelServer, streamed: bool) -> None:
    """T4: messages, state and usage; and the agent is as it was before."""
    names = ["Ada", "Grace", "Barbara", "Edsger"]
    all_are_there = threading.Barrier(len(names))
    responses: dict[str, kova.AgentResponse] = {}

    @kova.tool
    def meet(name: str, context: kova.ToolContext) -> str:
        """Wait until all turns have come to their tool."""
        all_are_there.wait(PATIENCE)
        return f"{name} with {context.state}"

    async def run(agent: kova.AsyncAgent, name: str) -> None:
        if streamed:
            async with agent.run_stream(name, state=f"state of {name}") as stream:
                async for _ in stream:
                    pass
                responses[name] = stream.response
        else:
            responses[name] = await agent.run(name, state=f"state of {name}")

    server.always(ask_back)
    async with provider(server) as model:
        agent = kova.AsyncAgent(model, tools=[meet], system_prompt="Be brief.")
        before = (repr(agent), dict(vars(agent)))
        async with rt.TaskGroup() as group:
            for name in names:
                group.start_soon(run, agent, name)
        assert (repr(agent), dict(vars(agent))) == before
    for name in names:
        result = f"{name} with state of {name}"
        assert responses[name].text == result
        call = kova.ToolUseBlock("call_0", "meet", {"name": name})
        assert responses[name].new_messages == [
            kova.ConversationMessage(kova.Role.ASSISTANT, (call,)),
            kova.tool_message("call_0", result),
            kova.assistant_message(result),
        ]
        assert responses[name].usage.input_tokens == 10 * (len(name) + len(result))
    for exchange in server.exchanges:
        text = str(exchange.json())
        assert sum(name in text for name in names) == 1, "a request holds something of another turn"


# ---- context variables

request_id = contextvars.ContextVar("request_id", default="unset")


@kova.tool(name="read")
def read_plainly() -> str:
    """Read the variable."""
    return request_id.get()


@pytest.mark.parametrize("limits", [{}, {"timeout": 60}, {"cancel": True}], ids=["free", "timeout", "token"])
@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize(
    ("tool", "variable"),
    [
        pytest.param(read_plainly, request_id, id="plain"),
        pytest.param(async_tools.read_variable, async_tools.variable, id="async", marks=pytest.mark.async_tools),
    ],
)
async def test_the_callers_context_variables_are_seen_in_every_tool(
    server: ModelServer, tool: kova.Tool, variable: Any, streamed: bool, limits: dict[str, Any]
) -> None:
    """T9: in the first and in the fortieth, called alone or with others."""
    if "cancel" in limits:
        limits = {"cancel": kova.CancellationToken()}
    call: tuple[str, object] = (tool.name, {})
    server.play(play.calls(call), play.calls(*[call] * 38), play.calls(call), play.text("done"))
    async with provider(server) as model:
        agent = kova.AsyncAgent(model, tools=[tool])
        reset = variable.set("the caller's")
        try:
            if streamed:
                async with agent.run_stream("go", **limits) as stream:
                    seen = [event.result async for event in stream if isinstance(event, kova.ToolCallFinished)]
            else:
                response = await agent.run("go", **limits)
                blocks = [message.content[0] for message in response.new_messages]
                seen = [block.content for block in blocks if isinstance(block, kova.ToolResultBlock)]
        finally:
            variable.reset(reset)
    assert seen == ["the caller's"] * 40


@pytest.mark.parametrize("streamed", [False, True])
async def test_turns_at_once_have_context_variables_of_their_own(server: ModelServer, streamed: bool) -> None:
    """T9, T4."""
    all_are_there = threading.Barrier(5)
    seen: dict[str, str] = {}

    @kova.tool
    def meet(name: str) -> str:
        """Read the variable when all turns have come to their tool."""
        all_are_there.wait(PATIENCE)
        return request_id.get()

    async def run(agent: kova.AsyncAgent, name: str) -> None:
        request_id.set(f"request of {name}")
        seen[name] = await text_of(agent, name, streamed)

    server.always(ask_back)
    async with provider(server) as model:
        agent = kova.AsyncAgent(model, tools=[meet])
        async with rt.TaskGroup() as group:
            for number in range(5):
                group.start_soon(run, agent, f"number {number}")
    assert seen == {f"number {n}": f"request of number {n}" for n in range(5)}
    assert request_id.get() == "unset"
