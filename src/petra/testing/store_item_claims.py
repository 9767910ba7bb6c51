"""The claims about lists of work items; part of ``petra.testing.store_conformance``."""

# ruff: noqa: D103 - the name of a claim says it all

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any, get_args

import msgspec

from petra.errors import UsageError
from petra.store import Store, WorkItemFilter
from petra.store.rows import ItemSort, WorkItemRow
from petra.testing.store_rows import (
    applied,
    claim,
    make_item,
    make_next,
    make_row,
    make_start,
    refuses,
    some_items,
)


async def _ids(store: Store, **wanted: Any) -> str:
    page = await store.work_items(WorkItemFilter(**wanted))
    return " ".join(item.execution + item.id for item in page.rows)


@claim
async def work_items_are_found_by_who_may_act(store: Store) -> None:
    await some_items(store)

    async def found(**wanted: Any) -> str:
        page = await store.work_items(WorkItemFilter(**wanted))
        return " ".join(item.execution + item.id for item in page.rows)

    assert await found() == "a4 a5 b1 a2 a3 a1"
    assert await found(user="ada") == "a4 b1 a3 a1"
    assert await found(user="eve", roles=("clerk",)) == "b1 a2 a3"
    assert await found(user="bob", roles=("boss",)) == "a5 b1 a3"
    assert await found(user="eve", roles=("*",)) == "b1 a2 a3"
    assert await found(roles=("boss",)) == "a2"
    assert await found(states=("done", "allocated")) == "a4 a5"
    assert await found(step="ship") == "a4"
    assert await found(execution="b") == "b1"
    assert await found(user="ada", states=("offered",), execution="a") == "a3 a1"
    assert await store.count_work_items(WorkItemFilter()) == {
        "offered": 4,
        "allocated": 1,
        "done": 1,
    }
    assert await store.count_work_items(WorkItemFilter(user="ada")) == {
        "offered": 3,
        "allocated": 1,
    }


@claim
async def work_items_change_and_are_paged(store: Store) -> None:
    await some_items(store)
    first = await store.work_items(WorkItemFilter(), limit=4)
    assert len(first.rows) == 4
    rest = await store.work_items(WorkItemFilter(), cursor=first.cursor, limit=4)
    assert [item.id for item in rest.rows] == ["3", "1"]
    assert rest.cursor is None
    taken = make_item("a", "1", users=("eve",), state="allocated", holder="eve", updated=6.0)
    await applied(store, make_next("a", 1, items=(taken,)))
    assert await store.work_item("a", "1") == taken
    given_back = msgspec.structs.replace(taken, holder=None)
    await applied(store, make_next("a", 2, items=(given_back,)))
    ada = await store.work_items(WorkItemFilter(user="ada"))
    assert "1" not in [item.id for item in ada.rows if item.execution == "a"]
    barred = msgspec.structs.replace(taken, excluded=("eve",))
    await applied(store, make_next("a", 3, items=(barred,)))
    eve = await store.work_items(WorkItemFilter(user="eve", execution="a"))
    assert "1" not in [item.id for item in eve.rows]  # held, and not to be done any more
    assert await store.work_item("a", "nothing") is None


async def _dated_items(store: Store) -> None:
    """Store items of two playbooks, of which some have a due date, some the same age."""
    orders = (
        make_item("a", "1", created=3.0, due=50.0, priority=2, title="Release 4.2?"),
        make_item("a", "2", created=1.0, title="Pay 100% of it", state="allocated", holder="ada"),
        make_item("a", "3", created=2.0, due=20.0, priority=3, step="ship_it"),
        make_item("a", "4", created=2.0, due=20.0, priority=1, state="done"),
    )
    refunds = (make_item("b", "1", created=2.0, due=9.0), make_item("b", "2", created=4.0))
    await applied(
        store,
        make_start("a", items=orders),
        make_start("b", row=make_row("b", playbook="Refunds", digest="d2"), items=refunds),
    )


@claim
async def work_items_are_found_by_playbook_text_and_due_date(store: Store) -> None:
    await _dated_items(store)
    assert await _ids(store, playbook="orders") == "a2 a4 a1 a3"
    assert await _ids(store, playbook="Refunds", states=("offered",)) == "b1 b2"
    assert await _ids(store, playbook="Refunds", digests=("d1",)) == ""
    assert await _ids(store, playbook="Refunds", digests=("d1", "d2")) == "b1 b2"
    assert await _ids(store, text="release 4.2?") == "a1"
    assert await _ids(store, text="SHIP_") == "a3", "a step; _ stands for itself"
    assert await _ids(store, text="0% OF") == "a2"
    assert await _ids(store, text="b", states=("offered",), namespace="default") == "b1 b2"
    assert await _ids(store, due_until=20.0) == "b1"
    assert await _ids(store, due_until=20.5, states=("offered", "done")) == "b1 a4 a3"
    assert await _ids(store, no_due=True) == "a2 b2"
    assert await _ids(store, no_due=True, playbook="Refunds", user="eve") == "b2"
    counted = await store.count_work_items(WorkItemFilter(playbook="orders", due_until=60.0))
    assert counted == {"offered": 2, "done": 1}
    assert await store.count_work_items(WorkItemFilter(text="PAY")) == {"allocated": 1}


ORDERS: dict[ItemSort, str] = {
    "priority": "a2 b1 b2 a4 a1 a3",
    "due": "b1 a4 a3 a1 a2 b2",
    "age": "a2 a3 a4 b1 a1 b2",
    "newest": "b2 a1 b1 a4 a3 a2",
}
NARROW: Sequence[dict[str, Any]] = (
    {},
    {"namespace": "default", "states": ("offered", "allocated", "done")},
    {"states": ("offered", "allocated", "done")},
)


@claim
async def work_items_are_listed_in_every_order_page_by_page(store: Store) -> None:
    await _dated_items(store)
    assert set(ORDERS) == set(get_args(ItemSort))
    for (sort, whole), narrow, limit in product(ORDERS.items(), NARROW, (1, 2, 5)):
        wanted = WorkItemFilter(sort=sort, **narrow)
        items: list[WorkItemRow] = []
        cursor: str | None = None
        while cursor is not None or not items:
            page = await store.work_items(wanted, cursor=cursor, limit=limit)
            items += page.rows
            cursor = page.cursor
        assert " ".join(item.execution + item.id for item in items) == whole, (sort, narrow)


@claim
async def a_cursor_of_work_items_is_of_one_order(store: Store) -> None:
    await _dated_items(store)
    for sort, other in product(ORDERS, ORDERS):
        page = await store.work_items(WorkItemFilter(sort=sort), limit=2)
        if sort != other:
            await refuses(store.work_items(WorkItemFilter(sort=other), cursor=page.cursor), UsageError)  # fmt: skip
