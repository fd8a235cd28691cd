"""Whether anybody wants to see what goes on: one check a turn, and one for each request to an MCP server."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .watch import UNWATCHED, TurnWatch

if TYPE_CHECKING:
    from .._turn import Turn
    from .metrics import MetricsCollector
    from .spans import Tracing

__all__ = ["spans_on", "use_spans", "watch_turn"]

_tracing: Tracing | None = None


def watch_turn(
    turn: Turn, *, agent: str | None, provider: object, session: str | None, metrics: MetricsCollector | None
) -> TurnWatch:
    """What sees a turn that is about to begin.

    Args:
        turn: The turn.
        agent: The agent's name.
        provider: The agent's provider.
        session: The conversation or session that the turn belongs to.
        metrics: Where the agent's turns are counted.
    """
    if _tracing is None and metrics is None:
        return UNWATCHED
    from .live import LiveTurn

    return LiveTurn(turn, agent=agent, provider=provider, session=session, metrics=metrics, tracing=_tracing)


def spans_on() -> Tracing | None:
    """What makes spans; None while there are to be none."""
    return _tracing


def use_spans(tracing: Tracing | None) -> None:
    """Have spans made from now on, or none any more."""
    global _tracing
    _tracing = tracing
