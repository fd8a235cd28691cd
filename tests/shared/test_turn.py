"""The bookkeeping of one turn, driven by hand: no model, no tools, no I/O."""

from __future__ import annotations

import functools
import operator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import kova
from kova import ModelResponse, StopReason, ToolResult, ToolUseBlock, UsageStats
from kova._turn import Turn, as_history
from kova.config import InferenceConfig
from tests import strategies

HI = [kova.user_message("Hi")]


def a_turn(
    history: list[kova.ConversationMessage] = HI,
    *,
    system_prompt: str | None = None,
    config: InferenceConfig = InferenceConfig(),
    max_iterations: int = 10,
) -> Turn:
    return Turn(
        history,
        system_prompt=system_prompt,
        tools={},
        definitions=[kova.ToolDefinition("add", "Add two numbers.", {"type": "object"})],
        config=config,
        max_iterations=max_iterations,
    )


def call(number: int, name: str = "add") -> ToolUseBlock:
    return ToolUseBlock(f"call_{number}", name, {"a": number})


def asking_for(*calls: ToolUseBlock, **fields: Any) -> ModelResponse:
    return ModelResponse(calls, StopReason.TOOL_USE, **fields)


# ---- what is sent


def test_the_system_prompt_goes_before_the_history_and_stays_out_of_the_result() -> None:
    history = [kova.system_message("Speak French."), kova.user_message("Hi")]
    turn = a_turn(history, system_prompt="Be brief.")
    request = turn.next_request()
    assert request.messages == [kova.system_message("Be brief."), *history]
    assert [tool.name for tool in request.tools] == ["add"]
    turn.take_answer(ModelResponse("Salut"))
    assert turn.response().new_messages == [kova.assistant_message("Salut")]


def test_what_the_turn_has_produced_is_sent_with_the_history() -> None:
    turn = a_turn()
    turn.next_request()
    calls = turn.take_answer(asking_for(call(1), call(2)))
    turn.take_results(calls, [ToolResult("one"), ToolResult("no", is_error=True)])
    assert turn.next_request().messages == [
        *HI,
        kova.assistant_message("", call(1), call(2)),
        kova.tool_message("call_1", "one"),
        kova.tool_message("call_2", "no", is_error=True),
    ]


def test_a_blank_text_among_the_blocks_of_a_result_is_not_kept() -> None:
    """Providers refuse it in a history, and what a turn leaves behind is a history that all of them accept."""
    turn = a_turn()
    turn.next_request()
    picture = kova.ImageBlock("image/png", b"png")
    blank, words = kova.TextBlock(" "), kova.TextBlock("one")
    calls = turn.take_answer(asking_for(call(1), call(2)))
    turn.take_results(calls, [ToolResult([words, blank, picture]), ToolResult([blank])])
    first, second = turn.new_messages[1:]
    assert first == kova.tool_message("call_1", [words, picture])
    assert second == kova.tool_message("call_2", "")
    assert kova.check_history(turn.new_messages) == []


def test_neither_the_history_nor_an_earlier_request_is_changed() -> None:
    history = list(HI)
    turn = a_turn(history)
    first = turn.next_request()
    turn.take_results(turn.take_answer(asking_for(call(1))), [ToolResult("one")])
    history.append(kova.user_message("and this?"))
    turn.next_request()
    assert first.messages == HI
    turn.take_answer(ModelResponse("one"))
    assert turn.response().new_messages[-1] == kova.assistant_message("one")


@pytest.mark.parametrize(
    ("choice", "later"), [("required", None), ("add", None), ("none", "none"), ("auto", "auto"), (None, None)]
)
def test_a_call_is_forced_once(choice: str | None, later: str | None) -> None:
    turn = a_turn(config=InferenceConfig(tool_choice=choice, seed=7))
    sent = []
    for number in range(3):
        sent.append(turn.next_request().config)
        turn.take_results(turn.take_answer(asking_for(call(number))), [ToolResult("ok")])
    assert [config.tool_choice for config in sent] == [choice, later, later]
    assert {config.seed for config in sent} == {7}


# ---- when it is over


def test_a_plain_answer_ends_the_turn() -> None:
    turn = a_turn()
    assert not turn.is_over
    turn.next_request()
    assert not turn.take_answer(
        ModelResponse("Hello", raw_stop_reason="stop", usage=UsageStats(7, 3), thinking="Hm.", model="gpt-5")
    )
    assert turn.is_over
    assert turn.response() == kova.AgentResponse(
        text="Hello",
        new_messages=[kova.assistant_message("Hello")],
        stop_reason=StopReason.END_TURN,
        raw_stop_reason="stop",
        usage=UsageStats(7, 3),
        last_input_tokens=7,
        llm_calls=1,
        thinking="Hm.",
        model="gpt-5",
    )


@pytest.mark.parametrize("said", StopReason)
def test_tool_calls_decide_and_not_the_stop_reason(said: StopReason) -> None:
    turn = a_turn()
    turn.next_request()
    assert turn.take_answer(ModelResponse([call(1)], said)) == [call(1)]
    assert not turn.is_over


@pytest.mark.parametrize("said", [reason for reason in StopReason if reason is not StopReason.PAUSE_TURN])
def test_no_call_ends_the_turn_whatever_the_stop_reason(said: StopReason) -> None:
    turn = a_turn()
    turn.next_request()
    turn.take_answer(ModelResponse("That is", said))
    assert turn.is_over
    assert (turn.response().text, turn.response().stop_reason) == ("That is", said)


def test_a_paused_answer_is_gone_on_with() -> None:
    turn = a_turn(max_iterations=1)
    turn.next_request()
    assert turn.take_answer(ModelResponse("Searching", StopReason.PAUSE_TURN)) == []
    assert not turn.is_over
    assert turn.next_request().messages[-1] == kova.assistant_message("Searching")
    turn.take_answer(ModelResponse("found"))
    assert turn.is_over
    assert turn.response().text == "found"


def test_a_model_that_only_pauses_comes_to_an_end() -> None:
    turn = a_turn(max_iterations=1)
    turn.next_request()
    turn.take_answer(ModelResponse("", StopReason.PAUSE_TURN))
    turn.next_request()
    with pytest.raises(kova.MaxIterationsError):
        turn.take_answer(ModelResponse("", StopReason.PAUSE_TURN))


def test_an_empty_answer_ends_the_turn_and_leaves_no_empty_text() -> None:
    """L12."""
    for answer in (ModelResponse(), ModelResponse(""), ModelResponse([kova.TextBlock("")])):
        turn = a_turn()
        turn.next_request()
        turn.take_answer(answer)
        assert turn.response().text == ""
        assert turn.response().new_messages == [kova.ConversationMessage("assistant", ())]


def test_thinking_is_kept_apart_unless_its_provider_wants_it_back() -> None:
    signed = kova.ThinkingBlock("", "c2ln")
    turn = a_turn()
    turn.next_request()
    calls = turn.take_answer(asking_for(call(1), thinking="First."))
    turn.take_results(calls, [ToolResult("one")])
    turn.next_request()
    turn.take_answer(ModelResponse([signed, kova.TextBlock("One.")], thinking="Then."))
    response = turn.response()
    assert response.thinking == "First.\n\nThen."
    assert response.text == "One."
    assert response.new_messages[-1].content == (signed, kova.TextBlock("One."))


# ---- how many rounds


@pytest.mark.parametrize("permitted", [0, 1, 3])
def test_one_round_too_many_is_an_error(permitted: int) -> None:
    turn = a_turn(max_iterations=permitted)
    for number in range(permitted):
        turn.next_request()
        turn.take_results(turn.take_answer(asking_for(call(number))), [ToolResult("ok")])
    turn.next_request()
    with pytest.raises(kova.MaxIterationsError) as caught:
        turn.take_answer(asking_for(call(permitted)))
    assert caught.value.max_iterations == permitted
    assert turn.llm_calls == permitted + 1


@pytest.mark.parametrize("permitted", [0, 1, 3])
def test_the_answer_after_the_last_permitted_round_is_a_success(permitted: int) -> None:
    turn = a_turn(max_iterations=permitted)
    for number in range(permitted):
        turn.next_request()
        turn.take_results(turn.take_answer(asking_for(call(number))), [ToolResult("ok")])
    turn.next_request()
    turn.take_answer(ModelResponse("done"))
    assert (turn.response().text, turn.response().llm_calls) == ("done", permitted + 1)


# ---- what is left of one that failed


def test_what_there_was_when_the_turn_failed() -> None:
    """L9, L10."""
    turn = a_turn()
    turn.next_request()
    turn.take_answer(asking_for(call(1), usage=UsageStats(7, 3)))
    turn.take_results([call(1)], [ToolResult("one")])
    turn.next_request()
    partial = turn.partial()
    turn.take_answer(ModelResponse("too late"))
    assert partial.messages == [kova.assistant_message("", call(1)), kova.tool_message("call_1", "one")]
    assert (partial.usage, partial.llm_calls) == (UsageStats(7, 3), 2)


def test_a_result_is_missing_for_no_call() -> None:
    turn = a_turn()
    turn.next_request()
    calls = turn.take_answer(asking_for(call(1), call(2)))
    with pytest.raises(ValueError):
        turn.take_results(calls, [ToolResult("one")])


# ---- whatever the model answers

usages = st.builds(UsageStats, *[st.none() | st.integers(0, 100)] * 2)
results = st.builds(ToolResult, strategies.texts, st.booleans())
answers = st.builds(
    ModelResponse,
    st.lists(strategies.text_blocks | strategies.tool_use_blocks | strategies.thinking_blocks, max_size=4),
    st.sampled_from(StopReason),
    usage=usages,
    thinking=st.none() | strategies.words,
)


@given(st.lists(answers, min_size=1, max_size=6), st.integers(0, 5), st.data())
def test_a_turn_is_a_history_that_adds_up(
    script: list[ModelResponse], max_iterations: int, data: st.DataObject
) -> None:
    """L1, L9: results in call order, one for each call; usage is the sum of the calls."""
    turn = a_turn(max_iterations=max_iterations)
    taken: list[ModelResponse] = []
    expected: list[tuple[str, ToolResult]] = []
    refused = False
    while script and not turn.is_over and not refused:
        assert turn.next_request().messages == [*HI, *turn.new_messages]
        taken.append(script.pop(0))
        try:
            calls = turn.take_answer(taken[-1])
        except kova.MaxIterationsError:
            refused = True
            continue
        given = [data.draw(results) for _ in calls]
        expected += [(call.id, result) for call, result in zip(calls, given, strict=True)]
        turn.take_results(calls, given)

    so_far = turn.partial()
    assert so_far.llm_calls == len(taken) <= max_iterations + 1
    assert so_far.usage == functools.reduce(operator.add, [answer.usage for answer in taken])
    # The last message of a turn that was refused has the calls that were one round too many.
    messages = so_far.messages[:-1] if refused else so_far.messages
    blocks = [block for message in messages for block in message.content]
    found = [block for block in blocks if isinstance(block, kova.ToolResultBlock)]
    assert [(block.tool_use_id, ToolResult(block.content, block.is_error)) for block in found] == expected
    assert [block.id for block in blocks if isinstance(block, ToolUseBlock)] == [call_id for call_id, _ in expected]
    assert kova.TextBlock("") not in blocks
    if turn.is_over:
        response = turn.response()
        assert (response.new_messages, response.usage, response.llm_calls) == (messages, so_far.usage, len(taken))
        assert (response.text, response.last_input_tokens) == (taken[-1].text, taken[-1].usage.input_tokens)


# ---- what a caller may give as a history


def test_a_string_is_what_the_user_says() -> None:
    assert as_history("Hi") == as_history(kova.user_message("Hi")) == as_history(HI) == as_history(tuple(HI)) == HI


def test_the_callers_list_is_not_kept() -> None:
    history = list(HI)
    assert as_history(history) is not history


@pytest.mark.parametrize(
    ("wrong", "complaint"),
    [
        (None, "must be a str, a message or a sequence of messages, not NoneType"),
        ({"role": "user"}, "must be a str, a message or a sequence of messages, not dict"),
        (iter(HI), "must be a str, a message or a sequence of messages, not list_iterator"),
        (b"Hi", "messages must be a sequence of messages, not bytes"),
        ([*HI, {"role": "user"}], r"messages\[1\] must be a ConversationMessage, not dict"),
        (["Hi"], r"messages\[0\] must be a ConversationMessage, not str"),
    ],
)
def test_what_is_no_history_is_a_type_error(wrong: Any, complaint: str) -> None:
    with pytest.raises(TypeError, match=complaint):
        as_history(wrong)


def test_nothing_to_answer_is_an_error() -> None:
    with pytest.raises(ValueError, match="messages is empty"):
        as_history([])
