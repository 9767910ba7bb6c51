"""Reducers: how a write to a ctx key combines with what is there (S10).

Rule 1: a reducer is pure and returns a new value; neither operand is changed.
Rule 2: ``first`` and ``last`` ask whether the key exists; to all others a null is nothing yet.
Rule 3: ``merge`` is shallow and the newer key wins. ``union`` takes a list for its elements and anything
else for one element, and keeps first appearances; elements are the same when their encoding is.
Rule 4: what is in pieces (S18) is not read here: what is written goes to its tail. Whoever writes to a ``union`` leaves out before
what it has.

| reducer | nothing there | old and new |
|---|---|---|
| last | new | new |
| first | new | old |
| append | [new] | old + [new] |
| extend | new | old + new |
| sum | new | old + new |
| min, max | new | the smaller, the larger: two numbers or two strings |
| merge | new | {**old, **new} |
| union | new without repetitions | old, then what is not yet in it |
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final, Literal, TypeAlias

from petra.references import is_long_list, is_spliced
from petra.values import canonical

Reducer: TypeAlias = Literal[
    "last", "first", "append", "extend", "sum", "min", "max", "merge", "union"
]
ADDING: Final = frozenset(("append", "extend", "merge"))
"""Reducers that only add to what is there: that may be in pieces, and nobody needs to read them (S18)."""
GROWING: Final = ADDING | {"union"}
"""Reducers whose values may be in pieces."""


def reduce_value(reducer: Reducer, old: Any, new: Any, *, present: bool) -> Any:
    """Return what a key holds after a write; ``present`` tells whether it held ``old`` before.

    Raises:
        ValueError: the reducer does not take values of this type.
    """
    if reducer == "last":
        return new
    if reducer == "first":
        return old if present else new
    return _COMBINE[reducer](old if present else None, new)


def _append(old: Any, new: Any) -> Any:
    if is_long_list(old):
        return {**old, "tail": [*old["tail"], new]}
    return [*_list("append", old), new]


def _extend(old: Any, new: Any) -> Any:
    if not isinstance(new, list):
        raise _refused("extend", "a list", new)
    if is_long_list(old):
        return {**old, "tail": [*old["tail"], *new]}
    return [*_list("extend", old), *new]


def _sum(old: Any, new: Any) -> Any:
    total = _number("sum", 0 if old is None else old) + _number("sum", new)
    if isinstance(total, float) and not math.isfinite(total):
        raise ValueError("the sum is too large")
    return total


def _min(old: Any, new: Any) -> Any:
    return new if _less("min", new, new if old is None else old) or old is None else old


def _max(old: Any, new: Any) -> Any:
    return new if _less("max", new if old is None else old, new) or old is None else old


def _merge(old: Any, new: Any) -> Any:
    for value in (old if old is not None else {}, new):
        if not isinstance(value, dict):
            raise _refused("merge", "objects", value)
    if is_spliced(old):
        if is_long_list(old):
            raise _refused("merge", "objects", [])
        return {**old, "tail": {**old["tail"], **new}}
    return {**(old or {}), **new}


def _union(old: Any, new: Any) -> Any:
    added = new if isinstance(new, list) else [new]
    if is_long_list(old):
        return {**old, "tail": [*old["tail"], *added]}
    seen: dict[bytes, Any] = {}
    for item in (*_list("union", old), *added):
        seen.setdefault(canonical(item), item)
    return list(seen.values())


_COMBINE: Mapping[str, Callable[[Any, Any], Any]] = MappingProxyType(
    {
        "append": _append,
        "extend": _extend,
        "sum": _sum,
        "min": _min,
        "max": _max,
        "merge": _merge,
        "union": _union,
    }
)


def _list(reducer: str, old: Any) -> list[Any]:
    if old is None:
        return []
    if isinstance(old, list):
        return old
    raise _refused(reducer, "a list to add to", old)


def _number(reducer: str, value: Any) -> float:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return value
    raise _refused(reducer, "numbers", value)


def _less(reducer: str, one: Any, other: Any) -> bool:
    if isinstance(one, str) and isinstance(other, str):
        return one < other
    if isinstance(one, str) or isinstance(other, str):
        raise _refused(reducer, "numbers, or strings, and not both", one)
    return _number(reducer, one) < _number(reducer, other)


_WORDS = MappingProxyType(
    {str: "a string", bool: "a boolean", list: "a list", dict: "an object", type(None): "null"}
)


def _refused(reducer: str, wanted: str, value: Any) -> ValueError:
    return ValueError(
        f"the reducer '{reducer}' takes {wanted}, not {_WORDS.get(type(value), 'a number')}"
    )
