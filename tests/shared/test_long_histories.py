"""A tool loop over a long history: what was sent before is not made again, in any provider's format."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kova import _json
from kova._formats.anthropic import FORMAT as ANTHROPIC
from kova._formats.anthropic.config import AnthropicProviderConfig
from kova._formats.bedrock import FORMAT as BEDROCK
from kova._formats.bedrock.config import BedrockProviderConfig
from kova._formats.format import Format
from kova._formats.gemini import FORMAT as GEMINI
from kova._formats.gemini.config import GeminiProviderConfig
from kova._formats.ollama import FORMAT as OLLAMA
from kova._formats.ollama.config import OllamaProviderConfig
from kova._formats.openai import FORMAT as OPENAI
from kova._formats.openai.config import OpenAIProviderConfig
from kova._turn import Turn
from kova.config import InferenceConfig
from kova.messages import ConversationMessage, Role, ToolUseBlock, assistant_message, tool_message, user_message
from kova.responses import ModelResponse, StopReason, UsageStats
from kova.tools import ToolDefinition, ToolResult

FORMATS: dict[str, tuple[Format[Any], Any]] = {
    "anthropic": (ANTHROPIC, AnthropicProviderConfig("claude-sonnet-4-5", api_key="k")),
    "bedrock": (BEDROCK, BedrockProviderConfig("m", region="us-east-1")),
    "gemini": (GEMINI, GeminiProviderConfig("gemini-2.5-flash", api_key="k")),
    "ollama": (OLLAMA, OllamaProviderConfig("m")),
    "openai": (OPENAI, OpenAIProviderConfig("m", api_key="k")),
}
EXCHANGES = 500  # of four messages
ROUNDS = 10
LOOK_UP = ToolDefinition("look_up", "Look something up.", {"type": "object", "properties": {}})

# JSON that is made for a request besides its messages (options, tools), and for the two messages that are new.
FEW = 12


def long_history() -> list[ConversationMessage]:
    messages: list[ConversationMessage] = []
    for number in range(EXCHANGES):
        call = ToolUseBlock(f"call_{number}", "look_up", {"number": number})
        messages += [
            user_message(f"What is number {number}?"),
            ConversationMessage(Role.ASSISTANT, [call]),
            tool_message(f"call_{number}", f"result {number}"),
            assistant_message(f"It is {number}."),
        ]
    return [*messages, user_message("And now?")]


@pytest.mark.parametrize("budget", [None, 10**9], ids=["", "with a context budget"])
@pytest.mark.parametrize("name", FORMATS)
def test_each_message_is_encoded_once(name: str, budget: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten tool rounds over 2,000 messages: the first request encodes them, the later ones what is new."""
    made: list[object] = []
    dumps = _json.dumps
    monkeypatch.setattr(_json, "dumps", lambda value: made.append(value) or dumps(value))
    format, config = FORMATS[name]
    turn = Turn(
        long_history(),
        system_prompt="Be brief.",
        tools={},
        definitions=(LOOK_UP,),
        config=InferenceConfig(),
        max_iterations=ROUNDS,
        context_budget=budget,
    )
    counts: list[int] = []
    for number in range(ROUNDS + 1):
        made.clear()
        request = turn.next_request()
        body = format.build_request(config, "k", request.messages, request.tools, request.config, stream=False).body
        counts.append(len(made))
        texts = body.decode()
        assert all(texts.count(f'"result {index}"') == 1 for index in range(0, EXCHANGES, 100)), "it is all there"
        assert texts.count('"rain') == number
        if number < ROUNDS:
            call = ToolUseBlock(f"new_{number}", "look_up", {})
            turn.take_answer(ModelResponse((call,), StopReason.TOOL_USE, usage=UsageStats(1, 1)))
            turn.take_results([call], [ToolResult(f"rain {number}")])
    assert counts[0] >= EXCHANGES
    assert max(counts[1:]) <= FEW


@pytest.mark.parametrize("name", FORMATS)
def test_what_is_put_together_of_kept_parts_is_the_same(name: str) -> None:
    """As if it were encoded for the first time."""
    format, config = FORMATS[name]

    def body(messages: list[ConversationMessage]) -> Any:
        return json.loads(format.build_request(config, "k", messages, (LOOK_UP,), InferenceConfig(), stream=False).body)

    history = long_history()
    body(history[: 4 * 30])
    assert body(history) == body(long_history())
