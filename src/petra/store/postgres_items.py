"""Lists and counts of work items in PostgreSQL.

A query names what is asked for and nothing else. Items in some states of a namespace are taken from the part of an index that
each state has, so those that are over are not gone through. For all namespaces this is done for each of them in turn.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from petra.store.item_order import order_of, stored_item
from petra.store.judge import seeks
from petra.store.paging import page_of
from petra.store.postgres_lists import Condition, Query, Values
from petra.store.queries import load_queries
from petra.store.rows import Page, WorkItemFilter, WorkItemRow

_SQL = load_queries("postgres")
_TABLE = "work_items"


def page(wanted: WorkItemFilter, cursor: str | None, limit: int) -> Query:
    """Return the query of a page."""
    apart = bool(wanted.states) and wanted.execution is None
    values, order = Values(), order_of(wanted.sort)
    conditions = _narrowed(wanted)
    arms = values.add(list(wanted.states)) if apart else ""
    if apart:
        del conditions["states"]
    where = values.sql_of(conditions.values(), _TABLE)
    if cursor is not None:
        where += f" AND {order.behind([values.add(value) for value in order.read(cursor)])}"
    among = "_in_all" if wanted.namespace is None else "_in"
    sql = _SQL[f"work_items{among if apart else ''}"]
    return sql.format(
        where=where, order=order.sql, limit=values.add(limit), states=arms
    ), values.all


def count(wanted: WorkItemFilter) -> Query:
    """Return the query of a count by state."""
    values = Values()
    where = values.sql_of(_narrowed(wanted).values(), _TABLE)
    return _SQL["count_work_items"].format(where=where), values.all


def paged(wanted: WorkItemFilter, rows: Sequence[Sequence[Any]], limit: int) -> Page[WorkItemRow]:
    """Return a page of rows, of which one more than ``limit`` was asked for."""
    return page_of([work_item(row) for row in rows], limit, order_of(wanted.sort).cursor)


def _narrowed(wanted: WorkItemFilter) -> dict[str, Condition]:
    """Return the conditions of a filter by their names."""
    words = seeks(wanted)
    asked: dict[str, tuple[object, ...]] = {
        "states": (list(wanted.states),) if wanted.states else (),
        "namespace": (wanted.namespace,) if wanted.namespace is not None else (),
        "step": (wanted.step,) if wanted.step is not None else (),
        "execution": (wanted.execution,) if wanted.execution is not None else (),
        "playbook": (wanted.playbook,) if wanted.playbook is not None else (),
        "digests": (list(wanted.digests),) if wanted.digests else (),
        "text": (wanted.text,) if wanted.text else (),
        "due_until": (wanted.due_until,) if wanted.due_until is not None else (),
        "concern": (list(words), wanted.user) if words is not None else (),
    }
    conditions: dict[str, Condition] = {
        name: (name, value) for name, value in asked.items() if value
    }
    return conditions | ({"no_due": ("no_due", ())} if wanted.no_due else {})


def work_item(row: Sequence[Any]) -> WorkItemRow:
    """Return a work item as it was stored."""
    return stored_item(row, tuple)
