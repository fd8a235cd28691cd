"""What a turn can be told: its prompt, its budget, other agents as tools; and what is known when it fails."""

from __future__ import annotations

from typing import Any

import pytest

import kova
from tests import server as play
from tests.canary import KEY
from tests.server import Exchange, ModelServer

pytestmark = pytest.mark.anyio


def provider(server: ModelServer, **options: Any) -> kova.AsyncOpenAICompatibleProvider:
    return kova.AsyncOpenAICompatibleProvider("m", api_key=KEY, base_url=server.url, **options)


async def ask(agent: kova.AsyncAgent, streamed: bool, **options: Any) -> kova.AgentResponse:
    if not streamed:
        return await agent.run("Hi", **options)
    async with agent.run_stream("Hi", **options) as stream:
        async for _ in stream:
            pass
    return stream.response


class AsyncPrompt:
    """A system prompt that depends on the turn."""

    async def __call__(self, context: kova.RunContext) -> str:
        return f"You talk to {context.state} in {context.session}."


@pytest.mark.parametrize("streamed", [False, True])
async def test_a_system_prompt_may_depend_on_the_turn(server: ModelServer, streamed: bool) -> None:
    server.always(play.text("Hello"))
    async with provider(server) as model:
        for prompt in (AsyncPrompt(), lambda context: f"You talk to {context.state} in {context.session}."):
            agent = kova.AsyncAgent(model, system_prompt=prompt)
            await ask(agent, streamed, state="Ada", session="s1")
            assert server.last.json()["messages"][0] == {"role": "system", "content": "You talk to Ada in s1."}


async def test_a_system_prompt_of_the_history_follows_the_agents(server: ModelServer) -> None:
    server.play(play.text("Hello"))
    async with provider(server) as model:
        agent = kova.AsyncAgent(model, system_prompt="first")
        await agent.run([kova.system_message("second"), kova.user_message("Hi")])
    assert [message["content"] for message in server.last.json()["messages"]] == ["first", "second", "Hi"]


@pytest.mark.parametrize("streamed", [False, True])
async def test_a_prompt_over_the_budget_is_not_sent(server: ModelServer, streamed: bool) -> None:
    async with provider(server) as model:
        agent = kova.AsyncAgent(model, context_budget=10, system_prompt="word " * 100)
        with pytest.raises(kova.ContextBudgetExceededError) as caught:
            await ask(agent, streamed)
    assert (caught.value.budget, caught.value.measured > 100) == (10, True)
    assert server.exchanges == []
    assert caught.value.partial == kova.Partial()


async def test_a_budget_bounds_every_call_of_the_turn(server: ModelServer) -> None:
    @kova.tool
    def read() -> str:
        """Read a lot."""
        return "word " * 1000

    server.play(play.calls(("read", {})))
    async with provider(server) as model:
        with pytest.raises(kova.ContextBudgetExceededError) as caught:
            await kova.AsyncAgent(model, tools=[read], context_budget=500).run("go")
    assert len(server.exchanges) == 1
    assert caught.value.partial is not None
    assert caught.value.partial.llm_calls == 1


@pytest.mark.async_tools
@pytest.mark.parametrize("streamed", [False, True])
async def test_an_agent_is_a_tool_of_another(server: ModelServer, streamed: bool) -> None:
    server.play(play.calls(("expert", {"message": "What is it?"})), play.text("It is 42."), play.text("42, they say."))
    async with provider(server) as model:
        expert = kova.AsyncAgent(model, system_prompt="You know everything.")
        agent = kova.AsyncAgent(model, tools=[expert.as_tool("expert", "Knows everything.")])
        response = await ask(agent, streamed)
    assert response.text == "42, they say."
    assert response.new_messages[1] == kova.tool_message("call_0", "It is 42.")
    assert (response.usage.total_tokens, response.llm_calls) == (30, 2)
    assert [message["content"] for message in server.exchanges[1].json()["messages"]] == [
        "You know everything.",
        "What is it?",
    ]


@pytest.mark.async_tools
async def test_an_agent_that_is_a_tool_obeys_the_deadline_of_the_turn(server: ModelServer) -> None:
    """L11."""

    def hang(exchange: Exchange) -> None:
        exchange.wait_for_disconnect()

    server.play(play.calls(("expert", {"message": "What is it?"})), hang)
    async with provider(server) as model:
        expert = kova.AsyncAgent(model)
        agent = kova.AsyncAgent(model, tools=[expert.as_tool("expert", "Knows everything.")])
        with pytest.raises(kova.TimeoutError, match="the turn took longer than 0.3 s"):
            await agent.run("go", timeout=0.3)
    assert len(server.exchanges) == 2


async def test_what_a_broken_stream_has_reported_is_known(server: ModelServer) -> None:
    """L9."""

    def break_off(exchange: Exchange) -> None:
        exchange.start_stream()
        exchange.send_delta({"content": "first"}, usage=play.USAGE)
        exchange.send_chunk(b"data: {broken\n\n")

    server.play(break_off)
    async with provider(server) as model:
        with pytest.raises(kova.StreamError) as caught:
            await ask(kova.AsyncAgent(model), streamed=True)
    assert caught.value.partial is not None
    assert caught.value.partial.usage.total_tokens == 10


async def test_wrong_options_are_refused(server: ModelServer) -> None:
    with pytest.raises(kova.BuildError, match="context_budget"):
        kova.AsyncAgent(provider(server), context_budget=0)
    with pytest.raises(kova.BuildError, match="system_prompt must be a text or a function"):
        kova.AsyncAgent(provider(server), system_prompt=7)  # type: ignore[arg-type]
    with pytest.raises(kova.BuildError, match="description"):
        kova.AsyncAgent(provider(server)).as_tool("expert", " ")
    with pytest.raises(kova.BuildError, match="retry_config"):
        kova.AsyncAgent(provider(server), retry_config=3)  # type: ignore[arg-type]
