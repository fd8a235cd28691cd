"""Scripts for tests: what a model is to answer, in values that read well, and who has asked for it.

An answer is what the model says, in order: one part, or a sequence of parts.

    "It is 3."                                          text; a stream hands it out in words
    ["Let me see.", call("add", a=1, b=2)]              text, and a tool call
    [ThinkingDelta("Hm."), "3", UsageStats(7, 1)]       reasoning, text, usage
    ["It is", StopReason.MAX_TOKENS]                    an answer that was cut off
    [Delay(0.5), "It ", ConnectionError("lost")]        silence, half an answer, a failure
    [TextDelta("It"), StopEvent(StopReason.REFUSAL)]    exactly these events

What plays scripts is `AsyncScriptedProvider`, without a network, and `kova.testing.ModelServer`, over a socket.
"""

from __future__ import annotations

import re
import threading
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from typing import Generic, TypeAlias, TypeVar

from attrs import field, frozen
from attrs.validators import ge

from . import _json
from ._turn import ModelRequest
from .errors import KovaError
from .messages import ThinkingBlock, ToolUseBlock
from .responses import (
    StopEvent,
    StopReason,
    StreamEvent,
    TextDelta,
    ThinkingDelta,
    ToolUseDelta,
    UsageEvent,
    UsageStats,
)

__all__ = ["Answer", "AnswerFunction", "AsyncAnswerFunction", "Delay", "Part", "Script", "Step", "checked", "steps"]


@frozen
class Delay:
    """Silence in the middle of an answer, or before it.

    Attributes:
        seconds: How long; `math.inf` is for ever, until the caller gives up.
    """

    seconds: float = field(validator=ge(0))


Part: TypeAlias = str | ToolUseBlock | UsageStats | StopReason | StreamEvent | Delay | KovaError
Answer: TypeAlias = Part | Sequence[Part]
AnswerFunction: TypeAlias = Callable[[ModelRequest], Answer]
AsyncAnswerFunction: TypeAlias = Callable[[ModelRequest], Answer | Awaitable[Answer]]
Step: TypeAlias = StreamEvent | Delay | KovaError

_EVENTS = (TextDelta, ThinkingDelta, ThinkingBlock, ToolUseDelta, UsageEvent, StopEvent)
_PARTS = (str, ToolUseBlock, UsageStats, *_EVENTS, Delay, KovaError)


# ---- answers


def checked(answer: Answer) -> tuple[Part, ...]:
    """The parts of an answer.

    Raises:
        TypeError: Something in it is none.
    """
    return tuple(_parts(answer))


def steps(answer: Answer | Iterator[Part], calls_before: int = 0) -> Iterator[Step]:
    """What is to be done to give an answer. An event for its stop is added where it has none of its own.

    Args:
        answer: The answer; of an iterator, each part is taken when its turn has come.
        calls_before: How many tool calls the conversation holds already. The calls of an answer that have no id get
            one that counts them, so that the same history is always given the same ids.

    Raises:
        TypeError: Something in it is no part.
    """
    calls, is_over = 0, False
    for part in _parts(answer):
        if isinstance(part, ToolUseBlock):
            yield _call_event(part, part.id or f"call_{calls_before + calls + 1}", calls)
            calls += 1
        elif isinstance(part, StopReason):  # which is a str as well
            is_over = True
            yield StopEvent(part)
        elif isinstance(part, str):
            yield from map(TextDelta, words(part))
        elif isinstance(part, UsageStats):
            yield UsageEvent(part)
        else:
            is_over = is_over or isinstance(part, (StopEvent, KovaError))
            yield part
    if not is_over:
        yield StopEvent(StopReason.TOOL_USE if calls else StopReason.END_TURN)


def words(text: str) -> list[str]:
    """The text in words, each with the space after it."""
    return [word for word in re.split(r"(?<= )", text) if word]


def _parts(answer: Answer | Iterator[Part]) -> Iterator[Part]:
    given = (answer,) if isinstance(answer, str) or not isinstance(answer, (Sequence, Iterator)) else answer
    for part in given:
        if not isinstance(part, _PARTS):
            raise TypeError(f"an answer consists of text, tool calls, events, delays and errors, not of {part!r:.100}")
        yield part


def _call_event(call: ToolUseBlock, call_id: str, index: int) -> ToolUseDelta:
    raw = call.invalid_arguments
    arguments = _json.dumps(call.input).decode() if raw is None else raw
    return ToolUseDelta(call_id, call.name, arguments, call.provider_metadata, index)


# ---- scripts

R = TypeVar("R")  # a request
A = TypeVar("A")  # an answer, or a function that gives one


class Script(Generic[R, A]):
    """The answers that are to come, and the requests so far; safe to use from several threads and tasks.

    Args:
        answers: Answers to the first requests, one after the other.

    Attributes:
        requests: All requests so far.
    """

    def __init__(self, answers: Iterable[A]) -> None:
        self.requests: list[R] = []
        self._lock = threading.Lock()
        self._coming: deque[A] = deque()
        self._default: A | None = None
        self._unanswered = 0
        self.play(*answers)

    def play(self, *answers: A) -> None:
        """Answer further requests like this, one after the other.

        Raises:
            TypeError: Something is no answer.
        """
        further = [self._checked(answer) for answer in answers]
        with self._lock:
            self._coming.extend(further)

    def always(self, answer: A) -> None:
        """Answer every request like this for which nothing else is left to be played.

        Raises:
            TypeError: It is no answer.
        """
        self._default = self._checked(answer)

    def assert_used_up(self) -> None:
        """Check that all that was to be played was played, and that no request went without an answer.

        Raises:
            AssertionError: It was not so; the message says what is left.
        """
        if self._unanswered:
            raise AssertionError(f"requests after the end of the script: {self._unanswered}")
        if left := [f"{answer!r:.100}" for answer in self._coming]:
            raise AssertionError(f"answers of the script that were not asked for: {'; '.join(left)}")

    def _checked(self, answer: A) -> A:
        raise NotImplementedError

    def _take(self, request: R) -> A:
        """The answer to a request, which is noted."""
        with self._lock:
            self.requests.append(request)
            return self._answer()

    def _answer(self) -> A:
        if self._coming:
            return self._coming.popleft()
        if self._default is not None:
            return self._default
        self._unanswered += 1
        asked = len(self.requests)
        raise AssertionError(f"the script has no answer to request number {asked}: it has come to its end")
