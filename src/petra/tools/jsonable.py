"""Values of Python and of databases as JSON. Standard library only: a child process uses it too.

| value | becomes |
|---|---|
| date, time, timestamp | ISO 8601 text |
| interval | seconds |
| decimal | a number when a float says the same, else text; NaN and infinities are text, as for floats |
| UUID, path, network address, range | text |
| bytes | base64 text |
| enum | its value |
| tuple, set | list (a set sorted where it can be) |
"""

from __future__ import annotations

import base64
import datetime as dt
import decimal
import enum
import ipaddress
import math
import pathlib
import uuid
from collections.abc import Callable, Mapping
from typing import Any

_TEXTS = (
    uuid.UUID,
    pathlib.PurePath,
    ipaddress.IPv4Address,
    ipaddress.IPv6Address,
    ipaddress.IPv4Interface,
    ipaddress.IPv6Interface,
    ipaddress.IPv4Network,
    ipaddress.IPv6Network,
)


def to_json(value: Any, other: Callable[[Any], Any] | None = None) -> Any:
    """Return a value made of JSON types alone, new containers throughout; ``other`` takes unknown types.

    Raises:
        TypeError: a type has no JSON form.
        ValueError: the value is nested too deeply, perhaps in itself, or has text that is none.
    """
    try:
        return _json(value, other)
    except RecursionError:
        raise ValueError("a value is nested too deeply, perhaps in itself") from None


def fresh(value: Any) -> Any:
    """Copy the containers of a JSON value."""
    if isinstance(value, dict):
        return {key: fresh(item) for key, item in value.items()}
    if isinstance(value, list):
        return [fresh(item) for item in value]
    return value


def _json(value: Any, other: Callable[[Any], Any] | None) -> Any:  # noqa: C901, PLR0912 - a table
    kind = type(value)
    if value is None or kind is int or kind is bool:
        return value
    if kind is str:
        if not value.isascii():
            value.encode()  # half a surrogate pair is no text
        return value
    if isinstance(value, enum.Enum):
        return _json(value.value, other)
    if isinstance(value, str):
        return str(value)
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else _not_finite(value)
    if isinstance(value, Mapping):
        return {_key(key): _json(item, other) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_json(item, other) for item in value]
    if isinstance(value, set | frozenset):
        return [_json(item, other) for item in _in_order(value)]
    if isinstance(value, dt.datetime | dt.date | dt.time):
        return value.isoformat()
    if isinstance(value, dt.timedelta):
        return value.total_seconds()
    if isinstance(value, decimal.Decimal):
        return _decimal(value)
    if isinstance(value, bytes | bytearray | memoryview):
        return base64.b64encode(value).decode("ascii")
    if isinstance(value, _TEXTS):
        return str(value)
    if other is not None:
        return other(value)
    raise TypeError(f"{kind.__name__} is no JSON value")


def _key(key: Any) -> str:
    if isinstance(key, str):
        return str(key)
    if isinstance(key, bool) or key is None:
        raise TypeError(f"{key!r} cannot be the key of a JSON object")
    if isinstance(key, int | float | uuid.UUID | dt.date):
        return str(_json(key, None))
    raise TypeError(f"{type(key).__name__} cannot be the key of a JSON object")


def _not_finite(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    return "Infinity" if value > 0 else "-Infinity"


def _decimal(value: decimal.Decimal) -> int | float | str:
    if not value.is_finite():
        return _not_finite(float(value)) if not value.is_snan() else "NaN"
    number = float(value)
    if not math.isfinite(number) or decimal.Decimal(repr(number)) != value:
        return str(value)
    return number


def _in_order(values: set[Any] | frozenset[Any]) -> list[Any]:
    try:
        return sorted(values)
    except TypeError:
        return list(values)
