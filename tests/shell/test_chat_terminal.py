"""`kova chat` in a real terminal: streaming, Ctrl-C, several lines, other sizes."""

from __future__ import annotations

import re
import textwrap
import threading
from collections.abc import Iterator
from pathlib import Path

from kova import ThinkingDelta, UsageStats
from kova.testing import Delay, Exchange, ModelServer, Part, call
from tests.shell.conftest import Chat

OVER = r"in · \S+ out · \d"  # what a turn has cost, which is shown at its end
FOR_EVER = 100.0  # seconds; ends when the client leaves


def test_text_is_shown_while_it_comes(model: ModelServer, chat: Chat) -> None:
    """The server sends the end of its answer only when the beginning is seen on the screen."""
    is_seen = threading.Event()

    def answer(exchange: Exchange) -> Iterator[Part]:
        yield "First the **beginning**, "
        assert is_seen.wait(30)
        yield "then the end."
        yield UsageStats(1412, 38)

    model.play(answer)
    terminal = chat()
    terminal.say("Go")
    assert "the end" not in terminal.shows("First the beginning,")
    is_seen.set()
    screen = terminal.shows(r"1,412 in · 38 out · \d+\.\d s")
    assert screen.count("First the beginning, then the end.") == 1


def test_markdown_is_drawn(model: ModelServer, chat: Chat) -> None:
    model.play("# Title\n\nSee [here](http://example.com/x) <b>now</b>.\n\n- one\n- two\n\n```python\nx = 1\n```\n")
    terminal = chat()
    terminal.say("Go")
    screen = terminal.shows(OVER)
    assert re.search(r"^Title$", screen, re.M)
    assert "See here (http://example.com/x) <b>now</b>." in screen
    assert " • one\n • two\n\n x = 1\n" in screen
    assert "```" not in screen


def test_thinking_is_dim(model: ModelServer, chat: Chat) -> None:
    model.play([ThinkingDelta("I wonder.\nHm."), "It is 3."])
    terminal = chat()
    terminal.say("Go")
    screen = terminal.shows(OVER)
    assert "I wonder.\nHm.\n\nIt is 3." in screen
    assert re.search(r"\x1b\[2;3m(\x1b\[\d+m)*I wonder\.", terminal.colours)


def test_ctrl_c_stops_the_turn_and_not_the_program(model: ModelServer, chat: Chat) -> None:
    """The server sees the program leave; nothing of the turn is kept."""
    has_left = threading.Event()

    def endless(exchange: Exchange) -> Iterator[Part]:
        yield "A long "
        try:
            yield Delay(FOR_EVER)
        finally:
            has_left.set()

    model.play(endless, "Here again.")
    terminal = chat()
    terminal.say("Go")
    terminal.shows("A long")
    terminal.press("C-c")
    terminal.shows("stopped; this turn is not kept")
    assert has_left.wait(10)
    terminal.say("Are you there?")
    terminal.shows("Here again.")
    sent = model.requests[1].json()["messages"]
    assert [message["content"] for message in sent] == ["Are you there?"]


def test_ctrl_c_while_a_tool_runs(model: ModelServer, chat: Chat, folder: Path) -> None:
    """The tool does not know how to stop: it is left behind, and holds up neither the chat nor the end of the program."""
    model.play(call("dawdle"), "Here again.")
    terminal = chat("--tools", "tools:dawdle", "--yes")
    terminal.say("Go")
    terminal.shows(r"dawdle\(\)")
    while not (folder / "dawdling").exists():
        terminal.shows(r"dawdle\(\)")
    terminal.press("C-c")
    terminal.shows("stopped; this turn is not kept")
    terminal.say("Are you there?")
    terminal.shows("Here again.")
    terminal.press("C-d")
    assert terminal.ends() == 0


def test_ctrl_c_before_the_model_has_begun(model: ModelServer, chat: Chat) -> None:
    model.play(Delay(FOR_EVER))
    terminal = chat()
    terminal.say("Go")
    terminal.shows("waiting for the model")
    terminal.press("C-c")
    assert "waiting for the model" not in terminal.shows("stopped; this turn is not kept")


def test_ctrl_c_at_the_prompt_first_clears_it_then_warns_then_leaves(chat: Chat) -> None:
    terminal = chat()
    terminal.type("half a sen")
    terminal.shows("half a sen")
    terminal.press("C-c")
    terminal.shows(r"^>$")
    terminal.press("C-c")
    terminal.shows("Ctrl-C again, or Ctrl-D, leaves")
    terminal.press("C-c")
    assert terminal.ends() == 0


def test_ctrl_d_leaves(chat: Chat) -> None:
    terminal = chat()
    terminal.press("C-d")
    assert terminal.ends() == 0


def test_a_message_of_several_lines(model: ModelServer, chat: Chat) -> None:
    model.play("Good.")
    terminal = chat()
    terminal.type("one")
    terminal.press("M-Enter")
    terminal.say("two")
    terminal.shows("Good.")
    assert model.requests[0].json()["messages"][-1]["content"] == "one\ntwo"


def test_what_is_typed_during_a_turn_waits_for_its_end(model: ModelServer, chat: Chat) -> None:
    """And is not shown in the middle of the answer."""
    is_typed = threading.Event()

    def answer(exchange: Exchange) -> Iterator[Part]:
        yield "One "
        assert is_typed.wait(30)
        yield "two."

    model.play(answer, "Three.")
    terminal = chat()
    terminal.say("Go")
    terminal.shows("One")
    terminal.say("go on")
    is_typed.set()
    screen = terminal.shows("Three.")
    assert "\nOne two.\n" in screen
    assert model.requests[1].json()["messages"][-1]["content"] == "go on"


def test_the_terminal_changes_its_size_in_a_turn(model: ModelServer, chat: Chat) -> None:
    """What was written for the old width is replaced: every word is there, once, and in order.

    The screen is full before: tmux moves lines off at the top that would have had room below.
    """
    is_narrow, is_wide = threading.Event(), threading.Event()
    words = [f"word{number}" for number in range(120)]

    def answer(exchange: Exchange) -> Iterator[Part]:
        yield " ".join(words[:40]) + " "
        assert is_narrow.wait(30)
        yield " ".join(words[40:80]) + " "
        assert is_wide.wait(30)
        yield " ".join(words[80:])

    model.play("- line\n" * 30, answer)
    terminal = chat(size=(100, 30))
    terminal.say("Fill the screen")
    terminal.shows(OVER)
    terminal.say("Go")
    terminal.shows("word39")
    terminal.resize(40, 30)
    terminal.shows(f"^{textwrap.wrap(' '.join(words[:40]), 40)[3]}$")
    is_narrow.set()
    terminal.shows("word79")
    terminal.resize(70, 30)
    terminal.shows(f"^{textwrap.wrap(' '.join(words[:80]), 70)[3]}$")
    is_wide.set()
    screen = terminal.shows(OVER, times=2)
    assert re.findall(r"word\d+", screen) == words


def test_an_answer_that_is_longer_than_the_terminal(model: ModelServer, chat: Chat) -> None:
    """Also when all of it is one block: what has gone off at the top is there once, as it should be."""
    items = [f"item {number}" for number in range(60)]
    model.play("\n".join(f"- {item}" for item in items) + "\n\n```text\n" + "\n".join(items) + "\n```\n")
    terminal = chat(size=(40, 10))
    terminal.say("Go")
    screen = terminal.shows(OVER)
    assert re.findall(r"item \d+", screen) == items * 2


def test_slash_commands(model: ModelServer, chat: Chat) -> None:
    model.play("Hello.", "A path.")
    terminal = chat()
    terminal.say("/help")
    terminal.shows("/history +the last conversations")
    terminal.say("/nonsense")
    terminal.shows("there is no /nonsense")
    terminal.say("/model nobody:x")
    terminal.shows("provider must be one of")
    terminal.say("/model openai:other")
    terminal.shows("^openai:other$")
    terminal.say("Hi")
    terminal.shows("Hello.")
    assert model.requests[0].json()["model"] == "other"
    terminal.say("/etc/hosts is what?")
    terminal.shows("A path.")
    terminal.say("/history")
    terminal.shows(r"^\d{8}-\d{6}-[0-9a-f]{4}  Hi$")
    terminal.say("/quit")
    assert terminal.ends() == 0


def test_an_error_of_the_provider_is_told_and_the_chat_goes_on(model: ModelServer, chat: Chat) -> None:
    model.play(lambda exchange: exchange.send_error(400, "no \x1b[31mthank you"), "Now yes.")
    terminal = chat()
    terminal.say("Go")
    terminal.shows("ProviderError: .*no thank you")
    terminal.say("Go")
    terminal.shows("Now yes.")
