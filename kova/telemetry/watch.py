"""What a turn tells as it goes on; these watches see nothing, and `live` has those that do.

A turn of which nobody wants to know (`switch`) goes through a dozen calls that do nothing, and none of them for each
event of a stream.

A part of a turn is a with block, which is the current span inside. A part that goes on while a stream is in the user's
hands has no block: it is begun and ended, and is the current span only in the blocks of `attached`, in which nothing
is handed out. So a stream can be left in any way, in another task or thread even, and no context stays attached.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from types import TracebackType
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from .._turn import ModelRequest
    from ..errors import KovaError
    from ..messages import ToolUseBlock
    from ..responses import ModelResponse, UsageStats
    from ..tools import ToolResult

__all__ = ["UNWATCHED", "UNWATCHED_CALL", "CallWatch", "ToolWatch", "TurnWatch", "Watch"]

_DETACHED: AbstractContextManager[None] = nullcontext()


class Watch:
    """Sees a part of a turn."""

    __slots__ = ()

    def begin(self) -> None:
        """The part begins."""

    def attached(self) -> AbstractContextManager[None]:
        """A block in which the part is the current span."""
        return _DETACHED

    def failed(self, error: BaseException) -> None:
        """The part has failed; its end is still to come."""

    def end(self) -> None:
        """The part is over. May be called twice."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """The part is over, and has failed if there is an error."""


class CallWatch(Watch):
    """Sees a provider call, with its repetitions."""

    __slots__ = ()

    def retried(self, error: KovaError, attempt: int, delay: float) -> None:
        """The call has failed for the `attempt`th time and is repeated after `delay` seconds."""

    def streamed(self) -> None:
        """The first piece of a streamed answer has come."""

    def answered(self, answer: ModelResponse) -> None:
        """The whole answer is there."""

    def broken_off(self, usage: UsageStats) -> None:
        """The answer will not come to its end; so much of it was reported as spent."""


class ToolWatch(Watch):
    """Sees a tool run."""

    __slots__ = ()

    def gave(self, result: ToolResult) -> None:
        """The tool has given a result, for the model to see."""


class TurnWatch(Watch):
    """Sees a turn."""

    __slots__ = ()

    def model_call(self, request: ModelRequest, *, is_stream: bool) -> CallWatch:
        """Sees a provider call of the turn."""
        return UNWATCHED_CALL

    def tool_run(self, call: ToolUseBlock) -> ToolWatch:
        """Sees a tool run of the turn."""
        return _UNWATCHED_TOOL

    def refused(self, call: ToolUseBlock, reason: str) -> None:
        """A call was not run, for a reason of a word: the model is told."""


UNWATCHED_CALL = CallWatch()
_UNWATCHED_TOOL = ToolWatch()
UNWATCHED = TurnWatch()
