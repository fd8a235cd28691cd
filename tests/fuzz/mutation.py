"""New inputs of known ones: changes of bytes, of lines, of JSON values, and of AWS frames whose CRCs stay right.

Random bytes alone never get past the first `json.loads`, nor past a CRC.
"""

from __future__ import annotations

import json
import random
import struct
import zlib
from collections.abc import Callable, Iterable
from typing import Any

__all__ = ["Mutator"]

LARGEST = 20_000  # bytes

DEEP = json.loads("[" * 300 + "]" * 300)
ODD: list[Any] = [
    *(
        None,
        True,
        False,
        0,
        1,
        -1,
        2**31,
        2**63,
        2**64,
        -(2**70),
        0.5,
        -0.0,
        1e308,
        "",
        " ",
        "a",
        "null",
        "{}",
        '{"a":',
    ),
    *("[]", '"x"', "\ud83d", "\udd80", "🦀", "\u2028", "\x00", "x" * 3_000, "1", "3.5s", "99999999999999999999s"),
    *([], {}, [None], [[]], [{}], {"a": None}, DEEP, {"error": "x"}, {"error": {"message": "x", "type": "y"}}),
]
BYTES = [b"\x00", b"\n", b"\r", b"\r\n", b"\n\n", b"\xef\xbb\xbf", b"\xff", b"data: ", b"data:", b":", b"event: x\n"]
BYTES += [
    b"Zecret-77aa55cc33-of-all",
    b"error: ",
    b"{",
    b"}",
    b"[",
    b"]",
    b'"',
    b"\\",
    b"\\ud83d",
    b"<",
    b" ",
    b"[DONE]",
    b"9" * 30,
    b"1e999",
]


class Mutator:
    """Makes inputs.

    Args:
        seeds: The inputs to begin with; their words are what is put elsewhere.
        is_framed: Whether they are AWS event streams.
    """

    def __init__(self, seeds: Iterable[bytes], *, is_framed: bool = False) -> None:
        self._seeds = list(seeds) or [b""]
        self._is_framed = is_framed
        words: set[str] = set()
        for seed in self._seeds:
            for value in self._values_in(seed):
                _collect(value, words)
        self._words = sorted(words) or ["a"]

    def mutate(self, data: bytes, chance: random.Random) -> bytes:
        """The data with one to four changes."""
        for _ in range(chance.choice((1, 1, 1, 2, 3, 4))):
            changes: list[Callable[[bytes, random.Random], bytes]] = [self._bytes, self._lines, self._json, self._json]
            if self._is_framed:
                changes = [self._bytes, self._frames, self._frames, self._frames]
            data = chance.choice(changes)(data, chance)
        return data[:LARGEST]

    # ---- bytes and lines

    def _bytes(self, data: bytes, chance: random.Random) -> bytes:
        start = chance.randrange(len(data) + 1)
        end = min(len(data), start + chance.choice((0, 0, 1, 1, 2, 4, 16, 200)))
        other = chance.choice(self._seeds)
        place = chance.randrange(len(other) + 1)
        new = chance.choice(
            (
                b"",
                bytes([chance.randrange(256)]),
                chance.choice(BYTES),
                chance.choice(self._words).encode("utf-8", "replace"),
                data[start:end] * 2,
                other[place : place + chance.choice((1, 8, 60, 400))],
            )
        )
        return data[:start] + new + data[end:]

    def _lines(self, data: bytes, chance: random.Random) -> bytes:
        end = chance.choice((b"\n", b"\n\n"))
        lines = data.split(end)
        place, other = chance.randrange(len(lines)), chance.randrange(len(lines))
        match chance.randrange(5):
            case 0:
                lines.insert(other, lines[place])
            case 1:
                del lines[place]
            case 2:
                lines[place], lines[other] = lines[other], lines[place]
            case 3:
                lines.insert(place, chance.choice(chance.choice(self._seeds).split(end)))
            case _:
                end = chance.choice((b"\r", b"\r\n", b"\n\n\n"))
        return end.join(lines)

    # ---- JSON

    def _json(self, data: bytes, chance: random.Random) -> bytes:
        """A change of one of the values, which are on lines of their own, behind a `data:`, or the whole input."""
        lines = data.split(b"\n")
        places = [index for index, line in enumerate(lines) if b"{" in line or b"[" in line]
        if not places:
            return self._bytes(data, chance)
        place = chance.choice(places)
        starts = [found for found in (lines[place].find(b"{"), lines[place].find(b"[")) if found >= 0]
        start = min(starts)
        try:
            value = json.loads(lines[place][start:])
        except (ValueError, RecursionError):
            try:
                value, start, place, lines = json.loads(data), 0, 0, [data]
            except (ValueError, RecursionError):
                return self._bytes(data, chance)
        lines[place] = lines[place][:start] + self._written(self._changed(value, chance), chance)
        return b"\n".join(lines)

    def _written(self, value: Any, chance: random.Random) -> bytes:
        return json.dumps(value, ensure_ascii=chance.random() < 0.5).encode("utf-8", "surrogatepass")

    def _changed(self, value: Any, chance: random.Random) -> Any:
        root = [value]
        places = [(root, 0), *_places(value)]
        container, key = chance.choice(places)
        match chance.randrange(8):
            case 0 | 1:
                container[key] = chance.choice(ODD)
            case 2:
                container[key] = chance.choice(self._words)
            case 3 if container is not root:
                del container[key]
            case 4:
                container[key] = (
                    [container[key]] if chance.random() < 0.5 else {chance.choice(self._words): container[key]}
                )
            case 5:
                other, name = chance.choice(places)
                container[key] = json.loads(json.dumps(other[name]))
            case 6 if isinstance(container[key], dict):
                container[key][chance.choice(self._words)] = chance.choice([*ODD, *self._words])
            case _ if isinstance(container[key], list):
                container[key].append(chance.choice([*ODD, *container[key]]))
        return root[0]

    # ---- AWS frames

    def _frames(self, data: bytes, chance: random.Random) -> bytes:
        frames = list(_frames_in(data))
        if not frames:
            return self._bytes(data, chance)
        place, other = chance.randrange(len(frames)), chance.randrange(len(frames))
        match chance.randrange(8):
            case 0:
                frames.insert(other, frames[place])
            case 1:
                del frames[place]
            case 2:
                frames[place], frames[other] = frames[other], frames[place]
            case 3:
                headers, payload = _parts_of(frames[place])
                frames[place] = _frame(self._bytes(headers, chance), payload)
            case 4:
                frames[place] = self._bytes(frames[place], chance)
            case _:
                headers, payload = _parts_of(frames[place])
                frames[place] = _frame(headers, self._json(payload, chance))
        return b"".join(frames)

    def _values_in(self, seed: bytes) -> Iterable[Any]:
        texts = [_parts_of(frame)[1] for frame in _frames_in(seed)] if self._is_framed else [seed, *seed.splitlines()]
        for text in texts:
            try:
                yield json.loads(text[min(found for found in (text.find(b"{"), text.find(b"[")) if found >= 0) :])
            except ValueError:
                pass  # no JSON in it


def _collect(value: Any, words: set[str]) -> None:
    if isinstance(value, str) and len(value) <= 60:
        words.add(value)
    elif isinstance(value, dict):
        words.update(value)
        for inner in value.values():
            _collect(inner, words)
    elif isinstance(value, list):
        for inner in value:
            _collect(inner, words)


def _places(value: Any) -> list[tuple[Any, Any]]:
    """Everything within a value, as the container and the key or index."""
    found: list[tuple[Any, Any]] = []
    waiting = [value]
    while waiting:
        container = waiting.pop()
        if isinstance(container, (dict, list)):
            keys = list(container) if isinstance(container, dict) else range(len(container))
            found += [(container, key) for key in keys]
            waiting += [container[key] for key in keys]
    return found


def _frames_in(data: bytes) -> Iterable[bytes]:
    while len(data) >= 16:
        (size,) = struct.unpack_from(">I", data)
        if not 16 <= size <= len(data):
            break
        yield data[:size]
        data = data[size:]


def _parts_of(frame: bytes) -> tuple[bytes, bytes]:
    (size,) = struct.unpack_from(">I", frame, 4)
    return frame[12 : 12 + size], frame[12 + size : -4]


def _frame(headers: bytes, payload: bytes) -> bytes:
    prelude = struct.pack(">II", 16 + len(headers) + len(payload), len(headers))
    message = prelude + struct.pack(">I", zlib.crc32(prelude)) + headers + payload
    return message + struct.pack(">I", zlib.crc32(message))
