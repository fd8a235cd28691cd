"""Compressed bodies, in all the forms that servers send."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable, Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

import kova
from kova._wire.content_encoding import Decoder, decoder_for

TEXT = '{"text": "Grüße aus Köln, and a good deal more of it"}\n'.encode() * 20


def raw_deflate(data: bytes) -> bytes:
    stream = zlib.compressobj(wbits=-15)
    return stream.compress(data) + stream.flush()


def members(data: bytes) -> bytes:
    return b"".join(gzip.compress(data[start : start + 100], mtime=0) for start in range(0, len(data), 100))


def decoded(pieces: Iterable[bytes], limit: int = 1_000_000, *, may_be_raw: bool = True) -> bytes:
    decoder = Decoder(limit, may_be_raw=may_be_raw)
    return b"".join([decoder.feed(piece) for piece in pieces])


FORMS = [gzip.compress, members, zlib.compress, raw_deflate]


@pytest.mark.parametrize("compress", FORMS)
@given(data=st.binary(max_size=2000), size=st.integers(1, 50))
def test_every_form_in_pieces_of_any_size(compress: Callable[[bytes], bytes], data: bytes, size: int) -> None:
    body = compress(data)
    assert decoded(body[start : start + size] for start in range(0, len(body), size)) == data


@pytest.mark.parametrize("padding", [b"\0" * 10, b"\r\n", b"\0"])
def test_padding_after_a_gzip_body_is_passed_over(padding: bytes) -> None:
    assert decoded([members(TEXT), padding, padding]) == TEXT


def test_the_limit_is_that_of_all_members_together() -> None:
    assert decoded([members(TEXT)], len(TEXT)) == TEXT
    with pytest.raises(kova.StreamError, match="larger than its limit"):
        decoded([members(TEXT)], len(TEXT) - 1)


@pytest.mark.parametrize("may_be_raw", [False, True])
def test_members_without_content_do_not_go_on_for_ever(may_be_raw: bool) -> None:
    empty = gzip.compress(b"", mtime=0)
    assert decoded([empty * 10], 10, may_be_raw=may_be_raw) == b""
    for pieces in ([empty * 11], [empty] * 11, [bytes([byte]) for byte in empty * 11]):
        with pytest.raises(kova.StreamError, match="larger than its limit"):
            decoded(pieces, 10, may_be_raw=may_be_raw)


@pytest.mark.parametrize("compress", FORMS)
def test_a_bomb_is_not_unpacked(compress: Callable[[bytes], bytes]) -> None:
    with pytest.raises(kova.StreamError, match="larger than its limit"):
        decoded([compress(b"0" * 1_000_000)], 100_000)


@pytest.mark.parametrize("body", [b"no compression at all", gzip.compress(TEXT)[:20] + b"x" * 100])
def test_what_is_corrupt_is_refused(body: bytes) -> None:
    with pytest.raises(kova.StreamError, match="corrupt"):
        decoded([body])


PLAIN = [b'{"x": "^NA900hazMCFVMpJh! Z7_f', b'{"iy": "|uOk;@bF1+xg&!6_r30<.?', b'{"error": "overloaded"}']


@pytest.mark.parametrize("encoding", ["gzip", "x-gzip"])
@pytest.mark.parametrize("body", [raw_deflate(TEXT), *PLAIN])
def test_only_a_deflate_body_may_be_without_a_header(encoding: str, body: bytes) -> None:
    """What is no gzip is refused: without a header to check, some plain texts can be read as compressed."""
    decoder = decoder_for(encoding)
    assert decoder is not None
    with pytest.raises(kova.StreamError, match="corrupt"):
        decoder.feed(body)


@pytest.mark.parametrize("compress", [zlib.compress, raw_deflate])
def test_a_deflate_body_has_a_header_or_not(compress: Callable[[bytes], bytes]) -> None:
    decoder = decoder_for("deflate")
    assert decoder is not None
    assert decoder.feed(compress(TEXT)) == TEXT
