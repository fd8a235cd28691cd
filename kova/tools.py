"""Tools: what a model may call.

A plain or async function becomes a tool by the decorator `@tool`; what the model is told is read from its signature and
docstring. Other tools are subclasses of `Tool`. How calls are run (concurrency, timeouts, errors) is decided elsewhere.
"""

from __future__ import annotations

import functools
import inspect
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic, Literal, ParamSpec, TypeAlias, TypeVar, cast, overload

from attrs import field, frozen

from . import _json
from ._schema import SchemaError
from ._turn_log import CallRecord
from .cancellation import CancellationToken
from .errors import BuildError, ToolExecutionError
from .messages import ImageBlock, JSONObject, TextBlock, must_be, result_content
from .responses import AgentResponse, Partial, UsageStats

if TYPE_CHECKING:
    import os
    import subprocess

__all__ = [
    "FunctionTool",
    "RunContext",
    "Tool",
    "ToolContext",
    "ToolDefinition",
    "ToolError",
    "ToolResult",
    "as_tool",
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


@frozen
class ToolResult:
    """What a tool gives back to the model.

    Attributes:
        content: Text, or blocks of text and images.
        is_error: Whether the call failed; the content then says how.
    """

    content: str | tuple[TextBlock | ImageBlock, ...] = field(converter=result_content)
    is_error: bool = field(default=False, validator=must_be(bool))


@frozen
class RunContext:
    """The turn for which a system prompt is made.

    Attributes:
        state: What was given to the agent's `run` as `state`.
        session: What was given as `session`; in a conversation, its id.
    """

    state: Any = None
    session: str | None = None


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
    _record: CallRecord = field(factory=lambda: CallRecord("tool", ""), repr=False, kw_only=True)

    def remaining(self) -> float | None:
        """Seconds until the call's deadline, never less than 0; None where there is no deadline."""
        return None if self._deadline is None else max(0.0, self._deadline - time.monotonic())

    def spend(self, spent: UsageStats | AgentResponse | Partial) -> None:
        """Count tokens that the tool has spent into the turn's usage.

        Args:
            spent: The tokens; or the response (of a turn that failed, the error's `partial`) of an agent that the tool
                has run, whose timeline then becomes a part of the turn's.
        """
        if isinstance(spent, UsageStats):
            self._record.spent.append(spent)
            return
        self._record.spent.append(spent.usage)
        if spent._log is not None:
            self._record.nested.append(spent._log)

    def run_process(
        self,
        argv: Sequence[str],
        *,
        input: str | bytes | None = None,
        timeout: float | None = None,
        cwd: str | os.PathLike[str] | None = None,
        env: Mapping[str, str] | None = None,
    ) -> subprocess.CompletedProcess[str]:
        """Run a process to its end, from a plain tool.

        When the turn ends first, the process is killed, and so is whatever it has started in its process group.

        Args:
            argv: The program and its arguments; there is no shell.
            input: What it reads from its standard input.
            timeout: Seconds that it may take.
            cwd: The folder in which it runs.
            env: Its environment, in place of this process's.

        Returns:
            The finished process: `returncode`, and `stdout` and `stderr` as text.

        Raises:
            ToolError: It took longer than `timeout`; the model is told.
            OSError: It could not be started.
            TurnCancelledError: The turn ended first.
        """
        from ._runtime.processes import TimeoutExpired, run_process

        try:
            return run_process(argv, stop=self.cancel, input=input, timeout=timeout, cwd=cwd, env=env)
        except TimeoutExpired as error:
            raise ToolError(f"{argv[0]} took longer than {timeout:g} s") from error

    async def run_process_async(
        self,
        argv: Sequence[str],
        *,
        input: str | bytes | None = None,
        timeout: float | None = None,
        cwd: str | os.PathLike[str] | None = None,
        env: Mapping[str, str] | None = None,
    ) -> subprocess.CompletedProcess[str]:
        """Run a process to its end, from an async tool; the same as `run_process`, awaited."""
        from ._runtime import aio

        run = functools.partial(self.run_process, argv, input=input, timeout=timeout, cwd=cwd, env=env)
        finished: subprocess.CompletedProcess[str] = await aio.call(run, stop=self.cancel)
        return finished


class Tool(ABC):
    """The base of all tools: attributes that describe it, on the class or set in `__init__`, and `execute`.

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
        errors: Whether exceptions end the turn ("raise") or go to the model ("report"); None leaves it to the agent.
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
            Text, a `ToolResult`, a content block, a list of blocks and texts, or any value that can be written as JSON.
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

    `local_names` is where hints that are text are looked up, beside the function's module.

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

        given: object = fn
        if not callable(given) or isinstance(given, type):
            raise BuildError(f"a tool is made of a function, not of {given!r:.100}")
        functools.update_wrapper(self, fn, updated=())
        self.fn = fn
        try:
            self._schema = function_schema(fn, context_type=ToolContext, local_names=local_names)
        except SchemaError as error:
            raise BuildError(f"cannot make a tool of {error}") from error
        self.name: str = self._schema.name if name is None else name
        self.description: str = self._schema.description if description is None else description
        self.parameters: JSONObject = self._schema.parameters
        self.timeout = timeout
        self.errors: ToolErrors | None = errors
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
        return cast("Callable[..., object]", self.fn)(**self.bind(arguments, context))


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
    instead = ": give it what its tools() gives" if callable(getattr(candidate, "tools", None)) else ""
    raise BuildError(f"tools: expected a Tool or a function, got {kind}{instead}")


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

    Text and content blocks stay what they are, in a list with blocks too; anything else is written as JSON. None is `null`: an empty result is
    refused by some providers, and only the tool knows whether None means "done" or "nothing found".

    Raises:
        ToolExecutionError: JSON has no form for the value.
    """
    if isinstance(value, ToolResult):
        return value
    if type(value) is str:
        return ToolResult(value)
    if isinstance(value, RESULT_BLOCKS):
        return ToolResult((value,))
    if isinstance(value, (list, tuple)) and any(isinstance(item, RESULT_BLOCKS) for item in value):
        return ToolResult(_result_blocks(tool_name, value))
    from ._schema.jsonable import to_jsonable

    try:
        plain = to_jsonable(value)
        return ToolResult(plain if isinstance(plain, str) else _json.dumps(plain).decode())
    except (TypeError, ValueError) as error:
        reason = f"{type(error).__name__}: its result cannot be written as JSON: {error}"
        raise ToolExecutionError(tool_name, reason) from error


def _result_blocks(tool_name: str, items: Sequence[object]) -> list[TextBlock | ImageBlock]:
    """Blocks, among which a text stands for a block of it."""
    blocks: list[TextBlock | ImageBlock] = []
    for index, item in enumerate(items):
        block = TextBlock(item) if isinstance(item, str) else item
        if not isinstance(block, RESULT_BLOCKS):
            kind = type(item).__name__
            reason = (
                f"its result has content blocks, and so holds blocks and texts only, but [{index}] is of type {kind}"
            )
            raise ToolExecutionError(tool_name, reason)
        blocks.append(block)
    return blocks
