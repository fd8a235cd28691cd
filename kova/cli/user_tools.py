"""`--tools module:function`: Python functions of the user's as tools."""

from __future__ import annotations

import os
import sys
from importlib import import_module
from typing import Any

from ..errors import BuildError

__all__ = ["load_tool"]


def load_tool(text: str) -> Any:
    """The function, or the tool, that `module:function` means. Modules are looked for in the current folder first.

    Raises:
        BuildError: There is none, or its module cannot be imported.
    """
    module_name, colon, name = text.partition(":")
    if not colon or not module_name or not name:
        raise BuildError(f"--tools wants MODULE:FUNCTION, not {text!r}")
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    try:
        module = import_module(module_name)
    except Exception as error:
        raise BuildError(f"--tools {text}: {type(error).__name__}: {error}") from error
    try:
        return getattr(module, name)
    except AttributeError:
        raise BuildError(f"--tools {text}: the module {module_name} has no {name}") from None
