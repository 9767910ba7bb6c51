"""Filters that bring lists and objects into another shape: flat, combined, side by side."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from petra.errors import ExpressionError
from petra.expr.frame import Frame, Value, too_large, wrong_type
from petra.expr.limits import CELL, MAX_DEPTH
from petra.expr.text_filters import need_int


def flatten(frame: Frame, value: Value, levels: Value = None) -> list[Value]:
    """The elements of the lists inside, at whatever depth or down to ``levels``."""
    deepest = MAX_DEPTH if levels is None else need_int(levels, "levels")
    if type(value) is not list:
        raise wrong_type("flatten works on a list", value)
    flat: list[Value] = []
    stack: list[tuple[Value, int]] = [(value, 0)]
    while stack:
        item, depth = stack.pop()
        if type(item) is not list or depth > deepest:
            flat.append(item)
            if len(flat) * CELL > frame.most:
                raise too_large(len(flat) * CELL, frame.most)
            continue
        if levels is None and depth == MAX_DEPTH:
            raise ExpressionError(f"lists are nested deeper than {MAX_DEPTH}", kind="limit")
        frame.spend(1 + len(item))
        stack += [(inner, depth + 1) for inner in reversed(frame.through_all(list(item)))]
    return flat


def combine(frame: Frame, value: Value, *others: Value, recursive: Value = False) -> Value:
    """One object with the keys of all; later ones win, and with ``recursive=true`` objects inside are combined too."""
    whole = _object(value)
    for other in others:
        whole = _laid_over(frame, whole, _object(other), 0 if recursive else None)
    return whole


def zipped(frame: Frame, value: Value, *others: Value) -> list[Value]:
    """Lists of the first, the second … elements of each, as long as the shortest."""
    lists = [value, *others]
    for items in lists:
        if type(items) is not list:
            raise wrong_type("zip works on lists", items)
    count = min(map(len, lists))
    frame.spend(count * len(lists))
    if count * len(lists) * CELL > frame.most:
        raise too_large(count * len(lists) * CELL, frame.most)
    return [list(row) for row in zip(*lists, strict=False)]


def _object(value: Value) -> Mapping[str, Value]:
    if isinstance(value, Mapping):
        return value
    raise wrong_type("combine works on objects", value)


def _laid_over(
    frame: Frame, below: Mapping[str, Value], above: Mapping[str, Value], depth: int | None
) -> dict[str, Value]:
    """Lay one object over another; ``depth`` is None where objects inside are replaced."""
    frame.spend(1 + len(below) + len(above))
    if depth is None:
        return {**below, **above}
    if depth == MAX_DEPTH:
        raise ExpressionError(f"objects are nested deeper than {MAX_DEPTH}", kind="limit")
    merged = dict(below)
    for key, value in above.items():
        old, new = frame.through(merged.get(key)), frame.through(value)
        both = isinstance(old, Mapping) and isinstance(new, Mapping)
        merged[key] = _laid_over(frame, old, new, depth + 1) if both else value
    return merged


SHAPE_FILTERS: Final[Mapping[str, Callable[..., Value]]] = {
    "combine": combine,
    "flatten": flatten,
    "zip": zipped,
}
