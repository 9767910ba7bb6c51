"""Lists and counts of executions in PostgreSQL: a query names what is asked for and nothing else, so that it is planned for that."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from petra.store.base import CountedBy
from petra.store.judge import read_cursor
from petra.store.queries import load_queries
from petra.store.rows import ExecutionFilter
from petra.store.tallies import Tallied, tallied

COUNTED_BY: Final = {
    "status": ("status", "''"),
    "playbook": ('playbook COLLATE "C"', "''"),
    "hour": ("floor(started / 3600)::bigint * 3600", "status"),
}
Query = tuple[str, Sequence[object]]

_SQL = load_queries("postgres")


class _Narrowing:
    """Conditions, and the values that they name by their numbers."""

    def __init__(self) -> None:
        self.where: list[str] = []
        self.values: list[object] = []

    def add(self, name: str, *values: object) -> None:
        self.where.append(_SQL[f"executions_{name}"].format(*map(self.value, values)))

    def value(self, value: object) -> str:
        self.values.append(value)
        return f"${len(self.values)}"


def executions(wanted: ExecutionFilter, cursor: str | None, limit: int) -> Query | None:
    """Return the query of a page; None where nothing can fit."""
    narrowing = _narrowed(wanted)
    if narrowing is None:
        return None
    if cursor is not None:
        started, name = read_cursor(cursor, tuple[float, str])
        narrowing.add("before" if wanted.oldest_first else "behind", started, name)
    return _written(
        "executions",
        narrowing,
        order="ASC" if wanted.oldest_first else "DESC",
        limit=narrowing.value(limit),
    )


def count_executions(wanted: ExecutionFilter, by: CountedBy) -> Query | None:
    """Return the query of a count, from tallies where these have it; None where nothing can fit."""
    source = tallied(wanted, by)
    if source is not None:
        return _from_tallies(wanted, by, source)
    narrowing = _narrowed(wanted)
    key, status = COUNTED_BY[by]
    return (
        None
        if narrowing is None
        else _written("count_executions", narrowing, key=key, status=status)
    )


def _from_tallies(wanted: ExecutionFilter, by: CountedBy, source: Tallied) -> Query:
    narrowing = _narrowed(msgspec.structs.replace(wanted, since=None, until=None))
    assert narrowing is not None, "it has no labels"
    key, status = COUNTED_BY[by] if by != "hour" else ("hour", "status")
    bounds = {"first": narrowing.value(source.since), "last": narrowing.value(source.until)}
    parts = [
        _SQL["tallied_part"].format(since=narrowing.value(since), until=narrowing.value(until))
        for since, until in source.parts
    ]
    hours = _SQL["tallied_in_all" if source.in_all else "tallied_hours"].format(**bounds)
    shape = {"key": key, "status": status, "hours": hours, "parts": " ".join(parts)}
    return _written("count_tallied", narrowing, **shape, **bounds)


def _written(query: str, narrowing: _Narrowing, **shape: str) -> Query:
    where = " AND ".join(narrowing.where) or "true"
    return _SQL[query].format(where=where, **shape), narrowing.values


def _narrowed(wanted: ExecutionFilter) -> _Narrowing | None:
    """Return the conditions of a filter; None where nothing can fit: a label has one value."""
    labels = dict(wanted.labels)
    if any(labels[key] != value for key, value in wanted.labels):
        return None
    asked = {
        "namespace": wanted.namespace,
        "statuses": list(wanted.statuses) or None,
        "playbook": wanted.playbook,
        "digest": wanted.digest,
        "parent": wanted.parent,
        "text": f"%{_literal(wanted.text.casefold())}%" if wanted.text else None,
        "since": wanted.since,
        "until": wanted.until,
        "ended_until": wanted.ended_until,
        "labels": msgspec.json.encode(labels).decode() if labels else None,
    }
    narrowing = _Narrowing()
    for name, value in asked.items():
        if value is not None:
            narrowing.add(name, value)
    return narrowing


def _literal(text: str) -> str:
    """Return a text as a pattern that means no other."""
    return text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
