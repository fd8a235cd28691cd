"""Where kova is right on purpose and the official client is not, or does something else; all other cases are equal.

An entry says what the official client makes of the case's bytes. The test asserts that it still does, so that what is
mended there, or here, does not stay in the list.
"""

from __future__ import annotations

from typing import Any

from attrs import field, frozen

from .clients import counts

__all__ = ["DIFFERENCES", "Difference"]


@frozen
class Difference:
    """How the official client differs on one case.

    Attributes:
        why: What happens there, and why kova does otherwise.
        raises: Name of the exception that it ends in; None where there is an answer.
        fields: Those of the outcome that differ, with what they are there.
    """

    why: str
    raises: str | None = None
    fields: dict[str, Any] = field(factory=dict)


def _raises(name: str, why: str) -> Difference:
    return Difference(why, raises=name)


def _gives(why: str, **fields: Any) -> Difference:
    return Difference(why, fields=fields)


_NO_USAGE = counts(None, None, None, None, None)

_BY_INDEX = "looks calls up by their index alone, and fails where a server leaves it out or skips numbers"
_HELPER_RAISES = "its stream helper raises at this finish reason, and the partial answer is lost; kova reports both"
_ADDS_UP = "adds up all that comes at one index, names as well, so that several calls, or one said twice, are a jumble"
_ONE_PAYLOAD = "takes events without a blank line between them for one payload, as event streams have it; it is no JSON"
_BY_BLOCK = "drops text whose index is that of a block of another type; kova takes a delta for what it says it is"
_REPAIRS = "repairs the JSON of a call that the token limit cut, so that a tool would run with half its arguments"

DIFFERENCES: dict[str, Difference] = {
    # ---- OpenAI
    "openai-complete-choice-without-message": _raises(
        "AttributeError", "the message is None where the server sends a choice without one; kova's answer is empty"
    ),
    "openai-complete-sse-answer": _raises(
        "AttributeError", "gives the whole body as a str where an event stream answers a plain call; kova reads it"
    ),
    "openai-complete-tool-args-null-text": _gives(
        'arguments "null" are left to the user, to whom they are None; for kova they are no arguments',
        calls=[("ping", {}), ("ping", None)],
    ),
    "openai-complete-usage-reasoning-exceeds": _gives(
        "leaves it to the user to add reasoning that the server counts apart; in kova it is a part of the output",
        usage=counts(33, 71, 900, None, None),
    ),
    "openai-request-tool-name-with-dot": _gives(
        "does not rewrite a tool's name that the API refuses, so that it does not undo that either",
        calls=[("fs_read", {})],
    ),
    "openai-sse-control-only-blocks": _raises(
        "JSONDecodeError", "takes a block without data for an event, and its empty data for JSON"
    ),
    "openai-sse-events-without-blank-line": _raises("JSONDecodeError", _ONE_PAYLOAD),
    "openai-sse-final-event-unterminated": _gives(
        "drops an event that the end of the body completes, and with it the finish reason and the usage",
        usage=_NO_USAGE,
        stop=None,
    ),
    "openai-sse-leading-bom": _gives(
        "takes a byte-order mark for a part of the first line, whose event is lost", text="lo"
    ),
    "openai-stream-content-filter": _raises("ContentFilterFinishReasonError", _HELPER_RAISES),
    "openai-stream-content-parts-reasoning": _gives(
        "joins content only where it is text, and of a list of parts keeps nothing, neither reasoning nor text",
        text="lo",
        thinking=None,
    ),
    "openai-stream-length-mid-arguments": _raises("LengthFinishReasonError", _HELPER_RAISES),
    "openai-stream-length-second-call-cut": _raises("LengthFinishReasonError", _HELPER_RAISES),
    "openai-stream-tool-all-index-zero": _gives(
        _ADDS_UP, calls=[("lookuplookuplookup", '{"city":"Oslo"}{"city":"Rome"}{"city":"Bern"}')]
    ),
    "openai-stream-tool-args-empty-object-first": _gives(
        "joins the empty object that stands in for the arguments to those that follow; kova leaves it out",
        calls=[("lookup", '{}{"city":"Oslo"}'), ("lookup", {})],
    ),
    "openai-stream-tool-args-repeated-in-summary": _gives(_ADDS_UP, calls=[("addadd", '{"a":1}{"a":1}')]),
    "openai-stream-tool-id-and-name-repeated": _gives(
        "adds up names that are repeated on every piece", calls=[("addaddadd", {"a": 1})]
    ),
    "openai-stream-tool-index-missing-continuation": _raises("TypeError", _BY_INDEX),
    "openai-stream-tool-index-missing-whole-calls": _raises("TypeError", _BY_INDEX),
    "openai-stream-tool-index-then-next": _gives(
        _ADDS_UP, calls=[("lookuplookup", {"city": "Oslo"}), (None, {"city": "Rome"})]
    ),
    "openai-stream-tool-same-id-new-index": _gives(
        "makes a call of each index, though it has the id of one that is there; the first would run without arguments",
        calls=[("lookup", {}), ("lookup", {"city": "Oslo"})],
    ),
    "openai-stream-tool-sparse-index": _raises("IndexError", _BY_INDEX),
    "openai-stream-tool-two-bare-names": _raises("TypeError", _BY_INDEX),
    "openai-stream-usage-in-x-groq": _gives(
        "looks for usage in the chunk itself, and does not know Groq's place for it", usage=_NO_USAGE
    ),
    "openai-stream-usage-null-details": _gives(
        "lets a later chunk whose usage is null erase the usage that was reported", usage=_NO_USAGE
    ),
    # ---- Anthropic
    "anthropic-complete-content-text": _raises(
        "AttributeError", "gives a str where content is a text instead of a list of blocks; kova reads it"
    ),
    "anthropic-complete-usage-cache-creation-by-ttl": _gives(
        "leaves the sum of cache writes empty where a gateway gives its parts alone", usage=counts(5, 2, None, 7, None)
    ),
    "anthropic-stream-events-without-blank-line": _raises("JSONDecodeError", _ONE_PAYLOAD),
    "anthropic-stream-max-tokens-inside-tool": _gives(_REPAIRS, calls=[("add", {"a": 1, "b": 2})]),
    "anthropic-stream-max-tokens-second-call-cut": _gives(
        _REPAIRS, calls=[("add", {"a": 1, "b": 2}), ("add", {"a": 3})]
    ),
    "anthropic-stream-text-in-thinking-block": _gives(_BY_BLOCK, text=""),
    "anthropic-stream-text-in-tool-block": _gives(_BY_BLOCK, text=""),
    "anthropic-stream-tool-empty-object-first": _gives(
        "reads the JSON only as far as the empty object that stands in for it, so that a tool would run without arguments",
        calls=[("lookup", {}), ("lookup", {})],
    ),
    # ---- Gemini
    "gemini-stream-done-mark-after-finish": _raises(
        "UnknownApiResponseError", "takes OpenAI's [DONE], which gateways append to every stream, for JSON"
    ),
    # ---- Ollama
    "ollama-stream-done-reason-missing": _raises(
        "ValidationError", "insists on a message in every line; the last one of older servers has none"
    ),
    "ollama-stream-several-lines-blank-crlf": _raises("JSONDecodeError", "takes a blank line for JSON"),
    "ollama-stream-unicode-line-separators": _raises(
        "JSONDecodeError", "parts lines at U+2028, U+2029 and U+0085 too, which are text within JSON"
    ),
}
