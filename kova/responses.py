"""What models and agents answer: responses, usage, and the events of streams."""

from __future__ import annotations

import html
from collections.abc import Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, TypeAlias

from attrs import Factory, asdict, astuple, define, field, frozen

from .messages import (
    ContentBlock,
    ConversationMessage,
    ImageBlock,
    JSONObject,
    TextBlock,
    ThinkingBlock,
    ToolUseBlock,
    content_blocks,
)

if TYPE_CHECKING:
    from ._turn_log import TurnLog
    from .timeline import Timeline

__all__ = [
    "AgentEvent",
    "AgentResponse",
    "ContentDelta",
    "ModelInfo",
    "ModelResponse",
    "Partial",
    "StopEvent",
    "StopReason",
    "StreamEvent",
    "TextDelta",
    "ThinkingDelta",
    "ToolCallFinished",
    "ToolCallStarted",
    "ToolUseDelta",
    "TurnCompleted",
    "UsageEvent",
    "UsageStats",
]


class StopReason(StrEnum):
    """Why a model stopped, the same for every provider."""

    END_TURN = "end_turn"
    TOOL_USE = "tool_use"
    MAX_TOKENS = "max_tokens"
    STOP_SEQUENCE = "stop_sequence"
    CONTENT_FILTER = "content_filter"
    REFUSAL = "refusal"
    PAUSE_TURN = "pause_turn"
    UNKNOWN = "unknown"


def _stop_reason(given: StopReason | str) -> StopReason:
    if type(given) is StopReason:
        return given
    if given not in [*StopReason]:
        raise ValueError(f"stop_reason must be one of {', '.join(StopReason)}; not {given!r}")
    return StopReason(given)


@frozen
class UsageStats:
    """Tokens that were spent. None is "not reported", never 0.

    Attributes:
        input_tokens: Prompt, without what was read from a cache.
        output_tokens: Answer, thinking included.
        total_tokens: As reported, else the sum of what is known, cache reads included.
        thinking_tokens: The part of the output that was thinking.
        cache_read_tokens: Prompt that was read from the provider's cache.
        cache_creation_tokens: Prompt that was written to the provider's cache.
    """

    input_tokens: int | None = None
    output_tokens: int | None = None
    total_tokens: int | None = None
    thinking_tokens: int | None = None
    cache_read_tokens: int | None = None
    cache_creation_tokens: int | None = None

    def __attrs_post_init__(self) -> None:
        if self.total_tokens is None:
            total = _sum_of_known((self.prompt_tokens, self.output_tokens))
            object.__setattr__(self, "total_tokens", total)

    @property
    def prompt_tokens(self) -> int | None:
        """The whole prompt, cache reads and writes included."""
        return _sum_of_known((self.input_tokens, self.cache_read_tokens, self.cache_creation_tokens))

    def __repr__(self) -> str:
        known = {name: value for name, value in asdict(self).items() if value is not None}
        return f"UsageStats({', '.join(f'{name}={value}' for name, value in known.items())})"

    def __add__(self, other: UsageStats) -> UsageStats:
        """The sum, field by field; unknown and known make known."""
        if not isinstance(other, UsageStats):
            return NotImplemented
        return UsageStats(*map(_sum_of_known, zip(astuple(self), astuple(other), strict=True)))


def _sum_of_known(parts: Sequence[int | None]) -> int | None:
    known = [part for part in parts if part is not None]
    return sum(known) if known else None


# ---- events of a provider's stream; plain slotted classes, since one is made for each piece of text


@define
class TextDelta:
    """A piece of the answer's text. `ContentDelta` is another name of this class.

    Attributes:
        text: The piece.
    """

    text: str


ContentDelta = TextDelta  # one object goes from the parser to the user, whichever name each of them knows it by


@define
class ThinkingDelta:
    """A piece of the model's reasoning.

    Attributes:
        text: The piece.
    """

    text: str


@define
class ToolUseDelta:
    """A piece of a tool call.

    Attributes:
        id: Id of the call, on each of its pieces.
        name: Name of the tool as far as it is known, on each of the call's pieces.
        input_delta: The next piece of the arguments' JSON text.
        provider_metadata: What the provider wants back with the call.
        index: Which of the answer's calls this belongs to.
    """

    id: str
    name: str
    input_delta: str = ""
    provider_metadata: JSONObject | None = None
    index: int = 0


@define
class UsageEvent:
    """Usage of the call as known so far; what a later event says replaces it.

    Attributes:
        usage: The tokens.
    """

    usage: UsageStats


@define
class StopEvent:
    """The model has stopped.

    Attributes:
        stop_reason: Why, in kova's words.
        raw_stop_reason: Why, in the provider's words.
    """

    stop_reason: StopReason = field(converter=_stop_reason)
    raw_stop_reason: str | None = None


StreamEvent: TypeAlias = TextDelta | ThinkingDelta | ThinkingBlock | ToolUseDelta | UsageEvent | StopEvent


# ---- events of an agent's stream


@define
class ToolCallStarted:
    """The model has called a tool.

    Attributes:
        id: Id of the call.
        name: Name of the tool.
        input: The arguments.
    """

    id: str
    name: str
    input: JSONObject


@define
class ToolCallFinished:
    """A tool call has ended.

    Attributes:
        id: Id of the call.
        name: Name of the tool.
        result: What goes back to the model: text, or blocks of text and images.
        is_error: Whether the call failed.
    """

    id: str
    name: str
    result: str | tuple[TextBlock | ImageBlock, ...]
    is_error: bool


@define
class TurnCompleted:
    """The turn is over; the last event of a stream.

    Attributes:
        response: The same response that `run` gives.
    """

    response: AgentResponse


AgentEvent: TypeAlias = TextDelta | ThinkingDelta | ToolCallStarted | ToolCallFinished | TurnCompleted


# ---- responses


@frozen
class ModelResponse:
    """The answer to one provider call.

    Attributes:
        content: Its blocks in the order in which the model gave them; a string stands for one text block.
        stop_reason: Why the model stopped.
        raw_stop_reason: Why, in the provider's words.
        usage: Tokens spent.
        thinking: The model's reasoning as text; it is not in the content unless the provider wants it back.
        model: The model that answered, as the provider names it.
        request_id: The provider's id of the request.
    """

    content: tuple[ContentBlock, ...] = field(default=(), converter=content_blocks)
    stop_reason: StopReason = field(default=StopReason.END_TURN, converter=_stop_reason)
    raw_stop_reason: str | None = None
    usage: UsageStats = UsageStats()
    thinking: str | None = None
    model: str | None = None
    request_id: str | None = None

    @property
    def text(self) -> str:
        """The text of all text blocks."""
        return "".join([block.text for block in self.content if isinstance(block, TextBlock)])

    @property
    def tool_calls(self) -> list[ToolUseBlock]:
        """The tool calls, in order."""
        return [block for block in self.content if isinstance(block, ToolUseBlock)]


@frozen
class AgentResponse:
    """The result of one turn.

    Attributes:
        text: The text of the final message.
        new_messages: All messages of the turn, to be added to the history.
        stop_reason: Why the model stopped.
        raw_stop_reason: Why, in the provider's words.
        usage: Tokens spent by all provider calls of the turn.
        last_input_tokens: Whole prompt of the last provider call, in tokens, cache reads included.
        llm_calls: Provider calls of the turn.
        thinking: The model's reasoning in the whole turn.
        model: The model that answered, as the provider names it.
    """

    text: str
    new_messages: list[ConversationMessage]
    stop_reason: StopReason
    raw_stop_reason: str | None
    usage: UsageStats
    last_input_tokens: int | None
    llm_calls: int
    thinking: str | None = None
    model: str | None = None
    _log: TurnLog | None = field(default=None, eq=False, repr=False)

    @property
    def timeline(self) -> Timeline:
        """What happened when in the turn: its calls of the model and of tools, with their times and tokens."""
        return _timeline(self._log)

    def _repr_html_(self) -> str:
        return text_html(self.text)

    def _repr_markdown_(self) -> str:
        # No HTML, and no images: they would be fetched from addresses that the model has written.
        return self.text.replace("<", "&lt;").replace("![", "&#33;[")


def text_html(text: str) -> str:
    """What a notebook shows of a text: nothing that it could obey."""
    return f'<div style="white-space: pre-wrap">{html.escape(text)}</div>'


@frozen
class Partial:
    """What a turn had produced when it failed, for inspection.

    Attributes:
        messages: Its messages so far.
        usage: Tokens reported so far.
        llm_calls: Provider calls begun; a retry is not another call.
    """

    messages: list[ConversationMessage] = Factory(list)
    usage: UsageStats = UsageStats()
    llm_calls: int = 0
    _log: TurnLog | None = field(default=None, eq=False, repr=False)

    @property
    def timeline(self) -> Timeline:
        """What happened when, until the turn failed."""
        return _timeline(self._log)


def _timeline(log: TurnLog | None) -> Timeline:
    from .timeline import read_timeline  # few look at it

    return read_timeline(log)


@frozen
class ModelInfo:
    """A model that a provider offers.

    Attributes:
        id: Its name in requests.
        created: When it was made, in seconds since the epoch.
        owned_by: Who made it.
        raw: All that the provider says of it.
    """

    id: str
    created: int | None = None
    owned_by: str | None = None
    raw: JSONObject = Factory(dict)
