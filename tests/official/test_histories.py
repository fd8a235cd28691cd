"""Whatever a turn leaves behind, each format's request passes the validation of the provider's own SDK."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import kova
from kova import ConversationMessage, InferenceConfig
from kova._formats.anthropic import FORMAT as ANTHROPIC
from kova._formats.bedrock import FORMAT as BEDROCK
from kova._formats.gemini import FORMAT as GEMINI
from kova._formats.ollama import FORMAT as OLLAMA
from kova._formats.openai import FORMAT as OPENAI

from .histories import DEFINITIONS, WEB_IMAGE, histories
from .sdk_types import CHECKS

FORMATS: dict[str, tuple[Any, Any]] = {
    "openai": (OPENAI, kova.OpenAIProviderConfig("gpt-5", reasoning_effort="low")),
    "anthropic": (ANTHROPIC, kova.AnthropicProviderConfig("claude-opus-4-6", effort="low")),
    "gemini": (GEMINI, kova.GeminiProviderConfig("gemini-3-pro", thinking_budget=-1)),
    "ollama": (OLLAMA, kova.OllamaProviderConfig("qwen3", think="low", keep_alive="5m")),
    "bedrock": (BEDROCK, kova.BedrockProviderConfig("m", region="us-east-1")),
}

FORM = kova.ResponseFormat(
    {
        "type": "object",
        "properties": {"town": {"type": "string", "enum": ["Oslo", "Rome"]}, "days": {"type": "array"}},
        "required": ["town"],
    },
    "weather",
)
settings_of_calls = st.builds(
    InferenceConfig,
    max_tokens=st.none() | st.integers(1, 9),
    temperature=st.none() | st.sampled_from([0, 0.5, 1]),
    top_p=st.none() | st.sampled_from([0, 0.5, 1]),
    stop_sequences=st.none() | st.just(["END"]),
    seed=st.none() | st.integers(0, 9),
    response_format=st.none() | st.just(FORM),
    tool_choice=st.sampled_from([None, "auto", "none"]),
)


def body_of(
    provider: str, history: list[ConversationMessage], tools: Any, inference: InferenceConfig, *, stream: bool
) -> Any:
    form, config = FORMATS[provider]
    return json.loads(form.build_request(config, "k", history, tools, inference, stream=stream).body)


@pytest.mark.parametrize("provider", CHECKS)
@given(
    history=histories(),
    has_tools=st.booleans(),
    has_system=st.booleans(),
    stream=st.booleans(),
    asked=settings_of_calls,
)
def test_a_history_that_turns_make_is_accepted(
    provider: str,
    history: list[ConversationMessage],
    has_tools: bool,
    has_system: bool,
    stream: bool,
    asked: InferenceConfig,
) -> None:
    """L8: with tools and settings, and without; what is stored is not changed."""
    before = kova.messages_to_json(history)
    assert kova.check_history(history) == []
    sent = [kova.system_message("Be brief."), *history] if has_system else history
    tools = DEFINITIONS if has_tools else ()
    if provider in ("ollama", "bedrock") and any(WEB_IMAGE in message.content for message in history):
        with pytest.raises(kova.ProviderError, match="kova fetches no URL"):  # these two take bytes only
            body_of(provider, sent, tools, asked, stream=stream)
    else:
        CHECKS[provider](body_of(provider, sent, tools, asked, stream=stream))
    assert kova.messages_to_json(history) == before


@pytest.mark.parametrize("provider", ["openai", "anthropic", "gemini", "bedrock"])
@pytest.mark.parametrize("choice", ["required", "add", "fs.read"])
def test_a_tool_that_must_be_called_is_asked_for_in_the_sdks_words(provider: str, choice: str) -> None:
    asked = InferenceConfig(tool_choice=choice)
    CHECKS[provider](body_of(provider, [kova.user_message("Hi")], DEFINITIONS, asked, stream=True))


@pytest.mark.parametrize("provider", CHECKS)
def test_the_checks_refuse_what_an_sdk_does_not_know(provider: str) -> None:
    """Else they would prove nothing."""
    body = body_of(provider, [kova.user_message("Hi")], DEFINITIONS, InferenceConfig(), stream=True)
    CHECKS[provider](body)
    body["contents" if provider == "gemini" else "messages"][0]["surprise"] = 1
    with pytest.raises(Exception, match="surprise"):
        CHECKS[provider](body)
