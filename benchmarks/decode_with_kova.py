"""Decoding with kova: the parser of each format, without the connection around it."""

from collections.abc import Iterable
from typing import Any

import kova
from kova._formats.anthropic import FORMAT as ANTHROPIC
from kova._formats.bedrock import FORMAT as BEDROCK
from kova._formats.format import Format
from kova._formats.gemini import FORMAT as GEMINI
from kova._formats.ollama import FORMAT as OLLAMA
from kova._formats.openai import FORMAT as OPENAI

from .decode_by_hand import Decoded
from .scenario import KEY, MODEL, QUESTION

FORMATS: dict[str, tuple[Format[Any], Any]] = {
    "openai": (OPENAI, kova.OpenAIProviderConfig(MODEL)),
    "anthropic": (ANTHROPIC, kova.AnthropicProviderConfig(MODEL)),
    "gemini": (GEMINI, kova.GeminiProviderConfig(MODEL)),
    "ollama": (OLLAMA, kova.OllamaProviderConfig(MODEL)),
    "bedrock": (BEDROCK, kova.BedrockProviderConfig(MODEL, region="us-east-1")),
}


def decode(provider: str, pieces: Iterable[bytes]) -> Decoded:
    """What the stream comes to, its text put together from the events."""
    form, config = FORMATS[provider]
    question = [kova.user_message(QUESTION)]
    request = form.build_request(config, KEY, question, (), kova.InferenceConfig(), stream=True)
    parser = form.stream_parser(request)
    texts: list[str] = []
    for piece in pieces:
        for event in parser.feed(piece):
            if isinstance(event, kova.TextDelta):
                texts.append(event.text)
        if parser.finished:
            break
    parser.close()
    return Decoded("".join(texts), parser.response().usage.output_tokens)
