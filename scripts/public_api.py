"""Writes down the public API: every name of `kova`, `kova.testing` and `kova.contrib`, its signatures, attributes and
values.

`tests/data/public-api.txt` is kept in the repository, so that whoever changes the API sees it in their own diff, and so
does who reviews it. Python versions agree on every byte of it.

    python -P scripts/public_api.py            write the file
    python -P scripts/public_api.py --check    say what has changed, and exit with 1
"""

from __future__ import annotations

import argparse
import ast
import difflib
import enum
import importlib
import inspect
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

ROOT = Path(__file__).parents[1]
FILE = ROOT / "tests/data/public-api.txt"
MODULES = ("kova", "kova.testing")
# What these are made of need not be installed: their names are read from the source.
HOSTS = ("kova.contrib.django",)
WIDTH = 100
INDENT = "    "
DEFINITIONS = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)

# By these the language uses an object; other names with underscores are nobody's business.
PROTOCOLS = {
    *("__enter__", "__exit__", "__iter__", "__next__", "__aenter__", "__aexit__", "__aiter__", "__anext__"),
    *("__call__", "__len__", "__getitem__", "__contains__", "__bool__"),
}


def api() -> str:
    """The whole text."""
    lines = ["# The public API, written by `make api`. A change of it is a change for users: say so in changes/.", ""]
    for module_name in (*MODULES, *HOSTS):
        module = importlib.import_module(module_name)
        for name in module.__all__:
            if name != "__version__":
                value = from_source(name, module) if module_name in HOSTS else getattr(module, name)
                lines += [*described(f"{module_name}.{name}", value, module), ""]
    return "\n".join(lines)


def from_source(name: str, package: ModuleType) -> object:
    """A class or function by its definition alone: nothing that its module imports is loaded."""
    home: str = package._HOME_OF[name]
    file = Path(package.__path__[0], f"{home}.py")
    tree = ast.parse(file.read_text("utf-8"))
    # The last of them: those before it are overloads.
    *_, definition = (node for node in tree.body if isinstance(node, DEFINITIONS) and node.name == name)
    bases = definition.bases if isinstance(definition, ast.ClassDef) else []
    names = {base.id: type(base.id, (), {}) for base in bases if isinstance(base, ast.Name)}
    scope: dict[str, Any] = {"__name__": f"{package.__name__}.{home}", **names}
    tree.body = [node for node in tree.body if node is definition or is_of_the_future(node)]
    exec(compile(tree, str(file), "exec"), scope)
    return scope[name]


def is_of_the_future(node: ast.stmt) -> bool:
    """By which annotations stay texts."""
    return isinstance(node, ast.ImportFrom) and node.module == "__future__"


def described(name: str, value: object, module: ModuleType) -> list[str]:
    """One public name."""
    if isinstance(value, type):
        return described_class(name, value)
    if inspect.isfunction(value):
        return signature_lines(f"{'async ' * inspect.iscoroutinefunction(value)}def {name}", value)
    short = name.rpartition(".")[2]
    return [f"{name} = {alias_source(short, importlib.import_module(f'kova.{module._HOME_OF[short]}'))}"]


def described_class(name: str, cls: type) -> list[str]:
    bases = ", ".join(base.__name__ for base in cls.__bases__ if base is not object)
    lines = [f"class {name}" + (f"({bases})" if bases else "")]
    if issubclass(cls, enum.Enum):
        lines += [f"{INDENT}{member.name} = {member.value!r}" for member in cls]
    elif not is_protocol(cls) and any("__init__" in vars(owner) for owner in ours(cls)):
        lines += indented(signature_lines("__init__", cls.__init__, is_bound=True))
    lines += [f"{INDENT}{attribute}" for attribute in attributes(cls)]
    for member, value in sorted(members(cls).items()):
        lines += indented(described_member(member, value))
    return lines


def ours(cls: type) -> list[type]:
    """The class and those of its bases that kova defines, nearest first."""
    return [owner for owner in cls.__mro__ if owner.__module__.partition(".")[0] == "kova"]


def is_protocol(cls: type) -> bool:
    """Whether users write such classes themselves, so that how one is made is theirs to say."""
    return bool(getattr(cls, "_is_protocol", False))


def members(cls: type) -> dict[str, Any]:
    """Methods and properties, inherited ones included."""
    found: dict[str, Any] = {}
    for owner in reversed(ours(cls)):
        for name, value in vars(owner).items():
            is_shown = not name.startswith("_") or name in PROTOCOLS
            if is_shown and (callable(value) or hasattr(value, "__get__")) and not is_slot(value):
                found[name] = value
    if issubclass(cls, enum.Enum):
        return {name: value for name, value in found.items() if name not in cls.__members__}
    return found


def is_slot(value: object) -> bool:
    return inspect.ismemberdescriptor(value) or isinstance(value, type)


def described_member(name: str, value: Any) -> list[str]:
    if isinstance(value, property) or not (callable(value) or isinstance(value, (classmethod, staticmethod))):
        getter = value.fget if isinstance(value, property) else getattr(value, "func", None)
        shown = shown_annotation(getter.__annotations__.get("return", "")) if getter else ""
        return [f"property {name}: {shown}"]
    kind = type(value).__name__ if isinstance(value, (classmethod, staticmethod)) else ""
    function = value.__func__ if kind else value
    words = [kind] if kind else []
    words += ["async def" if inspect.iscoroutinefunction(function) else "def", name]
    return signature_lines(" ".join(words), function, is_bound=kind != "staticmethod")


def signature_lines(head: str, function: Callable[..., Any], *, is_bound: bool = False) -> list[str]:
    """Head and signature; one parameter a line if they are long."""
    signature = inspect.signature(function)
    parameters = list(signature.parameters.values())[1 if is_bound else 0 :]
    shown = list(shown_parameters(parameters))
    returns = signature.return_annotation
    tail = "" if returns is inspect.Signature.empty else f" -> {shown_annotation(returns)}"
    line = f"{head}({', '.join(shown)}){tail}"
    if len(line) <= WIDTH:
        return [line]
    return [f"{head}(", *(f"{INDENT}{parameter}," for parameter in shown), f"){tail}"]


def shown_parameters(parameters: list[inspect.Parameter]) -> Iterator[str]:
    has_star = False
    for number, parameter in enumerate(parameters):
        before = parameters[number - 1] if number else None
        if before is not None and before.kind is before.POSITIONAL_ONLY and parameter.kind is not before.kind:
            yield "/"
        has_star = has_star or parameter.kind is parameter.VAR_POSITIONAL
        if parameter.kind is parameter.KEYWORD_ONLY and not has_star:
            has_star = True
            yield "*"
        yield shown_parameter(parameter)
    if parameters and parameters[-1].kind is inspect.Parameter.POSITIONAL_ONLY:
        yield "/"


def shown_parameter(parameter: inspect.Parameter) -> str:
    stars = (
        "*" if parameter.kind is parameter.VAR_POSITIONAL else "**" if parameter.kind is parameter.VAR_KEYWORD else ""
    )
    text = stars + parameter.name
    if parameter.annotation is not parameter.empty:
        text += f": {shown_annotation(parameter.annotation)}"
    return text if parameter.default is parameter.empty else f"{text} = {shown_default(parameter.default)}"


def shown_annotation(annotation: Any) -> str:
    return annotation.strip("'\"") if isinstance(annotation, str) else inspect.formatannotation(annotation)


def shown_default(value: object) -> str:
    """A default as one would write it; what is made anew for each call is `...`."""
    if isinstance(value, enum.Enum):
        return str(value) if not isinstance(value, str) else f"{type(value).__name__}.{value.name}"
    if hasattr(value, "__attrs_attrs__"):
        return f"{type(value).__name__}()" if value == type(value)() else repr(value)
    return repr(value) if value is None or isinstance(value, (bool, int, float, str, bytes, tuple)) else "..."


def attributes(cls: type) -> list[str]:
    """Declared attributes, in the class or in its `__init__`, of attrs classes too."""
    found: dict[str, str] = {}
    properties = members(cls).keys()
    for owner in reversed(ours(cls)):
        for name, annotation in inspect.get_annotations(owner).items():
            found[name] = shown_annotation(annotation)
        found |= {name: kind for name, kind in assigned_attributes(owner) if kind or name not in found}
    return [
        f"{name}: {kind}".rstrip(": ")
        for name, kind in sorted(found.items())
        if not name.startswith("_") and name not in properties
    ]


def assigned_attributes(owner: type) -> Iterator[tuple[str, str]]:
    """What `__init__` gives to `self`: names, and their types where they are written there."""
    own = vars(owner).get("__init__")
    if own is None or hasattr(owner, "__attrs_attrs__") or not inspect.isfunction(own):
        return
    parameters = inspect.signature(own).parameters
    for node in ast.walk(ast.parse(textwrap.dedent(inspect.getsource(own)))):
        match node:
            case ast.Assign(targets=[ast.Attribute(value=ast.Name(id="self"), attr=name)], value=ast.Name(id=given)):
                yield name, shown_annotation(parameters[given].annotation) if given in parameters else ""
            case ast.Assign(targets=[ast.Attribute(value=ast.Name(id="self"), attr=name)]):
                yield name, ""
            case ast.AnnAssign(target=ast.Attribute(value=ast.Name(id="self"), attr=name), annotation=kind):
                yield name, ast.unparse(kind)


def alias_source(name: str, home: ModuleType) -> str:
    """What a type alias stands for, as its module says it."""
    for node in ast.parse(inspect.getsource(home)).body:
        match node:
            case ast.Assign(targets=[target], value=value) if ast.unparse(target) == name:
                return ast.unparse(value)
            case ast.AnnAssign(target=target, value=ast.expr() as value) if ast.unparse(target) == name:
                return ast.unparse(value)
            case ast.ImportFrom(module=str() as module, level=level) if name in {alias.name for alias in node.names}:
                package = home.__name__ if hasattr(home, "__path__") else home.__name__.rpartition(".")[0]
                return alias_source(name, importlib.import_module("." * level + module, package))
    raise LookupError(f"{name} is neither a class, nor a function, nor assigned in {home.__name__}")


def indented(lines: list[str]) -> list[str]:
    return [INDENT + line for line in lines]


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="public_api.py", description="Write down the public API.")
    parser.add_argument("--check", action="store_true", help="change nothing, and exit with 1 if something differs")
    parser.add_argument("--file", type=Path, default=FILE, help="where it is kept (default: %(default)s)")
    options = parser.parse_args()
    file: Path = options.file
    now = api()
    if not options.check:
        file.write_text(now, "utf-8")
        return 0
    before = file.read_text("utf-8") if file.exists() else ""
    if before == now:
        return 0
    sys.stdout.writelines(
        f"{line}\n" for line in difflib.unified_diff(before.splitlines(), now.splitlines(), "kept", "now", lineterm="")
    )
    print("The public API has changed. If it is meant to: `make api`, and tell users in a file in changes/.")
    return 1


if __name__ == "__main__":
    sys.exit(main())
