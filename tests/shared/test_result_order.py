"""Results in the order of their calls, where an API has nothing else to pair them by."""

from hypothesis import given
from hypothesis import strategies as st

from kova._formats.result_order import in_call_order
from kova.messages import (
    ConversationMessage,
    Role,
    TextBlock,
    ToolResultBlock,
    ToolUseBlock,
    assistant_message,
    tool_message,
    user_message,
)


def calls(*ids):
    return assistant_message("", *[ToolUseBlock(id, "ping", {}) for id in ids])


def ids(messages):
    blocks = [block for message in messages for block in message.content]
    return [block.tool_use_id for block in blocks if isinstance(block, ToolResultBlock)]


def test_messages_in_order_stay_the_same():
    history = [user_message("Hi"), calls("a", "b"), tool_message("a", "1"), tool_message("b", "2"), calls("c")]
    assert in_call_order(history) is history


@given(st.permutations("abcd"), st.permutations("efg"))
def test_results_of_each_round_are_in_the_order_of_its_calls(first, second):
    history = [
        calls("a", "b", "c", "d"),
        tool_message(first[0], "1"),
        ConversationMessage(
            Role.USER, (ToolResultBlock(first[1], "2"), TextBlock("Also:"), ToolResultBlock(first[2], "3"))
        ),
        tool_message(first[3], "4"),
        calls("e", "f", "g"),
        *[tool_message(id, id) for id in second],
        user_message("And?"),
    ]
    ordered = in_call_order(history)
    assert ids(ordered) == list("abcdefg")
    assert [message.role for message in ordered] == [message.role for message in history]
    assert ordered[2].content[1] == TextBlock("Also:")


def test_a_result_without_a_call_comes_after_the_others():
    history = [calls("a", "b"), tool_message("?", "0"), tool_message("b", "2"), tool_message("a", "1")]
    assert ids(in_call_order(history)) == ["a", "b", "?"]


def test_an_id_that_is_used_again_is_that_of_the_last_call():
    history = [calls("a"), tool_message("a", "1"), calls("b", "a"), tool_message("a", "2"), tool_message("b", "3")]
    assert ids(in_call_order(history)) == ["a", "b", "a"]
