"""What is wrong with an HTTP response, in h11's words, which httpx passes on."""

from __future__ import annotations

__all__ = ["fault_text"]


def fault_text(error: Exception) -> str:
    """The words without what they quote of the response.

    A peer that sends the request back, as an echo server does or a port that is not the server's, would bring the key
    and the prompt into the error: `illegal header line: bytearray(b'authorization Bearer …')`.
    """
    return str(error).partition(": b")[0]
