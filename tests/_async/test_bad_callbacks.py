"""What a user's own provider, tools and callbacks give or raise: a clear error, of one kind however the turn is run."""

from __future__ import annotations

import functools
from collections.abc import AsyncIterator, Sequence
from typing import Any

import pytest

import kova
from kova import StopEvent, StopReason, TextDelta, ToolUseDelta, UsageEvent
from kova._runtime import aio as rt
from kova.testing import AsyncScriptedProvider, call

pytestmark = pytest.mark.anyio


class OddInterrupt(BaseException):
    """What some frameworks end their tasks with."""


async def run(agent: kova.AsyncAgent, streamed: bool, **options: Any) -> kova.AgentResponse:
    if not streamed:
        return await agent.run("go", **options)
    async with agent.run_stream("go", **options) as stream:
        async for _ in stream:
            pass
        return stream.response


# ---- providers


class AsyncOddProvider:
    """A provider of the user's that gives whatever it was told to."""

    def __init__(self, *given: Any) -> None:
        self._given = given

    async def chat_completion(self, messages: Sequence[Any], tools: Any = (), config: Any = None) -> Any:
        return self._given[0]

    async def chat_completion_stream(
        self, messages: Sequence[Any], tools: Any = (), config: Any = None
    ) -> AsyncIterator[Any]:
        for event in self._given:
            yield event


class AsyncOddStream(AsyncOddProvider):
    """One whose stream is no iterator at all."""

    def chat_completion_stream(self, messages: Sequence[Any], tools: Any = (), config: Any = None) -> Any:
        return self._given[0]


@pytest.mark.parametrize("given", [None, 7, "Hi", ["Hi"], {"text": "Hi"}])
async def test_an_answer_that_is_none_is_refused(given: Any) -> None:
    """L10."""
    with pytest.raises(kova.ProviderError, match=r"OddProvider\.chat_completion gave \w+, and not a Model") as caught:
        await run(kova.AsyncAgent(AsyncOddProvider(given)), streamed=False)
    assert caught.value.partial is not None
    assert caught.value.partial.llm_calls == 1
    assert not caught.value.is_retryable


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ((None,), "consists of stream events, not of NoneType"),
        (("Hi",), "consists of stream events, not of str"),
        ((UsageEvent(None),), "event makes no sense"),  # type: ignore[arg-type]
        ((TextDelta(None), StopEvent(StopReason.END_TURN)), "make no sense"),  # type: ignore[arg-type]
        ((), "ended without any event"),
    ],
)
async def test_a_stream_of_what_are_no_events_is_refused(given: Any, message: str) -> None:
    """L10."""
    with pytest.raises(kova.StreamError, match=message) as caught:
        await run(kova.AsyncAgent(AsyncOddProvider(*given)), streamed=True)
    assert caught.value.partial is not None


@pytest.mark.parametrize("given", [None, 7, object()])
async def test_a_stream_that_is_no_iterator_is_refused(given: Any) -> None:
    """L10."""
    with pytest.raises(kova.StreamError, match=r"OddStream\.chat_completion_stream gave \w+, and not an iterator"):
        await run(kova.AsyncAgent(AsyncOddStream(given)), streamed=True)


async def test_what_a_provider_raises_comes_out_as_it_is() -> None:
    class AsyncFailingProvider(AsyncOddProvider):
        async def chat_completion(self, messages: Sequence[Any], tools: Any = (), config: Any = None) -> Any:
            raise LookupError("no such model")

    with pytest.raises(LookupError, match="no such model"):
        await run(kova.AsyncAgent(AsyncFailingProvider()), streamed=False)


async def test_a_call_without_a_name_or_arguments_is_answered() -> None:
    """L2."""
    events = [ToolUseDelta("1", "nothing", "", None, 0), StopEvent(StopReason.TOOL_USE)]
    with pytest.raises(kova.ToolNotFoundError):
        await run(kova.AsyncAgent(AsyncOddProvider(*events)), streamed=True)


# ---- tools


def tools_that_raise(error: BaseException) -> list[Any]:
    async def waiting() -> str:
        raise error

    def plain() -> str:
        raise error

    def fine() -> str:
        return "fine"

    return [kova.tool(waiting), kova.tool(plain), kova.tool(fine)]


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("names", [["plain"], ["waiting"], ["fine", "plain"], ["waiting", "fine", "plain"]], ids=str)
@pytest.mark.parametrize("error", [KeyboardInterrupt, GeneratorExit, OddInterrupt])
async def test_an_interrupt_that_a_tool_raises_comes_out_as_it_is(
    error: type[BaseException], names: list[str], streamed: bool, capfd: pytest.CaptureFixture[str]
) -> None:
    """L4: from one of several calls too, without a group around it, and nothing is printed."""
    model = AsyncScriptedProvider([call(name) for name in names], "Never said.")
    agent = kova.AsyncAgent(model, tools=tools_that_raise(error("enough")), tool_errors="report")
    with pytest.raises(error, match="enough"):
        await run(agent, streamed, cancel=kova.CancellationToken())
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("error", [StopIteration(), RecursionError("deep"), ExceptionGroup("some", [ValueError()])])
async def test_any_other_exception_of_a_tool_is_named(error: Exception, streamed: bool) -> None:
    """L4."""
    for name in ("plain", "waiting"):
        model = AsyncScriptedProvider([call(name), call("fine")], "Never said.")
        with pytest.raises(kova.ToolExecutionError, match=rf"'{name}' failed: \w+: .+"):
            await run(kova.AsyncAgent(model, tools=tools_that_raise(error)), streamed)


async def test_a_result_that_makes_no_sense_is_the_tools_error() -> None:
    """L4: and not found out when the turn is put together."""

    @kova.tool
    def odd() -> kova.ToolResult:
        """Give an odd result."""
        return kova.ToolResult("x", is_error=None)  # type: ignore[arg-type]

    model = AsyncScriptedProvider(call("odd"), "Never said.")
    with pytest.raises(kova.ToolExecutionError, match=r"'odd' failed: TypeError: ToolResult\.is_error must be bool"):
        await run(kova.AsyncAgent(model, tools=[odd]), streamed=False)


@pytest.mark.parametrize("streamed", [False, True])
async def test_forty_tools_at_once(streamed: bool) -> None:
    """L1: with one that fails, the others being told to stop; and with none."""
    stopped: list[int] = []
    running: list[int] = []

    async def work(number: int, context: kova.ToolContext) -> str:
        context.cancel.add_callback(functools.partial(stopped.append, number))
        running.append(number)
        while number == 39 and len(running) < 40:
            await rt.sleep(0.001)
        if number == 39:
            raise ValueError("the last one")
        return str(number)

    calls = [call("work", number=number) for number in range(40)]
    options: Any = {"tools": [kova.tool(work)], "max_concurrent_tools": 40}
    with pytest.raises(kova.ToolExecutionError, match="the last one"):
        await run(kova.AsyncAgent(AsyncScriptedProvider(calls), **options), streamed)
    assert sorted(stopped) == list(range(40))

    response = await run(kova.AsyncAgent(AsyncScriptedProvider(calls[:39], "Done."), **options), streamed)
    results = [block for message in response.new_messages for block in message.content]
    assert [block.content for block in results if isinstance(block, kova.ToolResultBlock)] == list(map(str, range(39)))


# ---- arguments


@pytest.mark.parametrize("given", [None, 7, "", " ", b"x", []])
async def test_an_agent_as_a_tool_has_a_name_and_a_description(given: Any) -> None:
    agent = kova.AsyncAgent(AsyncScriptedProvider())
    for arguments, argument in (((given, "Helps."), "name"), (("helper", given), "description")):
        with pytest.raises(kova.BuildError, match=f"{argument} must be a text"):
            agent.as_tool(*arguments)


@pytest.mark.parametrize("given", [[], [int], 7, "City", None, {}])
async def test_the_type_of_an_answer_must_be_one(given: Any) -> None:
    model = AsyncScriptedProvider()
    with pytest.raises(TypeError, match="output_type: "):
        await kova.AsyncAgent(model).run_structured("Hi", given)
    assert model.requests == []


async def test_a_blank_system_prompt_is_none() -> None:
    """L12: providers refuse blank text."""
    model = AsyncScriptedProvider("Hello", "Hello")
    for prompt in (" \n", lambda context: ""):
        await kova.AsyncAgent(model, system_prompt=prompt).run("Hi")
    assert [request.messages for request in model.requests] == [(kova.user_message("Hi"),)] * 2


async def test_two_tools_of_one_name_are_refused() -> None:
    """L13: and it is said where both come from."""

    @kova.tool
    def look_up(key: str) -> str:
        return key

    @kova.tool(name="look_up")
    def other(key: str) -> str:
        return key

    helper = kova.AsyncAgent(AsyncScriptedProvider()).as_tool("look_up", "Looks things up.")
    for one, another in ((look_up, other), (other, look_up), (helper, look_up)):
        with pytest.raises(kova.BuildError, match="look_up") as caught:
            kova.AsyncAgent(AsyncScriptedProvider(), tools=[one, another])
        assert one.origin in str(caught.value)
        assert another.origin in str(caught.value)
    registry = kova.ToolRegistry()
    registry.register(other)
    agent = kova.AsyncAgent(AsyncScriptedProvider(), tools=[look_up], tool_registry=registry)
    assert "look_up" in repr(agent), "over the registry's a tool wins"
