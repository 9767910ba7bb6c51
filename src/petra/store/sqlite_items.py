"""Lists and counts of work items in SQLite.

Rule 1: what is in some states is taken from the part of an index that each of these has: what is over is not gone through. By
priority it comes in the order of the list; by another order, what is in these states is gone through.
Rule 2: the playbook of a work item is its execution's, which is looked up for each.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any, Final

import apsw
import msgspec

from petra.store.item_order import ItemOrder, order_of, stored_item
from petra.store.judge import seeks
from petra.store.paging import page_of
from petra.store.queries import load_queries
from petra.store.rows import Page, WorkItemFilter, WorkItemRow

ARMS_MAX: Final = 24
"""So many parts of an index are read beside each other at most."""
_SQL = load_queries("sqlite")
_NAMES = msgspec.json.Decoder(tuple[str, ...])


def work_items(
    connection: apsw.Connection, wanted: WorkItemFilter, cursor: str | None, limit: int
) -> Page[WorkItemRow]:
    """List work items in the order that is wanted."""
    spaces = [wanted.namespace] if wanted.namespace is not None else _spaces(connection)
    apart = wanted.execution is None and 0 < len(spaces) * len(wanted.states) <= ARMS_MAX
    rest = msgspec.structs.replace(wanted, states=(), namespace=None) if apart else wanted
    where, values = _narrowed(rest, concern="concern_each" if apart else "concern")
    values["limit"] = limit + 1
    order = order_of(wanted.sort)
    if cursor is not None:
        place = {f"place{number}": value for number, value in enumerate(order.read(cursor))}
        where.append(order.behind([f":{mark}" for mark in place]))
        values |= place
    if apart:
        sql = _apart(spaces, wanted.states, where, values, order)
    else:
        sql = _SQL["work_items"].format(where=" AND ".join(where) or "true", order=order.sql)
    rows = [_work_item(row) for row in connection.execute(sql, values)]
    return page_of(rows, limit, order.cursor)


def _spaces(connection: apsw.Connection) -> list[str]:
    return [str(space) for (space,) in connection.execute(_SQL["spaces"])]


def _apart(
    spaces: Sequence[str],
    states: Sequence[str],
    where: Sequence[str],
    values: dict[str, Any],
    order: ItemOrder,
) -> str:
    """Return the query of what is in some states, each from its own part of an index."""
    arms = []
    for number, (space, state) in enumerate(product(spaces, states)):
        values |= {f"space{number}": space, f"state{number}": state}
        own = f"namespace = :space{number}", f"state = :state{number}"
        narrow = " AND ".join((*own, *where))
        arms.append(_SQL["work_items_arm"].format(where=narrow, order=order.sql))
    return _SQL["work_items_of"].format(arms=" UNION ALL ".join(arms), order=order.sql)


def count_work_items(connection: apsw.Connection, wanted: WorkItemFilter) -> dict[str, int]:
    """Count work items by state."""
    where, values = _narrowed(wanted)
    sql = _SQL["count_work_items"].format(where=" AND ".join(where) or "true")
    return dict(connection.execute(sql, values))


def work_item(connection: apsw.Connection, name: str, item: str) -> WorkItemRow | None:
    """Return a work item, or None."""
    row = connection.execute(_SQL["work_item"], (name, item)).get
    return None if row is None else _work_item(row)


def _narrowed(
    wanted: WorkItemFilter, *, concern: str = "concern"
) -> tuple[list[str], dict[str, Any]]:
    """Return the conditions of a filter, and the values that they name."""
    words = seeks(wanted)
    asked: dict[str, Any] = {
        "states": _json(wanted.states) if wanted.states else None,
        "namespace": wanted.namespace,
        "step": wanted.step,
        "execution": wanted.execution,
        "playbook": wanted.playbook,
        "digests": _json(wanted.digests) if wanted.digests else None,
        "text": wanted.text.casefold() or None,
        "due_until": wanted.due_until,
        "no_due": True if wanted.no_due else None,
        concern: _json(words) if words is not None else None,
    }
    values = {name: value for name, value in asked.items() if value is not None}
    where = [_SQL[f"work_items_{name}"] for name in values]
    return where, {**values, "words": values.get(concern), "user": wanted.user}


def _work_item(row: Sequence[Any]) -> WorkItemRow:
    return stored_item(row, _NAMES.decode)


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()
