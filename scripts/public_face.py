"""What Petra says of itself to programs: the public names of each public module, and what their annotations show.

A member of a public class whose annotation shows what is not public is none of the public ones: pages leave it out, and
a test has a list of them.
"""

from __future__ import annotations

import ast
import enum
import importlib
import inspect
import itertools
import sys
import textwrap
import types
import typing
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

MODULES = ("petra", "petra.net", "petra.testing", "petra.tools", "petra.client")
OPAQUE = frozenset({"Playbook"})
"""Classes of which the parts are no concern of a program: the language describes them."""


class Member(typing.NamedTuple):
    """A field, a property or a method of a public class."""

    name: str
    kind: str
    annotations: Mapping[str, Any]
    owner: type
    value: Any


def public_names(module: str) -> dict[str, Any]:
    """Return what a module lists, but its version."""
    place = importlib.import_module(module)
    return {name: getattr(place, name) for name in place.__all__ if name != "__version__"}


@cache
def public_things() -> dict[int, str]:
    """Return every public thing by its identity, with the module and the name under which it is public."""
    return {
        id(thing): f"{module}.{name}"
        for module in reversed(MODULES)
        for name, thing in public_names(module).items()
    }


# Members


def members_of(cls: type) -> list[Member]:
    """Return the members of a class that have no underscore, those of its bases in Petra included."""
    if cls.__name__ in OPAQUE:
        return []
    members: dict[str, Member] = {}
    for owner in reversed(cls.__mro__):
        if owner.__module__.partition(".")[0] == "petra":
            members |= {member.name: member for member in _own_members(owner)}
    return list(members.values())


def _own_members(owner: type) -> Iterator[Member]:
    fields = inspect.get_annotations(owner)
    values = vars(owner)
    is_data = hasattr(owner, "__struct_fields__") or hasattr(owner, "__dataclass_fields__")
    for name, annotation in fields.items():
        if not name.startswith("_") and (
            is_data or inspect.isabstract(owner) or _is_protocol(owner)
        ):
            yield Member(name, "field", {"return": annotation}, owner, None)
    for name, value in values.items():
        if name.startswith("_") or name in fields:
            continue
        if isinstance(value, property):
            assert value.fget is not None
            yield Member(name, "property", _annotations(value.fget), owner, value.fget)
        elif isinstance(value, types.FunctionType | classmethod | staticmethod):
            inner: Any = getattr(value, "__func__", None) or value
            function = inspect.unwrap(inner)
            yield Member(name, "method", _annotations(function), owner, function)
        elif issubclass(owner, enum.Enum) and isinstance(value, owner):
            yield Member(name, "choice", {}, owner, value)


def _is_protocol(owner: type) -> bool:
    return bool(getattr(owner, "_is_protocol", False))


def _annotations(function: Any) -> dict[str, Any]:
    return inspect.get_annotations(function)


def is_made_by_programs(cls: type) -> bool:
    """Tell whether a class has a constructor that a program can call; that of data is its fields."""
    make = vars(cls).get("__init__")
    is_data = hasattr(cls, "__struct_fields__") or hasattr(cls, "__dataclass_fields__")
    if make is None or is_data or _is_protocol(cls):
        return False
    parameters = inspect.signature(make).parameters.values()
    needed = {parameter.name for parameter in parameters if parameter.default is parameter.empty}
    return not needed & parameter_leaks(make)


# What annotations show


def leaks_of(member: Member) -> list[str]:
    """Return the classes of Petra that a member shows and that are not public."""
    return sorted(
        {leak for shown in member.annotations.values() for leak in _leaks(shown, member.owner)}
    )


def leaks_of_function(function: Any) -> list[str]:
    """Return the classes of Petra that a function shows and that are not public."""
    annotations = _annotations(inspect.unwrap(function))
    return sorted({leak for shown in annotations.values() for leak in _leaks(shown, function)})


def parameter_leaks(function: Any) -> set[str]:
    """Return the parameters of a function that show what is not public."""
    return {
        name
        for name, shown in _annotations(function).items()
        if name != "return" and any(_leaks(shown, function))
    }


def _leaks(annotation: Any, owner: Any) -> Iterator[str]:
    if isinstance(annotation, str):
        annotation = eval(annotation, _namespace(owner.__module__))
    if id(annotation) in public_things():
        return
    if isinstance(annotation, type) and annotation.__module__.partition(".")[0] == "petra":
        yield f"{annotation.__module__}.{annotation.__qualname__}"
    arguments = typing.get_args(annotation)
    for part in arguments:
        for inner in part if isinstance(part, list) else [part]:
            if not isinstance(inner, str):
                yield from _leaks(inner, owner)


@cache
def _namespace(module: str) -> dict[str, Any]:
    """Return the names that annotations of a module may use, those for the type checker only included."""
    names = dict(vars(importlib.import_module(module)))
    for node in _tree(module).body:
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            for statement in node.body:
                _know(statement, names)
    return names


def _know(statement: ast.stmt, names: dict[str, Any]) -> None:
    """Add what a statement for the type checker defines; what it imports may be defined for the type checker only, too."""
    if isinstance(statement, ast.ImportFrom) and statement.module is not None:
        source = importlib.import_module(statement.module)
        for alias in statement.names:
            known = getattr(source, alias.name, None) or _namespace(statement.module)[alias.name]
            names[alias.asname or alias.name] = known
    else:
        exec(ast.unparse(statement), names)


@cache
def _tree(module: str) -> ast.Module:
    return ast.parse(inspect.getsource(sys.modules[module]))


def literally(annotation: Any, owner: type) -> Any:
    """Return an annotation with the choices themselves where it only names them."""
    if isinstance(annotation, str) and annotation.isidentifier():
        meant = _namespace(owner.__module__).get(annotation)
        if typing.get_origin(meant) is typing.Literal:
            return f"Literal[{', '.join(map(repr, typing.get_args(meant)))}]"
    return annotation


# Docstrings


def doc_of(thing: Any) -> str:
    """Return the docstring that a thing has itself; one that was made for it is none."""
    text = inspect.getdoc(thing) if not isinstance(thing, type) else vars(thing).get("__doc__")
    if not text or text.startswith(f"{getattr(thing, '__name__', '')}("):
        return ""
    return inspect.cleandoc(text)


def doc_of_name(name: str, module: str) -> str:
    """Return what stands behind the assignment of a name, here or in a module from which it is imported."""
    return _attribute_docs(_tree_after_import(module).body).get(name) or next(
        (
            doc_of_name(alias.name, node.module)
            for node in ast.walk(_tree(module))
            if isinstance(node, ast.ImportFrom) and node.module not in (None, module)
            for alias in node.names
            if (alias.asname or alias.name) == name
        ),
        "",
    )


def field_docs(owner: type) -> dict[str, str]:
    """Return what stands behind the fields of a class."""
    (node,) = ast.parse(textwrap.dedent(inspect.getsource(owner))).body
    assert isinstance(node, ast.ClassDef)
    return _attribute_docs(node.body)


def _tree_after_import(module: str) -> ast.Module:
    importlib.import_module(module)
    return _tree(module)


def _attribute_docs(body: list[ast.stmt]) -> dict[str, str]:
    docs: dict[str, str] = {}
    for node, after in itertools.pairwise(body):
        if isinstance(node, ast.AnnAssign):
            target: ast.expr = node.target
        elif isinstance(node, ast.Assign):
            target = node.targets[0]
        else:
            continue
        if isinstance(target, ast.Name) and isinstance(after, ast.Expr):
            value = after.value
            if isinstance(value, ast.Constant) and isinstance(value.value, str):
                docs[target.id] = inspect.cleandoc(value.value)
    return docs
