"""What must hold for the parsers below the formats: framing, encodings, histories, and headers, whatever they are fed."""

from __future__ import annotations

import math
import random
import zlib
from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

import kova
from kova._formats.retry_after import retry_after
from kova._wire.aws_eventstream import AWSEventStreamParser
from kova._wire.content_encoding import Decoder
from kova._wire.ndjson import NDJSONParser
from kova._wire.sse import SSEParser
from kova.errors import KovaError, SerializationError, StreamError

SMALL_LIMIT = 200  # bytes, so that limits are met by inputs of any size


def splits(data: bytes) -> Iterator[list[bytes]]:
    """Some of the ways in which the data may arrive, the same ones each time."""
    step = 1 if len(data) <= 400 else 1 + len(data) // 97
    yield [data[start : start + step] for start in range(0, len(data), step)]
    chance = random.Random(zlib.crc32(data))
    for count in (1, 2, 5):
        cuts = sorted(chance.randrange(len(data) + 1) for _ in range(count))
        yield [data[start:end] for start, end in zip([0, *cuts], [*cuts, len(data)], strict=True)]


def check_framing(make: Callable[[], Any], data: bytes) -> None:
    """Whatever the data is cut into, the same comes out, or the same kind of error."""
    whole = _read(make(), [data])
    for chunks in splits(data):
        assert _read(make(), chunks) == whole, chunks


def _read(parser: Any, chunks: list[bytes]) -> object:
    try:
        read = [item for chunk in chunks for item in parser.feed(chunk)]
        return read + parser.close()
    except StreamError as error:
        return str(error)


def check_sse(data: bytes) -> None:
    check_framing(SSEParser, data)
    check_framing(lambda: SSEParser(SMALL_LIMIT), data)


def check_ndjson(data: bytes) -> None:
    check_framing(NDJSONParser, data)
    check_framing(lambda: NDJSONParser(SMALL_LIMIT), data)


def check_aws_event_stream(data: bytes) -> None:
    """The frames before a corrupt one are the same as well."""
    for limit in (None, SMALL_LIMIT):
        whole = _frames([data], limit)
        for chunks in splits(data):
            assert _frames(chunks, limit) == whole, chunks


def _frames(chunks: list[bytes], limit: int | None) -> tuple[list[Any], str | None]:
    parser = AWSEventStreamParser() if limit is None else AWSEventStreamParser(limit)
    frames: list[Any] = []
    try:
        for chunk in chunks:
            for frame in parser.feed(chunk):
                frames.append(frame)  # one by one: those before an error count
    except StreamError as error:
        return frames, str(error)
    return frames, None


def check_content_encoding(data: bytes) -> None:
    for limit, may_be_raw in product((1_000_000, SMALL_LIMIT), (False, True)):
        whole = _decoded([data], limit, may_be_raw)
        assert whole is None or len(whole) <= limit
        for chunks in splits(data):
            assert _decoded(chunks, limit, may_be_raw) == whole, chunks


def _decoded(chunks: list[bytes], limit: int, may_be_raw: bool) -> bytes | None:
    decoder = Decoder(limit, may_be_raw=may_be_raw)
    try:
        return b"".join([decoder.feed(chunk) for chunk in chunks])
    except StreamError:
        return None


def check_messages(data: bytes) -> None:
    """A history comes back as it was, and can be sent to every provider, or is refused with an error of kova's."""
    from .formats import KEY, check_history

    try:
        # What users write themselves is shown to them; the fuzzer, which sees what is compared, writes the key.
        history = kova.messages_from_json(data.replace(KEY.encode(), b"no key"))
    except SerializationError:
        return
    check_history(history)


def check_retry_after(data: bytes) -> None:
    text = data.decode("latin-1")
    for name in ("retry-after", "retry-after-ms"):
        seconds = retry_after({name: text})
        assert seconds is None or (math.isfinite(seconds) and seconds >= 0)


def check_stays_an_error_of_kovas(call: Callable[[], Any]) -> Any:
    """The result; None where the call raised one of kova's errors."""
    try:
        return call()
    except KovaError:
        return None
