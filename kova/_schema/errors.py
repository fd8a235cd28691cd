"""What goes wrong between type hints and JSON, at definition and at a call."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["ArgumentError", "SchemaError"]

PROBLEMS_SHOWN = 10


class SchemaError(ValueError):
    """No JSON schema can be made from a type hint; the message says which and why."""


class ArgumentError(ValueError):
    """JSON arguments do not fit the hints.

    Attributes:
        problems: One line for each thing that is wrong, beginning with the parameter's path.
    """

    def __init__(self, problems: Sequence[str]) -> None:
        self.problems = tuple(problems)
        super().__init__(self.problems)

    def __str__(self) -> str:
        shown = "; ".join(self.problems[:PROBLEMS_SHOWN])
        hidden = len(self.problems) - PROBLEMS_SHOWN
        return f"{shown}; and {hidden} more" if hidden > 0 else shown
