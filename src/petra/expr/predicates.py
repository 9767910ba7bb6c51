"""Tests: what may stand after ``is``, and as the test of ``select`` and its kin.

An undefined subject fails every test but ``undefined``; nothing here raises for it.
"""

# Truth values are table entries here.
# ruff: noqa: FBT003
from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from petra.errors import ExpressionError
from petra.expr.frame import Frame, Undefined, Value, kind_of, wrong_type
from petra.expr.operators import COMPARISONS

Predicate = Callable[..., bool]


def _of_type(*kinds: type) -> Predicate:
    def is_of_type(_frame: Frame, value: Value) -> bool:
        return type(value) in kinds

    return is_of_type


def _comparison(sign: str) -> Predicate:
    compare = COMPARISONS[sign]

    def holds(frame: Frame, value: Value, other: Value) -> bool:
        return bool(compare(frame, value, other))

    return holds


def _whole(value: Value) -> int:
    if type(value) is int:
        return int(value)
    raise wrong_type("this test works on a whole number", value)


def defined(_frame: Frame, value: Value) -> bool:
    """Has a value; null is one."""
    return type(value) is not Undefined


def undefined(_frame: Frame, value: Value) -> bool:
    """Has no value."""
    return type(value) is Undefined


def truthy(_frame: Frame, value: Value) -> bool:
    """Not false, null, zero or empty."""
    return bool(value)


def mapping(_frame: Frame, value: Value) -> bool:
    """An object."""
    return isinstance(value, Mapping)


def iterable(_frame: Frame, value: Value) -> bool:
    """Something a loop can go through."""
    return type(value) in (list, str) or isinstance(value, Mapping)


def even(_frame: Frame, value: Value) -> bool:
    """A multiple of two."""
    return _whole(value) % 2 == 0


def odd(_frame: Frame, value: Value) -> bool:
    """No multiple of two."""
    return _whole(value) % 2 == 1


def divisible_by(_frame: Frame, value: Value, number: Value) -> bool:
    """A multiple of the number."""
    if _whole(number) == 0:
        raise ExpressionError("division by zero", kind="type")
    return _whole(value) % _whole(number) == 0


def starting_with(frame: Frame, value: Value, prefix: Value) -> bool:
    """A text that starts so."""
    _both_text(frame, value, prefix)
    return bool(value.startswith(prefix))


def ending_with(frame: Frame, value: Value, suffix: Value) -> bool:
    """A text that ends so."""
    _both_text(frame, value, suffix)
    return bool(value.endswith(suffix))


def lower(frame: Frame, value: Value) -> bool:
    """A text in small letters."""
    _both_text(frame, value, "")
    return bool(value.islower())


def upper(frame: Frame, value: Value) -> bool:
    """A text in capital letters."""
    _both_text(frame, value, "")
    return bool(value.isupper())


def containing(frame: Frame, value: Value, item: Value) -> bool:
    """Has the item in it."""
    return bool(COMPARISONS["in"](frame, item, value))


def _both_text(frame: Frame, value: Value, other: Value) -> None:
    if type(value) is not str or type(other) is not str:
        raise wrong_type("this test works on a string", other if type(value) is str else value)
    frame.spend_text(len(value))


def _is(constant: Value) -> Predicate:
    def is_constant(_frame: Frame, value: Value) -> bool:
        return value is constant

    return is_constant


PREDICATES: Final[Mapping[str, Predicate]] = {
    "boolean": _of_type(bool), "containing": containing, "defined": defined,
    "divisibleby": divisible_by, "endingwith": ending_with, "eq": _comparison("=="),
    "equalto": _comparison("=="), "even": even, "false": _is(False),
    "float": _of_type(float), "ge": _comparison(">="), "greaterthan": _comparison(">"),
    "gt": _comparison(">"), "in": _comparison("in"), "integer": _of_type(int),
    "iterable": iterable, "le": _comparison("<="), "lessthan": _comparison("<"), "lower": lower,
    "lt": _comparison("<"), "mapping": mapping, "ne": _comparison("!="), "none": _is(None),
    "null": _is(None), "number": _of_type(int, float), "odd": odd, "sequence": _of_type(list, str),
    "startingwith": starting_with, "string": _of_type(str), "true": _is(True),
    "truthy": truthy, "undefined": undefined, "upper": upper,
}  # fmt: skip
_SPELLINGS: Final = {
    "==": "eq", "!=": "ne", "<": "lt", "<=": "le", ">": "gt", ">=": "ge", "True": "true",
    "False": "false", "None": "none",
}  # fmt: skip


def find_predicate(name: Value) -> Predicate | None:
    """Return the test of this name or sign, if there is one."""
    test = PREDICATES.get(_SPELLINGS.get(name, name)) if type(name) is str else None
    if test is None or test is undefined:
        return test

    def guarded(frame: Frame, value: Value, *arguments: Value) -> bool:
        if type(value) is Undefined:
            return False
        return test(frame, value, *arguments)

    return guarded


def predicate(name: Value) -> Predicate:
    """Return the test of this name or sign.

    Raises:
        ExpressionError: there is none.
    """
    test = find_predicate(name)
    if test is None:
        shown = repr(name) if type(name) is str else f"that {kind_of(name)} names"
        raise ExpressionError(f"there is no test {shown}", kind="unknown_test")
    return test
