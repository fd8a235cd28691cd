"""A conversation that goes from provider to provider: what one of them says, all others are sent in their own format.

Each provider's answer is made from the bytes of a case, and each request on the way is checked by the types of the
provider's own SDK, as are those that the whole conversation comes to in the end.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pytest

import kova
from kova import ConversationMessage, InferenceConfig, ThinkingBlock, ToolDefinition, ToolUseBlock
from tests.cases import run_cases as runner

from .cases import ANSWERS, Case
from .histories import DEFINITIONS, TOOLS
from .sdk_types import CHECKS
from .test_histories import body_of

CASES = {name: [case for case in ANSWERS.values() if case["provider"] == name] for name in CHECKS}
LONGEST = max(map(len, CASES.values()))
DEFAULTS = InferenceConfig()

PLAIN = {
    "openai": "openai-complete-finish-eos",
    "anthropic": "anthropic-stream-basic-order",
    "gemini": "gemini-stream-usage-every-chunk",
    "ollama": "ollama-stream-done-length",
    "bedrock": "bedrock-stream-basic",
}
"""Cases without calls, for the answers that follow on results."""


class Playing:
    """A provider whose server plays a case's bytes first, and plain answers after that.

    Attributes:
        bodies: Those of the requests that came.
    """

    def __init__(self, name: str, case: Case, server: runner.CaseServer) -> None:
        self.bodies: list[Any] = []
        self._server = server
        self._coming: Iterator[Case] = iter((case, *[ANSWERS[PLAIN[name]]] * 3))
        self._provider = runner.Script({"provider": name, "mode": "stream"}, server).provider("")

    def chat_completion_stream(
        self,
        messages: Sequence[ConversationMessage],
        tools: Sequence[ToolDefinition] = (),
        config: InferenceConfig = DEFAULTS,
    ) -> Iterator[kova.StreamEvent]:
        self._server.play(next(self._coming)["response"])
        with self._provider.chat_completion_stream(messages, tools, config) as stream:
            yield from stream
        request = self._server.first_post()
        assert request is not None
        self.bodies.append(request.json())

    def chat_completion(self, *arguments: Any) -> kova.ModelResponse:
        raise AssertionError("turns here are streamed")

    def close(self) -> None:
        self._provider.close()


def turn(name: str, case: Case, history: list[ConversationMessage]) -> list[ConversationMessage]:
    """What a turn adds to the history, with the provider's answer from the case."""
    with runner.CaseServer() as server:
        model = Playing(name, case, server)
        agent = kova.Agent(model, tools=TOOLS, tool_errors="report", system_prompt="Be brief.")
        try:
            with agent.run_stream(history) as stream:
                for _ in stream:
                    pass
                new_messages = stream.response.new_messages
        finally:
            model.close()
    for body in model.bodies:
        CHECKS[name](body)
    return list(new_messages)


def conversation(number: int) -> Iterator[tuple[str, Case]]:
    """The providers in an order of its own, each with one of its cases."""
    names = list(CHECKS)
    for name in names[number % 5 :] + names[: number % 5]:
        yield name, CASES[name][number % len(CASES[name])]


@pytest.mark.parametrize("number", range(LONGEST))
def test_a_conversation_goes_through_all_formats(number: int) -> None:
    """L8; all cases of all providers have their turn."""
    history: list[ConversationMessage] = []
    for name, case in conversation(number):
        history.append(kova.user_message(f"And what does {name} say?"))
        before = kova.messages_to_json(history)
        new_messages = turn(name, case, history)
        assert kova.messages_to_json(history) == before
        history += new_messages
    assert kova.check_history(history) == []
    history.append(kova.user_message("Thanks."))
    before = kova.messages_to_json(history)
    for name, check in CHECKS.items():
        check(body_of(name, history, DEFINITIONS, DEFAULTS, stream=True))
        check(body_of(name, history, (), DEFAULTS, stream=False))
    assert kova.messages_to_json(history) == before


def test_there_are_calls_and_thinking_among_the_answers() -> None:
    """Of each provider that has them: else the conversations would prove little."""
    for name, cases in CASES.items():
        blocks = [
            block
            for case in cases
            for message in turn(name, case, [kova.user_message("Hi")])
            for block in message.content
        ]
        assert sum(isinstance(block, ToolUseBlock) for block in blocks) >= 3, name
        assert any(isinstance(block, ThinkingBlock) for block in blocks) or name == "openai"
