"""A turn in a thread of its own, so that the terminal has one owner: the main thread.

What happens in the turn comes out of a queue, questions about tool calls included. Ctrl-C cancels the turn's token.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator
from typing import TypeAlias

from attrs import define, field, frozen

from .. import AgentStream, CancellationToken
from ..approvals import ApprovalDecision
from ..messages import ToolUseBlock
from ..responses import AgentEvent
from ..tools import ToolContext
from .interrupts import interrupts_do

__all__ = ["Ended", "Idle", "Question", "TurnEvent", "Turns"]


@define
class Question:
    """A tool call waits for a decision: `answer` it."""

    call: ToolUseBlock
    _answers: queue.SimpleQueue[ApprovalDecision] = field(factory=queue.SimpleQueue)

    def answer(self, decision: ApprovalDecision) -> None:
        """Decide."""
        self._answers.put(decision)

    def wait(self, context: ToolContext) -> ApprovalDecision:
        """The decision, or a denial when the turn is over before there is one."""
        forget = context.cancel.add_callback(lambda: self._answers.put(ApprovalDecision.DENIED))
        try:
            return self._answers.get()
        finally:
            forget()


@frozen
class Idle:
    """Nothing has happened for the time that was asked for."""


@frozen
class Ended:
    """The turn is over.

    Attributes:
        error: What it ended with; None if it was completed.
    """

    error: BaseException | None


TurnEvent: TypeAlias = AgentEvent | Question | Idle | Ended


class Turns:
    """Runs one turn after the other, and is the approval handler of the agent whose turns they are."""

    def __init__(self) -> None:
        self._events: queue.SimpleQueue[TurnEvent] = queue.SimpleQueue()
        self._token = CancellationToken()

    def __call__(self, call: ToolUseBlock, context: ToolContext) -> ApprovalDecision:
        question = Question(call)
        self._events.put(question)
        return question.wait(context)

    def stop(self) -> None:
        """End the turn that is running."""
        self._token.cancel("stopped by the user")

    def events(
        self, begin: Callable[[CancellationToken], AgentStream], idle_after: Callable[[], float | None]
    ) -> Iterator[TurnEvent]:
        """Run a turn, and see what happens; the last event is `Ended`. Ctrl-C cancels the turn in the meantime.

        Args:
            begin: Makes the turn, which is to obey the token.
            idle_after: Seconds after which an `Idle` is wanted if nothing happens; None for none.
        """
        token = self._token = CancellationToken()
        events = self._events = queue.SimpleQueue()
        threading.Thread(target=_run, args=(begin, token, events), name="turn", daemon=True).start()
        with interrupts_do(lambda: token.cancel("stopped by Ctrl-C")):
            while True:
                try:
                    event = events.get(timeout=idle_after())
                except queue.Empty:
                    event = Idle()
                yield event
                if isinstance(event, Ended):
                    return


def _run(
    begin: Callable[[CancellationToken], AgentStream],
    token: CancellationToken,
    events: queue.SimpleQueue[TurnEvent],
) -> None:
    try:
        with begin(token) as stream:
            for event in stream:
                events.put(event)
    except BaseException as error:
        events.put(Ended(error))
    else:
        events.put(Ended(None))
