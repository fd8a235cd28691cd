"""What providers make of answers that real servers have given, sent again byte for byte over a socket."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import kova
from kova.testing import Exchange, ModelServer
from tests.captures import ANSWERS, ERRORS, EXPECTED, captured, expected, raw, seen, seen_error

pytestmark = pytest.mark.anyio

HI = [kova.user_message("Hi")]

PROVIDERS: dict[str, Callable[[str], Any]] = {
    "openai": lambda url: kova.AsyncOpenAICompatibleProvider("m", base_url=url),
    "anthropic": lambda url: kova.AsyncAnthropicProvider("m", api_key="k", base_url=url),
    "gemini": lambda url: kova.AsyncGeminiProvider("m", api_key="k", base_url=url),
    "ollama": lambda url: kova.AsyncOllamaProvider("m", base_url=url),
    "bedrock": lambda url: kova.AsyncBedrockProvider(
        "m", region="us-east-1", endpoint_url=url, access_key_id="k", secret_access_key="s"
    ),
}


async def ask(name: str, *, stream: bool) -> kova.ModelResponse:
    def replay(exchange: Exchange) -> None:
        exchange.send_raw(raw(name))
        exchange.disconnect()

    with ModelServer(replay) as server:
        async with PROVIDERS[EXPECTED[name]["format"]](server.url) as model:
            if not stream:
                whole: kova.ModelResponse = await model.chat_completion(HI)
                return whole
            async with model.chat_completion_stream(HI) as events:
                async for _ in events:
                    pass
            response: kova.ModelResponse = events.response
            return response


@pytest.mark.parametrize("name", ANSWERS)
async def test_an_answer_is_what_the_server_meant(name: str) -> None:
    """L7."""
    assert seen(await ask(name, stream=captured(name).is_stream)) == expected(name)


@pytest.mark.parametrize("stream", [False, True], ids=["complete", "streamed"])
@pytest.mark.parametrize("name", ERRORS)
async def test_an_error_has_its_class(name: str, stream: bool) -> None:
    """R1."""
    with pytest.raises(kova.ProviderError) as caught:
        await ask(name, stream=stream)
    assert seen_error(caught.value) == expected(name)
