"""Checking, repairing, trimming and measuring histories."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kova
from kova.history import check_history, estimate_tokens, repair_history, trim_history
from tests import strategies

PIXEL = kova.ImageBlock("image/png", b"\x89PNG")
HI = kova.user_message("Hi")
HELLO = kova.assistant_message("Hello")
BRIEF = kova.system_message("Be brief.")


def call(*ids: str, text: str = "") -> kova.ConversationMessage:
    return kova.assistant_message(text, *[kova.ToolUseBlock(call_id, "add", {"a": 1}) for call_id in ids])


def result(call_id: str, content: Any = "2") -> kova.ConversationMessage:
    return kova.tool_message(call_id, content)


def interrupted(call_id: str) -> kova.ConversationMessage:
    return kova.tool_message(call_id, "The call was interrupted: there is no result.", is_error=True)


def message(role: str, *blocks: kova.ContentBlock) -> kova.ConversationMessage:
    return kova.ConversationMessage(role, blocks)


# ---- histories to draw

UNHURRIED = settings(deadline=None, max_examples=70)

IDS = st.sampled_from(["a", "b", "c"])
CALLS = st.builds(kova.ToolUseBlock, IDS, strategies.tool_names, strategies.json_objects)
RESULTS = st.builds(kova.ToolResultBlock, IDS, st.sampled_from(["", "5", (kova.TextBlock(" "), PIXEL)]))
TEXTS = st.builds(kova.TextBlock, st.sampled_from(["", " \n", "text"]))
ANY_BLOCKS = CALLS | RESULTS | TEXTS | st.sampled_from([PIXEL, kova.ThinkingBlock("", "sig")])
MESSAGES = st.builds(kova.ConversationMessage, st.sampled_from(kova.Role), st.lists(ANY_BLOCKS, max_size=3))
LIKELY = st.one_of(
    st.builds(message, st.just("assistant"), CALLS),
    st.builds(message, st.just("assistant"), CALLS, CALLS),
    st.builds(message, st.just("tool"), RESULTS),
)
ANY_HISTORIES = st.lists(MESSAGES | LIKELY, max_size=8) | strategies.any_histories | strategies.histories


@st.composite
def good_histories(draw: st.DrawFn) -> list[kova.ConversationMessage]:
    """Turns as agents make them, with results as tool messages or as Anthropic's API has them; perhaps without end."""
    history = draw(st.sampled_from([[], [BRIEF], [HELLO]]))[:]
    for turn in range(draw(st.integers(0, 4))):
        history.append(draw(st.sampled_from([HI, message("user", PIXEL)])))
        for tool_round in range(draw(st.integers(0, 2))):
            ids = [f"call_{turn}_{tool_round}_{number}" for number in range(draw(st.integers(1, 3)))]
            history.append(call(*ids, text=draw(st.sampled_from(["", "Let me see."]))))
            if draw(st.booleans()):
                history += map(result, ids)
            else:
                results = [kova.ToolResultBlock(call_id, "2") for call_id in ids]
                history.append(message("user", *results, *draw(st.sampled_from([[], [kova.TextBlock("And?")]]))))
        history += draw(st.sampled_from([[HELLO], [message("assistant")], [], [HELLO, HELLO], [BRIEF, HELLO]]))
    return history


def same_objects(ours: list[kova.ConversationMessage], theirs: list[kova.ConversationMessage]) -> bool:
    return list(map(id, ours)) == list(map(id, theirs))


# ---- check


@pytest.mark.parametrize(
    ("history", "problems"),
    [
        ([HI, call("1")], ["messages[1].content[0]: the call '1' has no result"]),
        ([HI, call("1"), HI], ["messages[1].content[0]: the call '1' has no result"]),
        (
            [call("1", "2", text="Well:"), result("1"), HELLO],
            ["messages[0].content[2]: the call '2' has no result"],
        ),
        (
            [call("1"), call("2"), result("1"), result("2")],
            [
                "messages[0].content[0]: the call '1' has no result",
                "messages[2].content[0]: a result for '1', which is no call that waits for one",
            ],
        ),
        ([result("1")], ["messages[0].content[0]: a result for '1', which is no call that waits for one"]),
        (
            [call("1"), result("1"), result("1")],
            ["messages[2].content[0]: a result for '1', which is no call that waits for one"],
        ),
        (
            [call("1", "2"), result("2"), result("1")],
            ["messages[1].content[0]: the result for '2' comes before that for '1'"],
        ),
        (
            [call("1"), message("user", kova.TextBlock("Hm."), kova.ToolResultBlock("1", "2"))],
            [
                "messages[0].content[0]: the call '1' has no result",
                "messages[1].content[1]: a result for '1', which is no call that waits for one",
            ],
        ),
        (
            [call("1"), result("1"), call("1"), result("1")],
            ["messages[2].content[0]: an earlier call has the id '1' too"],
        ),
        ([call("1", "1"), result("1")], ["messages[0].content[1]: an earlier call has the id '1' too"]),
        ([kova.user_message("")], ["messages[0].content[0]: blank text"]),
        ([HI, kova.assistant_message(" \n")], ["messages[1].content[0]: blank text"]),
        (
            [call("1"), result("1", [kova.TextBlock(""), PIXEL])],
            ["messages[1].content[0]: blank text in a result"],
        ),
        ([message("system", PIXEL)], ["messages[0].content[0]: ImageBlock does not fit role system"]),
        ([message("tool", kova.TextBlock("5"))], ["messages[0].content[0]: TextBlock does not fit role tool"]),
        (
            [message("user", kova.ToolUseBlock("1", "add", {}))],
            ["messages[0].content[0]: ToolUseBlock does not fit role user"],
        ),
        (
            [message("user", kova.ThinkingBlock("Hm."))],
            ["messages[0].content[0]: ThinkingBlock does not fit role user"],
        ),
        (
            [call("1"), message("assistant", kova.ToolResultBlock("1", "2"))],
            [
                "messages[1].content[0]: ToolResultBlock does not fit role assistant",
                "messages[0].content[0]: the call '1' has no result",
            ],
        ),
    ],
)
def test_what_is_wrong_is_said_with_its_place(history: list[kova.ConversationMessage], problems: list[str]) -> None:
    assert check_history(history) == problems


@pytest.mark.parametrize(
    "history",
    [
        [],
        [HI],
        [BRIEF, HI, HELLO],
        [HELLO, HI],
        [HI, call("1", "2", text="Well:"), result("1"), result("2"), HELLO],
        [call("1", "2"), message("tool", kova.ToolResultBlock("1", "2"), kova.ToolResultBlock("2", "2"))],
        [call("1", "2"), result("1"), message("user", kova.ToolResultBlock("2", ""), kova.TextBlock("And?"))],
        [HI, message("assistant"), HI, message("assistant", kova.ThinkingBlock("", "sig"))],
        [message("user", PIXEL, kova.TextBlock("What is this?")), message("assistant", PIXEL)],
    ],
)
def test_nothing_is_wrong_with_what_providers_accept(history: list[kova.ConversationMessage]) -> None:
    """L12: an empty answer is among it, since it is not sent."""
    assert check_history(history) == []


@UNHURRIED
@given(good_histories())
def test_nothing_is_wrong_with_the_histories_of_agents(history: list[kova.ConversationMessage]) -> None:
    assert check_history(history) == []


# ---- repair


@pytest.mark.parametrize(
    ("history", "repaired"),
    [
        ([HI, call("1", "2"), result("1")], [HI, call("1", "2"), result("1"), interrupted("2")]),
        ([HI, call("1", "2"), HI], [HI, call("1", "2"), interrupted("1"), interrupted("2"), HI]),
        ([call("1", "2"), result("2"), result("1"), HELLO], [call("1", "2"), result("1"), result("2"), HELLO]),
        ([call("1"), HI, result("1")], [call("1"), result("1"), HI]),
        ([result("0"), call("1"), result("1"), result("1")], [call("1"), result("1")]),
        (
            [call("1"), call("2"), result("1"), result("2")],
            [call("1"), interrupted("1"), call("2"), result("2")],
        ),
        (
            [call("1"), message("user", kova.TextBlock("Hm."), kova.ToolResultBlock("1", "2"))],
            [call("1"), result("1"), kova.user_message("Hm.")],
        ),
        ([call("1"), kova.assistant_message(" "), result("1")], [call("1"), result("1")]),
        (
            [call("1"), result("1"), call("1"), result("1", "3")],
            [call("1"), result("1"), call("1_2"), result("1_2", "3")],
        ),
        (
            [call("1", "1"), result("1"), result("1", "3")],
            [call("1", "1_2"), result("1"), result("1_2", "3")],
        ),
        ([call("1"), result("1", [kova.TextBlock("")])], [call("1"), result("1", "")]),
        ([call("1"), result("1", [kova.TextBlock(""), PIXEL])], [call("1"), result("1", [PIXEL])]),
        ([kova.user_message(""), HI, message("tool", kova.TextBlock("5"))], [HI]),
        ([message("user", kova.TextBlock("Hi"), kova.ThinkingBlock("Hm."))], [HI]),
        ([message("assistant"), kova.user_message(" ")], [message("assistant")]),
    ],
)
def test_what_is_wrong_is_put_right(
    history: list[kova.ConversationMessage], repaired: list[kova.ConversationMessage]
) -> None:
    assert repair_history(history) == repaired
    assert check_history(repaired) == []


@UNHURRIED
@given(ANY_HISTORIES)
def test_any_messages_can_be_repaired_and_then_stay_as_they_are(history: list[kova.ConversationMessage]) -> None:
    """L5: each call has exactly one result, whatever was interrupted."""
    before = history[:]
    repaired = repair_history(history)
    assert check_history(repaired) == []
    assert same_objects(repair_history(repaired), repaired)
    assert same_objects(history, before)


@UNHURRIED
@given(good_histories())
def test_a_good_history_comes_back_as_it_is(history: list[kova.ConversationMessage]) -> None:
    repaired = repair_history(history)
    assert same_objects(repaired, history)
    assert repaired is not history


@UNHURRIED
@given(good_histories(), ANY_HISTORIES)
def test_what_is_good_in_a_bad_history_stays_as_it_is(
    good: list[kova.ConversationMessage], bad: list[kova.ConversationMessage]
) -> None:
    """What was encoded for a request is kept on the messages, and so it is not encoded again."""
    repaired = repair_history([*good, message("assistant", kova.TextBlock("And now:")), *bad])
    assert same_objects(repaired[: len(good)], good)


def test_a_repaired_call_keeps_what_belongs_to_it() -> None:
    twice = kova.ToolUseBlock("1", "add", {}, {"signature": "c2ln"}, invalid_arguments="{")
    history = [message("assistant", twice), result("1"), message("assistant", kova.ThinkingBlock("", "sig"), twice)]
    again = kova.ToolUseBlock("1_2", "add", {}, {"signature": "c2ln"}, invalid_arguments="{")
    assert repair_history(history)[2] == message("assistant", kova.ThinkingBlock("", "sig"), again)


# ---- trim


def test_the_oldest_messages_go_up_to_one_of_the_users() -> None:
    history = [HI, HELLO, HI, call("1"), result("1"), HELLO, kova.user_message("Bye"), HELLO]
    assert trim_history(history, 8) == history
    assert trim_history(history, 7) == history[2:]
    assert trim_history(history, 6) == history[2:]
    assert trim_history(history, 5) == history[6:]
    assert trim_history(history, 2) == history[6:]
    assert trim_history(history, 1) == history[6:]


def test_a_system_message_at_the_beginning_stays_and_counts() -> None:
    history = [BRIEF, HI, HELLO, HI, BRIEF, HELLO]
    assert trim_history(history, 4) == [BRIEF, HI, BRIEF, HELLO]
    assert trim_history(history, 3) == [BRIEF, HI, BRIEF, HELLO]
    assert trim_history([HI, BRIEF, HI, HELLO], 2) == [HI, HELLO]


def test_a_message_of_the_users_with_results_is_no_place_to_cut() -> None:
    answer = message("user", kova.ToolResultBlock("1", "2"), kova.TextBlock("And?"))
    history = [HI, HELLO, HI, call("1"), answer, HELLO]
    assert trim_history(history, 2) == history[2:]


def test_without_the_user_nothing_can_be_cut() -> None:
    history = [BRIEF, HELLO, call("1"), result("1")]
    assert trim_history(history, 1) == history


def test_an_impossible_limit_is_refused() -> None:
    with pytest.raises(ValueError, match="max_messages must be at least 1, not 0"):
        trim_history([HI], 0)


@UNHURRIED
@given(good_histories())
def test_wherever_a_history_is_trimmed_it_stays_a_history(history: list[kova.ConversationMessage]) -> None:
    """L6: pairs intact, the system message and the last message of the user's kept; no more dropped than needed."""
    has_system = history[:1] == [BRIEF]
    asked = [index for index, each in enumerate(history) if each.role is kova.Role.USER]
    for limit in range(1, len(history) + 2):
        trimmed = trim_history(history, limit)
        assert check_history(trimmed) == []
        assert trimmed[:1] == history[:1] or not has_system
        rest = trimmed[has_system:]
        assert same_objects(rest, history[len(history) - len(rest) :])
        assert not asked or len(history) - len(rest) <= asked[-1]
        assert len(rest) == len(history) - has_system or rest[0].role is kova.Role.USER
        assert same_objects(trim_history(trimmed, limit), trimmed)
        assert len(trim_history(history, limit + 1)) >= len(trimmed)
        if len(trimmed) > limit:
            assert trimmed == trim_history(history, 1)


@UNHURRIED
@given(ANY_HISTORIES, st.integers(1, 9))
def test_trimming_parts_no_pair_of_any_messages(history: list[kova.ConversationMessage], limit: int) -> None:
    """L6: what follows the cut answers no call from before it."""
    trimmed = trim_history(history, limit)
    if len(trimmed) == len(history):
        return
    has_system = history[0].role is kova.Role.SYSTEM
    cut = len(history) - len(trimmed) + has_system
    calls: dict[str, int] = {}
    for index, each in enumerate(history):
        for block in each.content:
            if isinstance(block, kova.ToolUseBlock):
                calls[block.id] = index
            elif isinstance(block, kova.ToolResultBlock) and index >= cut:
                assert calls.get(block.tool_use_id, index) >= cut


# ---- size


def test_a_token_is_about_four_characters() -> None:
    assert estimate_tokens([kova.user_message("x" * 4_000)]) == pytest.approx(1_000, rel=0.01)
    assert estimate_tokens([result("1", "x" * 4_000)]) == pytest.approx(1_000, rel=0.01)
    assert estimate_tokens([message("assistant", kova.ThinkingBlock("x" * 4_000))]) == pytest.approx(1_000, rel=0.01)
    arguments = message("assistant", kova.ToolUseBlock("1", "add", {"a": "x" * 4_000}))
    assert estimate_tokens([arguments]) == pytest.approx(1_000, rel=0.01)


def test_an_image_is_a_constant_wherever_it_is() -> None:
    for size in (10, 1_000_000):
        image = kova.ImageBlock("image/png", bytes(size))
        assert estimate_tokens([kova.user_message("", image)]) == pytest.approx(1_000, rel=0.01)
        assert estimate_tokens([result("1", [image, image])]) == pytest.approx(2_000, rel=0.01)


def test_other_scripts_count_for_more() -> None:
    assert estimate_tokens([kova.user_message("猫" * 400)]) == pytest.approx(300, rel=0.05)


def test_tools_are_counted() -> None:
    tool = kova.ToolDefinition("add", "x" * 400, {"type": "object", "description": "x" * 400})
    assert estimate_tokens([HI], [tool, tool]) - estimate_tokens([HI]) == pytest.approx(400, rel=0.1)


def test_what_cannot_be_written_cannot_be_measured() -> None:
    with pytest.raises(kova.SerializationError, match="cannot be measured"):
        estimate_tokens([message("assistant", kova.ToolUseBlock("1", "add", {"a": object()}))])


@UNHURRIED
@given(ANY_HISTORIES, ANY_HISTORIES)
def test_the_estimate_of_two_histories_is_the_sum(
    one: list[kova.ConversationMessage], other: list[kova.ConversationMessage]
) -> None:
    assert estimate_tokens(one) + estimate_tokens(other) == estimate_tokens(one + other)
    assert estimate_tokens(one) >= 0
