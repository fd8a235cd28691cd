"""A request as it goes over the wire."""

from __future__ import annotations

import hashlib

from attrs import field, frozen

from .tool_names import ToolNames

__all__ = ["WireRequest"]


@frozen
class WireRequest:
    """A request that is ready to be sent, and what is needed to read its answer.

    Attributes:
        method: HTTP method.
        url: Where it goes, the query included.
        headers: Its headers, the names in lower case.
        body: Its body.
        model: The model that is asked; empty where none is.
        tool_names: Maps the names of tools in the answer back.
        secrets: What must never be shown: the API key and the like.
        history_size: How many of the body's first bytes hold the messages; they are the same whether the answer is
            streamed or not.
        answer_tool: Name on the wire of the tool whose input is the answer, where an API has no other way to an answer
            of a given form; None where the answer is plain text.
    """

    method: str
    url: str = field(repr=False)  # a key may be in the query
    headers: dict[str, str] = field(repr=False)
    body: bytes = field(repr=False)
    model: str
    tool_names: ToolNames = field(repr=False)
    secrets: tuple[str, ...] = field(default=(), repr=False)
    history_size: int = 0
    answer_tool: str | None = None

    def made_up_id(self, position: int) -> str:
        """An id for the answer's n-th tool call, where the server gives none.

        The same history gives the same ids, so that an answer is the same streamed or not. They do not occur twice
        in one conversation: the history that an id comes from is not yet one with that id in it.
        """
        history = memoryview(self.body)[: self.history_size or None]
        digest = hashlib.blake2b(history, digest_size=12, salt=position.to_bytes(8, "little"))
        return f"call_{digest.hexdigest()}"
