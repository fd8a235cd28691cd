"""`kova chat` keeps conversations, goes on with them, and works without a terminal."""

from __future__ import annotations

import re
import stat
import subprocess
from pathlib import Path

import kova
from kova.testing import ModelServer, call
from tests.shell.conftest import Chat
from tests.shell.terminal import KOVA

OVER = r"\? in ·"


def plain_chat(folder: Path, env: dict[str, str], said: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """A chat through pipes."""
    command = [*KOVA, "chat", *arguments]
    return subprocess.run(command, input=said, cwd=folder, env=env, capture_output=True, text=True, timeout=60)


def test_a_conversation_goes_on_where_it_was_left(model: ModelServer, chat: Chat) -> None:
    model.play("Hello Ada.", "You are Ada.")
    first = chat()
    first.say("I am Ada.")
    first.shows(OVER)
    first.press("C-d")
    screen = first.shows(r"to go on: kova chat --continue \S+")
    assert first.ends() == 0
    second = chat("--continue", re.findall(r"--continue (\S+)", screen)[0])
    second.shows("1 turn so far")
    second.shows("^> I am Ada.\n\nHello Ada.")
    second.say("Who am I?")
    second.shows("You are Ada.")
    sent = model.requests[1].json()["messages"]
    assert [message["content"] for message in sent] == ["I am Ada.", "Hello Ada.", "Who am I?"]


def test_what_was_said_is_under_the_arrow_key(model: ModelServer, chat: Chat) -> None:
    model.play("Hello Ada.")
    first = chat()
    first.say("I am Ada.")
    first.shows(OVER)
    first.press("C-d")
    first.ends()
    second = chat("--continue")
    second.press("Up")
    second.shows("^> I am Ada.", times=2)


def test_continue_without_an_id_is_the_last_one(model: ModelServer, folder: Path, env: dict[str, str]) -> None:
    model.play("one", "two", "three")
    plain_chat(folder, env, "first conversation\n")
    plain_chat(folder, env, "second conversation\n")
    plain_chat(folder, env, "more\n", "--continue")
    sent = [message["content"] for message in model.requests[2].json()["messages"]]
    assert sent == ["second conversation", "two", "more"]


def test_an_unknown_conversation_is_wrong_usage(model: ModelServer, folder: Path, env: dict[str, str]) -> None:
    none_yet = plain_chat(folder, env, "", "--continue")
    assert (none_yet.returncode, none_yet.stderr) == (2, "kova: --continue: there is no conversation yet\n")
    model.play("one")
    plain_chat(folder, env, "first\n")
    unknown = plain_chat(folder, env, "", "--continue", "nothing")
    assert unknown.returncode == 2
    assert re.search(r"there is no conversation nothing; the last ones are \d{8}-\d{6}-", unknown.stderr)


def test_where_conversations_are_kept(model: ModelServer, folder: Path, env: dict[str, str]) -> None:
    """By option, else by KOVA_HISTORY, else in the platform's folder; for the user alone, as kova's own store."""
    model.play("one", "two", "three")
    plain_chat(folder, env, "Hi\n", "--history", str(folder / "given" / "it.db"))
    plain_chat(folder, env, "Hi\n")
    at_home = {name: value for name, value in env.items() if name != "KOVA_HISTORY"}
    plain_chat(folder, {**at_home, "XDG_DATA_HOME": str(folder / "data"), "HOME": str(folder)}, "Hi\n")
    for file in (folder / "given" / "it.db", folder / "history.db"):
        with kova.SQLiteStore(file) as store:
            assert len(store.list_conversations()) == 1
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert len(list(folder.rglob("*.db"))) == 3


def test_without_a_terminal_it_is_plain(model: ModelServer, folder: Path, env: dict[str, str]) -> None:
    """Answers on standard output, as they are but for terminal escapes; all else on standard error."""
    model.play("**One**\x1b[31m.", "Two.")
    done = plain_chat(folder, env, "first\nsecond\n")
    assert done.returncode == 0
    assert done.stdout == "**One**.\nTwo.\n"
    assert "\x1b" not in done.stderr
    sent = [message["content"] for message in model.requests[1].json()["messages"]]
    assert sent == ["first", "**One**\x1b[31m.", "second"]


def test_without_a_terminal_calls_are_denied(model: ModelServer, folder: Path, env: dict[str, str]) -> None:
    model.play(call("add", a=1, b=2), "Then not.", call("add", a=1, b=2), "It is 3.")
    denied = plain_chat(folder, env, "1 + 2?\n", "--tools", "tools:add")
    assert denied.stdout == "Then not.\n"
    assert "the call of add was denied: there was no terminal to ask the user on; --yes runs all calls" in denied.stderr
    assert not (folder / "ran").exists()
    allowed = plain_chat(folder, env, "1 + 2?\n", "--tools", "tools:add", "--yes")
    assert allowed.stdout == "It is 3.\n"
    assert "[add(a=1, b=2)]\n[add] 3\n" in allowed.stderr
