"""Names that a local class or function has around it, where its hints are text.

`from __future__ import annotations` makes text of hints. What such a text names is looked up in the module; the variables
of a function are kept nowhere, and can be seen only while the function runs.
"""

from __future__ import annotations

import sys
import types
from typing import Any

__all__ = ["advice", "names_around"]


def names_around(item: object) -> dict[str, object]:
    """The variables of the functions in which a class or function was defined, as far as they are running now."""
    around = _functions_around(item)
    if not around:
        return {}
    found: dict[str, dict[str, Any]] = {}
    module = getattr(item, "__module__", None)
    frame: types.FrameType | None = sys._getframe(1)
    while frame is not None and len(found) < len(around):
        name = frame.f_code.co_qualname
        if name in around and name not in found and frame.f_globals.get("__name__") == module:
            found[name] = frame.f_locals
        frame = frame.f_back
    return {name: value for function in around for name, value in found.get(function, {}).items()}


def advice(item: object) -> str:
    """What helps where a name of such a hint is not found."""
    if not _functions_around(item):
        return ""
    return "; variables of a function are seen only while it runs: define the classes in the module"


def _functions_around(item: object) -> list[str]:
    """The qualified names of the functions around it, the outermost first."""
    parts = str(getattr(item, "__qualname__", "")).split(".<locals>")
    return [".<locals>".join(parts[:number]) for number in range(1, len(parts))]
