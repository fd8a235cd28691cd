"""`kova run`: one turn in a pipe or a script."""

from __future__ import annotations

import json
import shlex
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

import kova
from kova import ThinkingDelta, UsageStats
from kova.testing import Delay, Exchange, ModelServer, Part, call
from tests.shell.terminal import KOVA, Terminal, environment


@pytest.fixture
def run(folder: Path, env: dict[str, str]):  # type: ignore[no-untyped-def]
    """Runs `kova run` with these arguments and this standard input."""

    def start(*arguments: str, stdin: str = "", **more: str) -> subprocess.CompletedProcess[str]:
        command = [*KOVA, "run", *arguments]
        return subprocess.run(
            command, input=stdin, cwd=folder, env={**env, **more}, capture_output=True, text=True, timeout=60
        )

    return start


def asked(model: ModelServer) -> list[str]:
    return [message["content"] for message in model.requests[-1].json()["messages"]]


def test_the_answer_and_nothing_else(model: ModelServer, run) -> None:  # type: ignore[no-untyped-def]
    """Not the thinking, and no terminal escapes (S5)."""
    model.play([ThinkingDelta("Hm."), "Hel", "lo\x1b[31m there\x1b]0;x\x07."])
    done = run("Say hello.", "--system", "Be brief.")
    assert (done.returncode, done.stdout, done.stderr) == (0, "Hello there.\n", "")
    assert asked(model) == ["Be brief.", "Say hello."]


def test_a_file_goes_below_the_prompt(model: ModelServer, run) -> None:  # type: ignore[no-untyped-def]
    model.play("one", "two")
    run("Summarise:", stdin="A report.\n")
    assert asked(model) == ["Summarise:\n\nA report.\n"]
    run(stdin="What is 1 + 1?")
    assert asked(model) == ["What is 1 + 1?"]


def test_json(model: ModelServer, run) -> None:  # type: ignore[no-untyped-def]
    """One object; its messages are a history that kova reads."""
    model.play(call("add", a=1, b=2), ["It is \x1b[1m3.", UsageStats(7, 3)])
    done = run("1 + 2?", "--json", "--tools", "tools:add", "--yes")
    found = json.loads(done.stdout)
    assert done.stdout.count("\n") == 1
    assert "\x1b" not in done.stdout
    assert (found["text"], found["stop_reason"], found["model"]) == ("It is \x1b[1m3.", "end_turn", "m")
    assert found["usage"]["input_tokens"] == 7
    messages = kova.messages_from_json(found["messages"])
    assert [message.role.value for message in messages] == ["user", "assistant", "tool", "assistant"]


def test_text_comes_out_as_it_streams(model: ModelServer, folder: Path, env: dict[str, str]) -> None:
    is_read = threading.Event()

    def answer(exchange: Exchange) -> Iterator[Part]:
        yield "first\n"
        assert is_read.wait(30)
        yield "second\n"

    model.play(answer)
    with subprocess.Popen([*KOVA, "run", "Go"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, env=env) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"first\n"
        is_read.set()
        assert process.stdout.read() == b"second\n"
    assert process.returncode == 0


def test_a_reader_that_has_enough(model: ModelServer, folder: Path, env: dict[str, str]) -> None:
    """As `| head -1` does: quiet, and the server sees the program leave."""
    has_left = threading.Event()

    def endless(exchange: Exchange) -> Iterator[Part]:
        try:
            while True:
                yield "a line\n"
                yield Delay(0.01)
        finally:
            has_left.set()

    model.play(endless)
    command = f"{shlex.join(KOVA)} run Go | head -1"
    done = subprocess.run(
        command, shell=True, cwd=folder, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60
    )
    assert (done.stdout, done.stderr) == ("a line\n", "")
    assert has_left.wait(10)


def test_without_a_terminal_calls_are_denied(model: ModelServer, run, folder: Path) -> None:  # type: ignore[no-untyped-def]
    model.play(call("add", a=1, b=2), "Then not.")
    done = run("1 + 2?", "--tools", "tools:add")
    assert (done.returncode, done.stdout) == (0, "Then not.\n")
    assert done.stderr == (
        "kova: the call of add was denied: there was no terminal to ask the user on; --yes runs all calls\n"
    )
    assert asked(model)[-1] == "the call of add was denied: there was no terminal to ask the user on"
    assert not (folder / "ran").exists()


def test_in_a_terminal_it_asks(model: ModelServer, folder: Path, env: dict[str, str]) -> None:
    model.play(call("add", a=1, b=2), "It is 3.")
    with Terminal(folder, [*KOVA, "run", "1 + 2?", "--tools", "tools:add"], env) as terminal:
        terminal.shows(r"^add\(a=1, b=2\)\nRun it\?")
        terminal.say("y")
        terminal.shows("It is 3.")
        assert terminal.ends() == 0


def test_text_before_and_after_a_call_is_not_one_line(model: ModelServer, run) -> None:  # type: ignore[no-untyped-def]
    model.play(["Let me add.", call("add", a=1, b=2)], "It is 3.")
    assert run("1 + 2?", "--tools", "tools:add", "--yes").stdout == "Let me add.\nIt is 3.\n"


def test_max_tokens_and_model(model: ModelServer, run) -> None:  # type: ignore[no-untyped-def]
    model.play("one")
    run("Go", "--model", "openai:other", "--max-tokens", "5")
    body = model.requests[0].json()
    assert body["model"] == "other"
    assert 5 in (body.get("max_tokens"), body.get("max_completion_tokens"))


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "nothing to ask"),
        (["Go", "--model", "nobody:x"], "provider must be one of"),
        (["Go", "--tools", "tools"], "--tools wants MODULE:FUNCTION"),
        (["Go", "--tools", "tools:missing"], "the module tools has no missing"),
        (["Go", "--tools", "nowhere:add"], "ModuleNotFoundError"),
        (["Go", "--tools", "tools:add", "--tools", "tools:add"], "add"),
        (["Go", "--mcp", "'"], "not a command"),
    ],
)
def test_wrong_usage(run, arguments: list[str], said: str) -> None:  # type: ignore[no-untyped-def]
    done = run(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr
    assert done.stderr.startswith("kova: ")
    assert done.stderr.count("\n") == 1


def test_a_file_that_is_no_text(folder: Path, env: dict[str, str]) -> None:
    done = subprocess.run(
        [*KOVA, "run", "Go"], input=b"\xff\xfe\x00", cwd=folder, env=env, capture_output=True, timeout=60
    )
    assert (done.returncode, done.stderr) == (2, b"kova: standard input is not UTF-8 text\n")


def test_characters_that_the_output_does_not_have(model: ModelServer, run) -> None:  # type: ignore[no-untyped-def]
    model.play("caf\u00e9 \u2615")
    assert run("Go", PYTHONIOENCODING="ascii").stdout == "caf? ?\n"


def test_exit_codes_of_failures(model: ModelServer, run) -> None:  # type: ignore[no-untyped-def]
    """1 for an error of the API, 3 for a server that cannot be reached or takes too long."""
    model.play(lambda exchange: exchange.send_error(400, "no"), Delay(100.0))
    assert run("Go").returncode == 1
    late = run("Go", "--timeout", "0.5")
    assert (late.returncode, late.stdout) == (3, "")
    gone = run("Go", OPENAI_BASE_URL="http://127.0.0.1:9", stdin="")
    assert gone.returncode == 3


def test_no_model_at_all(folder: Path) -> None:
    """What to set is said."""
    code = """
import sys, kova._local.install as local
local.find_spec = lambda name: None  # nothing of the local models is installed
from kova.cli import main
sys.exit(main(["run", "Go"]))
"""
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, env=environment(), input="", capture_output=True, text=True, timeout=60)
    assert done.returncode == 2
    assert "KOVA_MODEL" in done.stderr
    assert "OPENAI_API_KEY" in done.stderr


def test_ctrl_c(model: ModelServer, folder: Path, env: dict[str, str]) -> None:
    is_asked = threading.Event()

    def silent(exchange: Exchange) -> Iterator[Part]:
        is_asked.set()
        yield Delay(100.0)

    model.play(silent)
    with subprocess.Popen(
        [*KOVA, "run", "Go"], stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, env=env, text=True
    ) as process:
        assert is_asked.wait(30)
        process.send_signal(signal.SIGINT)
        assert process.wait(10) == 130
        assert process.stderr is not None
        assert process.stderr.read() == ""
