"""The fields of a tool: compiled once per task, rendered for each try (S5, S6).

Constant text (``code``, ``command``, ``function`` and the like, as the kind declares) is handed over as it
is written: a value can get into it through ``args`` or ``params`` only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from petra.errors import ExpressionError
from petra.expr import Profile, Scope
from petra.expr.scopes import Use
from petra.expr.value import compile_value
from petra.playbook.grammar import Shape, fields_of

Render = Callable[[Scope], dict[str, Any]]


def compile_map(value: Mapping[str, Any], *, handed_on: bool = False) -> Render:
    """Compile a map in which every string may be a template.

    With ``handed_on`` references stay what they are (S18): somebody else is to look through them.

    Raises:
        ExpressionError: one of them is no good template; ``place`` leads to it.
    """
    compiled = compile_value(dict(value), Profile.WORKER)
    if compiled.is_constant:
        return lambda _scope: dict(value)
    render: Render = compiled.hand_on if handed_on else compiled.render  # type: ignore[assignment]  # a map stays one
    return render


def secret_keys(value: Mapping[str, Any]) -> frozenset[str]:
    """Return the keys of a map whose templates read the keychain."""
    templates = compile_value(dict(value), Profile.WORKER).templates
    return frozenset(
        str(place[0])
        for place, template in templates.items()
        if any(path[0] == "keychain" for path in template.reads)
    )


def compile_fields(fields: Mapping[str, Any], kind: type[msgspec.Struct] | None) -> Render:
    """Compile the fields of a task; of a kind nobody declared, all are templates.

    Raises:
        ExpressionError: one of them is no good template; ``place`` leads to it.
    """
    shapes = {key: field.shape for key, field in fields_of(kind).items()} if kind else {}
    fixed = {key: value for key, value in fields.items() if _is_constant(shapes.get(key))}
    parts = {
        key: _part(key, value, shape.struct)
        for key, value in fields.items()
        if (shape := shapes.get(key)) is not None
        and shape.struct is not None
        and isinstance(value, Mapping)
    }
    others = compile_map({k: v for k, v in fields.items() if k not in fixed and k not in parts})
    if not fixed and not parts:
        return others

    def render(scope: Scope) -> dict[str, Any]:
        return {
            **others(scope),
            **fixed,
            **{key: part(scope) for key, part in parts.items()},
        }

    return render


def _part(key: str, value: Mapping[str, Any], struct: type[msgspec.Struct]) -> Render:
    """Compile a field that has fields of its own, so that constants inside it are found too."""
    try:
        inner = compile_fields(value, struct)
    except ExpressionError as error:
        error.place = (key, *error.place)
        raise

    def render(scope: Scope) -> dict[str, Any]:
        try:
            return inner(scope)
        except ExpressionError as error:
            error.place = (key, *error.place)
            raise

    return render


def _is_constant(shape: Shape | None) -> bool:
    if shape is None:
        return False
    if shape.note.facts.get("use") is Use.CONSTANT:
        return True
    return any(_is_constant(option) for option in shape.options)
