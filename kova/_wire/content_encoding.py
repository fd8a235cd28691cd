"""Compressed bodies, decoded as they arrive and never beyond a limit."""

from __future__ import annotations

from ..errors import StreamError

BODY_LIMIT = 64 * 1024 * 1024  # bytes, decompressed

ACCEPTED = "gzip, deflate"


class Decoder:
    """Decodes a gzip or deflate body.

    Args:
        limit: Bytes that the decoded body may have.
    """

    def __init__(self, limit: int = BODY_LIMIT) -> None:
        import zlib

        self._zlib = zlib.decompressobj(zlib.MAX_WBITS | 32)  # gzip or zlib, by the header
        self._error = zlib.error
        self._left = limit

    def feed(self, data: bytes) -> bytes:
        """What the next piece of the body decodes to.

        Raises:
            StreamError: The body is corrupt, or larger than the limit.
        """
        try:
            decoded = self._zlib.decompress(data, self._left + 1)
        except self._error as error:
            raise StreamError(f"the compressed body is corrupt: {error}") from error
        self._left -= len(decoded)
        if self._left < 0:
            raise StreamError("the decompressed body is larger than its limit")
        return decoded


def decoder_for(content_encoding: str | None) -> Decoder | None:
    """The decoder that a `Content-Encoding` header asks for; None for a plain body.

    Raises:
        StreamError: The encoding was never accepted.
    """
    encoding = (content_encoding or "").strip().lower()
    if encoding in ("", "identity"):
        return None
    if encoding in ("gzip", "x-gzip", "deflate"):
        return Decoder()
    raise StreamError(f"the server sent a body in an encoding that was not asked for: {encoding!r}")
