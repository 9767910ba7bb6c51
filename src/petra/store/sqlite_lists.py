"""Lists and counts of executions in SQLite: what an index leads to is looked at in the order of lists, and judged by the rest.

Rule 1: a label leads, else a text in the index, else a parent, else playbook and statuses, else the time of the start.
Rule 2: a text is looked up where few executions have it. Where many have it, the first ones in the order of the list are found
sooner by looking through them.
Rule 3: executions that are not in the index of texts yet are looked through.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import apsw
import msgspec

from petra.store.base import CountedBy
from petra.store.columns import STATUSES_MAX, execution_of
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
SPACES_MAX: Final = 32
"""Of so many namespaces a list of all is merged from theirs; with more, it is sorted."""

_SQL = load_queries("sqlite")
_IN_TIME: Final = frozenset({"since", "until", "behind", "before"})
Conditions = dict[str, str]


class _LookedAt(msgspec.Struct, frozen=True):
    """What is looked at, as a query in the order of the list, and what of it is not wanted."""

    sql: str
    rest: str
    values: dict[str, Any]


def executions(
    connection: apsw.Connection,
    wanted: ExecutionFilter,
    cursor: str | None,
    limit: int,
    look_at: int | None = None,
) -> Page[StoredExecution]:
    """List executions, latest start first; with ``look_at`` of so many at most."""
    most = None if look_at is None else max(look_at, limit + 1)
    looked = _looked_at(connection, wanted, cursor, most)
    sql = _SQL["executions"].format(looked_at=looked.sql, rest=looked.rest)
    answer = connection.execute(sql, looked.values | {"limit": limit + 1})
    rows = [execution_of(row) for row in answer]
    if len(rows) > limit:
        last = rows[limit - 1].row
        return Page(rows=tuple(rows[:limit]), cursor=write_cursor(last.started, last.id))
    return Page(rows=tuple(rows), cursor=_ended_at(connection, looked))


def count_executions(
    connection: apsw.Connection,
    wanted: ExecutionFilter,
    by: CountedBy,
    cursor: str | None = None,
    look_at: int | None = None,
) -> Page[ExecutionCount]:
    """Count executions by something: from tallies where these have it, else what is looked at."""
    source = tallied(wanted, by) if cursor is None else None
    if source is not None:
        sql, values = _from_tallies(wanted, by, source)
        return Page(rows=_counts(connection, sql, values))
    looked = _looked_at(connection, wanted, cursor, look_at)
    key, status = COUNTED_BY[by]
    shape = {"key": key, "status": status, "groups": _groups(status)}
    sql = _SQL["count_executions"].format(looked_at=looked.sql, rest=looked.rest, **shape)
    rows = _counts(connection, sql, looked.values)
    return Page(rows=rows, cursor=_ended_at(connection, looked))


def _counts(
    connection: apsw.Connection, sql: str, values: dict[str, Any]
) -> tuple[ExecutionCount, ...]:
    rows = connection.execute(sql, values)
    return tuple(ExecutionCount(key=str(key), count=count, status=status) for key, status, count in rows)  # fmt: skip


def _from_tallies(
    wanted: ExecutionFilter, by: CountedBy, source: Tallied
) -> tuple[str, dict[str, Any]]:
    conditions, values = _narrowed(msgspec.structs.replace(wanted, since=None, until=None), None)
    key, status = COUNTED_BY[by] if by != "hour" else ("hour", "status")
    values |= {"first": source.since, "last": source.until}
    for number, (since, until) in enumerate(source.parts):
        values |= {f"since{number}": since, f"until{number}": until}
    sql = _SQL["count_tallied"].format(
        key=key,
        status=status,
        groups=_groups(status),
        hours=_SQL["tallied_in_all" if source.in_all else "tallied_hours"],
        each=_SQL["tallied_together" if source.together else "tallied_each"],
        parts=" ".join(_SQL["tallied_part"].format(n=n) for n in range(len(source.parts))),
        where=_all(conditions),
    )
    return sql, values


def _groups(status: str) -> str:
    """Return by what is grouped: by what is the same for all, rows would be sorted."""
    return "1" if status == _NONE else "1, 2"


def _looked_at(
    connection: apsw.Connection, wanted: ExecutionFilter, cursor: str | None, look_at: int | None
) -> _LookedAt:
    """Return what a filter looks at, led by what narrows it most."""
    conditions, values = _narrowed(wanted, cursor)
    values["look_at"] = -1 if look_at is None else look_at
    order = "ASC" if wanted.oldest_first else "DESC"
    phrase = _phrase(wanted.text.casefold())
    lead: Conditions
    if wanted.labels:
        lead = {name: _SQL[f"labelled_{name}"] for name in conditions if name in _IN_TIME}
        if conditions.pop("namespace", None) is not None:
            space = _SQL["labels_of_a_space"]
        else:
            space, values["spaces"] = _SQL["labels_of_spaces"], _json(_spaces(connection))
        sql = _SQL["looked_at_labelled"].format(space=space, lead=_all(lead), order=order)
    elif phrase is not None and _few(connection, phrase):
        lead, values["phrase"] = conditions, phrase
        sql = _SQL["looked_at_found"].format(candidates=_SQL["candidates"], lead=_all(lead), order=order)  # fmt: skip
    else:
        spaces = () if wanted.parent or wanted.namespace is not None else _spaces(connection)
        sql, lead = _in_order(wanted, conditions, values, order, spaces)
    rest = {name: condition for name, condition in conditions.items() if name not in lead}
    return _LookedAt(sql=sql, rest=_all(rest), values=values)


def _in_order(
    wanted: ExecutionFilter,
    conditions: Conditions,
    values: dict[str, Any],
    order: str,
    spaces: Sequence[str],
) -> tuple[str, Conditions]:
    """Return the query of what an index has in the order of lists, and what leads it.

    Each of several statuses has an arm; so has each of several namespaces, which every index begins with.
    """
    own = {"child", "parent"} if wanted.parent else {"playbook"}
    names = {"namespace", *_IN_TIME, *own}
    arms = [{name: condition for name, condition in conditions.items() if name in names}]
    statuses = tuple(dict.fromkeys(wanted.statuses))
    if not wanted.parent and 0 < len(statuses) <= STATUSES_MAX:
        values |= {f"status{n}": status for n, status in enumerate(statuses)}
        each = [_SQL["executions_status"].format(n=n) for n in range(len(statuses))]
        arms = [arms[0] | {"statuses": status} for status in each]
    if 0 < len(spaces) <= SPACES_MAX:
        values |= {f"space{n}": space for n, space in enumerate(spaces)}
        each = [_SQL["executions_one_space"].format(n=n) for n in range(len(spaces))]
        arms = [arm | {"namespace": namespace} for namespace in each for arm in arms]
    all_arms = " UNION ALL ".join(_SQL["arm"].format(lead=_all(arm)) for arm in arms)
    return _SQL["looked_at"].format(arms=all_arms, order=order), arms[0]


def _spaces(connection: apsw.Connection) -> list[str]:
    """Return the namespaces that have executions, by a look into an index for each."""
    return [str(space) for (space,) in connection.execute(_SQL["spaces"])]


def _ended_at(connection: apsw.Connection, looked: _LookedAt) -> str | None:
    """Return a cursor at the last that was looked at; None where no more is there."""
    if looked.values["look_at"] < 0:
        return None
    last = connection.execute(_SQL["executions_looked_at"].format(looked_at=looked.sql), looked.values).get  # fmt: skip
    return None if last is None else write_cursor(*last)


def _phrase(text: str) -> str | None:
    """Return a text as the index is asked for it, or None where it has no answer."""
    if len(text) < GRAM or "\0" in text:
        return None
    return '"' + text[:PHRASE_MAX].replace('"', '""') + '"'


def _few(connection: apsw.Connection, phrase: str) -> bool:
    values = {"phrase": phrase, "most": FEW + 1}
    return (connection.execute(_SQL["candidates_counted"], values).get or 0) <= FEW


def _narrowed(wanted: ExecutionFilter, cursor: str | None) -> tuple[Conditions, dict[str, Any]]:
    """Return the conditions of a filter by their names, and the values that they name."""
    asked: dict[str, Any] = {
        "namespace": wanted.namespace,
        "statuses": _json(wanted.statuses) if wanted.statuses else None,
        "playbook": wanted.playbook,
        "digest": wanted.digest,
        "digests": _json(wanted.digests) if wanted.digests else None,
        "child": wanted.parent or None,
        "parent": wanted.parent,
        "text": wanted.text.casefold() or None,
        "since": wanted.since,
        "until": wanted.until,
        "ended_until": wanted.ended_until,
    }
    values = {name: value for name, value in asked.items() if value is not None}
    conditions = {name: _SQL[f"executions_{name}"] for name in values}
    if cursor is not None:
        side = "before" if wanted.oldest_first else "behind"
        conditions[side] = _SQL[f"executions_{side}"]
        values["started"], values["id"] = read_cursor(cursor, tuple[float, str])
    for number, (key, value) in enumerate(wanted.labels):
        end = str(number) if number else ""
        values |= {f"key{end}": key, f"value{end}": value}
        if number:
            conditions[f"label{end}"] = _SQL["executions_label"].format(n=end)
    return conditions, values


def _all(conditions: Conditions) -> str:
    return " AND ".join(conditions.values()) or "true"


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()
