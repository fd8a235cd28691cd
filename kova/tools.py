"""Tools: what a model may call.

A plain or async function becomes a tool by the decorator `@tool`; its name, description and parameters are read from
the function, its type hints and its docstring. Other tools are subclasses of `Tool`. A `ToolRegistry` holds tools that
several agents share. How calls are run (concurrency, timeouts, errors) is the agent's business, not of this module.
"""

from __future__ import annotations

import builtins
import functools
import inspect
import sys
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Generic, Literal, ParamSpec, TypeAlias, TypeVar, overload

from attrs import field, frozen

from . import _json
from ._schema import SchemaError
from .cancellation import CancellationToken
from .errors import BuildError, ToolExecutionError
from .messages import ImageBlock, JSONObject, TextBlock

__all__ = [
    "FunctionTool",
    "Tool",
    "ToolContext",
    "ToolDefinition",
    "ToolError",
    "ToolRegistry",
    "ToolResult",
    "as_tool",
    "merge_tools",
    "normalize_result",
    "tool",
]

P = ParamSpec("P")
R = TypeVar("R")
ToolErrors: TypeAlias = Literal["raise", "report"]

RESULT_BLOCKS = (TextBlock, ImageBlock)
NO_PARAMETERS: JSONObject = {"type": "object", "properties": {}, "required": [], "additionalProperties": False}


class ToolError(Exception):
    """Raised by a tool to tell the model what went wrong; the turn goes on."""


@frozen
class ToolDefinition:
    """What a provider tells the model about a tool.

    Attributes:
        name: The tool's name; providers rewrite one that their API refuses.
        description: What it does and when to use it.
        parameters: JSON schema of its arguments, an object.
    """

    name: str
    description: str
    parameters: JSONObject


def _result_content(content: str | Iterable[TextBlock | ImageBlock]) -> str | tuple[TextBlock | ImageBlock, ...]:
    if isinstance(content, str):
        return content
    blocks = tuple(content)
    if not all(isinstance(block, RESULT_BLOCKS) for block in blocks):
        raise TypeError("the content of a tool result is text, or blocks of text and images")
    return blocks


@frozen
class ToolResult:
    """What a tool gives back to the model.

    Attributes:
        content: Text, or blocks of text and images.
        is_error: Whether the call failed; the content then says how.
    """

    content: str | tuple[TextBlock | ImageBlock, ...] = field(converter=_result_content)
    is_error: bool = False


@frozen(eq=False)
class ToolContext:
    """The call that a tool is answering. A parameter annotated with this class receives it.

    Attributes:
        tool_use_id: Id of the call, as the model's provider gave it.
        tool_name: Name under which the tool was called.
        cancel: Tells the tool to stop: the turn is cancelled, or another call of it has failed.
        state: What was given to the agent's `run` as `state`.
    """

    tool_use_id: str = ""
    tool_name: str = ""
    cancel: CancellationToken = field(factory=CancellationToken, kw_only=True)
    _deadline: float | None = field(default=None, kw_only=True)  # on time.monotonic's clock
    state: Any = field(default=None, repr=False, kw_only=True)

    def remaining(self) -> float | None:
        """Seconds until the call's deadline, never less than 0; None where there is no deadline."""
        return None if self._deadline is None else max(0.0, self._deadline - time.monotonic())


class Tool(ABC):
    """The base of all tools: attributes that describe it, and `execute`.

    The attributes may be class attributes or be set in `__init__`:

        class Search(kova.Tool):
            name = "search"
            description = "Search the handbook."
            parameters = {"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]}

            def execute(self, arguments, context):
                return handbook.search(arguments["query"])

    Attributes:
        name: What the model calls it.
        description: What it does and when to use it.
        parameters: JSON schema of its arguments, an object. `execute` must check them: models do not always keep to it.
        timeout: Seconds that a call may take; None for no limit of its own.
        errors: Whether exceptions end the turn ("raise") or go back to the model ("report"); None leaves it to the
            agent. A `ToolError` always goes back to the model.
    """

    name: str
    description: str = ""
    parameters: JSONObject = NO_PARAMETERS
    timeout: float | None = None
    errors: ToolErrors | None = None

    @abstractmethod
    def execute(self, arguments: dict[str, Any], context: ToolContext) -> object:
        """Answer a call; plain or `async def`.

        Args:
            arguments: What the model sent.
            context: The call.

        Returns:
            Text, a `ToolResult`, content blocks, or any value that can be written as JSON.
        """

    @functools.cached_property
    def is_async(self) -> bool:
        """Whether `execute` must be awaited."""
        return inspect.iscoroutinefunction(self.execute)

    @property
    def definition(self) -> ToolDefinition:
        """What providers are given."""
        return ToolDefinition(self.name, self.description, self.parameters)

    @property
    def origin(self) -> str:
        """Where the tool comes from, for messages."""
        return f"the class {type(self).__module__}.{type(self).__qualname__}"

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {getattr(self, 'name', '(no name)')!r}>"


class FunctionTool(Tool, Generic[P, R]):
    """A function as a tool, made by `@tool`, whose options it takes. Calling it calls the function.

    Attributes:
        fn: A plain or async function, a bound method, a partial or an object with `__call__`.
    """

    def __init__(
        self,
        fn: Callable[P, R],
        *,
        name: str | None = None,
        description: str | None = None,
        timeout: float | None = None,
        errors: ToolErrors | None = None,
        local_names: Mapping[str, object] | None = None,
    ) -> None:
        from ._schema.functions import function_schema

        functools.update_wrapper(self, fn, updated=())
        self.fn = fn
        try:
            self._schema = function_schema(fn, context_type=ToolContext, local_names=local_names)
        except SchemaError as error:
            raise BuildError(f"cannot make a tool of {error}") from error
        self.name = self._schema.name if name is None else name
        self.description = self._schema.description if description is None else description
        self.parameters = self._schema.parameters
        self.timeout = timeout
        self.errors = errors
        self.is_async = inspect.iscoroutinefunction(fn) or inspect.iscoroutinefunction(type(fn).__call__)
        _check(self)

    @property
    def origin(self) -> str:
        return f"the function {self._schema.full_name}"

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        return self.fn(*args, **kwargs)

    def bind(self, arguments: JSONObject, context: ToolContext) -> dict[str, Any]:
        """Keyword arguments for the function, structured by its type hints.

        Raises:
            ArgumentError: The arguments do not fit; the message tells the model what is wrong.
        """
        bound = self._schema.structure_arguments(arguments)
        if self._schema.context_parameter is not None:
            bound[self._schema.context_parameter] = context
        return bound

    def execute(self, arguments: JSONObject, context: ToolContext) -> object:
        """Call the function; an async one's result must be awaited."""
        function: Callable[..., object] = self.fn
        return function(**self.bind(arguments, context))


@overload
def tool(
    fn: Callable[P, R],
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    timeout: float | None = None,
    errors: ToolErrors | None = None,
) -> FunctionTool[P, R]: ...


@overload
def tool(
    *,
    name: str | None = None,
    description: str | None = None,
    timeout: float | None = None,
    errors: ToolErrors | None = None,
) -> Callable[[Callable[P, R]], FunctionTool[P, R]]: ...


def tool(
    fn: Callable[P, R] | None = None,
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    timeout: float | None = None,
    errors: ToolErrors | None = None,
) -> FunctionTool[P, R] | Callable[[Callable[P, R]], FunctionTool[P, R]]:
    """Make a tool of a plain or async function; use it as `@tool`, `@tool(timeout=5)` or `tool(function)`.

    The parameters' schema comes from the type hints, their descriptions from the docstring (Google, NumPy or Sphinx
    style) or from `Annotated[str, "description"]`. A parameter annotated with `ToolContext` receives the context.

    Args:
        fn: The function.
        name: Name of the tool, in place of the function's.
        description: Description of the tool, in place of the function's docstring.
        timeout: Seconds that a call may take; the model is told when they are over.
        errors: Whether exceptions end the turn ("raise") or go to the model ("report"); None leaves it to the agent.

    Raises:
        BuildError: The function or an option cannot be used.
    """
    caller = 1 if fn is None else 2

    def decorate(fn: Callable[P, R]) -> FunctionTool[P, R]:
        names = sys._getframe(caller).f_locals  # where hints find the classes of the function that is decorating
        return FunctionTool(fn, name=name, description=description, timeout=timeout, errors=errors, local_names=names)

    return decorate if fn is None else decorate(fn)


def as_tool(candidate: object) -> Tool:
    """A tool as it is, a function as the tool that `@tool` makes of it.

    Raises:
        BuildError: It is neither, or cannot be used.
    """
    if isinstance(candidate, Tool):
        _check(candidate)
        return candidate
    if callable(candidate) and not isinstance(candidate, type):
        return FunctionTool(candidate)
    kind = f"the class {candidate.__name__}" if isinstance(candidate, type) else repr(candidate)[:100]
    raise BuildError(f"tools: expected a Tool or a function, got {kind}")


def _check(candidate: Tool) -> None:
    name: object = getattr(candidate, "name", None)
    if not isinstance(name, str) or not name or name == "<lambda>":
        raise BuildError(f"{candidate.origin} needs a name to be a tool")
    timeout: object = candidate.timeout
    if timeout is not None and (isinstance(timeout, bool) or not isinstance(timeout, (int, float)) or not timeout > 0):
        raise BuildError(f"tool {name!r}: timeout must be a positive number of seconds, got {timeout!r}")
    if candidate.errors not in ("raise", "report", None):
        raise BuildError(f"tool {name!r}: errors must be 'raise' or 'report', got {candidate.errors!r}")


def normalize_result(tool_name: str, value: object) -> ToolResult:
    """What a tool returned, as a result for the model.

    Text and content blocks stay what they are, anything else is written as JSON. None is `null`: providers refuse
    empty results, and only the tool knows whether None means "done" or "nothing found".

    Raises:
        ToolExecutionError: JSON has no form for the value.
    """
    if isinstance(value, ToolResult):
        return value
    blocks = value if isinstance(value, (list, tuple)) else (value,)
    if blocks and all(isinstance(block, RESULT_BLOCKS) for block in blocks):
        return ToolResult(blocks)
    from ._schema.jsonable import to_jsonable

    try:
        plain = to_jsonable(value)
        return ToolResult(plain if isinstance(plain, str) else _json.dumps(plain).decode())
    except (TypeError, ValueError) as error:
        message = f"{type(error).__name__}: its result cannot be written as JSON: {error}"
        raise ToolExecutionError(tool_name, message) from error


class ToolRegistry:
    """Tools by name, shared by the agents that are given it; later registrations are seen at their next turn.

    Thread-safe.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._tools: dict[str, Tool] = {}
        self._definitions: tuple[ToolDefinition, ...] | None = None

    def register(self, tool: Tool | Callable[..., object]) -> None:
        """Add a tool, or replace the one of the same name.

        Raises:
            BuildError: It is not a tool, or a schema for it cannot be made.
        """
        added = as_tool(tool)
        _ = added.definition  # what is wrong with it shows here, not in a turn
        with self._lock:
            self._tools[added.name] = added
            self._definitions = None

    def get(self, name: str) -> Tool | None:
        """The tool of that name; None where there is none."""
        with self._lock:
            return self._tools.get(name)

    def list(self) -> builtins.list[Tool]:
        """All tools, in the order of their registration."""
        with self._lock:
            return [*self._tools.values()]

    def tool_definitions(self) -> tuple[ToolDefinition, ...]:
        """What providers are given; the same object until the next registration."""
        with self._lock:
            if self._definitions is None:
                self._definitions = tuple(tool.definition for tool in self._tools.values())
            return self._definitions

    def copy(self) -> ToolRegistry:
        """A registry with the same tools that shares nothing with this one."""
        copied = ToolRegistry()
        copied._tools = {tool.name: tool for tool in self.list()}
        return copied

    def __len__(self) -> int:
        return len(self._tools)

    def __contains__(self, name: object) -> bool:
        return name in self._tools


def merge_tools(tools: Iterable[Tool | Callable[..., object]], registry: ToolRegistry | None = None) -> dict[str, Tool]:
    """The tools of a turn by name: those of the registry, and over them the agent's own.

    Raises:
        BuildError: Two of the agent's own tools have one name; the message names where both come from.
    """
    own: dict[str, Tool] = {}
    for candidate in tools:
        added = as_tool(candidate)
        if added.name in own:
            raise BuildError(f"two tools are named {added.name!r}: {own[added.name].origin}, and {added.origin}")
        own[added.name] = added
    shared = {} if registry is None else {tool.name: tool for tool in registry.list()}
    return shared | own
