"""What `kova.testing.ModelServer` is given comes out of the socket, in the words of every API."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import kova
from kova.testing import ModelServer, ScriptedProvider, call
from tests.strategies import texts

HI = [kova.user_message("Hi")]

PROVIDERS: dict[str, Callable[[str], Any]] = {
    "openai": lambda url: kova.OpenAICompatibleProvider("m", base_url=url),
    "anthropic": lambda url: kova.AnthropicProvider("m", api_key="k", base_url=url),
    "gemini": lambda url: kova.GeminiProvider("m", api_key="k", base_url=url),
    "ollama": lambda url: kova.OllamaProvider("m", base_url=url),
    "bedrock": lambda url: kova.BedrockProvider(
        "m", region="us-east-1", endpoint_url=url, access_key_id="k", secret_access_key="s"
    ),
}

ANSWERS = st.builds(
    lambda thinking, said, calls: [*thinking, *said, *calls],
    st.lists(st.builds(kova.ThinkingDelta, texts), max_size=2),
    st.lists(texts, max_size=2),
    st.lists(st.builds(call, st.just("add"), st.dictionaries(texts, st.integers()) | texts), max_size=3),
)


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer() as running:
        yield running


def plain(block: kova.ToolUseBlock) -> object:
    """A call without what a provider attaches to it."""
    return block.id, block.name, block.input, block.invalid_arguments


@pytest.mark.parametrize("name", PROVIDERS)
@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(answer=ANSWERS)
def test_what_is_scripted_comes_out_of_the_socket(server: ModelServer, name: str, answer: list[Any]) -> None:
    """L7: the same as without a network, streamed and complete."""
    scripted = ScriptedProvider(answer).chat_completion(HI)
    server.play(answer, answer)
    with PROVIDERS[name](server.url) as provider:
        complete = provider.chat_completion(HI)
        with provider.chat_completion_stream(HI) as stream:
            for _ in stream:
                pass
        for response in (complete, stream.response):
            assert (response.text, response.thinking) == (scripted.text, scripted.thinking)
            assert [plain(block) for block in response.tool_calls] == [plain(block) for block in scripted.tool_calls]
            assert (response.stop_reason, response.usage) == (scripted.stop_reason, kova.UsageStats())
