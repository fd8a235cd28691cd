"""Usage, events and responses."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

import kova
from kova import ModelResponse, StopReason, UsageStats

counts = st.none() | st.integers(0, 10_000)
usages = st.builds(UsageStats, counts, counts, counts, counts, counts, counts)

RESPONSE = kova.AgentResponse(
    text="5",
    new_messages=[kova.assistant_message("5")],
    stop_reason=StopReason.END_TURN,
    raw_stop_reason="stop",
    usage=UsageStats(input_tokens=7, output_tokens=3),
    last_input_tokens=7,
    llm_calls=1,
)


# ---- usage


def test_what_is_not_reported_is_unknown_and_not_zero() -> None:
    """L9."""
    assert set(attrs.asdict(UsageStats()).values()) == {None}
    assert UsageStats(thinking_tokens=5).total_tokens is None
    assert UsageStats().prompt_tokens is None


def test_the_total_is_as_reported_or_else_the_sum_of_what_is_known() -> None:
    assert UsageStats(7, 3).total_tokens == 10
    assert UsageStats(7, 3, total_tokens=12).total_tokens == 12
    assert UsageStats(7).total_tokens == 7
    assert UsageStats(7, 3, cache_read_tokens=100, cache_creation_tokens=20).total_tokens == 130
    assert UsageStats(7, 3, thinking_tokens=2).total_tokens == 10  # a part of the output


def test_the_whole_prompt_counts_what_came_from_a_cache() -> None:
    assert UsageStats(7, 3, cache_read_tokens=100, cache_creation_tokens=20).prompt_tokens == 127


def test_only_what_is_known_is_shown() -> None:
    assert repr(UsageStats(7, 3)) == "UsageStats(input_tokens=7, output_tokens=3, total_tokens=10)"
    assert repr(UsageStats()) == "UsageStats()"
    assert eval(repr(UsageStats(0, 3))) == UsageStats(0, 3)


def test_known_and_unknown_make_known() -> None:
    """L9."""
    total = UsageStats(7, 3) + UsageStats() + UsageStats(output_tokens=4, cache_read_tokens=1)
    assert total == UsageStats(7, 7, total_tokens=15, cache_read_tokens=1)
    assert UsageStats() + UsageStats() == UsageStats()


@given(usages, usages, usages)
def test_usage_adds_up_in_any_order(first: UsageStats, second: UsageStats, third: UsageStats) -> None:
    """L9."""
    assert first + second == second + first
    assert (first + second) + third == first + (second + third)
    assert first + UsageStats() == first
    for field in attrs.fields(UsageStats):
        known = [value for usage in (first, second) if (value := getattr(usage, field.name)) is not None]
        assert getattr(first + second, field.name) == (sum(known) if known else None)


def test_usage_adds_to_usage_only() -> None:
    with pytest.raises(TypeError):
        UsageStats(7, 3) + 5  # type: ignore[operator]  # that is the point


# ---- the answer to one call


def test_an_answer_in_the_order_in_which_it_was_given() -> None:
    call = kova.ToolUseBlock("call_1", "add", {"a": 2, "b": 3})
    answer = ModelResponse([kova.TextBlock("Let me "), call, kova.TextBlock("see.")])
    assert answer.content == (kova.TextBlock("Let me "), call, kova.TextBlock("see."))
    assert answer.text == "Let me see."
    assert answer.tool_calls == [call]
    assert (answer.thinking, answer.usage, answer.stop_reason) == (None, UsageStats(), StopReason.END_TURN)


def test_a_string_stands_for_one_text_block() -> None:
    """For a provider of one's own."""
    assert ModelResponse("Hello").content == (kova.TextBlock("Hello"),)
    assert ModelResponse().content == ()


def test_anything_but_blocks_is_refused() -> None:
    with pytest.raises(TypeError, match="text or of content blocks: got dict"):
        ModelResponse([{"type": "text", "text": "Hello"}])  # type: ignore[list-item]  # that is the point


# ---- events


EVENTS: list[Any] = [
    kova.TextDelta("Hel"),
    kova.ThinkingDelta("Hm"),
    kova.ToolUseDelta("call_1", "add", '{"a"'),
    kova.UsageEvent(UsageStats(7, 3)),
    kova.StopEvent(StopReason.END_TURN, "stop"),
    kova.ToolCallStarted("call_1", "add", {"a": 2}),
    kova.ToolCallFinished("call_1", "add", "5", False),
    kova.TurnCompleted(RESPONSE),
]


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: type(event).__name__)
def test_events_are_equal_by_value_and_hold_nothing_else(event: Any) -> None:
    assert copy.copy(event) == pickle.loads(pickle.dumps(event)) == event
    assert event != kova.TextDelta("another")
    with pytest.raises(AttributeError):
        event.note = "more"


def test_events_are_matched_by_their_fields() -> None:
    seen: list[object] = []
    for event in EVENTS:
        match event:
            case kova.TextDelta(text) | kova.ThinkingDelta(text):
                seen.append(text)
            case kova.ToolCallStarted(id=call_id, input={"a": number}):
                seen.append((call_id, number))
            case kova.ToolCallFinished(result=result, is_error=False):
                seen.append(result)
            case kova.TurnCompleted(response):
                seen.append(response.text)
    assert seen == ["Hel", "Hm", ("call_1", 2), "5", "5"]


def test_a_piece_of_text_is_the_same_object_for_provider_and_user() -> None:
    assert kova.ContentDelta is kova.TextDelta


def test_a_stop_reason_reads_as_its_name() -> None:
    assert [f"{reason}" for reason in StopReason] == [
        "end_turn",
        "tool_use",
        "max_tokens",
        "stop_sequence",
        "content_filter",
        "refusal",
        "pause_turn",
        "unknown",
    ]


# ---- the result of a turn


def test_new_messages_go_on_a_history() -> None:
    history = [kova.user_message("2 + 3?")]
    history += RESPONSE.new_messages
    assert history == [kova.user_message("2 + 3?"), kova.assistant_message("5")]


def test_responses_pickle() -> None:
    assert pickle.loads(pickle.dumps(RESPONSE)) == RESPONSE


@pytest.mark.parametrize(
    ("text", "html", "markdown"),
    [
        ("**5**", "**5**", "**5**"),
        ("a < b & c", "a &lt; b &amp; c", "a &lt; b & c"),
        ("<script>alert(1)</script>", "&lt;script&gt;alert(1)&lt;/script&gt;", "&lt;script>alert(1)&lt;/script>"),
        ("![x](https://evil.example/?q=secret)",) * 2 + ("&#33;[x](https://evil.example/?q=secret)",),
        (r"\![x][y]",) * 2 + (r"\&#33;[x][y]",),
    ],
)
def test_a_notebook_shows_the_text_and_runs_and_fetches_nothing(text: str, html: str, markdown: str) -> None:
    """S5."""
    response = attrs.evolve(RESPONSE, text=text)
    assert response._repr_html_() == f'<div style="white-space: pre-wrap">{html}</div>'
    assert response._repr_markdown_() == markdown
