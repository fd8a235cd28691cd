"""What can be fuzzed, by name: the property to check, and the inputs to begin with."""

from __future__ import annotations

import functools
import gzip
import json
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from tests.cases import run_cases as runner

from . import formats, framing

__all__ = ["CORPUS", "TARGETS", "Target"]

CORPUS = Path(__file__).parent / "corpus"


class Target(NamedTuple):
    """Something to fuzz.

    Attributes:
        check: What must hold for any input; raises where it does not.
        make_seeds: Inputs from the wire cases.
        is_framed: Whether inputs are AWS event streams.
    """

    check: Callable[[bytes], None]
    make_seeds: Callable[[], Iterator[bytes]]
    is_framed: bool = False


def cases(provider: str | None = None) -> Iterator[dict[str, Any]]:
    for path in sorted(Path(runner.__file__).parent.glob(f"{provider or '*'}/*.json")):
        yield json.loads(path.read_text(encoding="utf-8"))


def responses(provider: str, kind: str) -> Iterator[bytes]:
    """Bodies of a provider's answers: "stream", "complete" or "error"; the latter with their status before them."""
    for case in cases(provider):
        response = case["response"]
        body = b"".join(runner.body_chunks(response))
        if response["status"] != 200:
            if kind == "error":
                yield bytes([status_index(response["status"])]) + body
        elif case["mode"] == kind and "content-encoding" not in {name.lower() for name in response["headers"]}:
            yield body


def status_index(status: int) -> int:
    return formats.STATUSES.index(status) if status in formats.STATUSES else 14


def errors(provider: str) -> Iterator[bytes]:
    yield from responses(provider, "error")
    for index in (1, 7, 17):  # a server that repeats the key
        yield bytes([index]) + json.dumps({"error": {"message": f"no such key: {formats.KEY}"}}).encode()
        yield bytes([index]) + b"<html><title>no such key: " + formats.KEY.encode() + b"</title></html>"
        yield bytes([index]) + b" " * 280 + b"no such key: " + b"." * 280 + formats.KEY.encode()


def streams(*providers: str) -> Iterator[bytes]:
    for provider in providers:
        yield from responses(provider, "stream")


def encoded() -> Iterator[bytes]:
    for number, body in enumerate(streams("openai")):
        if number % 6 == 0:
            yield gzip.compress(body, mtime=0)
            yield zlib.compress(body)
            yield zlib.compress(body, wbits=-15)  # as some servers send it
            yield gzip.compress(body[:100], mtime=0) + gzip.compress(body[100:], mtime=0) + b"\0" * 8


def histories() -> Iterator[bytes]:
    for case in cases():
        if asked := case.get("request", {}).get("messages"):
            yield json.dumps(asked).encode()


def header_values() -> Iterator[bytes]:
    yield from (b"1", b"0.5", b"Wed, 21 Oct 2026 07:28:00 GMT", b"Wednesday, 21-Oct-26 07:28:00 GMT", b"-1", b"1e9")
    for case in cases():
        for name, value in case["response"]["headers"].items():
            if "retry-after" in name.lower():
                yield value.encode()


TARGETS: dict[str, Target] = {
    "sse": Target(framing.check_sse, lambda: streams("openai", "anthropic", "gemini")),
    "ndjson": Target(framing.check_ndjson, lambda: streams("ollama")),
    "aws-event-stream": Target(framing.check_aws_event_stream, lambda: streams("bedrock"), is_framed=True),
    "content-encoding": Target(framing.check_content_encoding, encoded),
    "messages": Target(framing.check_messages, histories),
    "retry-after": Target(framing.check_retry_after, header_values),
}
for provider in formats.FORMATS:
    TARGETS[f"{provider}-stream"] = Target(
        functools.partial(formats.check_stream, provider),
        functools.partial(streams, provider),
        is_framed=provider == "bedrock",
    )
    TARGETS[f"{provider}-answer"] = Target(
        functools.partial(formats.check_complete, provider), functools.partial(responses, provider, "complete")
    )
    TARGETS[f"{provider}-error"] = Target(
        functools.partial(formats.check_failure, provider), functools.partial(errors, provider)
    )
