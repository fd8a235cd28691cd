"""The reasoning in an answer: what of it is shown, and what Bedrock wants back.

Text comes in pieces, and a signature after it; encrypted reasoning is bytes, in one piece or in several. Only what is
signed or encrypted goes back: without a signature the API refuses it ("messages cannot contain reasoning content").
"""

from __future__ import annotations

import base64
from typing import Any

from ...errors import StreamError
from ...messages import ThinkingBlock
from ...responses import StreamEvent, ThinkingDelta
from .blocks import OWN

__all__ = ["Reasoning"]


class Reasoning:
    """One block of reasoning as far as it is known.

    Args:
        index: The number of its content block.
    """

    def __init__(self, index: Any) -> None:
        self.index = index
        self._text: list[str] = []
        self._signature: list[str] = []
        self._redacted: list[str] = []

    def read(self, content: dict[str, Any], events: list[StreamEvent]) -> None:
        """Add the events of the next piece."""
        text, signature, redacted = content.get("text"), content.get("signature"), content.get("redactedContent")
        if text and isinstance(text, str):
            self._text.append(text)
            events.append(ThinkingDelta(text))
        if isinstance(signature, str):
            self._signature.append(signature)
        if redacted and isinstance(redacted, str):
            self._redacted.append(redacted)

    def end(self, events: list[StreamEvent]) -> None:
        """Add what goes back in the history.

        Raises:
            StreamError: Encrypted reasoning cannot be put together.
        """
        if self._redacted:
            metadata = {OWN: {"redactedContent": _joined(self._redacted)}}
            events.append(ThinkingBlock("", provider_metadata=metadata))
        if self._signature:
            text, signature = "".join(self._text), "".join(self._signature)
            events.append(ThinkingBlock(text, signature, {OWN: {}}))


def _joined(pieces: list[str]) -> str:
    """Pieces of base64 as one; each was encoded by itself, so that they cannot be joined as text."""
    if len(pieces) == 1:
        return pieces[0]
    try:
        return base64.b64encode(b"".join(map(base64.b64decode, pieces))).decode()
    except ValueError as error:
        raise StreamError(f"the stream holds encrypted reasoning that is no base64: {error}") from None
