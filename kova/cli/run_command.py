"""`kova run`: one turn, for scripts and pipes. The answer goes to standard output, and nothing else does."""

from __future__ import annotations

import argparse
import json
import sys
from threading import Lock
from typing import Any

from attrs import asdict

from .. import Agent, AgentResponse, TextDelta, ToolCallStarted, messages_to_json, user_message
from .._terminal import plain
from ..approvals import ApprovalDecision
from ..errors import BuildError
from ..messages import ToolUseBlock
from ..tools import ToolContext
from .agent_options import agent_builder, chosen_model
from .approval_answers import NOBODY, QUESTION, decision_of
from .call_text import call_lines
from .exit_codes import DONE
from .plain_stream import PlainStream

__all__ = ["LineApprovals", "response_object", "run"]


def run(options: argparse.Namespace) -> int:
    """Ask once, and print the answer."""
    prompt = _prompt(options.prompt)
    with agent_builder(options, LineApprovals()) as builder:
        with builder.provider(chosen_model(options)).build() as agent:
            if options.json:
                response = agent.run(prompt, timeout=options.timeout)
                print(json.dumps(response_object(prompt, response)))  # ASCII, so that escapes in it are harmless
            else:
                _stream(agent, prompt, options.timeout)
    return DONE


def response_object(prompt: str, response: AgentResponse) -> dict[str, Any]:
    """A response for programs. Its messages are a history that `kova.messages_from_json` reads."""
    return {
        "text": response.text,
        "usage": asdict(response.usage),
        "stop_reason": response.stop_reason.value,
        "model": response.model,
        "messages": json.loads(messages_to_json([user_message(prompt), *response.new_messages])),
    }


def _prompt(given: str) -> str:
    """The prompt, and below it what comes through a pipe or from a file."""
    try:
        piped = "" if sys.stdin is None or sys.stdin.isatty() else sys.stdin.buffer.read().decode("utf-8")
    except UnicodeDecodeError as error:
        raise BuildError("standard input is not UTF-8 text") from error
    prompt = "\n\n".join(part for part in (given, piped) if part.strip())
    if not prompt:
        raise BuildError('nothing to ask: kova run "PROMPT", or give it on standard input')
    return prompt


def _stream(agent: Agent, prompt: str, timeout: float | None) -> None:
    text, last = PlainStream(), "\n"
    with agent.run_stream(prompt, timeout=timeout) as stream:
        for event in stream:
            shown = ""
            if isinstance(event, TextDelta):
                shown = text.feed(event.text)
            elif isinstance(event, ToolCallStarted) and last != "\n":
                shown = "\n"  # what the model says before a call and after it is not one line
            if shown:
                last = shown[-1]
                sys.stdout.write(shown)
                sys.stdout.flush()
    rest = text.end()
    sys.stdout.write(rest if (rest or last).endswith("\n") else rest + "\n")


class LineApprovals:
    """Asks about tool calls on the terminal's error output, line by line; denies them where there is no terminal."""

    def __init__(self) -> None:
        self._one_at_a_time = Lock()

    def __call__(self, call: ToolUseBlock, context: ToolContext) -> ApprovalDecision:
        with self._one_at_a_time:
            if sys.stdin is None or not (sys.stdin.isatty() and sys.stderr.isatty()):
                _say(f"kova: the call of {plain(call.name)} was denied: {NOBODY}; --yes runs all calls\n")
                return ApprovalDecision.denied(NOBODY)
            head, lines = call_lines(call.name, call.input)
            _say("\n".join([head, *(f"  {line}" for line in lines)]) + "\n")
            while True:
                _say(QUESTION)
                answer = sys.stdin.readline()
                if not answer:
                    return ApprovalDecision.DENIED
                if (decision := decision_of(answer)) is not None:
                    return decision


def _say(text: str) -> None:
    sys.stderr.write(text)
    sys.stderr.flush()
