"""Spans of orchestrations, so that the turns of all their agents are one trace.

The block of `watch_workflow` is the current span; what is raised in it is noted. While no spans are made, it does
nothing.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from types import TracebackType
from typing import TYPE_CHECKING

from . import names
from .switch import spans_on

if TYPE_CHECKING:
    from .spans import OpenSpan

__all__ = ["watch_workflow"]

_UNWATCHED: AbstractContextManager[None] = nullcontext()


def watch_workflow(name: str | None) -> AbstractContextManager[None]:
    """What sees a pattern carried out.

    Args:
        name: What it is called where it stands in the place of an agent.
    """
    tracing = spans_on()
    if tracing is None:
        return _UNWATCHED
    title, attributes = names.INVOKE_WORKFLOW, {names.OPERATION: names.INVOKE_WORKFLOW}
    if name is not None:
        title, attributes[names.AGENT] = f"{title} {name}", name
    return _LiveWorkflow(tracing.start(title, names.INVOKE_WORKFLOW, attributes))


class _LiveWorkflow(AbstractContextManager[None]):
    def __init__(self, span: OpenSpan) -> None:
        self._span = span
        self._scope = span.attached()

    def __enter__(self) -> None:
        self._scope.__enter__()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._scope.__exit__(None, None, None)
        if error is not None:
            self._span.failed(error)
        self._span.end()
