"""The baseline of decoding: each provider's stream read by hand, with the framing and the JSON library that kova has.

Like `by_hand.py`, this is what a good engineer writes who needs the text and the usage of one provider's answers, and
it is frozen. The frames of Bedrock are taken apart by botocore's parser, with kova as by hand: it checks their CRCs.
"""

import json
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple


class Decoded(NamedTuple):
    """What a stream comes to."""

    text: str
    output_tokens: int | None


def decode_openai(pieces: Iterable[bytes]) -> Decoded:
    texts: list[str] = []
    tokens = None
    for line in lines_of(pieces):
        if not line.startswith(b"data: "):
            continue
        data = line[6:]
        if data == b"[DONE]":
            break
        chunk = json.loads(data)
        if chunk["choices"] and (text := chunk["choices"][0]["delta"].get("content")):
            texts.append(text)
        if usage := chunk.get("usage"):
            tokens = usage["completion_tokens"]
    return Decoded("".join(texts), tokens)


def decode_anthropic(pieces: Iterable[bytes]) -> Decoded:
    texts: list[str] = []
    tokens = None
    for line in lines_of(pieces):
        if not line.startswith(b"data: "):
            continue
        event = json.loads(line[6:])
        if event["type"] == "content_block_delta":
            if event["delta"]["type"] == "text_delta":
                texts.append(event["delta"]["text"])
        elif event["type"] == "message_delta":
            tokens = event["usage"]["output_tokens"]
        elif event["type"] == "message_stop":
            break
    return Decoded("".join(texts), tokens)


def decode_gemini(pieces: Iterable[bytes]) -> Decoded:
    texts: list[str] = []
    tokens = None
    for line in lines_of(pieces):
        if not line.startswith(b"data: "):
            continue
        chunk = json.loads(line[6:])
        for part in chunk["candidates"][0]["content"]["parts"]:
            if "text" in part and not part.get("thought"):
                texts.append(part["text"])
        if usage := chunk.get("usageMetadata"):
            tokens = usage.get("candidatesTokenCount")
    return Decoded("".join(texts), tokens)


def decode_ollama(pieces: Iterable[bytes]) -> Decoded:
    texts: list[str] = []
    tokens = None
    for line in lines_of(pieces):
        if not line:
            continue
        chunk = json.loads(line)
        if text := chunk["message"].get("content"):
            texts.append(text)
        if chunk["done"]:
            tokens = chunk.get("eval_count")
            break
    return Decoded("".join(texts), tokens)


def decode_bedrock(pieces: Iterable[bytes]) -> Decoded:
    from botocore.eventstream import EventStreamBuffer

    texts: list[str] = []
    tokens = None
    buffer = EventStreamBuffer()
    for piece in pieces:
        buffer.add_data(piece)
        for message in buffer:
            kind = message.headers[":event-type"]
            event = json.loads(message.payload)
            if kind == "contentBlockDelta":
                if text := event["delta"].get("text"):
                    texts.append(text)
            elif kind == "metadata":
                tokens = event["usage"]["outputTokens"]
    return Decoded("".join(texts), tokens)


def lines_of(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """The lines of a body, without their ends."""
    rest = b""
    for piece in pieces:
        *lines, rest = (rest + piece).split(b"\n")
        yield from lines


DECODERS: dict[str, Callable[[Iterable[bytes]], Decoded]] = {
    "openai": decode_openai,
    "anthropic": decode_anthropic,
    "gemini": decode_gemini,
    "ollama": decode_ollama,
    "bedrock": decode_bedrock,
}
