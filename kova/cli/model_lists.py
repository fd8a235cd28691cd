"""Asking several providers for their models, at the same time."""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from attrs import frozen

from .._runtime import threads as rt
from .._runtime.scope import deadline_after
from .._sync.resolve import provider_from_string
from ..errors import KovaError

__all__ = ["Listing", "list_all"]

ANY_MODEL = "MODEL"  # a provider is made for a model, and is asked here for none; errors show it


@frozen
class Listing:
    """What a provider said when it was asked for its models.

    Attributes:
        provider: Its name.
        models: The ids of its models.
        seconds: How long it took.
        error: Why there are none.
    """

    provider: str
    models: list[str]
    seconds: float
    error: KovaError | None


def list_all(providers: Sequence[str], timeout: float) -> list[Listing]:
    """Ask all of these providers at once.

    Args:
        providers: Their names.
        timeout: Seconds for each of them.
    """
    if not providers:
        return []
    with ThreadPoolExecutor(len(providers)) as pool:
        return list(pool.map(lambda name: _list(name, timeout), providers))


def _list(name: str, timeout: float) -> Listing:
    begun = time.monotonic()
    models: list[str] = []
    problem: KovaError | None = None
    try:
        with provider_from_string(f"{name}:{ANY_MODEL}") as provider:
            with rt.fail_at(deadline_after(timeout, f"listing the models of {name}")):
                models = [model.id for model in provider.list_models()]
    except KovaError as error:
        problem = error
    return Listing(name, models, time.monotonic() - begun, problem)
