"""The official clients, asked for an answer as their own documentation shows it, and what they made of it.

Each function makes one call to a server on this machine and says what came of it in the same words. What the client
puts together by itself is taken from there; google-genai, ollama and boto3 give the pieces of a stream only, and these
are joined as their documentation says.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import anthropic
import boto3
import botocore.config
import ollama
import openai
from attrs import frozen
from google import genai

from .cases import Case

Usage = dict[str, int | None]

MODEL = "test-model"


@frozen
class Outcome:
    """What a client makes of an answer.

    Attributes:
        text: What the user is shown.
        thinking: The model's reasoning, as far as it is shown; None where the client knows none.
        calls: Name and arguments of each tool call.
        usage: Tokens, under the names that kova has for them.
        stop: The provider's own word for why the answer ended.
    """

    text: str
    thinking: str | None
    calls: list[tuple[str, Any]]
    usage: Usage
    stop: str | None


def counts(input: int | None, output: int | None, thinking: int | None, read: int | None, written: int | None) -> Usage:
    """Usage under kova's names; what was not reported, and what is none, are the same here."""
    names = ("input_tokens", "output_tokens", "thinking_tokens", "cache_read_tokens", "cache_creation_tokens")
    return dict(zip(names, (number or None for number in (input, output, thinking, read, written)), strict=True))


# ---- OpenAI

# What the client declares no field for it hands on under the server's name, which the server's documentation says.
_REASONING = ("reasoning_content", "reasoning", "reasoning_text")
_CACHE_READ = ("prompt_cache_hit_tokens", "cache_read_input_tokens")


def ask_openai(url: str, case: Case) -> Outcome:
    with openai.OpenAI(api_key="k", base_url=f"{url}/v1", max_retries=0) as client:
        asked: dict[str, Any] = {"model": MODEL, "messages": [{"role": "user", "content": "Hi"}]}
        if case["mode"] == "stream":
            with client.chat.completions.stream(**asked, stream_options={"include_usage": True}) as stream:
                return _of_openai(stream.get_final_completion())
        return _of_openai(client.chat.completions.create(**asked))


def _of_openai(completion: Any) -> Outcome:
    choice = completion.choices[0]
    message = choice.message
    called = [call.function for call in message.tool_calls or ()] or [message.function_call]
    calls = [(function.name, _parsed(function.arguments)) for function in called if function]
    return Outcome(
        message.content or message.refusal or "",
        _first(message, _REASONING),
        calls,
        _openai_usage(completion.usage),
        choice.finish_reason,
    )


def _openai_usage(usage: Any) -> Usage:
    if usage is None:
        return counts(None, None, None, None, None)
    prompt, completion = usage.prompt_tokens_details, usage.completion_tokens_details
    cached = (prompt and prompt.cached_tokens) or _first(usage, _CACHE_READ) or 0
    written = _first(usage, ("cache_creation_input_tokens",)) or 0
    thinking = (completion and completion.reasoning_tokens) or _first(usage, ("reasoning_tokens",))
    return counts((usage.prompt_tokens or 0) - cached - written, usage.completion_tokens, thinking, cached, written)


def _first(answer: Any, names: tuple[str, ...]) -> Any:
    """The first of these fields that holds anything."""
    return next((value for name in names if (value := getattr(answer, name, None))), None)


def _parsed(arguments: Any) -> Any:
    """Arguments as their user reads them; as they came, where they are no JSON. No text at all means none."""
    if not isinstance(arguments, str):
        return arguments or {}
    try:
        return json.loads(arguments) if arguments.strip() else {}
    except ValueError:
        return arguments


# ---- Anthropic


def ask_anthropic(url: str, case: Case) -> Outcome:
    with anthropic.Anthropic(api_key="k", base_url=url, max_retries=0) as client:
        asked: dict[str, Any] = {
            "model": MODEL,
            "max_tokens": 1000,
            "messages": [{"role": "user", "content": "Hi"}],
        }
        if case["mode"] == "stream":
            with client.messages.stream(**asked) as stream:
                return _of_anthropic(stream.get_final_message())
        return _of_anthropic(client.messages.create(**asked))


def _of_anthropic(message: Any) -> Outcome:
    text = "".join(block.text for block in message.content if block.type == "text")
    thinking = "".join(block.thinking for block in message.content if block.type == "thinking")
    calls = [(block.name, block.input) for block in message.content if block.type == "tool_use"]
    usage = message.usage
    details = usage.output_tokens_details
    thought = details and details.thinking_tokens
    return Outcome(
        text,
        thinking or None,
        calls,
        counts(
            usage.input_tokens,
            usage.output_tokens,
            thought,
            usage.cache_read_input_tokens,
            usage.cache_creation_input_tokens,
        ),
        message.stop_reason,
    )


# ---- Gemini


def ask_gemini(url: str, case: Case) -> Outcome:
    options = genai.types.HttpOptions(base_url=url)
    with genai.Client(api_key="k", http_options=options) as client:
        if case["mode"] == "stream":
            return _of_gemini(list(client.models.generate_content_stream(model=MODEL, contents="Hi")))
        return _of_gemini([client.models.generate_content(model=MODEL, contents="Hi")])


def _of_gemini(chunks: list[Any]) -> Outcome:
    candidates = [chunk.candidates[0] for chunk in chunks if chunk.candidates]
    contents = [candidate.content for candidate in candidates if candidate.content]
    parts = [part for content in contents for part in content.parts or ()]
    calls = [(call.name, call.args or {}) for part in parts if (call := part.function_call)]
    finish = next((candidate.finish_reason for candidate in candidates[::-1] if candidate.finish_reason), None)
    blocked = next((chunk.prompt_feedback.block_reason for chunk in chunks if chunk.prompt_feedback), None)
    usage = next((chunk.usage_metadata for chunk in chunks[::-1] if chunk.usage_metadata), None)
    stop = finish or blocked
    return Outcome(
        "".join(part.text or "" for part in parts if not part.thought),
        "".join(part.text or "" for part in parts if part.thought) or None,
        calls,
        _gemini_usage(usage),
        stop and str(stop.value),
    )


def _gemini_usage(usage: Any) -> Usage:
    if usage is None:
        return counts(None, None, None, None, None)
    cached, thoughts = usage.cached_content_token_count, usage.thoughts_token_count
    prompt = (usage.prompt_token_count or 0) + (usage.tool_use_prompt_token_count or 0) - (cached or 0)
    return counts(prompt, (usage.candidates_token_count or 0) + (thoughts or 0), thoughts, cached, None)


# ---- Ollama


def ask_ollama(url: str, case: Case) -> Outcome:
    with ollama.Client(host=url) as client:
        asked: dict[str, Any] = {"model": MODEL, "messages": [{"role": "user", "content": "Hi"}]}
        if case["mode"] == "stream":
            return _of_ollama(list(client.chat(**asked, stream=True)))
        return _of_ollama([client.chat(**asked)])


def _of_ollama(lines: list[Any]) -> Outcome:
    messages = [line.message for line in lines if line.message]
    calls = [call.function for message in messages for call in message.tool_calls or ()]
    last = lines[-1]
    return Outcome(
        "".join(message.content or "" for message in messages),
        "".join(message.thinking or "" for message in messages) or None,
        [(call.name, dict(call.arguments)) for call in calls],
        counts(last.prompt_eval_count, last.eval_count, None, None, None),
        last.done_reason,
    )


# ---- Bedrock


def ask_bedrock(url: str, case: Case) -> Outcome:
    client = boto3.Session(aws_access_key_id="AKIDEXAMPLE", aws_secret_access_key="secret").client(
        "bedrock-runtime",
        region_name="us-east-1",
        endpoint_url=url,
        config=botocore.config.Config(retries={"total_max_attempts": 1}),
    )
    try:
        asked: dict[str, Any] = {"modelId": MODEL, "messages": [{"role": "user", "content": [{"text": "Hi"}]}]}
        if case["mode"] == "stream":
            return _of_bedrock_events(list(client.converse_stream(**asked)["stream"]))
        answer = client.converse(**asked)
        return _of_bedrock(answer["output"]["message"]["content"], answer.get("usage"), answer["stopReason"])
    finally:
        client.close()


def _of_bedrock(content: list[Any], usage: Any, stop: str | None) -> Outcome:
    thoughts = [block["reasoningContent"].get("reasoningText", {}) for block in content if "reasoningContent" in block]
    cited = [part["text"] for block in content for part in block.get("citationsContent", {}).get("content", ())]
    calls = [block["toolUse"] for block in content if "toolUse" in block]
    usage = usage or {}
    return Outcome(
        "".join([*(block.get("text", "") for block in content), *cited]),
        "".join(thought.get("text", "") for thought in thoughts) or None,
        [(call["name"], call["input"]) for call in calls],
        counts(
            usage.get("inputTokens"),
            usage.get("outputTokens"),
            None,
            usage.get("cacheReadInputTokens"),
            usage.get("cacheWriteInputTokens"),
        ),
        stop,
    )


def _of_bedrock_events(events: list[Any]) -> Outcome:
    """The blocks of a stream, put together by their index."""
    blocks: dict[int, dict[str, Any]] = {}
    usage = stop = None
    for event in events:
        if start := event.get("contentBlockStart"):
            call = start["start"].get("toolUse")
            blocks[start["contentBlockIndex"]] = {"toolUse": {**call, "input": ""}} if call else {}
        elif delta := event.get("contentBlockDelta"):
            _add(blocks.setdefault(delta["contentBlockIndex"], {}), delta["delta"])
        elif end := event.get("messageStop"):
            stop = end["stopReason"]
        elif metadata := event.get("metadata"):
            usage = metadata.get("usage")
    for block in blocks.values():
        if "toolUse" in block:
            block["toolUse"]["input"] = _parsed(block["toolUse"]["input"])
    return _of_bedrock([block for _, block in sorted(blocks.items())], usage, stop)


def _add(block: dict[str, Any], delta: dict[str, Any]) -> None:
    if "text" in delta:
        block["text"] = block.get("text", "") + delta["text"]
    elif "toolUse" in delta:
        block["toolUse"]["input"] += delta["toolUse"]["input"]
    elif "text" in delta.get("reasoningContent", {}):
        thought = block.setdefault("reasoningContent", {}).setdefault("reasoningText", {"text": ""})
        thought["text"] += delta["reasoningContent"]["text"]


CLIENTS: dict[str, Callable[[str, Case], Outcome]] = {
    "openai": ask_openai,
    "anthropic": ask_anthropic,
    "gemini": ask_gemini,
    "ollama": ask_ollama,
    "bedrock": ask_bedrock,
}
