"""Guards as far as they can be decided before anything runs.

A guard is true, false or open. The analysis knows one thing about a boundary event: whether it is a
success or a failure, and what it is called. Everything else a guard reads stays open.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from petra.errors import ExpressionError
from petra.expr import Profile, compile_template
from petra.expr import tree as t
from petra.expr.parse import parse_expression

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_HANDLER_READS = frozenset({"event", "ok()", "fail()"})
_OPEN = object()


class Boundary(Struct, frozen=True):
    """What is known about the event that arcs are evaluated for."""

    ok: bool
    name: str

    @property
    def facts(self) -> Mapping[tuple[str, ...], object]:
        """The paths whose value is known."""
        return {
            ("event", "status"): "ok" if self.ok else "error",
            ("event", "name"): self.name,
        }


def decided(when: str | bool, boundary: Boundary) -> bool | None:  # noqa: FBT001 - what authors write
    """Return whether the guard holds at that event; None where it depends on data."""
    if isinstance(when, bool):
        return when
    text = when.strip()
    if not (text.startswith("{{") and text.endswith("}}")):
        return _constant(when)
    try:
        node = parse_expression(text[2:-2].strip("-+ \n\t"))
    except (ExpressionError, RecursionError):
        return None
    value = _value(node, boundary.facts)
    return None if value is _OPEN else bool(value)


def is_handler(when: str | bool) -> bool:  # noqa: FBT001 - what authors write
    """Tell whether an arc with this guard is tried after a failure under ``fail_fast`` (S7)."""
    if isinstance(when, bool):
        return False
    try:
        reads = compile_template(when, Profile.SERVER, strict=False).reads
    except ExpressionError:
        return False
    return any(path[0] in _HANDLER_READS or path[:2] == ("ctx", "_last_error") for path in reads)


def _constant(when: str) -> bool | None:
    try:
        template = compile_template(when, Profile.SERVER, strict=False)
        return template.test({}) if template.is_constant else None
    except ExpressionError:
        return None


def _value(node: t.Node, facts: Mapping[tuple[str, ...], object]) -> object:
    """Return the value of an expression, or ``_OPEN``."""
    match node:
        case t.Const(value=value):
            return value
        case t.Lookup(root=t.Name(name=name), parts=parts):
            keys = [part.key.value for part in parts if isinstance(part.key, t.Const)]
            return facts.get((name, *map(str, keys)), _OPEN) if len(keys) == len(parts) else _OPEN
        case t.Unary(operator="not", operand=operand):
            inner = _value(operand, facts)
            return _OPEN if inner is _OPEN else not inner
        case t.Compare(first=first, rest=((sign, second),)) if sign in _COMPARED:
            left, right = _value(first, facts), _value(second, facts)
            return _OPEN if left is _OPEN or right is _OPEN else _COMPARED[sign](left, right)
        case t.Logic(operator=operator, items=items):
            # One operand may settle it: false for "and", true for "or".
            settles = operator == "or"
            values = [_value(item, facts) for item in items]
            if any(value is not _OPEN and bool(value) is settles for value in values):
                return settles
            return _OPEN if any(value is _OPEN for value in values) else not settles
        case _:
            return _OPEN


_COMPARED: Mapping[str, Callable[[object, object], bool]] = {
    "==": lambda left, right: left == right,
    "!=": lambda left, right: left != right,
    "in": lambda left, right: isinstance(right, str | list) and left in right,
}
