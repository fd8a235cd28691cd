"""The parts of the shell that need no terminal: answers to questions, commands, texts of calls, the choice of a model."""

from __future__ import annotations

from pathlib import Path

import pytest

import kova
from kova import ApprovalDecision
from kova.cli.approval_answers import decision_of
from kova.cli.call_text import call_lines, one_line, result_lines
from kova.cli.chat_loop import usage_line
from kova.cli.history_file import history_path
from kova.cli.known_providers import default_model, masked, seen_providers
from kova.cli.slash_commands import SlashCommand, parse
from kova.testing import ScriptedProvider


@pytest.mark.parametrize(
    ("answer", "decision"),
    [
        ("y", ApprovalDecision.APPROVED),
        (" YES ", ApprovalDecision.APPROVED),
        ("a", ApprovalDecision.APPROVED_FOR_SESSION),
        ("always", ApprovalDecision.APPROVED_FOR_SESSION),
        ("n", ApprovalDecision.DENIED),
        ("no, use staging", ApprovalDecision.denied("use staging")),
        ("N use staging", ApprovalDecision.denied("use staging")),
        ("", None),
        ("yes but not that", None),
        ("nothing", None),
        ("always no", None),
    ],
)
def test_what_an_answer_means(answer: str, decision: ApprovalDecision | None) -> None:
    assert decision_of(answer) == decision


@pytest.mark.parametrize(
    ("text", "command"),
    [
        ("/help", SlashCommand("help", "")),
        (" /Model openai:gpt-5 ", SlashCommand("model", "openai:gpt-5")),
        ("/etc/hosts", None),
        ("/etc/hosts is what?", None),
        ("a /help", None),
        ("//", None),
    ],
)
def test_what_is_a_command(text: str, command: SlashCommand | None) -> None:
    assert parse(text) == command


def test_a_call_is_shown_with_all_its_arguments() -> None:
    assert call_lines("add", {"a": 1, "b": [2]}) == ("add(a=1, b=[2])", [])
    assert call_lines("now", {}) == ("now()", [])
    long = "x" * 5_000
    assert call_lines("write", {"path": "a", "text": long}) == ("write", ['path = "a"', f'text = "{long}"'])
    assert call_lines("write", {"text": "one\ntwo\x1b[2J"}) == ("write", ["text = ", "    one", "    two"])


def test_of_a_result_the_beginning_is_shown() -> None:
    assert result_lines("one\n\x1b[31mtwo\n") == ["one", "two"]
    assert result_lines("\n".join("abcdefghijklmnop")) == [*"abcdefghijkl", "… 4 more lines"]
    image = kova.ImageBlock("image/png", data=b"x")
    assert result_lines((kova.TextBlock("see"), image)) == ["see", "[image, image/png]"]
    assert len(result_lines("x" * 10_000)[0]) < 500


def test_a_text_on_one_line() -> None:
    assert one_line("one\n two", 20) == "one two"
    assert one_line("one two three", 8) == "one two…"


def test_the_model_that_is_used_when_none_is_named() -> None:
    """KOVA_MODEL, else the first provider with a key, else the local model."""
    local, none = {"smollm2": None}, {"smollm2": "pip install it"}
    keys = {"GEMINI_API_KEY": "k", "ANTHROPIC_API_KEY": "k", "OPENAI_API_KEY": " "}
    assert default_model({**keys, "KOVA_MODEL": "ollama:qwen3"}, local) == "ollama:qwen3"
    assert default_model(keys, local) == "anthropic:claude-sonnet-4-5"
    assert default_model({"GOOGLE_API_KEY": "k"}, local) == "gemini:gemini-2.5-flash"
    assert default_model({"OPENAI_BASE_URL": "http://x", "AWS_PROFILE": "p"}, local) == "local:smollm2"
    with pytest.raises(kova.BuildError, match=r"KOVA_MODEL, or one of the keys OPENAI_API_KEY, .* pip install it$"):
        default_model({}, none)


def test_which_providers_are_set_up() -> None:
    environ = {"OPENAI_BASE_URL": "http://x", "OLLAMA_HOST": "", "AWS_PROFILE": "p"}
    assert [known.name for known in seen_providers(environ)] == ["openai", "bedrock"]


@pytest.mark.parametrize(
    ("key", "shown"), [("sk-1234567890abcd", "…abcd"), ("123456789012", "…9012"), ("short", "…"), ("", "…")]
)
def test_of_a_key_no_more_than_four_characters_are_shown(key: str, shown: str) -> None:
    assert masked(key) == shown


def test_where_conversations_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    environ = {"KOVA_HISTORY": "/a/b.db", "XDG_DATA_HOME": "/data"}
    assert history_path("/given.db", environ) == Path("/given.db")
    assert history_path(None, environ) == Path("/a/b.db")
    monkeypatch.setattr("sys.platform", "linux")
    assert history_path(None, {"XDG_DATA_HOME": "/data"}) == Path("/data/kova/history.db")
    assert history_path(None, {}) == Path("~/.local/share/kova/history.db").expanduser()
    monkeypatch.setattr("sys.platform", "darwin")
    assert history_path(None, {}) == Path("~/Library/Application Support/kova/history.db").expanduser()


def test_what_a_turn_has_cost() -> None:
    usage = kova.UsageStats(1000, 38, cache_read_tokens=412)
    model = ScriptedProvider(["Hi", usage, kova.StopReason.MAX_TOKENS])
    assert usage_line(kova.Agent(model).run("Hi"), 1.24) == "1,412 in · 38 out · 1.2 s · max_tokens"
    assert usage_line(kova.Agent(ScriptedProvider("Hi")).run("Hi"), 0) == "? in · ? out · 0.0 s"
