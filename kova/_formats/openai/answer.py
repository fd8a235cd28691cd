"""What a chunk of a stream and a complete answer have in common: both are read as deltas."""

from __future__ import annotations

from typing import Any

from ...errors import ProviderErrorClass
from ...messages import ThinkingBlock
from ...responses import StopEvent, StopReason, StreamEvent, TextDelta, ThinkingDelta, UsageEvent
from ..wire import WireRequest
from .errors import answer_error, payload_error
from .hosts import host_of
from .messages import REASONING_FIELD
from .tool_calls import ToolCallReader
from .usage import read_usage

__all__ = ["AnswerReader"]

_STOP_REASONS = {
    StopReason.END_TURN: "stop eos eos_token end_turn complete completed",  # "eos": Together, TGI, watsonx
    StopReason.TOOL_USE: "tool_calls tool_call tool_use function_call",
    StopReason.MAX_TOKENS: "length max_tokens max_output_tokens model_length",  # "model_length": Mistral
    StopReason.STOP_SEQUENCE: "stop_sequence",
    StopReason.CONTENT_FILTER: "content_filter content_filtered safety recitation sensitive",  # "sensitive": Zhipu
    StopReason.REFUSAL: "refusal",
}
_STOP_REASON = {word: reason for reason, words in _STOP_REASONS.items() for word in words.split()}
_UNKNOWN = object()


class AnswerReader:
    """Makes events of the chunks of one answer, or of a complete one.

    Args:
        request: What the answer is to.
        in_stream: Whether the answer comes as a stream.

    Attributes:
        model: The model that answers, as the server names it.
        finish_reason: Why it stopped, in the server's words; None until it has said so.
        has_choice: Whether there has been an answer at all.
    """

    def __init__(self, request: WireRequest, *, in_stream: bool) -> None:
        self.model: str | None = None
        self.finish_reason: str | None = None
        self.has_choice = False
        self._request = request
        self._in_stream = in_stream
        self._reasoning_field = host_of(request.url).reasoning_field
        self._reasoning: list[str] = []
        self._tool_calls = ToolCallReader(request)
        self._index: Any = _UNKNOWN  # of the choice that is read; there are others where extra_body asks for them
        self._usage: Any = None
        self._has_deltas = False
        self._has_refused = False
        self._half = ""  # of a character that was cut in two

    def read(self, chunk: Any, events: list[StreamEvent]) -> None:
        """Add a chunk's events to a list.

        Raises:
            KovaError: The chunk reports an error.
        """
        try:
            (choice,) = chunk["choices"]
            delta = choice["delta"]
            text = delta["content"]
            # Nearly all chunks of a stream are a piece of text and nothing else. A half character is not ASCII.
            if (
                len(delta) == 1
                and type(text) is str
                and text.isascii()
                and choice.get("index") == self._index
                and choice.get("finish_reason") is None
                and not (chunk.get("error") or chunk.get("usage") or self._half)
            ):
                if text:
                    events.append(TextDelta(text))
                return
        except (KeyError, TypeError, ValueError, AttributeError):
            pass
        self._read_any(chunk, events)

    def stop(self) -> StopEvent:
        """Why the answer ended, in the server's words and as kova's word for them."""
        reason = _STOP_REASON.get((self.finish_reason or "").lower(), StopReason.UNKNOWN)
        if self._has_refused and reason is StopReason.END_TURN:
            reason = StopReason.REFUSAL
        return StopEvent(reason, self.finish_reason)

    def _read_any(self, chunk: Any, events: list[StreamEvent]) -> None:
        """Read a chunk that may be anything."""
        if not isinstance(chunk, dict):
            self._read_list(chunk, events)
            return
        choices = chunk.get("choices")
        if chunk.get("error") or (choices is None and _is_error(chunk)):
            raise payload_error(chunk, self._request, in_stream=self._in_stream)
        for choice in choices if isinstance(choices, list) else ():
            if isinstance(choice, dict) and self._is_ours(choice.get("index")):
                self._read_choice(choice, events)
        self._read_usage(chunk.get("usage"), events)
        model = chunk.get("model")
        if isinstance(model, str) and model:  # empty in Azure's first chunk
            self.model = model

    def _read_list(self, value: Any, events: list[StreamEvent]) -> None:
        for item in value if isinstance(value, list) else ():
            if isinstance(item, dict):  # Gemini's OpenAI endpoint wraps its errors in an array
                self.read(item, events)

    def _is_ours(self, index: Any) -> bool:
        """Whether a choice is the one that is read: the first that comes."""
        if not self.has_choice:
            self.has_choice = True
            self._index = index
        return index == self._index or index is None

    def _finish(self, choice: dict[str, Any], events: list[StreamEvent]) -> None:
        reason = str(choice["finish_reason"])
        self._read_usage(choice.get("usage"), events)  # Moonshot has it here
        if error := choice.get("error"):
            raise payload_error({"error": error}, self._request, in_stream=self._in_stream)
        if reason == "error":  # OpenRouter; what came before is not an answer
            message = "the provider broke the answer off and does not say why"
            raise answer_error(message, self._request, ProviderErrorClass.OVERLOADED)
        if self.finish_reason is None:
            self.finish_reason = reason

    def _read_choice(self, choice: dict[str, Any], events: list[StreamEvent]) -> None:
        delta, message = choice.get("delta"), choice.get("message")
        if isinstance(delta, dict):
            self._has_deltas = True
            self._read_delta(delta, events, whole=False)
        elif isinstance(message, dict) and not self._has_deltas:  # after deltas it is a summary of them
            self._read_delta(message, events, whole=True)
        if choice.get("finish_reason"):
            self._finish(choice, events)

    def _read_delta(self, delta: dict[str, Any], events: list[StreamEvent], *, whole: bool) -> None:
        self._read_thinking(_reasoning(delta), events)
        content = delta.get("content")
        if isinstance(content, str):
            self._read_text(content, events)
        elif isinstance(content, list):
            self._read_parts(content, events)
        refusal = delta.get("refusal")
        if refusal and isinstance(refusal, str):  # in place of content, with finish_reason "stop"
            self._has_refused = True
            self._read_text(refusal, events)
        calls = delta.get("tool_calls")
        if calls and isinstance(calls, list):
            self._read_calls(calls, events, whole=whole)

    def _read_text(self, text: str, events: list[StreamEvent]) -> None:
        """Text that may hold half a character: JavaScript gateways cut between the surrogates of a pair."""
        text = self._half + text
        self._half = text[-1:] if "\ud800" <= text[-1:] <= "\udbff" else ""
        text = text[: len(text) - len(self._half)]
        if not text.isascii():
            text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        if text:
            events.append(TextDelta(text))

    def _read_thinking(self, text: str, events: list[StreamEvent]) -> None:
        if text:
            events.append(ThinkingDelta(text))
            if self._reasoning_field is not None:
                self._reasoning.append(text)

    def _read_parts(self, parts: list[Any], events: list[StreamEvent]) -> None:
        """Content in parts, as Mistral's reasoning models give it."""
        for part in parts:
            if isinstance(part, dict):
                if part.get("type") == "thinking":
                    self._read_thinking(_text_of(part.get("thinking")), events)
                else:
                    self._read_text(_text_of(part), events)

    def _read_calls(self, calls: list[Any], events: list[StreamEvent], *, whole: bool) -> None:
        if self._reasoning:  # only a message with calls has to take its reasoning back
            metadata = {REASONING_FIELD: self._reasoning_field}
            events.append(ThinkingBlock("".join(self._reasoning), provider_metadata=metadata))
            self._reasoning.clear()
        self._tool_calls.read(calls, events, whole=whole)

    def _read_usage(self, usage: Any, events: list[StreamEvent]) -> None:
        if usage and isinstance(usage, dict) and usage != self._usage:
            self._usage = usage
            events.append(UsageEvent(read_usage(usage)))


def _is_error(chunk: dict[str, Any]) -> bool:
    """Whether something without choices is an error that is not nested: vLLM, SGLang, Mistral, FastAPI."""
    if chunk.get("object") == "error" or "detail" in chunk:
        return True
    return bool(chunk.get("message")) and not chunk.keys().isdisjoint({"code", "type", "status"})


def _reasoning(delta: dict[str, Any]) -> str:
    """The reasoning in a delta. Servers that repeat it in several fields mean it once."""
    for name in ("reasoning_content", "reasoning"):
        text = delta.get(name)
        if text and isinstance(text, str):
            return text
    details = delta.get("reasoning_details")  # OpenRouter; encrypted ones have neither text nor summary
    if not isinstance(details, list):
        return ""
    pieces = [item.get("text") or item.get("summary") for item in details if isinstance(item, dict)]
    return "".join([piece for piece in pieces if isinstance(piece, str)])


def _text_of(content: Any) -> str:
    """The text of a content part, of a list of them, or of a text in its place."""
    parts = content if isinstance(content, list) else [content]
    texts = [part.get("text") if isinstance(part, dict) else part for part in parts]
    return "".join([text for text in texts if isinstance(text, str)])
