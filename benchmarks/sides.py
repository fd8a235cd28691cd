"""The three sides of every comparison, and what is hidden from each.

A module that is hidden cannot be imported: `import` finds None in its place in `sys.modules`, and reports that it is
not installed. That is how kova is measured with orjson and without, in one environment.
"""

import sys
from typing import Literal, TypeAlias

Side: TypeAlias = Literal["by_hand", "kova", "kova_orjson"]
Twin: TypeAlias = Literal["blocking", "async"]

MODULES: dict[str, str] = {
    "by_hand": "benchmarks.by_hand",
    "kova": "benchmarks.with_kova",
    "kova_orjson": "benchmarks.with_kova",
}

# `import httpx` also loads httpx's command line where what that needs is installed, as it is here for other reasons:
# that would nearly double what the import costs, and flatter whatever is compared with it.
COMMAND_LINE = ("click", "rich", "pygments")
HIDDEN: dict[str, tuple[str, ...]] = {
    "by_hand": ("orjson", *COMMAND_LINE),
    "kova": ("orjson", *COMMAND_LINE),
    "kova_orjson": COMMAND_LINE,
}


def hide_modules(side: str) -> None:
    """Hide from this process what its side must not use."""
    for name in HIDDEN[side]:
        sys.modules[name] = None  # type: ignore[assignment]  # what `import` takes for "not installed"


def hiding_code(side: str) -> str:
    """The same as a line of a program that imports nothing of this package."""
    return f"import sys; sys.modules.update(dict.fromkeys({HIDDEN[side]!r}))\n"
