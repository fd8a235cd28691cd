"""Gemini's API, as the LiteLLM proxy speaks it in front of the local model."""

from __future__ import annotations

from typing import Any

import pytest

import kova
from tests.gateways import twins
from tests.gateways.conftest import MASTER_KEY

pytestmark = pytest.mark.timeout(300)

SHORT = kova.InferenceConfig(max_tokens=12, temperature=0.0)
HI = [kova.user_message("Say hello.")]

each_twin = pytest.mark.parametrize("twin", twins.TWINS)


def provider(twin: str, url: str, model: str = "smollm2") -> Any:
    return twins.make(twin, "GeminiProvider", model, api_key=MASTER_KEY, base_url=url)


@each_twin
def test_a_text(litellm: str, twin: str) -> None:
    complete = twins.complete(twin, provider(twin, litellm), HI, (), SHORT)
    streamed = twins.streamed(twin, provider(twin, litellm), HI, (), SHORT)
    assert complete.text
    assert complete.text == streamed.text
    assert complete.usage.output_tokens
    assert complete.usage.output_tokens == streamed.usage.output_tokens


@each_twin
@pytest.mark.parametrize("streams", [False, True], ids=["complete", "streamed"])
def test_a_turn_with_a_tool(litellm: str, twin: str, streams: bool) -> None:
    config = kova.InferenceConfig(max_tokens=40, temperature=0.0)
    response = twins.turn(twin, provider(twin, litellm), "What is 17 + 25?", streams=streams, inference_config=config)
    assert twins.calls_and_results(response) == ([("add", {"a": 17, "b": 25})], ["42"])
    assert response.llm_calls == 2


@each_twin
@pytest.mark.parametrize("ask", [twins.complete, twins.streamed])
def test_a_model_that_there_is_not(litellm: str, twin: str, ask: Any) -> None:
    with pytest.raises(kova.ProviderError) as caught:
        ask(twin, provider(twin, litellm, "nothing"), HI, (), SHORT)
    assert caught.value.provider_class in (
        kova.ProviderErrorClass.NOT_FOUND,
        kova.ProviderErrorClass.INVALID_REQUEST,
    )
