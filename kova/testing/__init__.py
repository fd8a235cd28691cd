"""What you need to test your own agents: models that say what a test tells them to.

`ScriptedProvider` and `AsyncScriptedProvider` play a script of answers without any network. `ModelServer` plays the
same scripts over a real socket, in the wire format of the API that it is asked for. Names are loaded when they are
first used, so that a blocking test loads no async library.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .._async.scripted import AsyncScriptedProvider, AsyncScriptedStream
    from .._script import Answer, AnswerFunction, AsyncAnswerFunction, Delay, Part
    from .._sync.scripted import ScriptedProvider, ScriptedStream
    from .._turn import ModelRequest
    from ._answers import call, provider_error
    from ._exchange import Exchange
    from ._server import ModelServer, ServerAnswer

_HOMES = {
    "_async.scripted": ["AsyncScriptedProvider", "AsyncScriptedStream"],
    "_script": ["Answer", "AnswerFunction", "AsyncAnswerFunction", "Delay", "Part"],
    "_sync.scripted": ["ScriptedProvider", "ScriptedStream"],
    "_turn": ["ModelRequest"],
    "testing._answers": ["call", "provider_error"],
    "testing._exchange": ["Exchange"],
    "testing._server": ["ModelServer", "ServerAnswer"],
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "Answer",
    "AnswerFunction",
    "AsyncAnswerFunction",
    "AsyncScriptedProvider",
    "AsyncScriptedStream",
    "Delay",
    "Exchange",
    "ModelRequest",
    "ModelServer",
    "Part",
    "ScriptedProvider",
    "ScriptedStream",
    "ServerAnswer",
    "call",
    "provider_error",
]


def __getattr__(name: str) -> Any:
    home = _HOME_OF.get(name)
    if home is None:
        raise AttributeError(f"module 'kova.testing' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"kova.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
