"""The user's answers to what a server asks and says."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..._log import log
from ..._mcp.inputs import roots_result, sampling_config, sampling_messages, sampling_result, with_form_defaults
from ..._mcp.jsonrpc import INTERNAL_ERROR, INVALID_PARAMS, METHOD_NOT_FOUND
from ..._runtime import aio as rt
from ...errors import BuildError, MCPError

if TYPE_CHECKING:
    from ..provider import AsyncLLMProvider

__all__ = ["AsyncServerHandlers"]


class AsyncServerHandlers:
    """What the client was given to answer its server with.

    Raises:
        BuildError: One of them cannot be called, or is of the other twin.
    """

    def __init__(
        self,
        *,
        on_sampling: Callable[[dict[str, Any]], Any] | AsyncLLMProvider | None,
        on_elicitation: Callable[[dict[str, Any]], Any] | None,
        roots: Sequence[str | os.PathLike[str]] | None,
        on_log: Callable[..., Any] | None,
        on_tools_changed: Callable[[], Any] | None,
    ) -> None:
        self._sample = self._sampling_function(on_sampling)
        for name, handler in (
            ("on_elicitation", on_elicitation),
            ("on_log", on_log),
            ("on_tools_changed", on_tools_changed),
        ):
            if handler is not None:
                rt.check_callable(handler, name)
        self._elicit = on_elicitation
        self._roots = None if roots is None else roots_result(roots)
        self._log = on_log
        self._tools_changed = on_tools_changed

    def capabilities(self) -> dict[str, Any]:
        """What a server may ask for: only that for which there is a handler."""
        capabilities: dict[str, Any] = {}
        if self._sample is not None:
            capabilities["sampling"] = {}
        if self._elicit is not None:
            capabilities["elicitation"] = {"form": {"applyDefaults": True}}
        if self._roots is not None:
            capabilities["roots"] = {}
        return capabilities

    @property
    def wants_log(self) -> bool:
        """Whether somebody wants to be told of the server's log."""
        return self._log is not None

    def wants(self, method: str) -> bool:
        """Whether somebody wants to be told of a notification."""
        if method == "notifications/message":
            return self._log is not None
        return method == "notifications/tools/list_changed" and self._tools_changed is not None

    async def tell(self, method: str, params: Mapping[str, Any]) -> None:
        """Tell of a notification; what the handler raises is logged."""
        try:
            if method == "notifications/message" and self._log is not None:
                await rt.call(self._log, params.get("level"), params.get("data"), params.get("logger"))
            elif self._tools_changed is not None:
                await rt.call(self._tools_changed)
        except Exception:
            log.exception("a handler for an MCP server raised", method=method)

    async def answer(self, method: object, params: object) -> Mapping[str, Any]:
        """The result of a request of the server.

        Raises:
            MCPError: There is no handler for it, or the handler gave something else.
        """
        if method == "ping":
            return {}
        if not isinstance(params, dict):
            raise MCPError(INVALID_PARAMS, f"params must be an object, not {type(params).__name__}")
        if method == "roots/list" and self._roots is not None:
            return self._roots
        if method == "elicitation/create" and self._elicit is not None:
            result = _object(await rt.call(self._elicit, params), "on_elicitation")
            return with_form_defaults(params, result)
        if method == "sampling/createMessage" and self._sample is not None:
            return _object(await rt.call(self._sample, params), "on_sampling")
        raise MCPError(METHOD_NOT_FOUND, f"the server asks for {str(method)[:100]}, for which there is no handler")

    def _sampling_function(self, given: Any) -> Callable[[dict[str, Any]], Any] | None:
        """The function that answers a sampling request; a provider answers it by its model."""
        stream = getattr(given, "chat_completion_stream", None)
        if stream is None:
            if given is not None:
                rt.check_callable(given, "on_sampling")
            return given  # type: ignore[no-any-return]
        if not callable(stream):
            raise BuildError(f"on_sampling must be a function or a provider, not {type(given).__name__}")
        rt.check_native(given.chat_completion, "on_sampling")

        async def sample(params: dict[str, Any]) -> Mapping[str, Any]:
            try:
                messages, config = sampling_messages(params), sampling_config(params)
            except (BuildError, KeyError, TypeError, ValueError) as error:
                raise MCPError(INVALID_PARAMS, f"the sampling request makes no sense: {error}") from error
            return sampling_result(await given.chat_completion(messages, (), config))

        return sample


def _object(value: object, handler: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise MCPError(INTERNAL_ERROR, f"{handler} gave no object, but {type(value).__name__}")
    return value
