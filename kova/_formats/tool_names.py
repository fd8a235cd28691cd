"""Tool names as a provider's API accepts them, and back.

MCP servers name tools with dots and slashes, users with umlauts; one such name makes an API refuse the whole request.
It is rewritten on the wire, and the model's calls come back under the tool's own name.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable

from attrs import frozen

__all__ = ["NameRule", "ToolNames"]

DIGEST_LENGTH = 8  # characters


@frozen
class NameRule:
    """The names that an API accepts.

    Attributes:
        accepted: Matches a whole acceptable name.
        refused: Matches a character that a name must not have.
        length: The most characters that a name may have.
    """

    accepted: re.Pattern[str]
    refused: re.Pattern[str]
    length: int


class ToolNames:
    """The names of the tools of one request, both ways.

    Args:
        names: The tools' own names.
        rule: What the API accepts.
    """

    def __init__(self, names: Iterable[str], rule: NameRule) -> None:
        self._rule = rule
        self._on_wire: dict[str, str] = {}
        self._own: dict[str, str] = {}
        self._taken: set[str] = set()
        names = list(names)
        if refused := [name for name in names if not self.is_acceptable(name)]:
            self._taken.update(names)
            for name in refused:
                if name not in self._on_wire:
                    wire = self._on_wire[name] = self._rewritten(name)
                    self._own[wire] = name
                    self._taken.add(wire)

    def is_acceptable(self, name: str) -> bool:
        """Whether the API takes the name as it is."""
        return self._rule.accepted.fullmatch(name) is not None

    def wire(self, name: str) -> str:
        """The name on the wire; also for a tool that only the history knows."""
        known = self._on_wire.get(name)
        if known is not None:
            return known
        return name if self.is_acceptable(name) else self._rewritten(name)

    def own(self, wire: str) -> str:
        """The tool's own name, from that on the wire."""
        return self._own.get(wire, wire)

    def _rewritten(self, name: str) -> str:
        rule = self._rule
        plain = rule.refused.sub("_", name)[: rule.length]
        if plain not in self._taken and rule.accepted.fullmatch(plain):
            return plain
        digest = hashlib.blake2s(name.encode(errors="surrogatepass")).hexdigest()[:DIGEST_LENGTH]
        return f"{plain[: rule.length - DIGEST_LENGTH - 1] or 'tool'}_{digest}"
