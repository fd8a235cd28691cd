"""What the model may do: look an order up, when the visitor allows it."""

from __future__ import annotations

import kova

ORDERS = {17: "sent yesterday, arrives tomorrow", 23: "waits for the second volume"}


@kova.tool
def find_order(number: int) -> str:
    """Find out what has become of an order.

    Args:
        number: The number of the order.
    """
    if number not in ORDERS:
        raise kova.ToolError(f"there is no order {number}")
    return ORDERS[number]


def may_find(call: kova.ToolUseBlock, context: kova.ToolContext) -> kova.ApprovalDecision:
    """Ask for the box below the question. Leave is given to the conversation, and so to nobody else."""
    if context.state.get("orders") == "on":
        return kova.ApprovalDecision.APPROVED_FOR_SESSION
    return kova.ApprovalDecision.denied("the customer has not ticked the box that lets you see orders")
