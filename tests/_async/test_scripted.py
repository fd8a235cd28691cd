"""The scripted provider: agents, tools and errors without a model and without a network."""

from __future__ import annotations

import math
import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kova
from kova._runtime import aio as rt
from kova.testing import Answer, AsyncScriptedProvider, Delay, ModelRequest, call, provider_error

pytestmark = pytest.mark.anyio

HI = [kova.user_message("Hi")]
QUICKLY = 1.5  # seconds: five times the 0.3 in which a cancelled turn must end


@kova.tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


async def events_of(provider: AsyncScriptedProvider) -> list[kova.StreamEvent]:
    async with provider.chat_completion_stream(HI) as stream:
        return [event async for event in stream]


# ---- answers


async def test_an_agent_runs_on_a_script() -> None:
    provider = AsyncScriptedProvider(["Let me see.", call("add", a=1, b=2)], "It is 3.")
    response = await kova.AsyncAgent(provider, tools=[add]).run("1 + 2?")
    assert response.text == "It is 3."
    assert response.new_messages == [
        kova.assistant_message("Let me see.", kova.ToolUseBlock("call_1", "add", {"a": 1, "b": 2})),
        kova.tool_message("call_1", "3"),
        kova.assistant_message("It is 3."),
    ]
    provider.assert_used_up()


async def test_a_stream_hands_text_out_in_words() -> None:
    assert await events_of(AsyncScriptedProvider("It is  3.")) == [
        kova.TextDelta("It "),
        kova.TextDelta("is "),
        kova.TextDelta(" "),
        kova.TextDelta("3."),
        kova.StopEvent(kova.StopReason.END_TURN),
    ]


async def test_an_answer_may_have_reasoning_usage_and_a_reason_to_stop() -> None:
    usage = kova.UsageStats(7, 3)
    answer: Answer = [kova.ThinkingDelta("Hm."), "It is", usage, kova.StopReason.MAX_TOKENS]
    response = await AsyncScriptedProvider(answer).chat_completion(HI)
    assert response == kova.ModelResponse("It is", kova.StopReason.MAX_TOKENS, usage=usage, thinking="Hm.")


async def test_events_are_handed_out_as_they_are() -> None:
    events: list[kova.StreamEvent] = [kova.TextDelta("It is 3."), kova.StopEvent(kova.StopReason.REFUSAL, "policy")]
    provider = AsyncScriptedProvider(events, events)
    assert await events_of(provider) == events
    assert (await provider.chat_completion(HI)).raw_stop_reason == "policy"


async def test_calls_are_numbered_through_the_conversation() -> None:
    provider = AsyncScriptedProvider([call("add", a=1, b=2), call("add", a=3, b=4)], call("add", a=3, b=7), "10")
    response = await kova.AsyncAgent(provider, tools=[add]).run("1 + 2 + 3 + 4?")
    results = [message for message in response.new_messages if message.role is kova.Role.TOOL]
    assert results == [kova.tool_message(f"call_{n}", text) for n, text in [(1, "3"), (2, "7"), (3, "10")]]


async def test_a_call_may_be_given_in_every_detail() -> None:
    block = kova.ToolUseBlock("toolu_9", "add", {"a": 1}, {"signature": "s"})
    assert (await AsyncScriptedProvider(block).chat_completion(HI)).tool_calls == [block]


async def test_arguments_may_be_broken() -> None:
    provider = AsyncScriptedProvider(call("add", '{"a": 1'), "Sorry.")
    response = await kova.AsyncAgent(provider, tools=[add]).run("1 + 2?")
    assert "not a JSON object" in str(response.new_messages[1])


async def test_an_empty_answer_is_an_answer() -> None:
    """L12."""
    provider = AsyncScriptedProvider([], "")
    assert (await kova.AsyncAgent(provider).run("Hi")).text == ""
    assert await events_of(provider) == [kova.StopEvent(kova.StopReason.END_TURN)]


TEXTS = st.text(st.characters(codec="utf-8"), max_size=20)
COUNTS = st.none() | st.integers(0, 1000)
PARTS = st.one_of(
    TEXTS,
    st.builds(call, st.just("add"), st.dictionaries(st.sampled_from("ab"), st.integers()) | TEXTS),
    st.builds(kova.ThinkingDelta, TEXTS),
    st.builds(kova.ThinkingBlock, TEXTS, TEXTS),
    st.builds(kova.UsageStats, COUNTS, COUNTS),
    st.sampled_from(list(kova.StopReason)),
    st.just(Delay(0)),
)
SCRIPTS = st.lists(st.lists(PARTS, max_size=5), min_size=1, max_size=3)


@settings(max_examples=50, deadline=None)
@given(answer=st.lists(PARTS, max_size=5))
async def test_complete_and_streamed_answers_are_equal(answer: list[Any]) -> None:
    """L7, for single answers."""
    provider = AsyncScriptedProvider(answer, answer)
    complete = await provider.chat_completion(HI)
    async with provider.chat_completion_stream(HI) as stream:
        async for _ in stream:
            pass
    assert stream.response == complete


@settings(max_examples=50, deadline=None)
@given(script=SCRIPTS)
async def test_turns_over_one_script_are_equal(script: list[Any]) -> None:
    """L7."""
    plain = AsyncScriptedProvider(*script)
    streamed = AsyncScriptedProvider(*script)
    plain.always("That is all.")
    streamed.always("That is all.")
    response = await kova.AsyncAgent(plain, tools=[add]).run("go")
    async with kova.AsyncAgent(streamed, tools=[add]).run_stream("go") as stream:
        async for _ in stream:
            pass
    assert stream.response == response
    assert streamed.requests == plain.requests


# ---- functions as answers


async def test_a_function_answers_what_it_is_asked() -> None:
    def echo(request: ModelRequest) -> str:
        return f"You said {request.messages[-1].text!r}."

    provider = AsyncScriptedProvider()
    provider.always(echo)
    agent = kova.AsyncAgent(provider)
    assert (await agent.run("Hi")).text == "You said 'Hi'."
    assert (await agent.run("Ho")).text == "You said 'Ho'."


async def test_a_function_may_be_async_where_the_provider_is() -> None:
    async def answer(request: ModelRequest) -> list[Any]:
        await rt.sleep(0)
        return ["With ", str(len(request.tools)), " tool"]

    provider = AsyncScriptedProvider(answer, answer)
    agent = kova.AsyncAgent(provider, tools=[add])
    assert (await agent.run("Hi")).text == "With 1 tool"
    async with agent.run_stream("Hi") as stream:
        assert [text async for text in stream.text_deltas()] == ["With ", "1", " ", "tool"]


async def test_a_function_may_raise() -> None:
    def refuse(request: ModelRequest) -> str:
        raise provider_error(400, "no system prompt")

    with pytest.raises(kova.ProviderError, match="no system prompt"):
        await kova.AsyncAgent(AsyncScriptedProvider(refuse)).run("Hi")


# ---- errors


async def test_errors_are_raised() -> None:
    error = provider_error(429, "slow down", retry_after=2, request_id="req_1")
    provider = AsyncScriptedProvider(error, error)
    for _ in range(2):
        with pytest.raises(kova.ProviderError, match="slow down") as caught:
            await provider.chat_completion(HI)
        assert caught.value.provider_class is kova.ProviderErrorClass.RATE_LIMITED
        assert (caught.value.status_code, caught.value.retry_after, caught.value.request_id) == (429, 2, "req_1")
        assert caught.value is not error
    assert error.__traceback__ is None


async def test_a_stream_may_break_off_in_the_middle() -> None:
    answer: Answer = ["It is ", kova.ConnectionError("lost")]
    provider = AsyncScriptedProvider(answer, answer)
    texts = []
    with pytest.raises(kova.ConnectionError, match="lost"):
        async with kova.AsyncAgent(provider).run_stream("Hi") as stream:
            async for text in stream.text_deltas():
                texts.append(text)
    assert texts == ["It ", "is "]
    with pytest.raises(kova.ConnectionError, match="lost"):
        await provider.chat_completion(HI)


async def test_a_broken_stream_has_no_response() -> None:
    stream = AsyncScriptedProvider(["It is ", kova.StreamError("nonsense")]).chat_completion_stream(HI)
    with pytest.raises(kova.StreamError, match="nonsense"):
        async for _ in stream:
            pass
    with pytest.raises(kova.StreamError, match="has not ended"):
        _ = stream.response
    assert [event async for event in stream] == []


# ---- delays


async def test_a_delay_is_waited_for() -> None:
    provider = AsyncScriptedProvider([Delay(0.05), "It ", Delay(0.05), "is 3."])
    start = time.monotonic()
    assert (await kova.AsyncAgent(provider).run("Hi")).text == "It is 3."
    assert time.monotonic() - start >= 0.1


async def test_a_model_that_never_answers_runs_into_the_timeout() -> None:
    """L11."""
    provider = AsyncScriptedProvider(Delay(math.inf), ["It is", Delay(math.inf)])
    agent = kova.AsyncAgent(provider)
    with pytest.raises(kova.TimeoutError, match="the turn took longer than 0.05 s"):
        await agent.run("Hi", timeout=0.05)
    with pytest.raises(kova.TimeoutError):
        async with agent.run_stream("Hi", timeout=0.05) as stream:
            async for _ in stream:
                pass


async def test_a_waiting_turn_can_be_cancelled() -> None:
    """T12."""
    token = kova.CancellationToken()
    token.cancel_after(0.05)
    start = time.monotonic()
    with pytest.raises(kova.TurnCancelledError):
        await kova.AsyncAgent(AsyncScriptedProvider(Delay(math.inf))).run("Hi", cancel=token)
    assert time.monotonic() - start < QUICKLY


async def test_a_turn_without_any_wait_can_be_cancelled() -> None:
    """T12: by its own tool, in a loop that never waits."""
    token = kova.CancellationToken()
    provider = AsyncScriptedProvider()
    provider.always(call("stop"))

    @kova.tool
    def stop() -> None:
        """Cancel the turn when it has gone on for a while."""
        if len(provider.requests) == 5:
            token.cancel()

    with pytest.raises(kova.TurnCancelledError):
        await kova.AsyncAgent(provider, tools=[stop], max_iterations=1000).run("go", cancel=token)
    assert len(provider.requests) in (5, 6)


# ---- what was asked


async def test_requests_are_recorded() -> None:
    provider = AsyncScriptedProvider(call("add", a=1, b=2), "It is 3.")
    agent = kova.AsyncAgent(provider, tools=[add], system_prompt="Be brief.")
    history = [kova.user_message("1 + 2?")]
    response = await agent.run(history, config=kova.InferenceConfig(temperature=0))
    first, second = provider.requests
    assert [message.text for message in first.messages] == ["Be brief.", "1 + 2?"]
    assert [tool.name for tool in first.tools] == ["add"]
    assert first.config.temperature == 0
    assert list(second.messages) == [*first.messages, *response.new_messages[:2]]


async def test_a_recorded_request_does_not_change_with_the_history() -> None:
    provider = AsyncScriptedProvider("Hello")
    history = [kova.user_message("Hi")]
    await provider.chat_completion(history)
    history.append(kova.user_message("Ho"))
    assert len(provider.requests[0].messages) == 1


async def test_nothing_is_asked_before_the_first_event() -> None:
    provider = AsyncScriptedProvider("Hello")
    async with provider.chat_completion_stream(HI):
        assert provider.requests == []
    with pytest.raises(AssertionError, match="answers of the script that were not asked for: .*Hello"):
        provider.assert_used_up()


async def test_one_question_too_many_is_an_error() -> None:
    provider = AsyncScriptedProvider("Hello")
    agent = kova.AsyncAgent(provider)
    await agent.run("Hi")
    provider.assert_used_up()
    with pytest.raises(AssertionError, match="no answer to request number 2: it has come to its end"):
        await agent.run("Hi")
    with pytest.raises(AssertionError, match="requests after the end of the script: 1"):
        provider.assert_used_up()
    provider.play("Hello again")
    assert (await agent.run("Hi")).text == "Hello again"


async def test_one_script_serves_many_turns_at_once() -> None:
    """T4."""
    script: list[Answer] = [[Delay(0.01), str(number)] for number in range(20)]
    provider = AsyncScriptedProvider(*script)
    agent = kova.AsyncAgent(provider)
    texts = []

    async def turn() -> None:
        texts.append((await agent.run("Hi")).text)

    async with rt.TaskGroup() as group:
        for _ in range(20):
            group.start_soon(turn)
    assert sorted(texts, key=int) == [str(number) for number in range(20)]
    provider.assert_used_up()


async def test_a_stream_may_be_left_early() -> None:
    """T11."""
    provider = AsyncScriptedProvider("one two three", "Hello")
    agent = kova.AsyncAgent(provider)
    async with agent.run_stream("Hi") as stream:
        async for _ in stream:
            break
    assert (await agent.run("Hi")).text == "Hello"


# ---- mistakes in scripts


async def test_what_is_no_answer_is_refused_at_once() -> None:
    wrong: Any = 42
    with pytest.raises(TypeError, match="not of 42"):
        AsyncScriptedProvider("Hello", wrong)
    with pytest.raises(TypeError, match="not of 42"):
        AsyncScriptedProvider(["Hello", wrong])
    with pytest.raises(TypeError, match="not of {'role'"):
        AsyncScriptedProvider().always({"role": "assistant"})  # type: ignore[arg-type]


async def test_what_a_function_gives_is_checked() -> None:
    wrong: Any = lambda request: None  # noqa: E731
    with pytest.raises(TypeError, match="not of None"):
        await AsyncScriptedProvider(wrong).chat_completion(HI)
