"""Methods that may be called on a value, ``text.split(',')``, by the type of the value.

They are the filters under their Python names. Nothing here changes a value, so there is no
``append``; there is no ``format`` either, whose patterns reach into objects and make gigabytes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from petra.errors import ExpressionError
from petra.expr import list_filters, text_filters
from petra.expr.frame import Frame, Value, kind_of
from petra.expr.operators import COMPARISONS, equal
from petra.expr.predicates import ending_with, starting_with
from petra.expr.text_filters import need_text

HINTS: Final[Mapping[str, str]] = {
    "append": "values are not changed; write list + [item]",
    "extend": "values are not changed; write list + other",
    "update": "values are not changed; build a new object",
    "pop": "values are not changed; take list[:-1]",
    "format": "write '%s'|format(value), or join with '~'",
    "encode": "write |b64encode or |urlencode",
}


def _join(frame: Frame, separator: Value, items: Value) -> str:
    return list_filters.join(frame, items, separator)


def _get(_frame: Frame, value: Value, key: Value, default: Value = None) -> Value:
    return value.get(key, default) if type(key) is str else default


def _strip_left(frame: Frame, value: Value, chars: Value = None) -> str:
    frame.make_text(len(value))
    return str(value.lstrip(None if chars is None else need_text(chars)))


def _strip_right(frame: Frame, value: Value, chars: Value = None) -> str:
    frame.make_text(len(value))
    return str(value.rstrip(None if chars is None else need_text(chars)))


def _remove_prefix(frame: Frame, value: Value, prefix: Value) -> str:
    frame.make_text(len(value))
    return str(value.removeprefix(need_text(prefix)))


def _remove_suffix(frame: Frame, value: Value, suffix: Value) -> str:
    frame.make_text(len(value))
    return str(value.removesuffix(need_text(suffix)))


def _is_digit(frame: Frame, value: Value) -> bool:
    frame.spend_text(len(value))
    return bool(value.isdigit())


def _find(frame: Frame, value: Value, part: Value) -> int:
    frame.spend_text(len(value))
    return int(value.find(need_text(part)))


def _count_in_text(frame: Frame, value: Value, part: Value) -> int:
    frame.spend_text(len(value))
    return int(value.count(need_text(part)))


def _count_in_list(frame: Frame, value: Value, item: Value) -> int:
    return sum(equal(frame, one, item) for one in list_filters.elements(frame, value))


def _index(frame: Frame, value: Value, item: Value) -> int:
    if not COMPARISONS["in"](frame, item, value):
        raise ExpressionError("the list has no such element", kind="type")
    return int(frame.whole(value).index(frame.whole(item)))


Method = Callable[..., Value]

_TEXT: Final[Mapping[str, Method]] = {
    "capitalize": text_filters.capitalize, "count": _count_in_text, "endswith": ending_with,
    "find": _find, "isdigit": _is_digit, "join": _join, "lower": text_filters.lower,
    "lstrip": _strip_left, "removeprefix": _remove_prefix, "removesuffix": _remove_suffix,
    "replace": text_filters.replace, "rstrip": _strip_right, "split": text_filters.split,
    "splitlines": text_filters.lines, "startswith": starting_with, "strip": text_filters.trim,
    "title": text_filters.title, "upper": text_filters.upper,
}  # fmt: skip
_LIST: Final[Mapping[str, Method]] = {"count": _count_in_list, "index": _index}
_OBJECT: Final[Mapping[str, Method]] = {
    "get": _get, "items": list_filters.items_of, "keys": list_filters.keys_of,
    "values": list_filters.values_of,
}  # fmt: skip
METHODS: Final = frozenset((*_TEXT, *_LIST, *_OBJECT))
"""Every method name; which type has which is known only when a value is there."""


def find_method(value: Value, name: str) -> Method:
    """Return the method of this name for this value.

    Raises:
        ExpressionError: values of this type have no such method.
    """
    if type(value) is str:
        table = _TEXT
    elif type(value) is list:
        table = _LIST
    else:
        table = _OBJECT if isinstance(value, Mapping) else {}
    method = table.get(name)
    if method is None:
        hint = f"it has {', '.join(table)}" if table else None
        message = f"{kind_of(value)} has no method {name!r}"
        raise ExpressionError(message, kind="unknown_method", hint=hint)
    return method
