"""The model of these notebooks, so that they run as they are, with a key or without.

The environment variable KOVA_MODEL names it, such as "openai:gpt-5". Without it, it is the small model that runs on
this machine, if that is installed (`make setup`); else a script says what a model could have said.
"""

from __future__ import annotations

import os

import kova
from kova.testing import Answer, AsyncScriptedProvider, ScriptedProvider

__all__ = ["async_model", "model"]

LOCAL = "local:smollm2"
SCRIPT = "script"  # KOVA_MODEL=script plays the script in any case


def model(*script: Answer) -> str | ScriptedProvider:
    """A model for `kova.Agent`.

    Args:
        script: What to answer where there is no model.
    """
    name = _name()
    return ScriptedProvider(*script) if name == SCRIPT else name


def async_model(*script: Answer) -> str | AsyncScriptedProvider:
    """The same for `kova.AsyncAgent`."""
    name = _name()
    return AsyncScriptedProvider(*script) if name == SCRIPT else name


def _name() -> str:
    if name := os.environ.get("KOVA_MODEL"):
        return name
    try:
        kova.Agent(LOCAL)
    except kova.BuildError:  # it is not installed
        return SCRIPT
    return LOCAL
