"""What a person answers when asked about a tool call, and who answers where there is nobody to ask."""

from __future__ import annotations

from ..approvals import ApprovalDecision

__all__ = ["NOBODY", "QUESTION", "decision_of"]

QUESTION = "Run it? y(es), a(lways), n(o) [reason]: "
NOBODY = "there was no terminal to ask the user on"


def decision_of(answer: str) -> ApprovalDecision | None:
    """The decision that an answer means; None if it means none, and the question is to be asked again.

    Whatever follows a no is the reason that the model is told.
    """
    word, _, reason = answer.strip().partition(" ")
    match word.rstrip(",:").lower():
        case "y" | "yes" if not reason:
            return ApprovalDecision.APPROVED
        case "a" | "always" if not reason:
            return ApprovalDecision.APPROVED_FOR_SESSION
        case "n" | "no":
            return ApprovalDecision.denied(reason.strip()) if reason.strip() else ApprovalDecision.DENIED
        case _:
            return None
