"""Operators on JSON values, each checked for type and size before it works.

Operands are defined here; what an undefined one means is decided by the caller.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, ItemsView, KeysView, Mapping, ValuesView
from datetime import datetime
from typing import Final

import msgspec

from petra.errors import ExpressionError
from petra.expr import dates
from petra.expr.frame import Frame, Namespace, Undefined, Value, bounded, finite, kind_of, measure
from petra.expr.limits import CELL, MAX_RESULT
from petra.references import Itself

_NUMBERS: Final = frozenset((int, float, bool))
_ORDERED: Final = frozenset((int, float))
_COLLECTIONS: Final = frozenset((list, dict))
_TEXT_ONLY: Final = frozenset((str,))
_ABSENT: Final = object()

Binary = Callable[[Frame, Value, Value], Value]


def add(frame: Frame, left: Value, right: Value) -> Value:
    """``a + b``: numbers, strings or lists."""
    kinds = (type(left), type(right))
    if kinds[0] in _NUMBERS and kinds[1] in _NUMBERS:
        return _number(left + right)
    if kinds == (str, str):
        frame.make_text(len(left) + len(right))
        return left + right
    if kinds == (list, list):
        frame.spend(len(left) + len(right))
        return frame.made(left + right)
    if datetime in kinds:
        return dates.moved(left, right, 1)
    raise _mismatch("+", left, right, "write '~' to join texts" if str in kinds else None)


def subtract(_frame: Frame, left: Value, right: Value) -> Value:
    """``a - b``: numbers, or seconds between two dates, or a date before another."""
    if type(left) is datetime or type(right) is datetime:
        return dates.moved(left, right, -1)
    return _number(_numbers("-", left, right, operator.sub))


def multiply(frame: Frame, left: Value, right: Value) -> Value:
    """``a * b``: numbers, or a string or list repeated."""
    if type(left) is int and type(right) in (str, list):
        left, right = right, left
    if type(right) is int:
        if type(left) is str:
            frame.make_text(len(left) * max(right, 0))
            return left * right
        if type(left) is list:
            size = measure(left, frame) * max(right, 0)
            frame.make_text(size)
            frame.spend(size // CELL)
            return left * right
    return _number(_numbers("*", left, right, operator.mul))


def divide(_frame: Frame, left: Value, right: Value) -> Value:
    """``a / b``, always a float."""
    return _number(_numbers("/", left, right, operator.truediv))


def floor_divide(_frame: Frame, left: Value, right: Value) -> Value:
    """``a // b``."""
    return _number(_numbers("//", left, right, operator.floordiv))


def modulo(_frame: Frame, left: Value, right: Value) -> Value:
    """``a % b``, of numbers only: a string on the left does not format."""
    if type(left) is str:
        hint = "write '%s'|format(value), or join with '~'"
        raise ExpressionError("'%' does not format strings", kind="type", hint=hint)
    return _number(_numbers("%", left, right, operator.mod))


def power(_frame: Frame, left: Value, right: Value) -> Value:
    """``a ** b``. Integers are judged by their length before the power is taken."""
    if type(left) is int and type(right) is int and right >= 0:
        if abs(left) > 1 and right * (left.bit_length() - 1) > 64:
            raise ExpressionError("the power is too large", kind="limit")
        return bounded(left**right)
    value = _numbers("**", left, right, operator.pow)
    if type(value) is complex:
        raise ExpressionError("a root of a negative number is no number here", kind="type")
    return _number(value)


def concatenate(frame: Frame, left: Value, right: Value) -> Value:
    """``a ~ b``: both as text."""
    first, second = text(frame, left), text(frame, right)
    frame.make_text(len(first) + len(second))
    return first + second


def equal(frame: Frame, left: Value, right: Value) -> bool:
    """``a == b``."""
    if frame.follow is not None:
        left, right = frame.whole(left), frame.whole(right)
    kind = type(left)
    if kind is type(right) and (kind is str or kind in _COLLECTIONS):
        if len(left) != len(right):
            return False
        _pay_comparison(frame, left, right)
    elif kind is not type(right) and (kind is datetime or type(right) is datetime):
        return dates.same(left, right)
    return bool(left == right)


def unequal(frame: Frame, left: Value, right: Value) -> bool:
    """``a != b``."""
    return not equal(frame, left, right)


def contains(frame: Frame, item: Value, container: Value) -> bool:
    """``item in container``: an element, a key or a part of a text."""
    kind = type(container)
    if kind is list:
        if frame.follow is not None:
            item, container = frame.whole(item), frame.whole(container)
        if type(item) in _COLLECTIONS:
            frame.spend(_weight(frame, container))
        else:
            effort = 1 + len(item) // 256 if type(item) is str else 1
            frame.spend(len(container) * effort)
        return item in container
    if isinstance(container, Mapping):
        return type(item) is str and item in container
    if kind is str:
        if type(item) is not str:
            raise _mismatch("in", item, container, "compare texts: write item|string in …")
        frame.spend_text(len(container))
        return item in container
    raise ExpressionError(f"nothing can be in {kind_of(container)}", kind="type")


def absent(frame: Frame, item: Value, container: Value) -> bool:
    """``item not in container``."""
    return not contains(frame, item, container)


def _ordering(sign: str, compare: Callable[[Value, Value], bool]) -> Binary:
    def ordered(frame: Frame, left: Value, right: Value) -> bool:
        kinds = (type(left), type(right))
        if kinds == (str, str):
            _pay_comparison(frame, left, right)
        elif datetime in kinds:
            return dates.compared(left, right, compare)
        elif kinds[0] not in _ORDERED or kinds[1] not in _ORDERED:
            raise _mismatch(sign, left, right, _number_hint(left, right))
        return compare(left, right)

    return ordered


ARITHMETIC: Final[Mapping[str, Binary]] = {
    "+": add, "-": subtract, "*": multiply, "/": divide, "//": floor_divide, "%": modulo,
    "**": power, "~": concatenate,
}  # fmt: skip
COMPARISONS: Final[Mapping[str, Binary]] = {
    "==": equal,
    "!=": unequal,
    "<": _ordering("<", operator.lt),
    "<=": _ordering("<=", operator.le),
    ">": _ordering(">", operator.gt),
    ">=": _ordering(">=", operator.ge),
    "in": contains,
    "not in": absent,
}


def negative(value: Value) -> Value:
    """``-a``."""
    if type(value) in _NUMBERS:
        return _number(-value)
    raise ExpressionError(f"'-' needs a number, not {kind_of(value)}", kind="type")


def positive(value: Value) -> Value:
    """``+a``."""
    if type(value) in _NUMBERS:
        return +value
    raise ExpressionError(f"'+' needs a number, not {kind_of(value)}", kind="type")


def look_up(value: Value, key: Value) -> Value:
    """``value[key]``; where there is nothing, what ``is_absent`` recognises."""
    kind = type(value)
    if kind is dict:
        return value.get(key, _ABSENT) if type(key) is str else _ABSENT
    if kind is list or kind is str:
        if type(key) is int and -len(value) <= key < len(value):
            return value[key]
        return _ABSENT
    if kind is Namespace:
        return value.fields.get(key, _ABSENT) if type(key) is str else _ABSENT
    if isinstance(value, Mapping) and type(key) is str:
        return value.get(key, _ABSENT)
    if kind is tuple:
        return look_up(list(value), key)
    if kind is datetime and (part := dates.part(value, key)) is not None:
        return part
    return _ABSENT


def is_absent(value: Value) -> bool:
    """Tell whether ``look_up`` found nothing."""
    return value is _ABSENT


def text(frame: Frame, value: Value) -> str:
    """Return how a value reads inside a text, spelled as Jinja does (``True``, ``None``)."""
    kind = type(value)
    if kind is str:
        return str(value)
    if kind is int:
        return str(bounded(value))
    if kind is Undefined:
        raise value.error()
    plain = json_value(value, frame)
    written = str(plain)
    frame.make_text(len(written))
    return written


def json_value(value: Value, frame: Frame, *, limited: bool = True) -> Value:
    """Return a value as pure JSON: tuples become lists, NaN and functions are refused.

    What needs no change is returned as it is, not copied.
    """
    if frame.follow is not None:
        value = frame.whole(value)
    return kept_value(value, frame, limited=limited)


def kept_value(value: Value, frame: Frame, *, limited: bool = True) -> Value:
    """Return a value as pure JSON, with the references that are in it."""
    kind = type(value)
    if kind is str or kind is bool or value is None:
        return value if not limited or kind is not str else _short(frame, value)
    if kind is int:
        return bounded(value)
    if kind is float:
        return finite(value)
    if kind is Undefined:
        raise value.error()
    if limited:
        frame.spend(measure(value, frame) // CELL)
    return value if _is_pure(value) else _pure(value)


def _short(frame: Frame, value: str) -> str:
    if len(value) > MAX_RESULT and len(value) > frame.most:
        raise ExpressionError(f"the text has more than {frame.most:,} characters", kind="limit")
    return value


_WHOLE: Final = frozenset((int,))


def _is_pure(value: Value) -> bool:
    """Tell whether a value is JSON through and through, so that nothing needs to be rebuilt."""
    stack = [value]
    while stack:
        item = stack.pop()
        kind = type(item)
        if kind is str or kind is bool or item is None:
            continue
        if kind is dict:
            if not _TEXT_ONLY.issuperset(map(type, item)):
                return False
            stack += item.values()
        elif kind is list:
            if item and _WHOLE.issuperset(
                map(type, item)
            ):  # a long list of numbers is seen in one go
                bounded(min(item))
                bounded(max(item))
            else:
                stack += item
        elif kind is int:
            bounded(item)
        elif kind is float:
            finite(item)
        else:
            return False
    return True


def _pure(value: Value) -> Value:  # noqa: C901 - a table
    kind = type(value)
    if kind is str or kind is bool or kind is Itself or value is None:
        return value
    if kind is int:
        return bounded(value)
    if kind is float:
        return finite(value)
    if kind is list:
        return [_pure(item) for item in value]
    if kind is dict:
        return {_key(key): _pure(item) for key, item in value.items()}
    if kind is Undefined:
        raise value.error()
    if isinstance(value, Mapping):
        return {_key(key): _pure(item) for key, item in value.items()}
    if kind is datetime:
        return dates.written(value)
    if isinstance(value, tuple | KeysView | ValuesView | ItemsView):
        return [_pure(item) for item in value]
    if isinstance(value, str | int | float):
        return _pure(msgspec.to_builtins(value))
    message = f"{type(value).__name__!r} is not a JSON value"
    raise ExpressionError(message, kind="type")


def _key(key: Value) -> str:
    if type(key) is str:
        return key
    raise ExpressionError(f"a key must be a string, not {kind_of(key)}", kind="type")


def _pay_comparison(frame: Frame, left: Value, right: Value) -> None:
    """Pay for comparing two texts, or two collections, element by element."""
    kind = type(left)
    if kind is str and type(right) is str:
        frame.spend_text(min(len(left), len(right)))
    elif kind in _COLLECTIONS and type(right) in _COLLECTIONS:
        frame.spend(_weight(frame, left))


def _weight(frame: Frame, value: Value) -> int:
    return 1 + measure(value, frame) // CELL


def _number(value: Value) -> Value:
    if type(value) is int:
        return bounded(value)
    return finite(value) if type(value) is float else value


def _numbers(sign: str, left: Value, right: Value, apply: Callable[[Value, Value], Value]) -> Value:
    if type(left) not in _NUMBERS or type(right) not in _NUMBERS:
        raise _mismatch(sign, left, right, _number_hint(left, right))
    try:
        return apply(left, right)
    except ZeroDivisionError:
        raise ExpressionError("division by zero", kind="type") from None
    except OverflowError:
        raise ExpressionError("the number is too large", kind="limit") from None


def _number_hint(left: Value, right: Value) -> str | None:
    if {type(left), type(right)} in ({str, int}, {str, float}):
        return "write |int or |float to make a number of a text"
    return None


def _mismatch(sign: str, left: Value, right: Value, hint: str | None) -> ExpressionError:
    message = f"'{sign}' does not work on {kind_of(left)} and {kind_of(right)}"
    return ExpressionError(message, kind="type", hint=hint)
