"""Filters that take lists and objects. They never change their input; pairs are two-element lists."""

# Flags stand by position, as in Jinja.
# ruff: noqa: FBT002, FBT003

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from petra.errors import ExpressionError
from petra.expr.dates import DATE_FILTERS
from petra.expr.frame import Frame, Undefined, Value, kind_of, too_large, wrong_type
from petra.expr.limits import CELL, MAX_RESULT
from petra.expr.operators import add, is_absent, json_value, look_up, text
from petra.expr.predicates import predicate
from petra.expr.shape_filters import SHAPE_FILTERS
from petra.expr.text_filters import TEXT_FILTERS, need_int, need_text
from petra.values import Json, canonical

_ENCODING: Final = 8
"""Fuel for encoding one key."""


def elements(frame: Frame, value: Value) -> list[Value]:
    """Return what a loop over the value sees: elements, keys or characters."""
    if type(value) is list:
        frame.spend(len(value))
        return frame.through_all(list(value))
    if isinstance(value, Mapping):
        frame.spend(len(value))
        return list(value)
    if type(value) is str:
        frame.make_text(len(value) * CELL)
        frame.spend(len(value))
        return list(value)
    raise wrong_type("this needs a list", value)


def field(frame: Frame, item: Value, attribute: Value) -> Value:
    """Return ``item.a.b`` for the attribute ``'a.b'``; undefined if there is none."""
    if type(attribute) is int:
        value = look_up(item, attribute)
    else:
        value = item
        for part in need_text(attribute, "an attribute is a string").split(".")[:64]:
            key = int(part) if part.isdecimal() and len(part) < 9 else part
            value = look_up(frame.through(value), key)
            if is_absent(value):
                break
    if is_absent(value):
        return Undefined(f"the attribute {attribute!r}")
    return frame.through(value)


def join(frame: Frame, value: Value, separator: Value = "", attribute: Value = None) -> str:
    """The elements as one text."""
    mark = text(frame, separator)
    parts: list[str] = []
    size = 0
    for item in elements(frame, value):
        part = text(frame, item if attribute is None else field(frame, item, attribute))
        size += len(part) + len(mark)
        if size - len(mark) > MAX_RESULT and size - len(mark) > frame.most:
            raise too_large(size, frame.most)
        parts.append(part)
    frame.make_text(max(0, size - len(mark)))
    return mark.join(parts)


def length(_frame: Frame, value: Value) -> int:
    """How many elements, keys or characters."""
    if type(value) in (list, str) or isinstance(value, Mapping):
        return len(value)
    raise wrong_type("length works on a string, a list or an object", value)


def first(_frame: Frame, value: Value) -> Value:
    """The first element; undefined if there is none."""
    return _end(value, 0, "the first element of an empty list")


def last(_frame: Frame, value: Value) -> Value:
    """The last element; undefined if there is none."""
    return _end(value, -1, "the last element of an empty list")


def as_list(frame: Frame, value: Value) -> list[Value]:
    """The elements, keys or characters as a list."""
    return elements(frame, value)


def backwards(frame: Frame, value: Value) -> Value:
    """In reverse order."""
    if type(value) is str:
        frame.make_text(len(value))
        return value[::-1]
    if type(value) is not list:
        raise wrong_type("reverse works on a list or a string", value)
    return elements(frame, value)[::-1]


def sort(
    frame: Frame,
    value: Value,
    reverse: Value = False,
    case_sensitive: Value = False,
    attribute: Value = None,
) -> list[Value]:
    """In ascending order; strings without regard to case unless told otherwise."""
    items = elements(frame, value)
    frame.spend(len(items) * len(items).bit_length() // 4)
    keyed = [(_sort_key(frame, item, attribute, case_sensitive), item) for item in items]
    try:
        keyed.sort(key=lambda pair: pair[0], reverse=bool(reverse))
    except TypeError:
        raise ExpressionError("these elements have no common order", kind="type") from None
    return [item for _, item in keyed]


def unique(
    frame: Frame,
    value: Value,
    case_sensitive: Value = False,
    attribute: Value = None,
) -> list[Value]:
    """Each element once, at its first place."""
    seen: set[bytes] = set()
    kept: list[Value] = []
    for item in elements(frame, value):
        key = _sort_key(frame, item, attribute, case_sensitive)
        mark = canonical(_as_compared(json_value(key, frame)))
        frame.spend(_ENCODING + len(mark))
        if mark not in seen:
            seen.add(mark)
            kept.append(item)
    return kept


def _as_compared(value: Json) -> Json:
    """Return a value so that those which are equal look the same: 7.0 is 7."""
    if isinstance(value, float):
        return int(value) if value.is_integer() else value
    if isinstance(value, list):
        return [_as_compared(item) for item in value]
    if isinstance(value, dict):
        return {key: _as_compared(item) for key, item in value.items()}
    return value


def smallest(
    frame: Frame,
    value: Value,
    case_sensitive: Value = False,
    attribute: Value = None,
) -> Value:
    """The smallest element; undefined if there is none."""
    return first(frame, sort(frame, value, False, case_sensitive, attribute))


def largest(
    frame: Frame,
    value: Value,
    case_sensitive: Value = False,
    attribute: Value = None,
) -> Value:
    """The largest element; undefined if there is none."""
    return last(frame, sort(frame, value, False, case_sensitive, attribute))


def total(frame: Frame, value: Value, attribute: Value = None, start: Value = 0) -> Value:
    """The sum of numbers."""
    result = start
    for item in elements(frame, value):
        number = item if attribute is None else _given(field(frame, item, attribute))
        if type(number) not in (int, float, bool) or type(result) not in (int, float):
            raise wrong_type("sum works on numbers", number)
        result = add(frame, result, number)
    return result


def mapped(frame: Frame, value: Value, *arguments: Value, **named: Value) -> list[Value]:
    """``map('upper')`` applies a filter to each; ``map(attribute='a.b')`` looks into each."""
    if "attribute" in named:
        attribute = named["attribute"]
        values = (field(frame, item, attribute) for item in elements(frame, value))
        if "default" in named:
            return [named["default"] if type(item) is Undefined else item for item in values]
        return [_given(item) for item in values]
    if not arguments:
        raise ExpressionError("map needs a filter or attribute='…'", kind="type")
    name, *rest = arguments
    apply = FILTERS.get(name) if type(name) is str else None
    if apply is None:
        shown = repr(name) if type(name) is str else f"that {kind_of(name)} names"
        raise ExpressionError(f"there is no filter {shown}", kind="unknown_filter")
    results: list[Value] = []
    size = 0
    for item in elements(frame, value):
        frame.spend(4)
        result = frame.made(apply(frame, item, *rest, **named))
        size += len(result) if type(result) is str else CELL
        if size > MAX_RESULT and size > frame.most:
            raise too_large(size, frame.most)
        results.append(_given(result))
    return results


def select(frame: Frame, value: Value, *arguments: Value) -> list[Value]:
    """The elements that pass a test; without one, those that are true."""
    return _chosen(frame, value, None, arguments, wanted=True)


def reject(frame: Frame, value: Value, *arguments: Value) -> list[Value]:
    """The elements that do not pass a test."""
    return _chosen(frame, value, None, arguments, wanted=False)


def selectattr(frame: Frame, value: Value, attribute: Value, *arguments: Value) -> list[Value]:
    """The elements whose attribute passes a test."""
    return _chosen(frame, value, attribute, arguments, wanted=True)


def rejectattr(frame: Frame, value: Value, attribute: Value, *arguments: Value) -> list[Value]:
    """The elements whose attribute does not pass a test."""
    return _chosen(frame, value, attribute, arguments, wanted=False)


def batch(frame: Frame, value: Value, size: Value, fill: Value = None) -> list[Value]:
    """Lists of ``size`` elements each; the last one filled up if ``fill`` is given."""
    count = need_int(size, "the size")
    if not 1 <= count <= frame.most // CELL:
        raise ExpressionError("the size must be at least 1, and reasonable", kind="limit")
    items = elements(frame, value)
    rows = [items[start : start + count] for start in range(0, len(items), count)]
    if fill is not None and rows:
        frame.spend(count)
        rows[-1] += [fill] * (count - len(rows[-1]))
    return rows


def sliced(frame: Frame, value: Value, slices: Value, fill: Value = None) -> list[Value]:
    """``slices`` lists of nearly equal length."""
    count = need_int(slices, "the number of slices")
    if not 1 <= count <= frame.most // CELL:
        raise ExpressionError(
            "the number of slices must be at least 1, and reasonable", kind="limit"
        )
    items = elements(frame, value)
    frame.spend(count)
    size, longer = divmod(len(items), count)
    rows: list[Value] = []
    start = 0
    for index in range(count):
        end = start + size + (1 if index < longer else 0)
        row = items[start:end]
        if fill is not None and longer and index >= longer:
            row.append(fill)
        rows.append(row)
        start = end
    return rows


def groupby(frame: Frame, value: Value, attribute: Value, default: Value = None) -> list[Value]:
    """Pairs of a key and the elements that have it, sorted by key."""
    groups: dict[bytes, list[Value]] = {}
    for item in elements(frame, value):
        key = field(frame, item, attribute)
        key = default if type(key) is Undefined else key
        mark = canonical(json_value(key, frame))
        frame.spend(_ENCODING + len(mark))
        groups.setdefault(mark, [key, []])[1].append(item)
    return sort(frame, list(groups.values()), attribute=0)


def items_of(frame: Frame, value: Value) -> list[Value]:
    """Pairs of key and value."""
    frame.spend(len(_mapping(value)))
    return [[key, item] for key, item in value.items()]


def keys_of(frame: Frame, value: Value) -> list[Value]:
    """The keys."""
    frame.spend(len(_mapping(value)))
    return list(value)


def values_of(frame: Frame, value: Value) -> list[Value]:
    """The values."""
    frame.spend(len(_mapping(value)))
    return list(value.values())


def dictsort(
    frame: Frame,
    value: Value,
    case_sensitive: Value = False,
    by: Value = "key",
    reverse: Value = False,
) -> list[Value]:
    """Pairs of key and value in order of key, or of value."""
    pairs = items_of(frame, value)
    return sort(frame, pairs, reverse, case_sensitive, 0 if by == "key" else 1)


def _chosen(
    frame: Frame, value: Value, attribute: Value, arguments: tuple[Value, ...], *, wanted: bool
) -> list[Value]:
    name, *rest = arguments or ("truthy",)
    test = predicate(name)
    kept: list[Value] = []
    for item in elements(frame, value):
        subject = item if attribute is None else field(frame, item, attribute)
        frame.spend(2)
        if bool(test(frame, subject, *rest)) is wanted:
            kept.append(item)
    return kept


def _end(value: Value, index: int, missing: str) -> Value:
    if type(value) is str or type(value) is list:
        return value[index] if value else Undefined(missing)
    if isinstance(value, Mapping):
        return list(value)[index] if value else Undefined(missing)
    raise wrong_type("this needs a list", value)


def _given(value: Value) -> Value:
    if type(value) is Undefined:
        raise value.error()
    return value


def _mapping(value: Value) -> Value:
    if isinstance(value, Mapping):
        return value
    raise wrong_type("this works on an object", value)


def _sort_key(frame: Frame, item: Value, attribute: Value, case_sensitive: Value) -> Value:
    key = frame.whole(item if attribute is None else _given(field(frame, item, attribute)))
    return key.lower() if type(key) is str and not case_sensitive else key


FILTERS: Final[Mapping[str, Callable[..., Value]]] = {
    **TEXT_FILTERS, **DATE_FILTERS, **SHAPE_FILTERS, "batch": batch, "count": length, "dictsort": dictsort, "first": first,
    "groupby": groupby, "items": items_of, "join": join, "keys": keys_of, "last": last,
    "length": length, "list": as_list, "map": mapped, "max": largest, "min": smallest,
    "reject": reject, "rejectattr": rejectattr, "reverse": backwards, "select": select,
    "selectattr": selectattr, "slice": sliced, "sort": sort, "sum": total, "unique": unique,
    "values": values_of,
}  # fmt: skip
