"""The parameters of a function, as a JSON schema and as the structuring of arguments."""

from __future__ import annotations

import functools
import inspect
import typing
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Optional

from .docstrings import Docstring, parse_docstring
from .errors import ArgumentError, SchemaError
from .fields import NO_DEFAULT, Field
from .json_schema import JSONSchema, SchemaWriter
from .local_names import advice, names_around
from .problems import describe_problems
from .scalars import Hook
from .shapes import described
from .structuring import Structurer

__all__ = ["FunctionSchema", "function_schema"]

AnyFunction = Callable[..., object]


class FunctionSchema:
    """What a model is told of a function, and what is made of the arguments that it sends.

    Attributes:
        name: Name of the function.
        full_name: Module, name and line of the function, for messages.
        description: The docstring without its list of parameters.
        parameters: JSON schema of the arguments, an object.
        context_parameter: Name of the parameter that takes the context, which is not in the schema.
    """

    def __init__(
        self,
        function: AnyFunction,
        fields: list[Field],
        context_parameter: str | None,
        description: str,
        writer: SchemaWriter,
    ) -> None:
        self.name = _name(function)
        self.full_name = _full_name(function)
        self.description = description
        self.context_parameter = context_parameter
        self.parameters: JSONSchema = writer.with_definitions(writer.properties(fields))
        self._fields = fields
        self._class_fields = writer.fields

    def structure_arguments(self, arguments: Mapping[str, object]) -> dict[str, object]:
        """The arguments as the hints want them; parameters that were left out are not there.

        Raises:
            ArgumentError: They do not fit; the message lists all that is wrong.
        """
        hooks = self._hooks
        structured: dict[str, object] = {}
        problems: list[str] = []
        for name, value in arguments.items():
            hook = hooks.get(name)
            if hook is None:
                problems.append(f"{name}: unexpected ({self._known_parameters})")
                continue
            try:
                structured[name] = hook(value)
            except Exception as error:
                problems += describe_problems(error, (name,))
        problems += [f"{name}: missing" for name in self._required if name not in arguments]
        if problems:
            raise ArgumentError(problems)
        return structured

    @functools.cached_property
    def _hooks(self) -> dict[str, Hook]:
        structurer = Structurer(self._class_fields)
        return {field.key: structurer.hook(field.hint) for field in self._fields}

    @functools.cached_property
    def _required(self) -> tuple[str, ...]:
        return tuple(field.key for field in self._fields if field.required)

    @property
    def _known_parameters(self) -> str:
        names = [field.key for field in self._fields]
        return f"known: {', '.join(names)}" if names else "there are no parameters"


def function_schema(
    function: AnyFunction, *, context_type: type, local_names: Mapping[str, object] | None = None
) -> FunctionSchema:
    """Read a function's signature, hints and docstring.

    Args:
        function: A function, a bound method, a partial or an object with `__call__`.
        context_type: The class whose instances are injected.
        local_names: Where hints that are text are looked up, after the function's module, and before the functions
            around this one that are running.

    Raises:
        SchemaError: A parameter cannot be described to a model. The message names function, parameter and type.
    """
    parameters = _parameters(function)
    docstring = parse_docstring(inspect.getdoc(_innermost(function)) or "")
    inner = _innermost(function)
    scope = Scope(_globals(function), {**names_around(inner), **(local_names or {})}, advice(inner))
    try:
        fields, context = _fields(parameters, docstring, context_type, scope)
        return FunctionSchema(function, fields, context, docstring.description, SchemaWriter(scope.local_names))
    except SchemaError as error:
        raise SchemaError(f"{_full_name(function)}: parameter {error}") from error


def _name(function: AnyFunction) -> str:
    inner = _unfilled(function)
    return str(getattr(inner, "__name__", type(inner).__name__))


def _full_name(function: AnyFunction) -> str:
    inner = _innermost(function)
    line = f" (line {inner.__code__.co_firstlineno})" if hasattr(inner, "__code__") else ""
    return f"{inner.__module__}.{getattr(inner, '__qualname__', type(inner).__qualname__)}{line}"


class Scope(NamedTuple):
    """Where hints that are text are looked up."""

    global_names: dict[str, Any]
    local_names: Mapping[str, object]
    advice: str  # where a name is not found


def _parameters(function: AnyFunction) -> list[inspect.Parameter]:
    """The parameters, without those that a partial has filled."""
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError, NameError) as error:  # NameError: Python 3.14 evaluates the hints here
        raise SchemaError(f"{_full_name(function)}: the signature cannot be read: {error}") from error
    filled = function.keywords if isinstance(function, functools.partial) else {}
    return [parameter for name, parameter in parameters.items() if name not in filled]


def _fields(
    parameters: list[inspect.Parameter], docstring: Docstring, context_type: type, scope: Scope
) -> tuple[list[Field], str | None]:
    fields: list[Field] = []
    context_parameter = None
    for number, parameter in enumerate(parameters):
        _check_parameter(parameter, is_first=number == 0)
        hint = _resolved_hint(parameter, scope)
        if _takes_context(hint, context_type):
            if context_parameter:
                raise SchemaError(f"{parameter.name}: {context_parameter} takes the {context_type.__name__} already")
            context_parameter = parameter.name
        else:
            fields.append(_field(parameter, hint, docstring))
    return fields, context_parameter


def _field(parameter: inspect.Parameter, hint: Any, docstring: Docstring) -> Field:
    if parameter.default is None:
        hint = Optional[hint]  # noqa: UP045 - the hint is a value here
    _, description = described(hint)
    required = parameter.default is NO_DEFAULT
    description = description or docstring.parameters.get(parameter.name)
    return Field(parameter.name, hint, required, parameter.default, description)


def _check_parameter(parameter: inspect.Parameter, *, is_first: bool) -> None:
    if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
        raise SchemaError(f"{parameter}: it is {parameter.kind.description}; a model gives every argument by its name")
    if is_first and parameter.name in ("self", "cls") and parameter.annotation is parameter.empty:
        raise SchemaError(f"{parameter.name}: a method must be bound to its object first")


def _resolved_hint(parameter: inspect.Parameter, scope: Scope) -> object:
    """One hint by itself, so that what else the function is annotated with need not be resolvable."""
    if parameter.annotation is parameter.empty:
        return Any

    def holder() -> None: ...

    holder.__annotations__ = {"hint": parameter.annotation}
    try:
        return typing.get_type_hints(holder, scope.global_names, scope.local_names, include_extras=True)["hint"]
    except (NameError, AttributeError, SyntaxError, TypeError) as error:
        reason = f"the hint {parameter.annotation!r} cannot be resolved: {error}{scope.advice}"
        raise SchemaError(f"{parameter.name}: {reason}") from error


def _takes_context(hint: object, context_type: type) -> bool:
    bare, _ = described(hint)
    return context_type in (bare, *typing.get_args(bare))


def _unfilled(function: AnyFunction) -> AnyFunction:
    """The function in a partial."""
    while isinstance(function, functools.partial):
        function = function.func
    return function


def _innermost(function: AnyFunction) -> Any:
    """The function as it was written, under partials and decorators."""
    return inspect.unwrap(_unfilled(function))


def _globals(function: AnyFunction) -> dict[str, Any]:
    inner = _innermost(function)
    if not hasattr(inner, "__globals__"):
        inner = inspect.unwrap(type(inner).__call__)
    return getattr(inner, "__globals__", {})
