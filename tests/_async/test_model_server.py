"""`kova.testing.ModelServer` under every provider: the same scripts, each time in the words of another API."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import kova
from kova.testing import Answer, Delay, ModelServer, Part, call, provider_error

pytestmark = pytest.mark.anyio

HI = [kova.user_message("Hi")]

PROVIDERS: dict[str, Callable[[str], Any]] = {
    "openai": lambda url: kova.AsyncOpenAICompatibleProvider("m", api_key="k", base_url=url, timeout=5.0),
    "anthropic": lambda url: kova.AsyncAnthropicProvider("m", api_key="k", base_url=url, timeout=5.0),
    "gemini": lambda url: kova.AsyncGeminiProvider("m", api_key="k", base_url=url, timeout=5.0),
    "ollama": lambda url: kova.AsyncOllamaProvider("m", base_url=url, timeout=5.0),
    "bedrock": lambda url: kova.AsyncBedrockProvider(
        "m", region="us-east-1", endpoint_url=url, access_key_id="k", secret_access_key="s", timeout=5.0
    ),
}

CLASSES = list(kova.ProviderErrorClass)


@kova.tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@pytest.fixture(params=PROVIDERS)
def name(request: pytest.FixtureRequest) -> str:
    chosen: str = request.param
    return chosen


@pytest.fixture(params=["complete", "streamed"])
def way(request: pytest.FixtureRequest) -> str:
    chosen: str = request.param
    return chosen


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer() as running:
        yield running


async def turn(model: Any, way: str, **options: Any) -> kova.AgentResponse:
    agent = kova.AsyncAgent(model, tools=[add], retry_config=kova.RetryConfig.disabled(), **options)
    if way == "complete":
        return await agent.run("Hi")
    async with agent.run_stream("Hi") as stream:
        async for _ in stream:
            pass
    response: kova.AgentResponse = stream.response
    return response


async def ask(model: Any, way: str) -> kova.ModelResponse:
    if way == "complete":
        whole: kova.ModelResponse = await model.chat_completion(HI)
        return whole
    async with model.chat_completion_stream(HI) as stream:
        async for _ in stream:
            pass
    response: kova.ModelResponse = stream.response
    return response


# ---- turns


async def test_a_turn_with_tools_is_the_same_at_every_api(server: ModelServer, name: str, way: str) -> None:
    """T1, L7: text, several calls, thinking, usage; ids count through the conversation."""
    server.play(
        [
            kova.ThinkingDelta("Hm."),
            "Let me see.",
            call("add", a=1, b=2),
            call("add", a=3, b=4),
            kova.UsageStats(20, 8),
        ],
        [call("add", a=3, b=7), kova.UsageStats(40, 2)],
        ["It ", "is 10.", kova.UsageStats(60, 3)],
    )
    async with PROVIDERS[name](server.url) as model:
        response = await turn(model, way)
    results = [message for message in response.new_messages if message.role is kova.Role.TOOL]
    assert results == [kova.tool_message(f"call_{n}", text) for n, text in [(1, "3"), (2, "7"), (3, "10")]]
    assert (response.text, response.llm_calls, response.thinking) == ("It is 10.", 3, "Hm.")
    assert response.stop_reason is kova.StopReason.END_TURN
    assert (response.usage.input_tokens, response.usage.output_tokens) == (120, 13)
    assert response.model == (None if name == "bedrock" else "m")  # which names no model
    server.assert_used_up()


async def test_a_stream_comes_in_words(server: ModelServer, name: str) -> None:
    server.play(["It is ", "3."])
    async with PROVIDERS[name](server.url) as model:
        async with kova.AsyncAgent(model).run_stream("Hi") as stream:
            assert [text async for text in stream.text_deltas()] == ["It ", "is ", "3."]


async def test_usage_is_unknown_where_the_script_says_nothing_of_it(server: ModelServer, name: str, way: str) -> None:
    server.play("Hello")
    async with PROVIDERS[name](server.url) as model:
        assert (await ask(model, way)).usage == kova.UsageStats()


async def test_usage_comes_in_all_detail_that_the_api_has(server: ModelServer, name: str, way: str) -> None:
    server.play(["Hello", kova.UsageStats(100, 30, None, 10, 40, 7)])
    expected = {
        "openai": kova.UsageStats(100, 30, 177, 10, 40, 7),
        "anthropic": kova.UsageStats(100, 30, 177, 10, 40, 7),
        "gemini": kova.UsageStats(107, 30, 177, 10, 40),  # what was written to the cache is prompt like any other
        "ollama": kova.UsageStats(147, 30),  # two counts are all
        "bedrock": kova.UsageStats(100, 30, 177, None, 40, 7),
    }
    async with PROVIDERS[name](server.url) as model:
        assert (await ask(model, way)).usage == expected[name]


@pytest.mark.parametrize("answer", [[], [kova.StopReason.END_TURN], [kova.UsageStats(1, 0)]], ids=str)
async def test_an_empty_answer_is_an_answer(server: ModelServer, name: str, way: str, answer: Answer) -> None:
    """L12."""
    server.play(answer)
    async with PROVIDERS[name](server.url) as model:
        response = await turn(model, way)
    assert (response.text, response.stop_reason) == ("", kova.StopReason.END_TURN)


@pytest.mark.parametrize("reason", [kova.StopReason.MAX_TOKENS, kova.StopReason.CONTENT_FILTER])
async def test_an_answer_is_cut_off(server: ModelServer, name: str, way: str, reason: kova.StopReason) -> None:
    server.play(["It was a dark and", reason])
    if reason is kova.StopReason.CONTENT_FILTER:  # Anthropic refuses in its place, Ollama has no word for it
        instead = {"anthropic": kova.StopReason.REFUSAL, "ollama": kova.StopReason.UNKNOWN}
        reason = instead.get(name, reason)
    async with PROVIDERS[name](server.url) as model:
        assert (await ask(model, way)).stop_reason is reason


async def test_arguments_may_be_broken(server: ModelServer, name: str, way: str) -> None:
    """L4: also in APIs whose arguments are objects, which then get a text."""
    server.play(call("add", '{"a": 1'), "Sorry.")
    async with PROVIDERS[name](server.url) as model:
        response = await turn(model, way)
    assert "not a JSON object" in str(response.new_messages[1])
    assert response.text == "Sorry."


async def test_signed_thinking_comes_with_its_signature(server: ModelServer, name: str, way: str) -> None:
    """L5: and is not said twice where its text has come before."""
    signed = kova.ThinkingBlock("Hm, so.", "c2lnbmVk")
    server.play([kova.ThinkingDelta("Hm, "), kova.ThinkingDelta("so."), signed, "Yes."])
    async with PROVIDERS[name](server.url) as model:
        response = await ask(model, way)
        assert (response.thinking, response.text) == ("Hm, so.", "Yes.")
        kept = [block for block in response.content if isinstance(block, kova.ThinkingBlock)]
        if name in ("openai", "ollama"):  # which sign nothing
            assert kept == []
        elif name == "gemini":
            assert kept[0].provider_metadata is not None
            assert kept[0].provider_metadata["gemini_part"]["thoughtSignature"] == "c2lnbmVk"
        else:
            assert [(block.thinking, block.signature) for block in kept] == [("Hm, so.", "c2lnbmVk")]
        server.play("More.")
        await model.chat_completion([*HI, kova.ConversationMessage("assistant", response.content), *HI])
    assert (b"c2lnbmVk" in server.requests[1].body) == bool(kept)


async def test_a_call_may_come_in_pieces(server: ModelServer, name: str, way: str) -> None:
    pieces: list[Part] = [kova.ToolUseDelta("x", "add", text) for text in ('{"a":', "1,", '"b":2}')]
    server.play(["See:", *pieces, kova.ToolUseDelta("y", "add", '{"a":3,"b":4}', index=1)], "Done.")
    async with PROVIDERS[name](server.url) as model:
        response = await turn(model, way)
    assert [message.content for message in response.new_messages[1:3]] == [
        kova.tool_message("x", "3").content,
        kova.tool_message("y", "7").content,
    ]


async def test_models_are_listed(name: str) -> None:
    models = [kova.ModelInfo("a", 1_700_000_000), kova.ModelInfo("b:8b", raw={"context": 8})]
    with ModelServer("Hello", models=models) as server:
        async with PROVIDERS[name](server.url) as model:
            listed = await model.list_models()
            assert [info.id for info in listed] == ["a", "b:8b"]
            assert listed[1].raw["context"] == 8
            if name != "gemini":  # which says nothing of it
                assert listed[0].created == 1_700_000_000
            assert (await ask(model, "complete")).text == "Hello"
        assert [exchange.method for exchange in server.requests] == ["GET", "POST"]


# ---- faults


@pytest.mark.parametrize("kind", CLASSES)
async def test_errors_have_their_class(server: ModelServer, name: str, way: str, kind: kova.ProviderErrorClass) -> None:
    """R1."""
    server.play(kova.ProviderError("no", None, kind, retry_after=1.5, request_id="req_1"))
    async with PROVIDERS[name](server.url) as model:
        with pytest.raises(kova.ProviderError, match="^no$") as caught:
            await turn(model, way)
    assert (caught.value.provider_class, caught.value.provider) == (kind, name)
    assert (caught.value.retry_after, caught.value.request_id) == (1.5, "req_1")


@pytest.mark.parametrize("status", [400, 401, 403, 404, 429, 500, 503, 529])
async def test_errors_have_their_status(server: ModelServer, name: str, way: str, status: int) -> None:
    error = provider_error(status, "no", retry_after=2)
    server.play(error, lambda exchange: exchange.send_error(status, "no", {"retry-after": "2"}))
    async with PROVIDERS[name](server.url) as model:
        for _ in range(2):
            with pytest.raises(kova.ProviderError, match="^no$") as caught:
                await turn(model, way)
            assert (caught.value.status_code, caught.value.retry_after) == (status, 2)
            assert caught.value.provider_class is error.provider_class
            assert caught.value.is_retryable is error.is_retryable


@pytest.mark.parametrize("kind", CLASSES)
async def test_errors_in_the_middle_of_a_stream_have_their_class(
    server: ModelServer, name: str, kind: kova.ProviderErrorClass
) -> None:
    server.play(["It is ", kova.ProviderError("no", None, kind)])
    async with PROVIDERS[name](server.url) as model:
        async with model.chat_completion_stream(HI) as stream:
            assert await anext(stream) == kova.TextDelta("It ")
            with pytest.raises(kova.ProviderError, match="^no$") as caught:
                async for _ in stream:
                    pass
    assert caught.value.provider_class is kind


async def test_a_prompt_is_too_long(server: ModelServer, name: str, way: str) -> None:
    invalid = kova.ProviderErrorClass.INVALID_REQUEST
    server.play(kova.ProviderError("9 tokens > 8", 400, invalid, is_context_length=True))
    async with PROVIDERS[name](server.url) as model:
        with pytest.raises(kova.ProviderError, match="9 tokens > 8") as caught:
            await turn(model, way)
    assert caught.value.is_context_length


async def test_a_quota_is_used_up(server: ModelServer, name: str, way: str) -> None:
    limited = kova.ProviderErrorClass.RATE_LIMITED
    server.play(kova.ProviderError("no", 429, limited, is_quota_exhausted=True))
    async with PROVIDERS[name](server.url) as model:
        with pytest.raises(kova.ProviderError, match="no") as caught:
            await turn(model, way)
    assert caught.value.is_quota_exhausted is (name != "ollama")  # which knows no quotas


async def test_a_busy_model_is_asked_again(server: ModelServer, name: str, way: str) -> None:
    server.play(provider_error(429, "slow down", retry_after=0.01), "Hello")
    async with PROVIDERS[name](server.url) as model:
        agent = kova.AsyncAgent(model)
        if way == "complete":
            assert (await agent.run("Hi")).text == "Hello"
        else:
            async with agent.run_stream("Hi") as stream:
                assert [text async for text in stream.text_deltas()] == ["Hello"]
    server.assert_used_up()


@pytest.mark.parametrize("answer", [kova.ConnectionError("lost"), ["It is ", kova.ConnectionError("lost")]], ids=str)
async def test_a_connection_is_lost(server: ModelServer, name: str, way: str, answer: Answer) -> None:
    server.play(answer)
    async with PROVIDERS[name](server.url) as model:
        with pytest.raises(kova.ConnectionError):
            await turn(model, way)
    assert len(server.requests) == 1


async def test_silence_runs_into_the_timeout(server: ModelServer, name: str, way: str) -> None:
    server.play(["It is", Delay(math.inf)])
    async with PROVIDERS[name](server.url) as model:
        agent = kova.AsyncAgent(model)
        with pytest.raises(kova.TimeoutError):
            if way == "complete":
                await agent.run("Hi", timeout=0.1)
            else:
                async with agent.run_stream("Hi", timeout=0.1) as stream:
                    async for _ in stream:
                        pass


# ---- what one API says and another does not


async def test_a_call_that_goes_on_after_another_is_for_openai_alone() -> None:
    pieces: Answer = [kova.ToolUseDelta(id, "add", text, index=index) for text in "{}" for index, id in enumerate("xy")]
    with ModelServer(pieces) as server:
        async with PROVIDERS["openai"](server.url) as model:
            assert [block.id for block in (await ask(model, "streamed")).tool_calls] == ["x", "y"]
    with pytest.raises(TypeError, match="x goes on after another block"), ModelServer(pieces) as server:
        async with PROVIDERS["anthropic"](server.url) as model:
            with pytest.raises(kova.KovaError):
                await ask(model, "streamed")


async def test_one_server_answers_all_providers(server: ModelServer) -> None:
    server.always("Hello")
    for make in PROVIDERS.values():
        async with make(server.url) as model:
            assert (await ask(model, "complete")).text == "Hello"
    assert [exchange.path for exchange in server.requests] == [
        "/v1/chat/completions",
        "/v1/messages",
        "/v1beta/models/m:generateContent",
        "/api/chat",
        "/model/m/converse",
    ]
