"""`kova chat` asks before it runs a tool."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

from kova.testing import Exchange, ModelServer, Part, call
from tests.shell.conftest import Chat

ASKED = r"^Run it\? y\(es\), a\(lways\), n\(o\) \[reason\]:"


def results(model: ModelServer) -> list[str]:
    """The results of tools that the last request told the model."""
    messages = model.requests[-1].json()["messages"]
    return [message["content"] for message in messages if message["role"] == "tool"]


def test_yes(model: ModelServer, chat: Chat, folder: Path) -> None:
    model.play(["Let me add.", call("add", a=1, b=2)], "It is 3.")
    terminal = chat("--tools", "tools:add")
    terminal.say("1 + 2?")
    screen = terminal.shows(ASKED)
    assert "Let me add.\n\n▸ add(a=1, b=2)\n" in screen
    assert not (folder / "ran").exists()
    terminal.say("y")
    terminal.shows("It is 3.")
    assert results(model) == ["3"]


def test_no_with_a_reason_which_the_model_is_told(model: ModelServer, chat: Chat, folder: Path) -> None:
    model.play(call("add", a=1, b=2), "Then not.")
    terminal = chat("--tools", "tools:add")
    terminal.say("1 + 2?")
    terminal.shows(ASKED)
    terminal.say("n do it in your head")
    terminal.shows("Then not.")
    assert results(model) == ["the call of add was denied: do it in your head"]
    assert not (folder / "ran").exists()


def test_always_holds_for_the_session_and_the_tool(model: ModelServer, chat: Chat) -> None:
    model.play(call("add", a=1, b=2), call("add", a=3, b=4), "It is 7.", call("shout", text="hi"), "HI.")
    terminal = chat("--tools", "tools:add", "--tools", "tools:shout")
    terminal.say("Add.")
    terminal.shows(ASKED)
    terminal.say("a")
    terminal.shows("It is 7.")
    terminal.say("Shout.")
    terminal.shows(ASKED, times=2)
    terminal.say("y")
    terminal.shows("HI.")


def test_an_answer_that_is_none_is_asked_for_again(model: ModelServer, chat: Chat, folder: Path) -> None:
    model.play(call("add", a=1, b=2), "It is 3.")
    terminal = chat("--tools", "tools:add")
    terminal.say("1 + 2?")
    terminal.shows(ASKED)
    terminal.say("yessir")
    terminal.shows(ASKED, times=2)
    assert not (folder / "ran").exists()
    terminal.say("yes")
    terminal.shows("It is 3.")


def test_what_was_typed_before_the_question_does_not_answer_it(model: ModelServer, chat: Chat, folder: Path) -> None:
    is_typed = threading.Event()

    def answer(exchange: Exchange) -> Iterator[Part]:
        yield "Wait."
        assert is_typed.wait(30)
        yield call("add", a=1, b=2)

    model.play(answer, "Then not.")
    terminal = chat("--tools", "tools:add")
    terminal.say("1 + 2?")
    terminal.shows("Wait.")
    terminal.say("y")
    is_typed.set()
    terminal.shows(ASKED)
    assert not (folder / "ran").exists()
    terminal.say("n")
    terminal.shows("Then not.")
    assert results(model) == ["the call of add was denied"]
    assert not (folder / "ran").exists()


def test_ctrl_c_at_the_question_stops_the_turn(model: ModelServer, chat: Chat, folder: Path) -> None:
    model.play(call("add", a=1, b=2), "Here again.")
    terminal = chat("--tools", "tools:add")
    terminal.say("1 + 2?")
    terminal.shows(ASKED)
    terminal.press("C-c")
    terminal.shows("stopped; this turn is not kept")
    assert not (folder / "ran").exists()
    terminal.say("Are you there?")
    terminal.shows("Here again.")


def test_each_of_several_calls_is_asked_for_below_its_arguments(model: ModelServer, chat: Chat) -> None:
    model.play([call("add", a=1, b=2), call("shout", text="one\ntwo")], "Done.")
    terminal = chat("--tools", "tools:add", "--tools", "tools:shout", size=(60, 40))
    terminal.say("Both.")
    for number in (1, 2):
        screen = terminal.shows(ASKED, times=number)
        above = screen.rstrip().rpartition("▸")[2]
        terminal.say("y" if above.startswith(" add(a=1, b=2)\nRun it?") else "n")
    screen = terminal.shows("Done.")
    assert "▸ shout\n    text =\n        one\n        two\nRun it?" in screen
    assert results(model) == ["3", "the call of shout was denied"]


def test_yes_runs_all(model: ModelServer, chat: Chat) -> None:
    model.play(call("add", a=1, b=2), "It is 3.")
    terminal = chat("--tools", "tools:add", "--yes")
    terminal.say("1 + 2?")
    assert "Run it?" not in terminal.shows("It is 3.")
    assert "▸ add(a=1, b=2)\n  3\n" in terminal.screen
