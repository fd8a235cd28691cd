"""A timeline, printed: a line for each call."""

from __future__ import annotations

from kova import Timeline, TimelineAttempt, TimelineEntry, UsageStats

ATTEMPTS = (TimelineAttempt(0.0, 0.1, "ProviderError 429"), TimelineAttempt(0.2, 1.5))
INSIDE = Timeline([TimelineEntry("model", "claude", 1.6, 1.63, UsageStats(900, 120))])


def test_each_call_is_a_line_and_what_is_inside_stands_below_it() -> None:
    timeline = Timeline(
        [
            TimelineEntry("model", "gpt-5", 0.0, 1.5, UsageStats(120, 40), attempts=ATTEMPTS),
            TimelineEntry("tool", "expert", 1.5, 1.7, UsageStats(900, 120), nested=INSIDE),
            TimelineEntry("tool", "search", 1.5, 1.55, error="cancelled"),
            TimelineEntry("model", "", 1.7, 2.0),
        ]
    )
    assert str(timeline).splitlines() == [
        "model gpt-5         +0   1.5 s  160 tokens, 2 attempts",
        "tool expert     +1.5 s  200 ms  1,020 tokens",
        "  model claude  +1.6 s   30 ms  1,020 tokens",
        "tool search     +1.5 s   50 ms  cancelled",
        "model           +1.7 s  300 ms",
    ]


def test_a_turn_without_calls_is_empty() -> None:
    assert str(Timeline()) == ""


def test_names_cannot_steer_a_terminal() -> None:
    """S5."""
    text = str(Timeline([TimelineEntry("tool", "\x1b[2J\n\u202eevil", 0.0, 0.1)]))
    assert text == "tool �[2J��evil  +0  100 ms"
