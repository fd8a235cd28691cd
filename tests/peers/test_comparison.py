"""The table of the README that compares libraries: a test for each of its cells."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

from kova.testing import ModelServer, call
from tests.peers.programs import run

# Each defines agent, ask (a blocking call that gives the text), ask_async, and stream (a blocking iteration).
LIBRARIES = {
    "kova": """
        import kova

        agent = kova.Agent("openai:gpt-5", tools=tools)
        async_agent = kova.AsyncAgent("openai:gpt-5", tools=tools)


        def ask():
            return agent.run("Hi").text


        async def ask_async():
            return (await async_agent.run("Hi")).text


        def stream():
            with agent.run_stream("Hi") as stream:
                return "".join(stream.text_deltas())
    """,
    "pydantic-ai": """
        from pydantic_ai import Agent

        agent = Agent("openai-chat:gpt-5", tools=tools)


        def ask():
            return agent.run_sync("Hi").output


        async def ask_async():
            return (await agent.run("Hi")).output


        def stream():
            with agent.run_stream_sync("Hi") as stream:
                return "".join(stream.stream_text(delta=True))
    """,
    "openai-agents": """
        from agents import Agent, Runner, function_tool, set_default_openai_api, set_tracing_disabled

        set_default_openai_api("chat_completions")
        set_tracing_disabled(True)
        agent = Agent(name="guide", model="gpt-5", tools=[function_tool(tool) for tool in tools])


        def ask():
            return Runner.run_sync(agent, "Hi").final_output


        async def ask_async():
            return (await Runner.run(agent, "Hi")).final_output


        def stream():
            return Runner.run_streamed(agent, "Hi")
    """,
    "langchain": """
        from langchain.agents import create_agent
        from langchain.tools import tool as as_tool

        agent = create_agent("openai:gpt-5", tools=[as_tool(tool) for tool in tools])
        question = {"messages": [{"role": "user", "content": "Hi"}]}


        def ask():
            return agent.invoke(question)["messages"][-1].content


        async def ask_async():
            return (await agent.ainvoke(question))["messages"][-1].content


        def stream():
            return "".join(message.content for message, _ in agent.stream(question, stream_mode="messages"))
    """,
}
ASYNC_TOOL = """
import asyncio


async def forecast(city: str) -> str:
    "Tomorrow's weather in a city."
    await asyncio.sleep(0)
    return f"rain in {city}"


tools = [forecast]
"""


def outcome(library: str, last: str, folder: Path, *script: object, tools: str = "tools = []") -> str:
    """What the program prints: the answer, or that it is refused."""
    end = f"""
import asyncio

try:
    print({last})
except (RuntimeError, NotImplementedError):
    print("refused")
"""
    with ModelServer(*script) as server:
        server.always("Hello")
        return run(tools + dedent(LIBRARIES[library]) + end, server, folder).strip()


def cases(**outcomes: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize(
        ("library", "expected"), [(name.replace("_", "-"), value) for name, value in outcomes.items()]
    )


@cases(kova="Hello", pydantic_ai="refused", openai_agents="refused", langchain="Hello")
def test_a_blocking_call_where_an_event_loop_runs(library: str, expected: str, tmp_path: Path) -> None:
    cell = """
async def cell():
    return ask()


tools = []
"""
    assert outcome(library, "asyncio.run(cell())", tmp_path, tools=cell) == expected


@cases(kova="Hello", pydantic_ai="Hello", openai_agents="refused", langchain="Hello")
def test_a_blocking_stream(library: str, expected: str, tmp_path: Path) -> None:
    assert outcome(library, "stream()", tmp_path) == expected


@cases(kova="Hello", pydantic_ai="Hello", openai_agents="Hello", langchain="refused")
def test_an_async_tool_in_a_blocking_call(library: str, expected: str, tmp_path: Path) -> None:
    script = call("forecast", city="Bergen")
    assert outcome(library, "ask()", tmp_path, script, tools=ASYNC_TOOL) == expected


@cases(kova="Hello", pydantic_ai="Hello", openai_agents="refused", langchain="refused")
def test_an_agent_under_a_second_event_loop(library: str, expected: str, tmp_path: Path) -> None:
    assert outcome(library, "asyncio.run(ask_async()) and asyncio.run(ask_async())", tmp_path) == expected
