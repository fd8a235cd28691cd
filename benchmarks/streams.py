"""The bytes of a long streamed answer in each provider's format, as they come off a connection."""

import functools
import json
import struct
import zlib
from collections.abc import Callable, Iterator
from typing import Any

PIECE = "word "
PROMPT_TOKENS = 12


@functools.cache
def pieces(provider: str, events: int) -> list[bytes]:
    """An answer of so many pieces of text, each of which arrives by itself, as from most models."""
    return list(STREAMS[provider](events))


def _openai(events: int) -> Iterator[bytes]:
    def chunk(choices: list[Any], **more: Any) -> bytes:
        fields = {
            "id": "chatcmpl-B9MHDbslfkBeAs8l4bebGdFOJ6PeG",
            "object": "chat.completion.chunk",
            "created": 1741570283,
        }
        return _sse({**fields, "model": "m", "system_fingerprint": "fp_44709d6fcb", "choices": choices, **more})

    def choice(delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
        return {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}

    yield chunk([choice({"role": "assistant", "content": ""})], usage=None)
    for _ in range(events):
        yield chunk([choice({"content": PIECE})], usage=None)
    yield chunk([choice({}, "stop")], usage=None)
    yield chunk([], usage={"prompt_tokens": PROMPT_TOKENS, "completion_tokens": events})
    yield b"data: [DONE]\n\n"


def _anthropic(events: int) -> Iterator[bytes]:
    def event(kind: str, **fields: Any) -> bytes:
        return b"event: %b\n%b" % (kind.encode(), _sse({"type": kind, **fields}))

    message = {"id": "msg_01", "type": "message", "role": "assistant", "model": "m", "content": []}
    usage = {"input_tokens": PROMPT_TOKENS, "output_tokens": 1}
    yield event("message_start", message={**message, "usage": usage})
    yield event("content_block_start", index=0, content_block={"type": "text", "text": ""})
    for _ in range(events):
        yield event("content_block_delta", index=0, delta={"type": "text_delta", "text": PIECE})
    yield event("content_block_stop", index=0)
    yield event("message_delta", delta={"stop_reason": "end_turn"}, usage={"output_tokens": events})
    yield event("message_stop")


def _gemini(events: int) -> Iterator[bytes]:
    for number in range(1, events + 1):
        candidate: dict[str, Any] = {"content": {"parts": [{"text": PIECE}], "role": "model"}, "index": 0}
        if number == events:
            candidate["finishReason"] = "STOP"
        usage = {
            "promptTokenCount": PROMPT_TOKENS,
            "candidatesTokenCount": number,
            "totalTokenCount": PROMPT_TOKENS + number,
            "promptTokensDetails": [{"modality": "TEXT", "tokenCount": PROMPT_TOKENS}],
        }
        fields = {"usageMetadata": usage, "modelVersion": "m", "responseId": "mT8AaYqLGqnWvdIP"}
        yield _sse({"candidates": [candidate], **fields})


def _ollama(events: int) -> Iterator[bytes]:
    def line(content: str, done: bool, **more: Any) -> bytes:
        fields = {"model": "m", "created_at": "2026-03-04T12:30:00.123456789Z"}
        message = {"role": "assistant", "content": content}
        return json.dumps({**fields, "message": message, "done": done, **more}).encode() + b"\n"

    for _ in range(events):
        yield line(PIECE, False)
    yield line("", True, done_reason="stop", prompt_eval_count=PROMPT_TOKENS, eval_count=events)


def _bedrock(events: int) -> Iterator[bytes]:
    yield _frame("messageStart", role="assistant")
    for _ in range(events):
        yield _frame("contentBlockDelta", contentBlockIndex=0, delta={"text": PIECE})
    yield _frame("contentBlockStop", contentBlockIndex=0)
    yield _frame("messageStop", stopReason="end_turn")
    yield _frame("metadata", usage={"inputTokens": PROMPT_TOKENS, "outputTokens": events}, metrics={"latencyMs": 1})


def _sse(value: dict[str, Any]) -> bytes:
    return b"data: %b\n\n" % json.dumps(value).encode()


def _frame(kind: str, **fields: Any) -> bytes:
    """A message of an AWS event stream, with both of its CRCs."""
    names = {":event-type": kind, ":content-type": "application/json", ":message-type": "event"}
    headers = b"".join(
        struct.pack(f">B{len(name)}sBH", len(name), name.encode(), 7, len(value)) + value.encode()
        for name, value in names.items()
    )
    payload = json.dumps({**fields, "p": "abcdefghijklmnopqrstu"}).encode()
    lengths = struct.pack(">II", 16 + len(headers) + len(payload), len(headers))
    message = lengths + struct.pack(">I", zlib.crc32(lengths)) + headers + payload
    return message + struct.pack(">I", zlib.crc32(message))


STREAMS: dict[str, Callable[[int], Iterator[bytes]]] = {
    "openai": _openai,
    "anthropic": _anthropic,
    "gemini": _gemini,
    "ollama": _ollama,
    "bedrock": _bedrock,
}
