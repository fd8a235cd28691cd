"""What a chunk of a stream and a complete answer have in common: both are made of candidates with parts."""

from __future__ import annotations

from typing import Any

from ... import _json
from ..._assembly import MADE_UP_ID
from ..._log import log
from ...errors import StreamError
from ...messages import ThinkingBlock
from ...responses import StopEvent, StopReason, StreamEvent, TextDelta, ThinkingDelta, ToolUseDelta, UsageEvent
from ..secrets import plain_name
from ..text_pieces import TextPieces
from ..wire import WireRequest
from .errors import payload_error
from .parts import CALL_ID, RAW_PART, SIGNATURE, SIGNED_LENGTH
from .usage import read_usage

__all__ = ["AnswerReader"]

# https://ai.google.dev/api/generate-content#FinishReason. STOP is also the reason after a stop sequence.
_STOP_REASONS = {
    StopReason.END_TURN: "STOP",
    StopReason.MAX_TOKENS: "MAX_TOKENS CONTINUATION",
    StopReason.CONTENT_FILTER: """
        BLOCKLIST ESCALATION IMAGE_PROHIBITED_CONTENT IMAGE_RECITATION IMAGE_SAFETY LANGUAGE MODEL_ARMOR
        PROHIBITED_CONTENT RECITATION SAFETY SPII""",
}
_STOP_REASON = {word: reason for reason, words in _STOP_REASONS.items() for word in words.split()}

_NO_INDEX = object()

_BESIDE_DATA = frozenset({"thought", "thoughtSignature"})  # what a part may have without being anything


class AnswerReader:
    """Makes events of the chunks of one answer, or of a complete one.

    Args:
        request: What the answer is to.
        in_stream: Whether the answer comes as a stream.

    Attributes:
        model: The model that answers, as the server names it.
        response_id: The server's id of the answer.
        finish_reason: Why it stopped, in the server's words; None until it has said so.
        block_reason: Why the prompt was refused, in the server's words; None where it was not.
        has_candidate: Whether there has been an answer at all.
    """

    def __init__(self, request: WireRequest, *, in_stream: bool) -> None:
        self.model: str | None = None
        self.response_id: str | None = None
        self.finish_reason: str | None = None
        self.block_reason: str | None = None
        self.has_candidate = False
        self._request = request
        self._in_stream = in_stream
        self._index: Any = _NO_INDEX  # of the candidate that is read; there are others where extra_body asks for them
        self._begins_finished = False
        self._text = TextPieces()
        self._ids: list[str] = []  # of the calls so far
        self._usage: Any = None
        self._reported: Any = None  # the part of the usage of which there was an event

    def read(self, chunk: Any, events: list[StreamEvent]) -> bool:
        """Add a chunk's events to a list.

        Returns:
            Whether it was the last one.

        Raises:
            KovaError: The chunk reports an error.
        """
        try:
            (candidate,) = chunk["candidates"]
            (part,) = candidate["content"]["parts"]
            text = part["text"]
            # Nearly all chunks of a stream are a piece of text, and the usage so far.
            if (
                len(part) == 1
                and type(text) is str
                and candidate.get("index") == self._index
                and candidate.get("finishReason") is None
                and not chunk.get("error")
            ):
                self._usage = chunk.get("usageMetadata") or self._usage
                if text := self._text.whole(text):
                    events.append(TextDelta(text))
                return False
        except (KeyError, TypeError, ValueError, AttributeError):
            pass
        return self._read_any(chunk, events)

    def is_over(self) -> bool:
        """Whether the answer is complete, though more may come."""
        return self.finish_reason is not None or self.block_reason is not None

    def stop(self) -> StopEvent:
        """Why the answer ended, in the server's words and as kova's word for them."""
        if self.finish_reason is None and self.block_reason is not None:
            return StopEvent(StopReason.CONTENT_FILTER, self.block_reason)
        return StopEvent(_STOP_REASON.get((self.finish_reason or "").upper(), StopReason.UNKNOWN), self.finish_reason)

    def unreported_usage(self) -> list[StreamEvent]:
        """The usage of which there was no event yet.

        Each chunk repeats the usage so far. The last word is enough while nobody asks: to make an event of each one
        would take longer than all else.
        """
        usage = self._usage
        if not isinstance(usage, dict) or usage == self._reported:
            return []
        self._reported = usage
        return [UsageEvent(read_usage(usage))]

    def _read_any(self, chunk: Any, events: list[StreamEvent]) -> bool:
        """Read a chunk that may be anything."""
        if not isinstance(chunk, dict):
            # All chunks at once, as the API sends them without alt=sse, or the error of a stream, which is in an array.
            for item in chunk if isinstance(chunk, list) else ():
                if isinstance(item, dict):
                    self._read_any(item, events)
            return False
        candidates = chunk.get("candidates")
        if chunk.get("error") or (candidates is None and _is_error(chunk)):
            raise payload_error(chunk, self._request, in_stream=self._in_stream)
        for candidate in candidates if isinstance(candidates, list) else ():
            if isinstance(candidate, dict) and self._is_ours(candidate):
                self._read_candidate(candidate, events)
        feedback = chunk.get("promptFeedback")
        if isinstance(feedback, dict) and isinstance(reason := feedback.get("blockReason"), str) and reason:
            self.block_reason = reason
        self.model = _text(chunk, "modelVersion") or self.model
        self.response_id = _text(chunk, "responseId") or self.response_id
        self._usage = chunk.get("usageMetadata") or self._usage
        if not self.is_over():
            return False
        events += self.unreported_usage()
        # There is no other terminal mark than the finish reason. But some servers, Google's among them until 2024, give
        # one with every chunk (https://github.com/BerriAI/litellm/issues/2195), and some give the usage later.
        return "usageMetadata" in chunk and not self._begins_finished

    def _is_ours(self, candidate: dict[str, Any]) -> bool:
        """Whether a candidate is the one that is read: the first that comes."""
        index = candidate.get("index")
        if not self.has_candidate:
            self.has_candidate = True
            self._index = index
            self._begins_finished = bool(candidate.get("finishReason"))
        return index == self._index or index is None

    def _read_candidate(self, candidate: dict[str, Any], events: list[StreamEvent]) -> None:
        content = candidate.get("content")
        parts = content.get("parts") if isinstance(content, dict) else None
        for part in parts if isinstance(parts, list) else ():
            if isinstance(part, dict):
                self._read_part(part, events)
        self.finish_reason = _text(candidate, "finishReason") or self.finish_reason

    def _read_part(self, part: dict[str, Any], events: list[StreamEvent]) -> None:
        text, call, signature = part.get("text"), part.get("functionCall"), _text(part, "thoughtSignature")
        if isinstance(call, dict):
            self._read_call(call, signature, events)
        elif part.get("thought"):
            thought = text if isinstance(text, str) else ""
            if thought:
                events.append(ThinkingDelta(thought))
            if signature:
                events.append(ThinkingBlock(thought, provider_metadata={RAW_PART: part}))
        elif isinstance(text, str) or not part.keys() - _BESIDE_DATA:
            self._read_text(text or "", signature, events)
        else:
            # Code that the API runs, calls of its own tools, images: "The client is expected to echo this message back".
            log.debug("a part of an answer is kept for the next request", has=list(map(plain_name, part)))
            events.append(ThinkingBlock("", provider_metadata={RAW_PART: part}))

    def _read_text(self, text: str, signature: str, events: list[StreamEvent]) -> None:
        if text := self._text.whole(text):
            events.append(TextDelta(text))
        if signature:
            events.append(ThinkingBlock("", provider_metadata={SIGNATURE: signature, SIGNED_LENGTH: len(text)}))

    def _read_call(self, call: dict[str, Any], signature: str, events: list[StreamEvent]) -> None:
        if call.get("partialArgs") or call.get("willContinue"):
            raise StreamError("the arguments of a tool call come in pieces, which kova has not asked for")
        position = len(self._ids)
        given = _text(call, "id")
        metadata: dict[str, Any] = {SIGNATURE: signature} if signature else {}
        if given and given not in self._ids:
            metadata[CALL_ID] = given
        else:
            given = self._request.made_up_id(position)
            metadata[MADE_UP_ID] = True
        self._ids.append(given)
        name = self._request.tool_names.own(_text(call, "name"))
        events.append(ToolUseDelta(given, name, _arguments(call.get("args")), metadata, position))


def _is_error(chunk: dict[str, Any]) -> bool:
    """Whether something without candidates is an error that is not nested, as gateways give it."""
    return "detail" in chunk or (bool(chunk.get("message")) and not chunk.keys().isdisjoint({"code", "status"}))


def _arguments(arguments: Any) -> str:
    """Arguments as text. They are left out for a function without parameters, and gateways give them as text."""
    if arguments is None or arguments == "":
        return "{}"
    return arguments if isinstance(arguments, str) else _json.dumps(arguments).decode()


def _text(fields: dict[str, Any], name: str) -> str:
    value = fields.get(name)
    return value if isinstance(value, str) else ""
