"""What people who come from other libraries write at first, and the errors that say what to write instead."""

from __future__ import annotations

from typing import Any

import pytest

import kova
from kova.testing import AsyncScriptedProvider

pytestmark = pytest.mark.anyio


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


class Toolbox:
    """Has tools, and is none."""

    def tools(self) -> list[kova.Tool]:
        return []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"provider": "groq:llama"}, "got 'groq:llama'; any other server .* is an AsyncOpenAICompatibleProvider"),
        ({"provider": kova.AsyncOpenAICompatibleProvider}, "not the class AsyncOpenAICompatibleProvider: make one"),
        ({"system_prompt": 5}, "system_prompt must be a text or a function, not int"),
        ({"inference_config": {"temperature": 0}}, "inference_config must be an InferenceConfig, not dict"),
        ({"tools": [Toolbox()]}, r"got <.*Toolbox.*>: give it what its tools\(\) gives"),
        ({"tools": [add, add]}, "two tools are named 'add': .*; a prefix or another name parts them"),
    ],
)
async def test_arguments_of_an_agent(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(kova.BuildError, match=message):
        kova.AsyncAgent(**{"provider": AsyncScriptedProvider(), **arguments})


async def test_tools_that_were_not_awaited() -> None:
    async def tools() -> list[kova.Tool]:
        return []

    asked: Any = tools
    if not isinstance(given := asked(), list):  # as it is in the blocking twin
        with pytest.raises(kova.BuildError, match="not a coroutine: it was not awaited"):
            kova.AsyncAgent(AsyncScriptedProvider(), tools=given)


async def test_settings_that_there_are_not() -> None:
    model = kova.AsyncOpenAICompatibleProvider("m", api_key="k")
    with pytest.raises(kova.BuildError, match="there is no setting modle, tiemout; there are model, timeout, "):
        model.with_options(modle="other", tiemout=1)
    with pytest.raises(kova.BuildError, match="config must be of class OpenAIProviderConfig, not dict"):
        kova.AsyncOpenAICompatibleProvider.from_config({"model": "m"})  # type: ignore[arg-type]


async def test_messages_as_dicts() -> None:
    agent = kova.AsyncAgent(AsyncScriptedProvider())
    with pytest.raises(TypeError, match=r"messages\[0\] must be .*, not dict: messages_from_json reads such"):
        await agent.run([{"role": "user", "content": "Hi"}])  # type: ignore[list-item]


async def test_the_choice_of_a_tool_that_there_is_not() -> None:
    model = AsyncScriptedProvider("Hello")
    agent = kova.AsyncAgent(model, tools=[add])
    message = r"tool_choice must be auto, none, required or the name of a tool \(add\), not 'any'"
    with pytest.raises(ValueError, match=message):
        await agent.run("Hi", config=kova.InferenceConfig(tool_choice="any"))
    with pytest.raises(ValueError, match=message):
        async with agent.run_stream("Hi", config=kova.InferenceConfig(tool_choice="any")) as stream:
            async for _ in stream:
                pass
    assert model.requests == []


@pytest.mark.parametrize(
    ("output_type", "message"),
    [
        ("City", "no JSON schema can be made for 'City'"),
        (list[int], "an answer must be an object, not of the type 'array': make a class with a field for it"),
    ],
)
async def test_types_of_answers(output_type: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        await kova.AsyncAgent(AsyncScriptedProvider()).run_structured("Hi", output_type)


async def test_a_pattern_inside_a_pattern() -> None:
    with pytest.raises(TypeError, match="not Parallel: for a pattern inside another one, see as_agent"):
        kova.Sequential([kova.Parallel(["a", "b"]), "c"])  # type: ignore[list-item]


async def test_a_command_line_in_place_of_a_program() -> None:
    for line in ("no-such-program --now", "./no-such-program --now"):
        with pytest.raises(kova.ConnectionError, match="; its arguments belong into args"):
            async with kova.AsyncMCPClient(kova.StdioTransport(line)):
                pass


# ---- a provider of one's own


async def test_a_reason_to_stop_may_be_a_string() -> None:
    model = AsyncScriptedProvider([kova.TextDelta("It was a"), kova.StopEvent("max_tokens")])  # type: ignore[arg-type]
    assert (await kova.AsyncAgent(model).run("Hi")).stop_reason is kova.StopReason.MAX_TOKENS
    assert kova.ModelResponse("Hi", "refusal").stop_reason is kova.StopReason.REFUSAL  # type: ignore[arg-type]


@pytest.mark.parametrize("make", [kova.StopEvent, lambda reason: kova.ModelResponse("Hi", reason)])
async def test_a_reason_to_stop_is_one_of_kovas(make: Any) -> None:
    with pytest.raises(ValueError, match="stop_reason must be one of end_turn, .*, unknown; not 'length'"):
        make("length")
