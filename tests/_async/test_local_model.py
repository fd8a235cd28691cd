"""A real model behind a real server, through the two APIs that it speaks: OpenAI's and Anthropic's.

The server is the one that `"local:smollm2"` starts in this process; its oddities are told in `kova/_local/README.md`.
"""

from __future__ import annotations

from typing import Any

import pytest

import kova
from kova._local import local_base_url
from tests.canary import KEY

pytestmark = [pytest.mark.anyio, pytest.mark.local, pytest.mark.timeout(300)]

SHORT = kova.InferenceConfig(max_tokens=12, temperature=0.0)
HI = [kova.user_message("Say hello.")]
SUM = "What is 17 + 25?"
TOO_LONG = [kova.user_message("many words " * 9_000)]

PROVIDERS = {"openai": kova.AsyncOpenAICompatibleProvider, "anthropic": kova.AsyncAnthropicProvider}

both_ways = pytest.mark.parametrize("streamed", [False, True], ids=["complete", "streamed"])


@pytest.fixture
def anyio_backend() -> str:
    """One loop is enough: what is tried here is the server, which takes its time."""
    return "asyncio"


@pytest.fixture(params=PROVIDERS)
def api(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


def provider(api: str, **options: Any) -> Any:
    return PROVIDERS[api]("smollm2", **{"api_key": KEY, "base_url": local_base_url("smollm2"), **options})


@kova.tool
def add(a: int, b: int) -> int:
    """Add two integers."""
    return a + b


async def ask(model: Any, streamed: bool, *asked: Any) -> kova.ModelResponse:
    if not streamed:
        answer: kova.ModelResponse = await model.chat_completion(*asked)
        return answer
    async with model.chat_completion_stream(*asked) as stream:
        said = [event.text async for event in stream if isinstance(event, kova.TextDelta)]
    assert "".join(said) == stream.response.text
    streamed_answer: kova.ModelResponse = stream.response
    return streamed_answer


async def test_a_text(api: str) -> None:
    """L7, L9: the same text and the same counts, streamed or not."""
    async with provider(api) as model:
        complete, streamed = [await ask(model, way, HI, (), SHORT) for way in (False, True)]
    assert complete.text
    assert complete.content == streamed.content
    assert complete.usage == streamed.usage
    assert complete.usage.input_tokens
    assert complete.usage.output_tokens


@both_ways
async def test_an_answer_that_is_cut(api: str, streamed: bool) -> None:
    async with provider(api) as model:
        answer = await ask(
            model, streamed, [kova.user_message("Tell me a story.")], (), kova.InferenceConfig(max_tokens=3)
        )
    assert answer.stop_reason is kova.StopReason.MAX_TOKENS
    assert answer.usage.output_tokens == 3


async def test_a_turn_with_a_tool(api: str) -> None:
    """L7, L8: the call is the same streamed or not, and the server takes it back with its result."""
    config = kova.InferenceConfig(max_tokens=40, temperature=0.0)
    async with provider(api) as model:
        async with kova.AsyncAgent(model, tools=[add], inference_config=config).run_stream(SUM) as stream:
            async for _ in stream:
                pass
        complete = await model.chat_completion([kova.user_message(SUM)], [add.definition], config)
    response = stream.response
    blocks = [block for message in response.new_messages for block in message.content]
    [call] = [block for block in blocks if isinstance(block, kova.ToolUseBlock)]
    [result] = [block for block in blocks if isinstance(block, kova.ToolResultBlock)]
    assert (call.name, call.input) == ("add", {"a": 17, "b": 25})
    assert (result.tool_use_id, result.content) == (call.id, "42")
    assert response.llm_calls == 2
    assert response.usage.output_tokens
    assert [(same.name, same.input) for same in complete.tool_calls] == [(call.name, call.input)]
    assert complete.stop_reason is kova.StopReason.TOOL_USE


@both_ways
async def test_a_prompt_that_is_too_long(api: str, streamed: bool) -> None:
    async with provider(api) as model:
        with pytest.raises(kova.ProviderError, match="context size") as caught:
            await ask(model, streamed, TOO_LONG, (), SHORT)
    error = caught.value
    assert (error.is_context_length, error.is_retryable, error.status_code) == (True, False, 400)
    assert error.provider_class is kova.ProviderErrorClass.INVALID_REQUEST


@both_ways
async def test_an_address_that_the_server_does_not_know(api: str, streamed: bool) -> None:
    async with provider(api, base_url=local_base_url("smollm2") + "/nowhere/v1") as model:
        with pytest.raises(kova.ProviderError, match="Not Found") as caught:
            await ask(model, streamed, HI, (), SHORT)
    assert caught.value.provider_class is kova.ProviderErrorClass.NOT_FOUND


@both_ways
async def test_what_this_model_cannot_do(api: str, streamed: bool) -> None:
    """It takes no images, and says so with a status of 500."""
    image = kova.ImageBlock("image/png", b"\x89PNG\r\n\x1a\n")
    async with provider(api) as model:
        with pytest.raises(kova.ProviderError, match="image") as caught:
            await ask(model, streamed, [kova.user_message("What is this?", image)], (), SHORT)
    assert caught.value.status_code == 500


async def test_the_models_are_listed(api: str) -> None:
    async with provider(api) as model:
        assert "smollm2" in [info.id for info in await model.list_models()]


async def test_a_stream_that_is_left_early_leaves_the_server_free(api: str) -> None:
    """T11: it stops generating, else the next answer would have to wait for 512 tokens."""
    async with provider(api) as model:
        async with model.chat_completion_stream([kova.user_message("Tell me a story.")]) as stream:
            async for _ in stream:
                break
        assert (await model.chat_completion(HI, (), SHORT)).text
