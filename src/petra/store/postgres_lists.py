"""Lists and counts of executions in PostgreSQL: what an index leads to is looked at in the order of lists, and judged by the rest.

A query names what is asked for and nothing else, and is planned anew for its values: what few have is found by other ways than
what many have.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from petra.store.base import CountedBy
from petra.store.columns import STATUSES_MAX
from petra.store.judge import read_cursor
from petra.store.queries import load_queries
from petra.store.rows import ExecutionFilter
from petra.store.tallies import Tallied, tallied

COUNTED_BY: Final = {
    "status": ("status", "''"),
    "playbook": ('playbook COLLATE "C"', "''"),
    "hour": ("floor(started / 3600)::bigint * 3600", "status"),
}
GRAM: Final = 3
Query = tuple[str, Sequence[object]]
Condition = tuple[str, tuple[object, ...]]
"""The name of a condition, and the values that it speaks of."""
Conditions = dict[str, Condition]

_SQL = load_queries("postgres")
_LEADS: Final = frozenset({"namespace", "since", "until", "behind", "before", "labels"})


class Values:
    """The values of a query, which it names by their numbers."""

    def __init__(self) -> None:
        self.all: list[object] = []

    def add(self, value: object) -> str:
        """Take a value; return by what the query names it."""
        self.all.append(value)
        return f"${len(self.all)}"

    def sql_of(self, conditions: Iterable[Condition], of: str = "executions") -> str:
        """Return conditions of a table that all hold."""
        words = (_SQL[f"{of}_{name}"].format(*map(self.add, values)) for name, values in conditions)
        return " AND ".join(words) or "true"


class LookedAt(msgspec.Struct, frozen=True):
    """What a filter looks at in the order of lists: so many at most, where that is said. The rest judges it."""

    arms: tuple[Conditions, ...]
    rest: Conditions
    order: str
    look_at: int | None
    of_all: bool
    """Whether each arm is taken from the part of an index that each namespace has: that of all of them has no order of its own."""

    def page(self, limit: int) -> Query:
        """Return the query of a page; where nothing judges what is looked at, that is enough for it."""
        values = Values()
        most = self.look_at if self.rest else limit
        sql = _SQL["executions"].format(
            looked_at=self._sql(values, most),
            rest=values.sql_of(self.rest.values()),
            order=self.order,
            limit=values.add(limit),
        )
        return sql, values.all

    def counts(self, by: CountedBy) -> Query:
        """Return the query of a count."""
        values = Values()
        key, status = COUNTED_BY[by]
        source, rest = self._sql(values, self.look_at), values.sql_of(self.rest.values())
        sql = _SQL["count_executions"].format(key=key, status=status, looked_at=source, rest=rest)
        return sql, values.all

    def end(self) -> Query | None:
        """Return the query of the last one that is looked at; None where all are."""
        if self.look_at is None:
            return None
        values = Values()
        source, last = self._sql(values, self.look_at), values.add(self.look_at - 1)
        sql = _SQL["executions_looked_at"].format(looked_at=source, order=self.order, last=last)
        return sql, values.all

    def _sql(self, values: Values, most: int | None) -> str:
        """Return the query of what is looked at, so many at most; of several arms each has its order from an index."""
        look_at = "ALL" if most is None else values.add(most)
        shape = {"order": self.order, "look_at": look_at}
        arm_of = _SQL["arm_of_all" if self.of_all and most is not None else "arm"]
        arms = [arm_of.format(lead=values.sql_of(arm.values()), **shape) for arm in self.arms]
        if len(arms) == 1:
            return arms[0]
        return _SQL["looked_at"].format(arms=" UNION ALL ".join(f"({arm})" for arm in arms), **shape)  # fmt: skip


def looked_at(
    wanted: ExecutionFilter, cursor: str | None, look_at: int | None, *, indexed: bool
) -> LookedAt | None:
    """Return what a filter looks at; None where nothing can fit: a label has one value.

    ``indexed`` tells whether the database has an index for texts.
    """
    labels = dict(wanted.labels)
    if any(labels[key] != value for key, value in wanted.labels):
        return None
    conditions = _narrowed(wanted, cursor)
    leads = {*_LEADS, "child" if wanted.parent else "playbook"}
    if indexed and len(wanted.text) >= GRAM:
        leads.add("text")
    lead = {name: condition for name, condition in conditions.items() if name in leads}
    arms = _arms(wanted, lead)
    return LookedAt(
        arms=arms,
        rest={name: condition for name, condition in conditions.items() if name not in arms[0]},
        order="ASC" if wanted.oldest_first else "DESC",
        look_at=look_at,
        of_all=not {"namespace", "child", "labels", "text"} & arms[0].keys(),
    )


def tallied_counts(wanted: ExecutionFilter, by: CountedBy) -> Query | None:
    """Return the query of a count that tallies have; None where they have not."""
    source = tallied(wanted, by)
    return None if source is None else _from_tallies(wanted, by, source)


def _from_tallies(wanted: ExecutionFilter, by: CountedBy, source: Tallied) -> Query:
    conditions = _narrowed(msgspec.structs.replace(wanted, since=None, until=None), None)
    key, status = COUNTED_BY[by] if by != "hour" else ("hour", "status")
    values = Values()
    where = values.sql_of(conditions.values())
    bounds = {"first": values.add(source.since), "last": values.add(source.until)}
    space = [conditions["namespace"]] if "namespace" in conditions else []
    parts = [
        _SQL["tallied_part"].format(
            space=values.sql_of(space), since=values.add(since), until=values.add(until)
        )
        for since, until in source.parts
    ]
    hours = _SQL["tallied_in_all" if source.in_all else "tallied_hours"].format(**bounds)
    each = _SQL["tallied_together" if source.together else "tallied_each"]
    sql = _SQL["count_tallied"].format(
        each=each, key=key, status=status, hours=hours, parts=" ".join(parts), where=where, **bounds
    )
    return sql, values.all


def _arms(wanted: ExecutionFilter, lead: Conditions) -> tuple[Conditions, ...]:
    """Return what leads each arm: of several statuses, each has one."""
    statuses = tuple(dict.fromkeys(wanted.statuses))
    if wanted.parent or wanted.labels or not 0 < len(statuses) <= STATUSES_MAX:
        return (lead,)
    return tuple(lead | {"statuses": ("status", (status,))} for status in statuses)


def _narrowed(wanted: ExecutionFilter, cursor: str | None) -> Conditions:
    """Return the conditions of a filter, by their names."""
    asked = {
        "namespace": wanted.namespace,
        "statuses": list(wanted.statuses) or None,
        "playbook": wanted.playbook,
        "digest": wanted.digest,
        "digests": list(wanted.digests) or None,
        "child" if wanted.parent else "parent": wanted.parent,
        "text": f"%{_literal(wanted.text.casefold())}%" if wanted.text else None,
        "since": wanted.since,
        "until": wanted.until,
        "ended_until": wanted.ended_until,
        "labels": msgspec.json.encode(dict(wanted.labels)).decode() if wanted.labels else None,
    }
    conditions: Conditions = {name: (name, (value,)) for name, value in asked.items() if value is not None}  # fmt: skip
    if cursor is not None:
        side = "before" if wanted.oldest_first else "behind"
        conditions[side] = (side, read_cursor(cursor, tuple[float, str]))
    return conditions


def _literal(text: str) -> str:
    """Return a text as a pattern that means no other."""
    return text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
