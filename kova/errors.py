"""The errors of kova: one flat tree, one level under `KovaError`.

    KovaError
    ├── ProviderError            the model API answered with an error
    ├── ConnectionError          network, DNS, TLS, connection lost        (also the builtin)
    ├── TimeoutError             connecting, a request, a stream, a turn   (also the builtin)
    ├── StreamError              a stream broke off or made no sense
    ├── ToolExecutionError       a tool raised
    ├── ToolNotFoundError        the model called a tool that is not registered
    ├── MCPError                 an MCP server reported a JSON-RPC error
    ├── MemoryStoreError         a conversation could not be read or written
    ├── OrchestrationError       an orchestration pattern could not be carried out
    ├── MaxIterationsError       the model asked for tools again after the last round
    ├── TurnCancelledError       a cancellation token ended the turn
    ├── ContextBudgetExceededError  the prompt is larger than the budget
    ├── BuildError               something was configured wrongly
    ├── SerializationError       JSON that cannot be written or read
    └── KovaOSError              other I/O failure                         (also the builtin OSError)

Every error pickles and copies, has a message of at most 2,000 characters, and answers `is_retryable`, `status_code`,
`provider_class` and `retry_after`, which are None (or False) where they do not apply.
"""

from __future__ import annotations

import builtins
from enum import StrEnum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .responses import Partial

__all__ = [
    "BuildError",
    "ConnectionError",
    "ContextBudgetExceededError",
    "KovaError",
    "KovaOSError",
    "MCPError",
    "MaxIterationsError",
    "MemoryStoreError",
    "OrchestrationError",
    "ProviderError",
    "ProviderErrorClass",
    "SerializationError",
    "StreamError",
    "TimeoutError",
    "ToolExecutionError",
    "ToolNotFoundError",
    "TurnCancelledError",
]

MESSAGE_LIMIT = 2_000  # characters


class ProviderErrorClass(StrEnum):
    """What kind of failure a model API reported, the same for every provider."""

    AUTH_INVALID = "auth_invalid"
    AUTH_FORBIDDEN = "auth_forbidden"
    RATE_LIMITED = "rate_limited"
    OVERLOADED = "overloaded"
    INVALID_REQUEST = "invalid_request"
    NOT_FOUND = "not_found"
    OTHER = "other"


class KovaError(Exception):
    """The base of all errors that kova raises during a call.

    Their `args` are what their class is called with, in values that JSON knows: task queues that write results as JSON
    make an error again from its class and its arguments.

    Attributes:
        message: What went wrong, at most 2,000 characters.
        is_retryable: Whether the same call may succeed a little later.
        status_code: HTTP status of the provider's answer, if there was one.
        provider_class: Kind of provider failure, for a `ProviderError`.
        retry_after: Seconds after which the provider wants to be asked again.
        partial: What the turn had produced when it failed (messages, usage, calls), for inspection; not pickled.
    """

    is_retryable: bool = False
    status_code: int | None = None
    provider_class: ProviderErrorClass | None = None
    retry_after: float | None = None
    partial: Partial | None = None

    def __init__(self, message: str) -> None:
        self.message: str = _capped(message)
        super().__init__(self.message)

    def __str__(self) -> str:
        return self.message

    def __reduce__(self) -> tuple[Any, ...]:
        state = {name: value for name, value in self.__dict__.items() if name != "partial"}
        return _rebuild, (type(self), self.args, state)


def _rebuild(cls: type[KovaError], args: tuple[Any, ...], state: dict[str, Any]) -> KovaError:
    """An error as it was before pickling, whatever its constructor takes."""
    error = cls.__new__(cls, *args)
    error.args = args
    error.__dict__.update(state)
    return error


def _called_with(error: KovaError, *args: object) -> None:
    """Note what an error's class was called with."""
    error.args = args


def _capped(message: str) -> str:
    """The message as it can be printed: cut, and without halves of characters, which servers cut in two."""
    if not message.isascii():
        message = message.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return message if len(message) <= MESSAGE_LIMIT else message[: MESSAGE_LIMIT - 1] + "…"


class ProviderError(KovaError):
    """The model API answered with an error.

    Args:
        message: The provider's own words, secrets masked.
        status_code: HTTP status; None where the error came inside a successful answer.
        provider_class: What kind of failure it is; decides `is_retryable`.
        retry_after: Seconds the provider asks to wait.
        request_id: The provider's id of the request, to quote to its support.
        provider: Name of the provider, such as "openai".
        model: The model that was asked.
        is_quota_exhausted: The account has nothing left, so that waiting does not help.
        is_context_length: The prompt is too long for the model.
    """

    def __init__(
        self,
        message: str,
        status_code: int | None = None,
        provider_class: ProviderErrorClass = ProviderErrorClass.OTHER,
        retry_after: float | None = None,
        request_id: str | None = None,
        provider: str | None = None,
        model: str | None = None,
        is_quota_exhausted: bool = False,
        is_context_length: bool = False,
    ) -> None:
        super().__init__(message)
        provider_class = ProviderErrorClass(provider_class)
        known = (self.message, status_code, provider_class, retry_after, request_id, provider, model)
        _called_with(self, *known, is_quota_exhausted, is_context_length)
        self.status_code = status_code
        self.provider_class: ProviderErrorClass = provider_class
        self.retry_after = retry_after
        self.request_id = request_id
        self.provider = provider
        self.model = model
        self.is_quota_exhausted = is_quota_exhausted
        self.is_context_length = is_context_length
        transient = provider_class in (ProviderErrorClass.RATE_LIMITED, ProviderErrorClass.OVERLOADED)
        self.is_retryable: bool = transient and not is_quota_exhausted


class ConnectionError(KovaError, builtins.ConnectionError):
    """The network failed: unreachable, DNS, TLS, connection lost, or not HTTP."""

    is_retryable = True


class TimeoutError(KovaError, builtins.TimeoutError):
    """Something exceeded its time.

    Args:
        message: What took too long.
        duration: The time it was given, in seconds.
        is_retryable: False for the time of a whole turn, which no retry gives back.
    """

    def __init__(self, message: str, duration: float, is_retryable: bool = True) -> None:
        super().__init__(message)
        _called_with(self, self.message, duration, is_retryable)
        self.duration = duration
        self.is_retryable = is_retryable


class StreamError(KovaError):
    """A stream broke off before its end, or made no sense."""


class ToolExecutionError(KovaError):
    """A tool raised; the exception is the `__cause__`.

    Args:
        tool_name: Name of the tool.
        message: Class and text of what it raised.
    """

    def __init__(self, tool_name: str, message: str) -> None:
        super().__init__(f"tool {tool_name!r} failed: {message}")
        _called_with(self, tool_name, _capped(message))
        self.tool_name = tool_name


class ToolNotFoundError(KovaError):
    """The model called a tool that is not registered.

    Args:
        tool_name: The name that the model used.
    """

    def __init__(self, tool_name: str) -> None:
        super().__init__(f"the model called a tool that is not registered: {tool_name!r}")
        _called_with(self, tool_name)
        self.tool_name = tool_name


class MCPError(KovaError):
    """An MCP server reported a JSON-RPC error.

    Args:
        code: JSON-RPC error code.
        message: The server's words.
        data: What the server attached, if anything.
    """

    def __init__(self, code: int, message: str, data: object = None) -> None:
        super().__init__(message)
        _called_with(self, code, self.message)
        self.code = code
        self.data = data


class MemoryStoreError(KovaError):
    """A conversation could not be read or written.

    Args:
        message: What went wrong.
        is_conflict: Another turn changed the conversation in the meantime.
    """

    def __init__(self, message: str, is_conflict: bool = False) -> None:
        super().__init__(message)
        _called_with(self, self.message, is_conflict)
        self.is_conflict = is_conflict


class OrchestrationError(KovaError):
    """An orchestration pattern could not be carried out."""


class MaxIterationsError(KovaError):
    """The model asked for tools again after the last permitted round.

    Args:
        max_iterations: The number of tool rounds that were permitted.
    """

    def __init__(self, max_iterations: int) -> None:
        super().__init__(f"the model asked for tools again after {max_iterations} tool rounds (max_iterations)")
        _called_with(self, max_iterations)
        self.max_iterations = max_iterations


class TurnCancelledError(KovaError):
    """A cancellation token ended the turn.

    Args:
        reason: What was given to `CancellationToken.cancel`.
    """

    def __init__(self, reason: str | None = None) -> None:
        super().__init__("the turn was cancelled" + (f": {reason}" if reason else ""))
        _called_with(self, reason)
        self.reason = reason


class ContextBudgetExceededError(KovaError):
    """The prompt is larger than the agent's context budget; nothing was sent.

    Args:
        measured: Estimated size of the prompt, in tokens.
        budget: The agent's budget, in tokens.
    """

    def __init__(self, measured: int, budget: int) -> None:
        super().__init__(f"the prompt measures about {measured} tokens, over the budget of {budget}")
        _called_with(self, measured, budget)
        self.measured = measured
        self.budget = budget


class BuildError(KovaError):
    """Something was configured wrongly; the message names the argument."""


class SerializationError(KovaError):
    """JSON that cannot be written or read; the message names the place."""


class KovaOSError(KovaError, OSError):
    """An I/O failure that is none of the above."""
