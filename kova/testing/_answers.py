"""Functions that make parts of answers."""

from __future__ import annotations

from collections.abc import Mapping

from .. import _json
from .._formats.error_classes import status_class
from ..errors import ProviderError
from ..messages import ToolUseBlock

__all__ = ["call", "provider_error"]


def call(name: str, arguments: Mapping[str, object] | str = {}, /, **more: object) -> ToolUseBlock:
    """A tool call: `call("get_weather", city="Oslo")`.

    Calls without an id of their own are numbered through the conversation: "call_1", "call_2" and so on. For an id,
    or what a provider attaches to a call, write `kova.ToolUseBlock` instead.

    Args:
        name: Name of the tool.
        arguments: Arguments whose names are no Python names; or the raw text of all arguments, which need not be
            valid: models break off in the middle, and make mistakes.
        more: The arguments.

    Raises:
        TypeError: JSON has no form for an argument, or there are arguments beside a raw text.
    """
    if isinstance(arguments, str):
        if more:
            raise TypeError(f"the arguments of {name} are given as text: {', '.join(more)} cannot be added")
        return ToolUseBlock("", name, {}, invalid_arguments=arguments)
    block = ToolUseBlock("", name, {**arguments, **more})
    _json.dumps(block.input)  # what cannot be sent is refused here, in the line of the test that wrote it
    return block


def provider_error(
    status: int, message: str = "scripted error", *, retry_after: float | None = None, request_id: str | None = None
) -> ProviderError:
    """The error that an API's answer with this HTTP status means: `provider_error(429, retry_after=2)`.

    Args:
        status: The HTTP status, which decides the class of the error and whether it is retried.
        message: What the API says.
        retry_after: Seconds that it asks to wait.
        request_id: Its id of the request.
    """
    return ProviderError(message, status, status_class(status), retry_after, request_id)
