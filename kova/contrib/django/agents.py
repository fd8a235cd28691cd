"""The agents that `settings.KOVA` describes: one of each twin for each process.

KOVA = {
"model": "openai:gpt-5",
"system_prompt": "Be brief.",
"tools": ["shop.tools.find_order"],
}
"""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from django.conf import settings
from django.core.signals import setting_changed
from django.utils.module_loading import import_string

from ..._async.agent import AsyncAgent
from ..._forks import renew_in_children
from ..._sync.agent import Agent
from ...errors import BuildError
from .stores import AsyncDjangoStore, DjangoStore

__all__ = ["agent", "async_agent"]

A = TypeVar("A", Agent, AsyncAgent)

OBJECTS = frozenset({"approval_handler", "lifecycle_hook", "streaming_handler", "tool_registry"})  # may be paths
OWN = frozenset({"database", "max_messages", "model"})
OPTIONS = frozenset(inspect.signature(Agent).parameters) - {"provider", "memory"} | OWN


def agent() -> Agent:
    """This process's agent by `settings.KOVA`, made when it is first asked for. It keeps conversations in a DjangoStore.

    Raises:
        BuildError: The settings are wrong; the message names what.
    """
    return _agents.get(Agent, DjangoStore)


def async_agent() -> AsyncAgent:
    """This process's async agent by `settings.KOVA`. It keeps conversations in an AsyncDjangoStore.

    Raises:
        BuildError: The settings are wrong; the message names what.
    """
    return _agents.get(AsyncAgent, AsyncDjangoStore)


class _Agents:
    """The agents that have been made. Thread-safe; a forked child goes on with its parent's."""

    def __init__(self) -> None:
        self._made: dict[type[Any], Any] = {}
        self.renew()
        renew_in_children(self)

    def renew(self) -> None:
        self._lock = threading.Lock()

    def get(self, kind: type[A], store: Callable[..., Any]) -> A:
        made: A | None = self._made.get(kind)
        if made is None:
            with self._lock:
                made = self._made.get(kind)
                if made is None:
                    made = self._made[kind] = _make(kind, store)
        return made

    def forget(self) -> None:
        self._made = {}


def _make(kind: type[A], store: Callable[..., Any]) -> A:
    given: object = getattr(settings, "KOVA", None)
    if not isinstance(given, Mapping):
        raise BuildError('settings.KOVA must be a dict such as {"model": "openai:gpt-5"}')
    options = dict(given)
    unknown = sorted(map(str, options.keys() - OPTIONS))
    if unknown:
        raise BuildError(f"settings.KOVA: unknown {', '.join(unknown)}; known are {', '.join(sorted(OPTIONS))}")
    model = options.pop("model", None)
    if model is None:
        raise BuildError("settings.KOVA: model is missing, such as 'openai:gpt-5'")
    memory = store(using=options.pop("database", "default"), max_messages=options.pop("max_messages", None))
    for name in OBJECTS & options.keys():
        options[name] = _imported(name, options[name])
    options["tools"] = [_imported("tools", tool) for tool in options.get("tools", ())]
    return kind(model, memory=memory, **options)


def _imported(name: str, value: object) -> Any:
    """What stands at a dotted path; anything but a text is taken as it is.

    Raises:
        BuildError: There is no such thing.
    """
    if not isinstance(value, str):
        return value
    try:
        return import_string(value)
    except ImportError as error:
        raise BuildError(f"settings.KOVA: {name}: {error}") from error


def _settings_changed(*, setting: str, **_: object) -> None:
    if setting == "KOVA":
        _agents.forget()


_agents = _Agents()
setting_changed.connect(_settings_changed)  # by which tests override settings
