"""JSON values, and those of other databases, as PostgreSQL expects them at their place.

ISO 8601 text for dates and times (UTC where it names no zone), seconds for intervals, base64 text for bytes, anything for json.
"""

from __future__ import annotations

import base64
import datetime as dt
import decimal
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from asyncpg.prepared_stmt import PreparedStatement  # type: ignore[import-untyped]

from petra.tools.base import ToolError


def convert(statement: PreparedStatement, params: Sequence[Any]) -> list[Any]:
    """Convert JSON values, or those of another database, to what a statement expects.

    Raises:
        ToolError: a value does not fit.
    """
    types = statement.get_parameters()
    if len(types) != len(params):
        message = f"the command has {len(types)} placeholders, params has {len(params)} values"
        raise ToolError("client_error", message)
    return [
        converted(f"${n}", value, kind.name)
        for n, (value, kind) in enumerate(zip(params, types, strict=True), start=1)
    ]


def converted(place: str, value: Any, kind: str) -> Any:
    """Convert a value to a type; ``place`` names it where it does not fit.

    Raises:
        ToolError: it does not.
    """
    if value is None:
        return None
    if kind.endswith("[]"):
        if not isinstance(value, list):
            raise ToolError("client_error", f"{place} takes a list, for {kind}")
        return [converted(place, item, kind.removesuffix("[]")) for item in value]
    read = _READ.get(kind)
    if read is None:
        return value
    try:
        return read(value)
    except (TypeError, ValueError, AttributeError, decimal.InvalidOperation) as error:
        raise ToolError("client_error", f"{place}: {value!r:.80} is no {kind}") from error


def _integer(value: Any) -> Any:
    """Refuse what the driver would cut off without a word."""
    if isinstance(value, float):
        if not value.is_integer():
            raise ValueError(value)
        return int(value)
    return value


def _moment(value: Any) -> dt.datetime:
    return value if isinstance(value, dt.datetime) else dt.datetime.fromisoformat(value)


def _timestamp(value: Any) -> dt.datetime:
    moment = _moment(value)
    return moment if moment.tzinfo is None else moment.astimezone(dt.UTC).replace(tzinfo=None)


def _timestamptz(value: Any) -> dt.datetime:
    moment = _moment(value)
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=dt.UTC)


def _time(value: Any) -> dt.time:
    return value if isinstance(value, dt.time) else dt.time.fromisoformat(value)


def _timetz(value: Any) -> dt.time:
    time = _time(value)
    return time if time.tzinfo is not None else time.replace(tzinfo=dt.UTC)


def _date(value: Any) -> dt.date:
    return value if isinstance(value, dt.date) else dt.date.fromisoformat(value)


def _interval(value: Any) -> dt.timedelta:
    return value if isinstance(value, dt.timedelta) else dt.timedelta(seconds=float(value))


def _bytes(value: Any) -> bytes:
    if isinstance(value, bytes):
        return value
    return base64.b64decode(value.encode("ascii"), validate=True)


_READ: Final[Mapping[str, Callable[[Any], Any]]] = {
    "int2": _integer,
    "int4": _integer,
    "int8": _integer,
    "date": _date,
    "timestamp": _timestamp,
    "timestamptz": _timestamptz,
    "time": _time,
    "timetz": _timetz,
    "interval": _interval,
    "numeric": lambda value: decimal.Decimal(str(value)),
    "bytea": _bytes,
}
