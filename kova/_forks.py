"""What a forked child must not keep of its parent: locks that another thread held, and who waited for what."""

from __future__ import annotations

import os
from typing import Protocol
from weakref import WeakSet

__all__ = ["renew_in_children"]


class Renewable(Protocol):
    """What can be put into the state in which no thread uses it."""

    def renew(self) -> None: ...


_renewable: WeakSet[Renewable] = WeakSet()


def renew_in_children(item: Renewable) -> None:
    """Have an object renewed in every child that is forked while it lives."""
    _renewable.add(item)


def _renew() -> None:
    for item in list(_renewable):
        item.renew()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew)
