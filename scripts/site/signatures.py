"""Signatures for the reference of classes that have no `__init__` in their source: attrs makes it, or `__new__` is one."""

from __future__ import annotations

import importlib
import inspect
from typing import Any

import attrs
import griffe


class Signatures(griffe.Extension):
    """Gives each class the parameters that its objects are made with."""

    def on_class(self, *, cls: griffe.Class, **_: Any) -> None:
        """Add an `__init__` that says what the running class takes."""
        if "__init__" in cls.members:
            return
        new = cls.members.get("__new__")
        if isinstance(new, griffe.Function):
            cls.set_member("__init__", griffe.Function("__init__", parameters=new.parameters, parent=cls))
        if not any(_is_of_attrs(mark) for mark in cls.decorators):
            return
        made = getattr(importlib.import_module(cls.module.path), cls.name, None)
        if isinstance(made, type) and attrs.has(made):
            cls.set_member("__init__", _constructor(made, cls))


def _is_of_attrs(mark: griffe.Decorator) -> bool:
    return mark.callable_path.rpartition(".")[2] in ("define", "frozen", "mutable")


def _constructor(made: type, cls: griffe.Class) -> griffe.Function:
    fields = {field.alias or field.name: field for field in attrs.fields(made)}
    parameters = [griffe.Parameter("self", kind=griffe.ParameterKind.positional_or_keyword)]
    for name, parameter in inspect.signature(made).parameters.items():
        field = fields[name]
        parameters.append(
            griffe.Parameter(
                name,
                annotation=_annotation(field.name, made, cls),
                kind=griffe.ParameterKind(parameter.kind.description),
                default=None if parameter.default is parameter.empty else _default(field),
            )
        )
    return griffe.Function("__init__", parameters=griffe.Parameters(*parameters), parent=cls)


def _annotation(name: str, made: type, cls: griffe.Class) -> str | griffe.Expr | None:
    """What the class says of a field, or the class of the same module that it has the field from."""
    for owner in (cls, *(cls.module.members.get(base.__name__) for base in made.__mro__[1:])):
        member = owner.members.get(name) if isinstance(owner, griffe.Class) else None
        if isinstance(member, griffe.Attribute):
            return member.annotation
    return None


def _default(field: attrs.Attribute[Any]) -> str:
    factory = getattr(field.default, "factory", None)
    if factory is None:
        return repr(field.default)
    return f"{factory.__name__}()" if factory.__name__.isidentifier() else "..."
