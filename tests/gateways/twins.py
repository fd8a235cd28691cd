"""Asks both twins the same, from one test."""

from __future__ import annotations

import asyncio
from typing import Any

import kova

TWINS = ("blocking", "async")


@kova.tool
def add(a: int, b: int) -> int:
    """Add two integers."""
    return a + b


@kova.tool
def get_weather(city: str) -> str:
    """Current weather for a city."""
    return f"fine in {city}"


def make(twin: str, name: str, *arguments: Any, **options: Any) -> Any:
    return getattr(kova, f"Async{name}" if twin == "async" else name)(*arguments, **options)


def complete(twin: str, provider: Any, *asked: Any) -> kova.ModelResponse:
    """A complete answer."""
    if twin == "blocking":
        with provider:
            answer: kova.ModelResponse = provider.chat_completion(*asked)
            return answer

    async def ask() -> kova.ModelResponse:
        async with provider:
            answer: kova.ModelResponse = await provider.chat_completion(*asked)
            return answer

    return asyncio.run(ask())


def streamed(twin: str, provider: Any, *asked: Any) -> kova.ModelResponse:
    """A streamed answer; the text of its events is that of the answer."""
    events: list[kova.StreamEvent] = []
    if twin == "blocking":
        with provider, provider.chat_completion_stream(*asked) as stream:
            events += stream
    else:

        async def ask() -> Any:
            async with provider, provider.chat_completion_stream(*asked) as stream:
                async for event in stream:
                    events.append(event)  # the stream is what is tried
            return stream

        stream = asyncio.run(ask())
    answer: kova.ModelResponse = stream.response
    assert "".join([event.text for event in events if isinstance(event, kova.TextDelta)]) == answer.text
    return answer


def turn(twin: str, provider: Any, question: str, *, streams: bool, **options: Any) -> kova.AgentResponse:
    """A whole turn of an agent with its tools."""
    agent = make(twin, "Agent", provider, tools=[add, get_weather], **options)
    if twin == "blocking":
        with provider:
            if not streams:
                response: kova.AgentResponse = agent.run(question)
                return response
            with agent.run_stream(question) as stream:
                for _ in stream:
                    pass
            response = stream.response
            return response

    async def ask() -> kova.AgentResponse:
        async with provider:
            if not streams:
                response: kova.AgentResponse = await agent.run(question)
                return response
            async with agent.run_stream(question) as stream:
                async for _ in stream:
                    pass
            response = stream.response
            return response

    return asyncio.run(ask())


def calls_and_results(response: kova.AgentResponse) -> tuple[list[Any], list[Any]]:
    """Names and arguments of a turn's calls, and what the tools gave back."""
    blocks = [block for message in response.new_messages for block in message.content]
    calls = [block for block in blocks if isinstance(block, kova.ToolUseBlock)]
    results = [block for block in blocks if isinstance(block, kova.ToolResultBlock)]
    assert [result.tool_use_id for result in results] == [call.id for call in calls]
    return [(call.name, call.input) for call in calls], [result.content for result in results]
