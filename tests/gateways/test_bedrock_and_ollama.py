"""Converse, ConverseStream and Ollama's chat API, in the framing of aimock: canned answers behind real servers' bytes."""

from __future__ import annotations

from typing import Any

import pytest

import kova
from tests.canary import KEY
from tests.gateways import twins

pytestmark = pytest.mark.timeout(300)

HI = [kova.user_message("Say hello.")]
TEXT = "Hello! It is a fine day, is it not? Grüße 🦀"

each_twin = pytest.mark.parametrize("twin", twins.TWINS)
each_api = pytest.mark.parametrize("api", ["bedrock", "ollama"])


def provider(twin: str, api: str, url: str) -> Any:
    if api == "ollama":
        return twins.make(twin, "OllamaProvider", "llama3", base_url=url)
    keys = {"access_key_id": "AKIDEXAMPLE", "secret_access_key": KEY}
    model = "anthropic.claude-3-5-sonnet-20241022-v2:0"
    return twins.make(twin, "BedrockProvider", model, region="us-east-1", endpoint_url=url, **keys)


@each_twin
@each_api
@pytest.mark.parametrize("ask", [twins.complete, twins.streamed])
def test_a_text(aimock: str, api: str, twin: str, ask: Any) -> None:
    answer = ask(twin, provider(twin, api, aimock), HI)
    assert (answer.text, answer.stop_reason) == (TEXT, kova.StopReason.END_TURN)


@each_twin
@each_api
@pytest.mark.parametrize("streams", [False, True], ids=["complete", "streamed"])
def test_a_turn_with_a_tool(aimock: str, api: str, twin: str, streams: bool) -> None:
    response = twins.turn(twin, provider(twin, api, aimock), "What is 17 + 25?", streams=streams)
    assert twins.calls_and_results(response) == ([("add", {"a": 17, "b": 25})], ["42"])
    assert (response.text, response.llm_calls) == ("It is 42.", 2)


@each_twin
@each_api
@pytest.mark.parametrize("ask", [twins.complete, twins.streamed])
def test_two_calls_in_one_answer(aimock: str, api: str, twin: str, ask: Any) -> None:
    asked = [kova.user_message("Tell me the weather in two cities.")]
    answer = ask(twin, provider(twin, api, aimock), asked, [twins.get_weather.definition])
    assert [call.input for call in answer.tool_calls] == [{"city": "Tokyo"}, {"city": "Oslo"}]
    assert len({call.id for call in answer.tool_calls}) == 2
    assert answer.stop_reason is kova.StopReason.TOOL_USE


@each_twin
@each_api
@pytest.mark.parametrize("ask", [twins.complete, twins.streamed])
def test_an_error(aimock: str, api: str, twin: str, ask: Any) -> None:
    with pytest.raises(kova.ProviderError, match="slow down") as caught:
        ask(twin, provider(twin, api, aimock), [kova.user_message("You are asked too often.")])
    assert caught.value.provider_class is kova.ProviderErrorClass.RATE_LIMITED
