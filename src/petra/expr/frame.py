"""What one evaluation carries: the scope, the fuel, and what stands for a missing value.

Every operation that costs more than a glance pays from the fuel *before* it works, and every value it
builds is measured, so a bomb ends as an error of kind ``limit`` and never as a dead process.

A scope that follows references (S18) says how much room there is: what may be built is more, and fuel grows with the
data at hand, so that the same expression works on ten rows and on a million. A bomb finds little data to grow with.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from petra.errors import ExpressionError
from petra.expr.limits import CELL, CHARS_PER_FUEL, FUEL, MAX_INT, MAX_RESULT, MIN_INT
from petra.references import Follow, followed_all, references_in, resolved

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
    """One evaluation. ``strict`` makes an undefined operand an error instead of undefined again.

    ``exact`` does so for orderings and calculations alone: where a guard decides, a number must be there (S6).
    """

    __slots__ = ("bound", "exact", "follow", "fuel", "has_grown", "scope", "strict")

    def __init__(self, scope: Mapping[str, Value], *, strict: bool, exact: bool = False) -> None:
        self.scope = scope
        self.strict = strict
        self.exact = exact or strict
        self.follow: Follow | None = scope.get(FOLLOW)
        self.fuel = FUEL
        self.has_grown = False
        self.bound: dict[str, Value] = {}

    def spend(self, units: int) -> None:
        """Pay for work that is about to be done."""
        self.fuel -= units
        if self.fuel < 0:
            self._grow()

    def _grow(self) -> None:
        """Find fuel for the data at hand, once; there is none, and this is too much work."""
        if self.follow is not None and not self.has_grown:
            self.has_grown = True
            room = self.follow.room
            data = self.follow.brought + _size_of(self.scope)
            self.fuel += max(0, room.fuel - FUEL) + room.per_byte * data
        if self.fuel < 0:
            raise ExpressionError("the expression takes too much work for its data", kind="limit")

    @property
    def most(self) -> int:
        """The size of the largest value that may be built."""
        return MAX_RESULT if self.follow is None else self.follow.room.built

    def spend_text(self, length: int) -> None:
        """Pay for handling text that exists."""
        self.spend(1 + length // CHARS_PER_FUEL)

    def make_text(self, length: int) -> None:
        """Pay for text that is about to be made, and refuse it if it is too long."""
        if length > MAX_RESULT and length > self.most:
            raise too_large(length, self.most)
        self.spend(1 + length // CHARS_PER_FUEL)

    def through(self, value: Value) -> Value:
        """Return what is read when a value is looked into: behind a reference, what it leads to."""
        if self.follow is not None and type(value) is dict and "checksum" in value:
            return self.follow(value)
        return value

    def through_all(self, values: list[Value]) -> list[Value]:
        """Return what is read when each of these is looked into."""
        if self.follow is None:
            return values
        for value in values:
            if type(value) is dict and "checksum" in value:
                return followed_all(self.follow, values)
        return values

    def whole(self, value: Value) -> Value:
        """Return a value without any reference in it, at whatever depth, as it is compared or written."""
        if self.follow is None or type(value) not in _CONTAINERS:
            return value
        any_there, count = references_in(value)
        self.spend(count)
        return resolved(self.follow, value) if any_there else value

    def missing(self, value: Undefined) -> Undefined:
        """Refuse an undefined operand, or let it spread when a guard is evaluated."""
        if self.strict:
            raise value.error()
        return value

    def lacking(self, value: Undefined) -> Undefined:
        """Refuse an undefined operand of an ordering or a calculation, unless a gate is evaluated."""
        if self.exact:
            raise value.error()
        return value

    def made(self, value: Value) -> Value:
        """Measure a value that was built, and pay for it."""
        kind = type(value)
        if kind is list or kind is dict:
            self.spend(measure(value, self) // CELL)
        elif kind is str:
            if len(value) > MAX_RESULT and len(value) > self.most:
                raise too_large(len(value), self.most)
        elif kind is int:
            return bounded(value)
        elif kind is float:
            return finite(value)
        return value


_CELLS: Final = frozenset((type(None), bool, int, float))
_CONTAINERS: Final = frozenset((dict, list, tuple))


def too_large(size: int, most: int = MAX_RESULT) -> ExpressionError:
    """The error for a value that would be larger than may be built."""
    message = f"the value would be too large ({size:,} of at most {most:,})"
    return ExpressionError(message, kind="limit")


def measure(value: Value, frame: Frame | None = None) -> int:
    """Return the size of a value as a tree, shared parts counted as often as they occur.

    Raises:
        ExpressionError: it is larger than may be built; found without walking any further.
    """
    most = MAX_RESULT if frame is None else frame.most
    total, stack = 0, [value]
    while stack:
        item = stack.pop()
        kind = type(item)
        if kind is str:
            total += max(CELL, len(item))
        elif kind is list:
            total += CELL
            if len(item) * CELL + total > most:
                raise too_large(len(item) * CELL + total, most)
            if _CELLS.issuperset(map(type, item)):  # a long list of numbers is seen in one go
                total += len(item) * CELL
            else:
                stack += item
        elif kind is dict:
            total += CELL
            if len(item) * CELL + total > most:
                raise too_large(len(item) * CELL + total, most)
            stack += item.values()
            total += sum(map(len, item))
        else:
            total += CELL
        if total > most:
            raise too_large(total, most)
    return total


def _size_of(scope: Mapping[str, Value]) -> int:
    """Return the size of the data in a scope."""
    total, stack = 0, [value for value in scope.values() if type(value) in _DATA]
    while stack:
        item = stack.pop()
        kind = type(item)
        if kind is str:
            total += len(item)
        elif kind is list:
            total += CELL * len(item)
            stack += item
        elif kind is dict:
            total += CELL * len(item)
            stack += item.values()
    return total


_DATA: Final = frozenset((dict, list, str))


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
    "dict": "an object", "NoneType": "null", "datetime": "a date",
}  # fmt: skip


def kind_of(value: Value) -> str:
    """Name the type of a value in the words of JSON."""
    if isinstance(value, Mapping):
        return "an object"
    return _WORDS.get(type(value).__name__, "a function")


def wrong_type(what: str, value: Value, hint: str | None = None) -> ExpressionError:
    """The error for an operand of the wrong type."""
    return ExpressionError(f"{what}, not {kind_of(value)}", kind="type", hint=hint)
