"""An agent and its tool on a real small model on this machine: blocking, then async, with the same events.

`make demo` runs it. Any other model does as well: "openai:gpt-5" in place of "local:smollm2" needs only a key.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

import kova

MODEL = "local:smollm2"
QUESTION = "What is 1234 times 5678?"


@kova.tool
def multiply(a: int, b: int) -> int:
    """Multiply two numbers."""
    return a * b


def ask() -> kova.AgentResponse:
    with kova.Agent(MODEL, tools=[multiply]) as agent, agent.run_stream(QUESTION) as stream:
        for event in stream:
            show(event)
    return stream.response


async def ask_async() -> kova.AgentResponse:
    async with kova.AsyncAgent(MODEL, tools=[multiply]) as agent, agent.run_stream(QUESTION) as stream:
        async for event in stream:
            show(event)
    return stream.response


def show(event: kova.AgentEvent) -> None:
    match event:
        case kova.TextDelta(text=text):
            print(text, end="", flush=True)
        case kova.ToolCallStarted(name=name, input=arguments):
            print(f"  calls {name}({', '.join(f'{key}={value!r}' for key, value in arguments.items())})")
        case kova.ToolCallFinished(name=name, result=result):
            print(f"  {name} returns {result}")
        case kova.TurnCompleted():
            print()


def demonstrate(title: str, turn: Callable[[], kova.AgentResponse]) -> None:
    print(f"\n{title}\n> {QUESTION}")
    started = time.perf_counter()
    response = turn()
    seconds = time.perf_counter() - started
    usage = response.usage
    print(f"  {usage.input_tokens} tokens in, {usage.output_tokens} out, {response.llm_calls} calls, {seconds:.1f} s")


if __name__ == "__main__":
    demonstrate("Blocking: kova.Agent", ask)
    demonstrate("Async: kova.AsyncAgent under asyncio.run", lambda: asyncio.run(ask_async()))
