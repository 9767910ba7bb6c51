"""Lists and counts of executions in SQLite, each led by what narrows it most: a label, a text in the index, or the order.

Rule 1: a text of three characters or more is looked up, where few executions have it. Where many have it, the first ones in the
order of the list are found sooner by looking through them.
Rule 2: executions that are not in the index yet are looked through.
"""

from __future__ import annotations

from typing import Any, Final

import apsw
import msgspec

from petra.store.base import CountedBy
from petra.store.columns import execution_of
from petra.store.judge import read_cursor, write_cursor
from petra.store.queries import load_queries
from petra.store.rows import ExecutionCount, ExecutionFilter, Page, StoredExecution
from petra.store.tallies import Tallied, tallied

_NONE: Final = "''"
COUNTED_BY: Final = {
    "status": ("status", _NONE),
    "playbook": ("playbook", _NONE),
    "hour": ("cast(started / 3600 AS INTEGER) * 3600", "status"),
}
GRAM: Final = 3
PHRASE_MAX: Final = 60
"""So many characters of a text are looked up; the rest is compared."""
FEW: Final = 3_000
"""So many candidates are looked at one by one; of more, the list is looked through in its order."""

_SQL = load_queries("sqlite")
Query = tuple[str, dict[str, Any]]


def executions(
    connection: apsw.Connection, wanted: ExecutionFilter, cursor: str | None, limit: int
) -> Page[StoredExecution]:
    """List executions, latest start first; the first of several labels leads to what is looked at."""
    where, values = _narrowed(wanted)
    values["limit"] = limit + 1
    if cursor is not None:
        started, name = read_cursor(cursor, tuple[float, str])
        where.append(_SQL["executions_before" if wanted.oldest_first else "executions_behind"])
        values |= {"started": started, "id": name}
    order = "ASC" if wanted.oldest_first else "DESC"
    sql = _led(connection, "executions", wanted, where, values, order=order)
    rows = [execution_of(row) for row in connection.execute(sql, values)]
    more = len(rows) > limit
    last = rows[limit - 1].row if more else None
    return Page(
        rows=tuple(rows[:limit]),
        cursor=None if last is None else write_cursor(last.started, last.id),
    )


def count_executions(
    connection: apsw.Connection, wanted: ExecutionFilter, by: CountedBy
) -> list[ExecutionCount]:
    """Count executions by something: from tallies where these have it, else by looking through what narrows it most."""
    source = tallied(wanted, by)
    sql, values = (
        _looked_through(connection, wanted, by) if source is None else _from_tallies(wanted, by, source)
    )  # fmt: skip
    rows = connection.execute(sql, values)
    return [ExecutionCount(key=str(key), count=count, status=status) for key, status, count in rows]


def _looked_through(connection: apsw.Connection, wanted: ExecutionFilter, by: CountedBy) -> Query:
    where, values = _narrowed(wanted)
    key, status = COUNTED_BY[by]
    key = f"+{key}"  # no index by it, which has all executions: what narrows it leads
    shape = {"key": key, "status": status, "groups": _groups(status)}
    return _led(connection, "count_executions", wanted, where, values, **shape), values


def _from_tallies(wanted: ExecutionFilter, by: CountedBy, source: Tallied) -> Query:
    where, values = _narrowed(msgspec.structs.replace(wanted, since=None, until=None))
    key, status = COUNTED_BY[by] if by != "hour" else ("hour", "status")
    values |= {"first": source.since, "last": source.until}
    for number, (since, until) in enumerate(source.parts):
        values |= {f"since{number}": since, f"until{number}": until}
    sql = _SQL["count_tallied"].format(
        key=key,
        status=status,
        groups=_groups(status),
        hours=_SQL["tallied_in_all" if source.in_all else "tallied_hours"],
        parts=" ".join(_SQL["tallied_part"].format(n=n) for n in range(len(source.parts))),
        where=" AND ".join(where) or "true",
    )
    return sql, values


def _groups(status: str) -> str:
    """Return by what is grouped: by what is the same for all, rows would be sorted."""
    return "1" if status == _NONE else "1, 2"


def _led(
    connection: apsw.Connection,
    query: str,
    wanted: ExecutionFilter,
    where: list[str],
    values: dict[str, Any],
    **shape: str,
) -> str:
    """Return a query that begins with what narrows it most; it may add to the values."""
    shape |= {"where": " AND ".join(where) or "true"}
    if wanted.labels:
        space = _SQL["executions_space"] if wanted.namespace is not None else "true"
        return _SQL[f"{query}_labelled"].format(space=space, **shape)
    phrase = _phrase(wanted.text.casefold())
    if phrase is not None and _few(connection, phrase):
        values["phrase"] = phrase
        return _SQL[f"{query}_found"].format(candidates=_SQL["candidates"], **shape)
    return _SQL[query].format(**shape)


def _phrase(text: str) -> str | None:
    """Return a text as the index is asked for it, or None where it has no answer."""
    if len(text) < GRAM or "\0" in text:
        return None
    return '"' + text[:PHRASE_MAX].replace('"', '""') + '"'


def _few(connection: apsw.Connection, phrase: str) -> bool:
    values = {"phrase": phrase, "most": FEW + 1}
    return (connection.execute(_SQL["candidates_counted"], values).get or 0) <= FEW


def _narrowed(wanted: ExecutionFilter) -> tuple[list[str], dict[str, Any]]:
    """Return the conditions of a filter, and the values that they name."""
    one_status = len(wanted.statuses) == 1
    asked: dict[str, Any] = {
        "namespace": wanted.namespace,
        "status": wanted.statuses[0] if one_status else None,
        "statuses": _json(wanted.statuses) if wanted.statuses and not one_status else None,
        "playbook": wanted.playbook,
        "digest": wanted.digest,
        "child": wanted.parent or None,
        "parent": wanted.parent,
        "text": wanted.text.casefold() or None,
        "since": wanted.since,
        "until": wanted.until,
        "ended_until": wanted.ended_until,
    }
    where = [_SQL[f"executions_{name}"] for name, value in asked.items() if value is not None]
    values = {name: value for name, value in asked.items() if value is not None}
    for number, (key, value) in enumerate(wanted.labels):
        end = str(number) if number else ""
        where += [_SQL["executions_label"].format(n=end)] if number else []
        values |= {f"key{end}": key, f"value{end}": value}
    return where, values


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()
