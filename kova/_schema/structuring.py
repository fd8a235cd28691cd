"""Strict structuring of JSON by type hints.

Single values are the business of `scalars`. Arrays, maps and objects are walked by cattrs, which collects what is
wrong at every place; to cattrs the type of each item is an opaque `Item`, so that only the hooks made here ever judge
a value. cattrs is imported when the first such hint is met.
"""

from __future__ import annotations

import functools
import types
import typing
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NotRequired, cast

from .. import _json
from .fields import Field
from .problems import Refused, best_failure, error_text
from .scalars import Hook, Mismatch, key_hook, scalar_hook
from .shapes import (
    Anything,
    Array,
    Choice,
    FixedArray,
    Map,
    Model,
    NamedAlias,
    Object,
    OneOf,
    PydanticModel,
    Scalar,
    Text,
    shape_of,
    type_name,
)

if TYPE_CHECKING:
    from cattrs import Converter

__all__ = ["Structurer"]


class Structurer:
    """Makes hooks from hints. A hook takes a JSON value and returns the structured one, or raises.

    Args:
        fields: The fields of the classes that the hints contain.
        exact: Take neither an int for a float nor a float for an int.
    """

    def __init__(self, fields: Mapping[type, list[Field]], *, exact: bool = False) -> None:
        self._fields = fields
        self._exact = exact
        self._late_hooks: dict[object, Hook] = {}

    def hook(self, hint: object) -> Hook:
        """The hook for a hint of which a schema could be made."""
        shape = shape_of(hint)
        match shape:
            case Anything() | Scalar() | Text() | Choice():
                return scalar_hook(shape, exact=self._exact)
            case OneOf(members=members):
                return self._union_hook(members)
            case Array(collection=collection, item=item):
                return self._array_hook(collection, item)
            case FixedArray(items=items):
                return self._fixed_array_hook(items)
            case Map(key=key, value=value):
                return self._map_hook(key, value)
            case NamedAlias(alias=alias):
                return self._late(alias, lambda: self.hook(shape.target))
            case Object(cls=cls):
                return self._late(cls, lambda: self._object_hook(cls))
            case Model(cls=cls):
                return _model_hook(cls)

    def _item(self, hint: object) -> Item:
        return Item(self.hook(hint))

    def _late(self, key: object, make: Callable[[], Hook]) -> Hook:
        """A hook that is made when it is first used, because what it is made of may contain it."""

        def structure(value: object) -> object:
            hook = self._late_hooks.get(key)
            if hook is None:
                hook = self._late_hooks[key] = make()
            return hook(value)

        return structure

    def _union_hook(self, members: tuple[object, ...]) -> Hook:
        names = [type_name(member) for member in members]
        last_attempts = [self.hook(member) for member in members]
        attempts = [*map(self._exact_structurer.hook, members), *last_attempts]
        has_null = Scalar(types.NoneType) in map(shape_of, members)

        def structure(value: object) -> object:
            if value is None and has_null:
                return None
            failures: list[Exception] = []
            for attempt in attempts:
                try:
                    return attempt(value)
                except Exception as error:
                    failures.append(error)
            raise best_failure(names, failures[-len(names) :], value)

        return structure

    @functools.cached_property
    def _exact_structurer(self) -> Structurer:
        return self if self._exact else Structurer(self._fields, exact=True)

    def _array_hook(self, collection: type, item: object) -> Hook:
        arguments = (self._item(item), ...) if collection is tuple else self._item(item)
        return _checked(list, "an array", _walker(types.GenericAlias(collection, arguments)))

    def _fixed_array_hook(self, items: tuple[object, ...]) -> Hook:
        walk = _walker(types.GenericAlias(tuple, tuple(self._item(item) for item in items)))

        def structure(value: object) -> object:
            if not isinstance(value, list) or len(value) != len(items):
                raise Mismatch(f"an array of {len(items)}", value)
            return walk(value)

        return structure

    def _map_hook(self, key: object, value: object) -> Hook:
        arguments = (Item(key_hook(shape_of(key))), self._item(value))
        return _checked(dict, "an object", _walker(types.GenericAlias(dict, arguments)))

    def _object_hook(self, cls: type) -> Hook:
        keys = {
            field.key: self._item(field.hint) if field.required else NotRequired[self._item(field.hint)]
            for field in self._fields[cls]
        }
        make_typed_dict = cast("Callable[[str, dict[str, Any]], type]", typing.TypedDict)
        walk = _checked(dict, "an object", _walker(make_typed_dict("Fields", keys)))
        if typing.is_typeddict(cls):
            return walk

        def structure(value: object) -> object:
            arguments = cast("dict[str, object]", walk(value))
            try:
                return cls(**arguments)
            except Exception as error:  # a validator's, or any other of the user's code
                raise Refused([((), error_text(error))]) from error

        return structure


class Item:
    """A hook that stands where cattrs expects a type."""

    def __init__(self, hook: Hook) -> None:
        self.hook = hook

    def __call__(self, value: object) -> object:
        return self.hook(value)


@functools.cache
def _converter() -> Converter:
    from cattrs import Converter

    converter = Converter(detailed_validation=True, forbid_extra_keys=True)
    converter.register_structure_hook_func(lambda hint: isinstance(hint, Item), lambda value, item: item.hook(value))
    return converter


def _walker(container: object) -> Hook:
    """What cattrs makes of a list, tuple, set, dict or TypedDict of `Item`s."""
    walk = _converter().get_structure_hook(container, cache_result=False)
    return lambda value: walk(value, container)


def _checked(json_type: type, expected: str, walk: Hook) -> Hook:
    """A walker behind a look at the JSON type: any iterable would be an array to cattrs."""

    def structure(value: object) -> object:
        if not isinstance(value, json_type):
            raise Mismatch(expected, value)
        return walk(value)

    return structure


def _model_hook(cls: type[PydanticModel]) -> Hook:
    def structure(value: object) -> object:
        try:
            return cls.model_validate_json(_json.dumps(value), strict=True)
        except Exception as error:
            list_problems: Callable[[], list[dict[str, Any]]] | None = getattr(error, "errors", None)
            if list_problems is None:
                raise Refused([((), error_text(error))]) from error
            raise Refused([(problem["loc"], problem["msg"]) for problem in list_problems()]) from error

    return structure
