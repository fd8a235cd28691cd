"""How events become an answer."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kova._assembly import MADE_UP_ID, Assembler, merge_usage, parse_arguments
from kova.errors import StreamError
from kova.messages import TextBlock, ThinkingBlock, ToolUseBlock
from kova.responses import (
    ModelResponse,
    StopEvent,
    StopReason,
    TextDelta,
    ThinkingDelta,
    ToolUseDelta,
    UsageEvent,
    UsageStats,
)
from tests.strategies import json_objects


def assemble(*events, **options):
    assembler = Assembler(**options)
    assembler.extend(events)
    return assembler.response()


def call(arguments, *, id="c1", index=0, **fields):
    return ToolUseDelta(id, "add", arguments, index=index, **fields)


def test_pieces_of_text_make_one_block():
    response = assemble(TextDelta("Hel"), ThinkingDelta("hm"), TextDelta("lo"), StopEvent(StopReason.END_TURN, "stop"))
    assert response == ModelResponse((TextBlock("Hello"),), StopReason.END_TURN, "stop", thinking="hm")


def test_adding_one_by_one_is_the_same_as_extending():
    events = [TextDelta("a"), call("{}"), TextDelta("b"), UsageEvent(UsageStats(1, 2)), StopEvent(StopReason.TOOL_USE)]
    assembler = Assembler()
    for event in events:
        assembler.add(event)
    assert assembler.response() == assemble(*events)


def test_blocks_stay_in_the_order_in_which_they_came():
    signed = ThinkingBlock("hm", signature="s")
    response = assemble(signed, TextDelta("a"), call("{}"), TextDelta("b"), call('{"a": 1}', id="c2", index=1))
    assert response.content == (
        signed,
        TextBlock("a"),
        ToolUseBlock("c1", "add", {}),
        TextBlock("b"),
        ToolUseBlock("c2", "add", {"a": 1}),
    )
    assert response.thinking is None


def test_empty_texts_are_no_blocks():
    response = assemble(TextDelta(""), call("{}"), TextDelta(""))
    assert response.content == (ToolUseBlock("c1", "add", {}),)


def test_pieces_of_calls_go_to_the_call_of_their_index():
    response = assemble(
        call('{"a"', index=7), call("{", id="c2", index=9), call(": 1}", index=7), call("}", id="c2", index=9)
    )
    assert [(block.id, block.input) for block in response.tool_calls] == [("c1", {"a": 1}), ("c2", {})]


def test_a_generator_may_leave_ids_and_names_for_later():
    response = assemble(ToolUseDelta("", "", "{"), ToolUseDelta("", "a", "}"), ToolUseDelta("c1", "add"))
    assert response.tool_calls == [ToolUseBlock("c1", "add", {})]


def test_a_generator_may_leave_every_index_at_its_default():
    response = assemble(call('{"a": 1}'), call('{"a": 2}', id="c2"))
    assert [(block.id, block.input) for block in response.tool_calls] == [("c1", {"a": 1}), ("c2", {"a": 2})]


def test_metadata_is_kept_from_whichever_piece_it_comes_with():
    response = assemble(call("{", provider_metadata={"a": 1}), call("}"), call("", provider_metadata={"b": 2}))
    assert response.tool_calls[0].provider_metadata == {"a": 1, "b": 2}


def test_halves_of_a_character_are_put_together_and_single_ones_replaced():
    response = assemble(
        ThinkingDelta("\ud83e"), ThinkingDelta("\udd80"), TextDelta("a\ud83e"), call('{"a": "\ud83e'), call('\udd80"}')
    )
    assert (response.thinking, response.text, response.tool_calls[0].input) == ("🦀", "a\ufffd", {"a": "🦀"})


def test_something_that_is_no_event_is_an_error():
    with pytest.raises(StreamError, match="not of str"):
        assemble("text")


# ---- ids


def test_missing_and_repeated_ids_are_made_up_and_remembered_as_such():
    response = assemble(
        call("{}", id=""), call("{}", id="c1", index=1), call("{}", id="c1", index=2), make_id=lambda nth: f"made{nth}"
    )
    assert [block.id for block in response.tool_calls] == ["made0", "c1", "made2"]
    assert [block.provider_metadata for block in response.tool_calls] == [{MADE_UP_ID: True}, None, {MADE_UP_ID: True}]


def test_a_made_up_id_gives_way_to_one_that_comes_later():
    response = assemble(call("{", id="made", provider_metadata={MADE_UP_ID: True}), call("}", id="c1"))
    assert response.tool_calls == [ToolUseBlock("c1", "add", {})]


def test_asking_twice_gives_the_same_answer():
    assembler = Assembler()
    assembler.extend([call("{}", id=""), call("{}", id="", index=1)])
    assert assembler.response() == assembler.response()


# ---- arguments


@pytest.mark.parametrize("text", ["", "  \n", "null", " null ", "{}", '"{}"', '""', '"null"'])
def test_ways_to_say_that_there_are_no_arguments(text):
    assert parse_arguments(text) == ({}, None)


@given(json_objects)
def test_arguments_are_an_object_even_if_encoded_twice(arguments):
    text = json.dumps(arguments)
    assert parse_arguments(text) == (arguments, None)
    assert parse_arguments(json.dumps(text)) == (arguments, None)


@pytest.mark.parametrize("text", ["[]", "1", "true", '"text"', '{"a": ', "{}{}", '{"a": oslo}', '"{"', '"\\"{}\\""'])
def test_anything_else_is_invalid_and_kept_as_it_came(text):
    """L2."""
    assert parse_arguments(text) == ({}, text)


# ---- why it ended


@pytest.mark.parametrize("said", [*StopReason, None])
def test_calls_decide_whatever_the_provider_says(said):
    """L3."""
    stop = [] if said is None else [StopEvent(said)]
    assert assemble(call('{"a": 1}'), *stop).stop_reason is StopReason.TOOL_USE


@pytest.mark.parametrize("said", [StopReason.TOOL_USE, None])
def test_without_calls_there_is_no_tool_use(said):
    stop = [] if said is None else [StopEvent(said)]
    assert assemble(TextDelta("a"), *stop).stop_reason is StopReason.END_TURN


@pytest.mark.parametrize("said", [StopReason.MAX_TOKENS, StopReason.CONTENT_FILTER, StopReason.REFUSAL])
@pytest.mark.parametrize("arguments", ["", " ", '{"a": ', "{", '{"a": "{}'])
def test_a_call_that_the_end_of_the_answer_has_cut_is_none(said, arguments):
    """L3."""
    response = assemble(TextDelta("On it."), call(arguments), StopEvent(said, "length"))
    assert response == ModelResponse((TextBlock("On it."),), said, "length")


def test_only_the_call_begun_last_can_have_been_cut():
    """L3."""
    cut = StopEvent(StopReason.MAX_TOKENS)
    response = assemble(call(""), call("{]", id="c2", index=1), call('{"a"', id="c3", index=2), cut)
    assert [(block.id, block.invalid_arguments) for block in response.tool_calls] == [("c1", None), ("c2", "{]")]
    assert response.stop_reason is StopReason.MAX_TOKENS


@pytest.mark.parametrize("arguments", ["{}", "null", '"{}"'])
def test_a_complete_call_before_the_limit_is_one(arguments):
    response = assemble(call(arguments), StopEvent(StopReason.MAX_TOKENS))
    assert response.tool_calls == [ToolUseBlock("c1", "add", {})]
    assert response.stop_reason is StopReason.TOOL_USE


# ---- usage


def test_the_last_usage_counts():
    usage = assemble(UsageEvent(UsageStats(1, 2)), UsageEvent(UsageStats(1, 5))).usage
    assert usage == UsageStats(1, 5)


def test_what_a_later_usage_does_not_know_is_not_forgotten():
    """L9."""
    known = UsageStats(10, 1, cache_read_tokens=4)
    assert merge_usage(known, UsageStats()) == known
    assert merge_usage(UsageStats(total_tokens=9), UsageStats()) == UsageStats(total_tokens=9)
    assert merge_usage(known, UsageStats(output_tokens=7)) == UsageStats(10, 7, 21, cache_read_tokens=4)


@given(st.lists(st.builds(UsageStats, *[st.none() | st.integers(0, 99)] * 6), max_size=4))
def test_unknown_stays_unknown_only_if_nobody_knew(reports):
    usage = assemble(*map(UsageEvent, reports)).usage
    for name in ("input_tokens", "output_tokens", "thinking_tokens", "cache_read_tokens", "cache_creation_tokens"):
        told = [value for report in reports if (value := getattr(report, name)) is not None]
        assert getattr(usage, name) == (told[-1] if told else None)
