"""Thinking in conversations: it goes back to its own provider as it came, and troubles no other one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import kova
from tests import server as play
from tests.server import Exchange, ModelServer

pytestmark = pytest.mark.anyio

THOUGHT = [
    {"type": "thinking", "thinking": "Hm, a sum.", "signature": "c2lnbmVk"},
    {"type": "thinking", "thinking": "", "signature": "ZW1wdHk="},
    {"type": "redacted_thinking", "data": "c2VjcmV0"},
    {"type": "tool_use", "id": "toolu_1", "name": "add", "input": {"a": 1, "b": 2}},
]
USAGE = {"input_tokens": 3, "output_tokens": 2}
REASONED = [
    {"reasoningContent": {"reasoningText": {"text": "Hm, a sum.", "signature": "c2lnbmVk"}}},
    {"reasoningContent": {"redactedContent": "c2VjcmV0"}},
    {"toolUse": {"toolUseId": "tooluse_1", "name": "add", "input": {"a": 1, "b": 2}}},
]
SIGNED_CALL = [
    {"functionCall": {"id": "fc_1", "name": "add", "args": {"a": 1, "b": 2}}, "thoughtSignature": "c2lnbmVk"},
]


@kova.tool
def add(a: int, b: int) -> int:
    """Add."""
    return a + b


def anthropic(content: list[Any], stop: str = "end_turn") -> Callable[[Exchange], None]:
    answer = {"type": "message", "role": "assistant", "model": "m", "content": content, "usage": USAGE}
    return lambda exchange: exchange.send_json({**answer, "stop_reason": stop})


def bedrock(content: list[Any], stop: str = "end_turn") -> Callable[[Exchange], None]:
    usage = {"inputTokens": 3, "outputTokens": 2, "totalTokens": 5}
    output = {"message": {"role": "assistant", "content": content}}
    return lambda exchange: exchange.send_json({"output": output, "stopReason": stop, "usage": usage})


def gemini(parts: list[Any]) -> Callable[[Exchange], None]:
    candidate = {"content": {"role": "model", "parts": parts}, "finishReason": "STOP"}
    return lambda exchange: exchange.send_json({"candidates": [candidate]})


def ollama(exchange: Exchange) -> None:
    message = {"role": "assistant", "content": "It is 3."}
    exchange.send_json({"model": "m", "message": message, "done": True, "done_reason": "stop"})


ANSWERS: dict[str, Callable[[Exchange], None]] = {
    "anthropic": anthropic([{"type": "text", "text": "It is 3."}]),
    "bedrock": bedrock([{"text": "It is 3."}]),
    "gemini": gemini([{"text": "It is 3."}]),
    "ollama": ollama,
    "openai": play.text("It is 3."),
}
CALLS: dict[str, Callable[[Exchange], None]] = {
    "anthropic": anthropic(THOUGHT, "tool_use"),
    "bedrock": bedrock(REASONED, "tool_use"),
    "gemini": gemini(SIGNED_CALL),
    "openai": play.calls(("add", {"a": 1, "b": 2})),
}


def provider(name: str, url: str) -> Any:
    keys: dict[str, Any] = {"region": "us-east-1", "access_key_id": "a", "secret_access_key": "s", "endpoint_url": url}
    made: dict[str, Callable[[], Any]] = {
        "anthropic": lambda: kova.AsyncAnthropicProvider("claude-sonnet-4-5", api_key="k", base_url=url),
        "bedrock": lambda: kova.AsyncBedrockProvider("anthropic.claude-sonnet-4-5-20250929-v1:0", **keys),
        "gemini": lambda: kova.AsyncGeminiProvider("gemini-3-pro", api_key="k", base_url=url),
        "ollama": lambda: kova.AsyncOllamaProvider("m", base_url=url),
        "openai": lambda: kova.AsyncOpenAICompatibleProvider("m", api_key="k", base_url=url),
    }
    return made[name]()


def sent_by_the_model(exchange: Exchange) -> Any:
    """What a request has as the model's first message."""
    body = exchange.json()
    messages = body.get("messages") or body.get("contents")
    message = next(message for message in messages if message["role"] in ("assistant", "model"))
    return message.get("content") or message.get("parts")


async def converse(server: ModelServer, store: kova.AsyncInMemoryStore, name: str, *answers: Any) -> None:
    server.play(*answers)
    async with provider(name, server.url) as model:
        response = await kova.AsyncAgent(model, tools=[add], memory=store).chat_response("c1", "1 + 2?")
    assert response.text == "It is 3."


@pytest.mark.parametrize(
    ("name", "thought"), [("anthropic", THOUGHT), ("bedrock", REASONED), ("gemini", SIGNED_CALL)], ids=["a", "b", "g"]
)
async def test_signed_thinking_goes_back_as_it_came(server: ModelServer, name: str, thought: list[Any]) -> None:
    """L8: in the turn itself, and from the store in the next one."""
    store = kova.AsyncInMemoryStore()
    await converse(server, store, name, CALLS[name], ANSWERS[name])
    assert sent_by_the_model(server.last) == thought
    await converse(server, store, name, ANSWERS[name])
    assert sent_by_the_model(server.last) == thought


@pytest.mark.parametrize("second", ANSWERS)
@pytest.mark.parametrize("first", CALLS)
async def test_a_conversation_goes_on_with_any_other_provider(server: ModelServer, first: str, second: str) -> None:
    """L8: and what is stored of it is unchanged."""
    store = kova.AsyncInMemoryStore()
    await converse(server, store, first, CALLS[first], ANSWERS[first])
    before, _ = await store.load("c1")
    await converse(server, store, second, ANSWERS[second])
    await converse(server, store, first, ANSWERS[first])
    after, _ = await store.load("c1")
    assert after[: len(before)] == before
    assert kova.check_history(after) == []
