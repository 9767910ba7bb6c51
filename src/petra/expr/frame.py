"""What one evaluation carries: the scope, the fuel, and what stands for a missing value.

Every operation that costs more than a glance pays from the fuel *before* it works, and every value it
builds is measured, so a bomb ends as an error of kind ``limit`` and never as a dead process.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from petra.errors import ExpressionError
from petra.expr.limits import CELL, CHARS_PER_FUEL, FUEL, MAX_INT, MAX_RESULT, MIN_INT

Value = Any
"""A JSON value, an ``Undefined``, or (in a scope) a helper function."""


FOLLOW: Final = "$follow"
"""A scope that has this can follow references: it is called with one and returns what it leads to (S18)."""


class Undefined:
    """What a missing name, key or element evaluates to. It equals nothing and is false."""

    __slots__ = ("hint", "offset", "text")

    def __init__(self, text: str, offset: int | None = None, hint: str | None = None) -> None:
        self.text = text
        self.offset = offset
        self.hint = hint

    def __bool__(self) -> bool:
        return False

    def error(self) -> ExpressionError:
        """The error it becomes where a value is needed."""
        hint = self.hint or "give it a value with default(…)"
        message = f"{self.text} is undefined"
        return ExpressionError(message, kind="undefined", offset=self.offset, hint=hint)


class Namespace:
    """``namespace()``: the one thing a template may change, to carry values out of a loop."""

    __slots__ = ("fields",)

    def __init__(self, fields: dict[str, Value]) -> None:
        self.fields = fields


class Frame:
    """One evaluation. ``strict`` makes an undefined operand an error instead of undefined again."""

    __slots__ = ("bound", "follow", "fuel", "scope", "strict")

    def __init__(self, scope: Mapping[str, Value], *, strict: bool) -> None:
        self.scope = scope
        self.strict = strict
        self.follow = scope.get(FOLLOW)
        self.fuel = FUEL
        self.bound: dict[str, Value] = {}

    def spend(self, units: int) -> None:
        """Pay for work that is about to be done."""
        self.fuel -= units
        if self.fuel < 0:
            message = f"the expression takes too much work (more than {FUEL:,} units)"
            raise ExpressionError(message, kind="limit")

    def spend_text(self, length: int) -> None:
        """Pay for handling text that exists."""
        self.spend(1 + length // CHARS_PER_FUEL)

    def make_text(self, length: int) -> None:
        """Pay for text that is about to be made, and refuse it if it is too long."""
        if length > MAX_RESULT:
            raise too_large(length)
        self.spend(1 + length // CHARS_PER_FUEL)

    def through(self, value: Value) -> Value:
        """Return what is read when a value is looked into: behind a reference, what it leads to."""
        if self.follow is not None and type(value) is dict and "checksum" in value:
            return self.follow(value)
        return value

    def missing(self, value: Undefined) -> Undefined:
        """Refuse an undefined operand, or let it spread when a guard is evaluated."""
        if self.strict:
            raise value.error()
        return value

    def made(self, value: Value) -> Value:
        """Measure a value that was built, and pay for it."""
        kind = type(value)
        if kind is list or kind is dict:
            self.spend(measure(value) // CELL)
        elif kind is str:
            if len(value) > MAX_RESULT:
                raise too_large(len(value))
        elif kind is int:
            return bounded(value)
        elif kind is float:
            return finite(value)
        return value


def too_large(size: int) -> ExpressionError:
    """The error for a value that would exceed ``MAX_RESULT``."""
    message = f"the value would be too large ({size:,} of at most {MAX_RESULT:,})"
    return ExpressionError(message, kind="limit")


def measure(value: Value) -> int:
    """Return the size of a value as a tree, shared parts counted as often as they occur.

    Raises:
        ExpressionError: the size exceeds ``MAX_RESULT``; found without walking any further.
    """
    total, stack = 0, [value]
    while stack:
        item = stack.pop()
        kind = type(item)
        if kind is str:
            total += max(CELL, len(item))
        elif kind is list:
            total += CELL
            if len(item) * CELL + total > MAX_RESULT:
                raise too_large(len(item) * CELL + total)
            stack += item
        elif kind is dict:
            total += CELL
            if len(item) * CELL + total > MAX_RESULT:
                raise too_large(len(item) * CELL + total)
            stack += item.values()
            total += sum(map(len, item))
        else:
            total += CELL
        if total > MAX_RESULT:
            raise too_large(total)
    return total


def bounded(number: int) -> int:
    """Return an integer that fits, or refuse it."""
    if MIN_INT <= number <= MAX_INT:
        return number
    raise ExpressionError("the number is too large; integers go up to 2**64 - 1", kind="limit")


_INFINITY: Final = float("inf")


def finite(number: float) -> float:
    """Return a float that JSON can say, or refuse it."""
    if -_INFINITY < number < _INFINITY:
        return number
    raise ExpressionError("the number is infinite or not a number at all", kind="limit")


_WORDS: Final[Mapping[str, str]] = {
    "str": "a string", "int": "a number", "float": "a number", "bool": "a boolean", "list": "a list",
    "dict": "an object", "NoneType": "null",
}  # fmt: skip


def kind_of(value: Value) -> str:
    """Name the type of a value in the words of JSON."""
    if isinstance(value, Mapping):
        return "an object"
    return _WORDS.get(type(value).__name__, "a function")


def wrong_type(what: str, value: Value, hint: str | None = None) -> ExpressionError:
    """The error for an operand of the wrong type."""
    return ExpressionError(f"{what}, not {kind_of(value)}", kind="type", hint=hint)
