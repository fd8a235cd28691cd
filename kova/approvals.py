"""Approvals: whether a tool may run is asked before it does, and the answer may hold for the session."""

from __future__ import annotations

from collections import OrderedDict
from enum import StrEnum
from threading import Lock
from typing import ClassVar

from attrs import field, frozen
from attrs.validators import optional

from ._forks import renew_in_children
from ._lines import Lines
from .messages import must_be

__all__ = ["ApprovalDecision", "SessionApprovals"]


class _Kind(StrEnum):
    APPROVED = "approved"
    APPROVED_FOR_SESSION = "approved_for_session"
    DENIED = "denied"
    DENIED_ALWAYS = "denied_always"


@frozen
class ApprovalDecision:
    """The answer of an approval handler: one of the constants, or `ApprovalDecision.denied("reason")`.

    Attributes:
        reason: What the model is told about a denial.
        APPROVED: This call may run.
        APPROVED_FOR_SESSION: This call may run, and so may later ones of the same tool in the session.
        DENIED: This call may not run.
        DENIED_ALWAYS: Neither this call nor later ones of the same tool in the session may run.
    """

    _kind: _Kind = field(alias="kind")
    reason: str | None = field(default=None, validator=optional(must_be(str)))

    APPROVED: ClassVar[ApprovalDecision]
    APPROVED_FOR_SESSION: ClassVar[ApprovalDecision]
    DENIED: ClassVar[ApprovalDecision]
    DENIED_ALWAYS: ClassVar[ApprovalDecision]

    @classmethod
    def denied(cls, reason: str) -> ApprovalDecision:
        """This call may not run, for a reason that the model is told."""
        return cls(_Kind.DENIED, reason)

    @property
    def is_approved(self) -> bool:
        """Whether the call may run."""
        return self._kind in (_Kind.APPROVED, _Kind.APPROVED_FOR_SESSION)

    @property
    def holds_for_session(self) -> bool:
        """Whether later calls of the tool need not be asked for."""
        return self._kind in (_Kind.APPROVED_FOR_SESSION, _Kind.DENIED_ALWAYS)

    def __repr__(self) -> str:
        return f"ApprovalDecision.{self._kind.name}" + (f"({self.reason!r})" if self.reason else "")


ApprovalDecision.APPROVED = ApprovalDecision(_Kind.APPROVED)
ApprovalDecision.APPROVED_FOR_SESSION = ApprovalDecision(_Kind.APPROVED_FOR_SESSION)
ApprovalDecision.DENIED = ApprovalDecision(_Kind.DENIED)
ApprovalDecision.DENIED_ALWAYS = ApprovalDecision(_Kind.DENIED_ALWAYS)


class SessionApprovals:
    """The decisions of an agent that hold for a session, and the questions that are being asked. Thread-safe.

    Args:
        limit: Decisions that are kept; the oldest are forgotten, and asked for again.

    Attributes:
        questions: A line for each session and tool that somebody is asked about: those behind the first need not ask
            if the answer holds for the session.
    """

    def __init__(self, limit: int = 100_000) -> None:
        self.questions: Lines = Lines()
        self._limit = limit
        self._decisions: OrderedDict[tuple[str, str], ApprovalDecision] = OrderedDict()
        self.renew()
        renew_in_children(self)

    def renew(self) -> None:
        self._lock = Lock()

    def get(self, session: str, tool_name: str) -> ApprovalDecision | None:
        """The decision that holds for a tool in a session; None where none does."""
        return self._decisions.get((session, tool_name))

    def note(self, session: str, tool_name: str, decision: ApprovalDecision) -> None:
        """Keep a decision, if it is one that holds for the session."""
        if not decision.holds_for_session:
            return
        with self._lock:
            self._decisions[session, tool_name] = decision
            while len(self._decisions) > self._limit:
                self._decisions.popitem(last=False)
