"""What a chunk of a stream and a complete answer have in common: both are read as deltas."""

from __future__ import annotations

from typing import Any

from ...errors import ProviderErrorClass
from ...messages import ThinkingBlock
from ...responses import StopEvent, StopReason, StreamEvent, TextDelta, ThinkingDelta, UsageEvent
from ..error_body import is_error
from ..wire import WireRequest
from .content import content_parts, reasoning
from .errors import answer_error, payload_error
from .hosts import host_of
from .messages import REASONING_FIELD
from .reasoning_details import DETAILS, add_details
from .tool_calls import ToolCallReader
from .usage import read_usage

__all__ = ["AnswerReader"]

_STOP_REASONS = {
    StopReason.END_TURN: "stop eos eos_token end_turn complete completed",  # "eos": Together, TGI, watsonx
    StopReason.TOOL_USE: "tool_calls tool_call tool_use function_call",
    # "model_length": Mistral; the last one: Zhipu, and Claude behind gateways
    StopReason.MAX_TOKENS: "length max_tokens max_output_tokens model_length model_context_window_exceeded",
    StopReason.STOP_SEQUENCE: "stop_sequence",
    # "sensitive": Zhipu; then Gemini's and Bedrock's, behind gateways
    StopReason.CONTENT_FILTER: """
        content_filter content_filtered safety recitation sensitive
        prohibited_content blocklist spii guardrail_intervened""",
    StopReason.REFUSAL: "refusal",
}
_STOP_REASON = {word: reason for reason, words in _STOP_REASONS.items() for word in words.split()}
_UNKNOWN = object()

_NO_REASON = frozenset({"", "null"})  # "null": DashScope and others, on every chunk but the last


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
        self._details: list[dict[str, Any]] = []
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
                and not (chunk.get("error") or choice.get("error") or chunk.get("usage") or self._half)
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
        error = _error_of(chunk, has_choices=choices is not None)
        if error is not None:
            raise payload_error(error, self._request, in_stream=self._in_stream)
        for choice in choices if isinstance(choices, list) else ():
            if isinstance(choice, dict) and self._is_ours(choice.get("index")):
                self._read_choice(choice, events)
        self._read_usage(chunk.get("usage") or _fields(chunk.get("x_groq")).get("usage"), events)
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

    def _finish(self, reason: str, events: list[StreamEvent]) -> None:
        if reason.lower() == "error":  # OpenRouter, Mistral; what came before is not an answer
            message = "the provider broke the answer off and does not say why"
            raise answer_error(message, self._request, ProviderErrorClass.OVERLOADED)
        self._tool_calls.finish(events)
        if self._details and self._tool_calls.has_calls:  # some come after the calls that they belong to
            metadata = {REASONING_FIELD: DETAILS, DETAILS: list(self._details)}
            events.append(ThinkingBlock("", provider_metadata=metadata))
            self._details.clear()
        if self.finish_reason is None:
            self.finish_reason = reason

    def _read_choice(self, choice: dict[str, Any], events: list[StreamEvent]) -> None:
        delta, message = choice.get("delta"), choice.get("message")
        if isinstance(delta, dict):
            self._has_deltas = True
            self._read_delta(delta, events, whole=False)
        elif isinstance(message, dict) and not self._has_deltas:  # after deltas it is a summary of them
            self._read_delta(message, events, whole=True)
        self._read_usage(choice.get("usage"), events)  # Moonshot has it here
        if error := choice.get("error"):
            raise payload_error({"error": error}, self._request, in_stream=self._in_stream)
        reason = choice.get("finish_reason")
        if isinstance(reason, dict):  # SGLang: {"type": "stop", "matched": …}
            reason = reason.get("type")
        if isinstance(reason, str) and reason not in _NO_REASON:
            self._finish(reason, events)

    def _read_delta(self, delta: dict[str, Any], events: list[StreamEvent], *, whole: bool) -> None:
        self._read_thinking(reasoning(delta), events)
        if self._reasoning_field == DETAILS:
            add_details(self._details, delta.get(DETAILS), whole=whole)
        content = delta.get("content")
        if isinstance(content, str):
            self._read_text(content, events)
        elif content:
            self._read_parts(content, events)
        self._read_refusal(delta.get("refusal"), events)
        calls = delta.get("tool_calls") or _old_call(delta)
        if isinstance(calls, dict):
            calls = [calls]
        if calls and isinstance(calls, list):
            self._read_calls(calls, events, whole=whole)

    def _read_refusal(self, refusal: Any, events: list[StreamEvent]) -> None:
        if refusal and isinstance(refusal, str):  # in place of content, with finish_reason "stop"
            self._has_refused = True
            self._read_text(refusal, events)

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
            if self._reasoning_field not in (None, DETAILS):
                self._reasoning.append(text)

    def _read_parts(self, content: Any, events: list[StreamEvent]) -> None:
        """Content in parts, as Mistral's reasoning models give it."""
        for kind, text in content_parts(content):
            if kind == "reasoning":
                self._read_thinking(text, events)
            elif kind == "refusal":
                self._read_refusal(text, events)
            else:
                self._read_text(text, events)

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


def _error_of(chunk: dict[str, Any], *, has_choices: bool) -> dict[str, Any] | None:
    """What in a chunk reports an error, if anything does."""
    if chunk.get("error"):
        return chunk
    if error := _fields(chunk.get("x_groq")).get("error"):  # "why a stream was stopped early"
        return {"error": error}
    status = _fields(chunk.get("base_resp"))  # MiniMax, whose errors come with HTTP 200
    if status.get("status_code"):
        return status
    return chunk if not has_choices and is_error(chunk) else None


def _old_call(delta: dict[str, Any]) -> list[dict[str, Any]]:
    """A call in the form that came before `tool_calls`; there is at most one."""
    call = delta.get("function_call")
    return [{"index": 0, "function": call}] if isinstance(call, dict) else []


def _fields(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
