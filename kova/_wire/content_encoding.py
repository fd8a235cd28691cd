"""Compressed bodies, decoded as they arrive and never beyond a limit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..errors import StreamError

if TYPE_CHECKING:
    import zlib

BODY_LIMIT = 64 * 1024 * 1024  # bytes, decompressed

ACCEPTED = "gzip, deflate"

GZIP = b"\x1f\x8b"
HEAD = 2  # bytes that tell the kinds of streams apart


class Decoder:
    """Decodes a gzip or deflate body.

    A gzip body may have several members (RFC 1952, 2.2), and what follows the last one is padding. A deflate body has
    the zlib header that RFC 9110 wants, or not, as some servers have it.

    Args:
        limit: Bytes that the decoded body may have. A member that is empty counts as one.
        may_be_raw: Whether it may have no header at all. Then nearly anything can be taken for compressed.
    """

    def __init__(self, limit: int = BODY_LIMIT, *, may_be_raw: bool = False) -> None:
        import zlib

        self._open = zlib.decompressobj
        self._error = zlib.error
        self._stream: zlib._Decompress | None = None
        self._head = b""  # what has come before the kind of the stream could be told
        self._is_gzip = False
        self._is_over = False
        self._is_empty = True  # so far, the stream that is being read
        self._left = limit
        self._may_be_raw = may_be_raw

    def feed(self, data: bytes) -> bytes:
        """What the next piece of the body decodes to.

        Raises:
            StreamError: The body is corrupt, or larger than the limit.
        """
        parts: list[bytes] = []
        while data and not self._is_over:
            if self._stream is None:
                self._head += data
                if len(self._head) < HEAD or not self._begin():
                    break
                data, self._head = self._head, b""
            decoded, data = self._decode(data)
            parts.append(decoded)
        return b"".join(parts)

    def _begin(self) -> bool:
        """Begin with what `_head` holds: the body, or a further member of it."""
        is_first, is_gzip = not self._is_gzip, self._head.startswith(GZIP)
        self._is_over = not is_first and not is_gzip
        if not self._is_over:
            self._is_gzip = is_gzip
            self._is_empty = True
            self._stream = self._open(_window_bits(self._head, self._may_be_raw))
        return not self._is_over

    def _decode(self, data: bytes) -> tuple[bytes, bytes]:
        """Decode some of the data, up to the end of a stream; also what is left of it then."""
        assert self._stream is not None
        try:
            decoded = self._stream.decompress(data, self._left + 1)
        except self._error as error:
            raise StreamError(f"the compressed body is corrupt: {error}") from error
        self._is_empty = self._is_empty and not decoded
        self._left -= 1 if self._is_empty and self._stream.eof else len(decoded)
        if self._left < 0:
            raise StreamError("the decompressed body is larger than its limit")
        if not self._stream.eof:
            return decoded, b""
        rest, self._stream = self._stream.unused_data, None
        self._is_over = not self._is_gzip
        return decoded, rest


def _window_bits(head: bytes, may_be_raw: bool) -> int:
    """How zlib is to read a stream that begins so."""
    if head.startswith(GZIP):
        return 31
    has_header = head[0] & 0x0F == 8 and int.from_bytes(head[:HEAD], "big") % 31 == 0
    return -15 if may_be_raw and not has_header else 15


def decoder_for(content_encoding: str | None) -> Decoder | None:
    """The decoder that a `Content-Encoding` header asks for; None for a plain body.

    Raises:
        StreamError: The encoding was never accepted.
    """
    encoding = (content_encoding or "").strip().lower()
    if encoding in ("", "identity"):
        return None
    if encoding in ("gzip", "x-gzip", "deflate"):
        return Decoder(may_be_raw=encoding == "deflate")
    shown = f": {encoding!r}" if encoding.isalpha() and len(encoding) <= 10 else ""  # else it might be a secret
    raise StreamError(f"the server sent a body in an encoding that was not asked for{shown}")
