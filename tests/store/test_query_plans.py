"""Lists, counts and looks back are answered from indices: the databases say how they would go about each query."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any, get_args

import apsw
import asyncpg  # type: ignore[import-untyped]
import pytest

from petra.store import postgres_items, postgres_lists
from petra.store import sqlite_items as items
from petra.store import sqlite_lists as lists
from petra.store import sqlite_read as reading
from petra.store import sqlite_schema as schema
from petra.store.postgres import PostgresStore
from petra.store.queries import load_queries
from petra.store.rows import ExecutionFilter, ItemSort, WorkItemFilter

HERE = "default"
LISTED = {
    "all": {},
    "a status": {"statuses": ("failed",)},
    "a playbook": {"playbook": "orders"},
    "a status of a playbook": {"statuses": ("failed",), "playbook": "orders"},
    "two statuses": {"statuses": ("failed", "stuck")},
    "two statuses of a playbook": {"statuses": ("failed", "stuck"), "playbook": "orders"},
    "children": {"parent": "a"},
    "a label": {"labels": (("team", "blue"),)},
    "a time": {"since": 1.0, "until": 2.0},
    "the oldest first": {"oldest_first": True},
}


class Spy:
    """A connection that tells the plan of every query instead of answering it."""

    def __init__(self, connection: apsw.Connection) -> None:
        self.connection = connection
        self.plans: list[str] = []

    def execute(self, sql: str, values: Any = ()) -> Any:
        rows = self.connection.execute(f"EXPLAIN QUERY PLAN {sql}", values)
        self.plans += [str(row[3]) for row in rows]
        return self.connection.execute("SELECT 1 WHERE false")


@pytest.fixture
def spy(tmp_path: Path) -> Spy:
    connection = apsw.Connection(str(tmp_path / "petra.db"))
    schema.migrate(connection)
    return Spy(connection)


def scans(plans: list[str]) -> list[str]:
    """Return the parts of plans that read a whole table, or sort what they read."""
    whole = [one for one in plans if one.startswith("SCAN") and "INDEX" not in one]
    return [one for one in whole if "json_each" not in one and "CONSTANT ROW" not in one and "(subquery" not in one]  # fmt: skip


@pytest.mark.parametrize("wanted", LISTED.values(), ids=LISTED)
def test_a_page_of_executions_comes_from_an_index_in_its_order(
    spy: Any, wanted: dict[str, Any]
) -> None:
    given = ExecutionFilter(namespace=HERE, **wanted)
    lists.executions(spy, given, None, 100)
    assert scans(spy.plans) == []
    assert any("INDEX" in plan or "PRIMARY KEY" in plan for plan in spy.plans)
    assert not any("TEMP B-TREE" in plan for plan in spy.plans), spy.plans


@pytest.mark.parametrize("wanted", LISTED.values(), ids=LISTED)
def test_a_page_of_all_namespaces_comes_from_the_index_of_each(
    spy: Any, monkeypatch: pytest.MonkeyPatch, wanted: dict[str, Any]
) -> None:
    """A folder and its command line know of no namespaces: they list what is there."""
    monkeypatch.setattr(lists, "_spaces", lambda _: ["acme", HERE])
    lists.executions(spy, ExecutionFilter(**wanted), None, 100)
    assert scans(spy.plans) == []
    assert not any(plan.startswith("SCAN l") for plan in spy.plans), spy.plans
    if "labels" not in wanted:
        assert not any("TEMP B-TREE" in plan for plan in spy.plans), spy.plans


def test_which_namespaces_there_are_is_found_by_a_look_for_each(spy: Any) -> None:
    lists._spaces(spy)
    looks = [plan for plan in spy.plans if "executions" in plan]
    assert looks
    assert all(plan.startswith("SEARCH executions USING COVERING INDEX") for plan in looks), looks


def test_a_status_of_a_playbook_has_an_index_of_its_own(spy: Any) -> None:
    wanted = ExecutionFilter(namespace=HERE, playbook="orders", statuses=("failed", "stuck"))
    lists.executions(spy, wanted, None, 100)
    own = (
        "SEARCH executions USING INDEX executions_by_both (namespace=? AND playbook=? AND status=?)"
    )
    assert [plan for plan in spy.plans if plan.startswith("SEARCH")] == [own, own]


REST = {
    "a text of two characters": {"text": "ab"},
    "a text with a label": {"text": "ab", "labels": (("team", "blue"),)},
    "a version": {"playbook": "orders", "digest": "d"},
    "no parent": {"parent": ""},
    "an end": {"ended_until": 9.0},
    "a status of children": {"parent": "a", "statuses": ("failed",)},
    "many statuses": {"statuses": tuple(map(str, range(20)))},
}


@pytest.mark.parametrize("wanted", REST.values(), ids=REST)
def test_what_no_index_has_is_looked_for_among_some(spy: Any, wanted: dict[str, Any]) -> None:
    """The order comes from an index, within the part that counts what is looked at."""
    given = ExecutionFilter(namespace=HERE, **wanted)
    lists.executions(spy, given, None, 100, 1_000)
    assert scans(spy.plans) == []
    assert not any("TEMP B-TREE" in plan for plan in spy.plans), spy.plans
    assert (
        spy.plans.count("CO-ROUTINE (subquery-1)") + spy.plans.count("CO-ROUTINE (subquery-2)") >= 1
    )


TALLIED: dict[str, dict[str, Any]] = {
    "all": {},
    "a playbook": {"playbook": "orders"},
    "some statuses": {"statuses": ("failed", "running")},
    "whole hours": {"since": 3_600.0, "until": 36_000.0},
}


@pytest.mark.parametrize("by", ["status", "playbook", "hour"])
@pytest.mark.parametrize("wanted", TALLIED.values(), ids=TALLIED)
def test_counts_of_all_or_of_a_playbook_come_from_tallies(
    spy: Any, by: Any, wanted: dict[str, Any]
) -> None:
    lists.count_executions(spy, ExecutionFilter(namespace=HERE, **wanted), by)
    read = [plan for plan in spy.plans if plan.startswith(("SCAN", "SEARCH")) and "json_each" not in plan]  # fmt: skip
    assert read[0].startswith("SEARCH tallies USING"), spy.plans
    narrow = ("(namespace=? AND playbook=? AND hour", "tallies_in_all (namespace=?")
    if by != "playbook" or "since" not in wanted:
        assert any(one in read[0] for one in narrow), spy.plans
    assert set(read[1:]) <= {"SCAN tally_notes", "SCAN (subquery-3)"}, "the notes are few"


def test_of_hours_that_are_counted_in_part_their_executions_are_looked_at(spy: Any) -> None:
    wanted = ExecutionFilter(namespace=HERE, since=3_601.0, until=36_001.0)
    lists.count_executions(spy, wanted, "status")
    parts = [plan for plan in spy.plans if plan.startswith("SEARCH executions")]
    assert len(parts) == 2
    assert all("(namespace=? AND started>? AND started<?)" in plan for plan in parts), parts


@pytest.mark.parametrize(
    ("wanted", "leads"),
    [
        ({"playbook": "orders", "digest": "d"}, "(namespace=? AND playbook=?"),
        (
            {"since": 1.0, "until": 2.0},
            "executions_by_start (namespace=? AND started>? AND started<?)",
        ),
        ({"parent": "a"}, "executions_by_parent (parent=?"),
        (
            {"statuses": ("failed",), "ended_until": 9.0},
            "executions_by_status (namespace=? AND status=?",
        ),
    ],
)
def test_counts_of_some_are_led_by_what_narrows_them(
    spy: Any, wanted: dict[str, Any], leads: str
) -> None:
    lists.count_executions(spy, ExecutionFilter(namespace=HERE, **wanted), "status")
    assert any(leads in plan for plan in spy.plans), spy.plans


def test_a_snapshot_before_a_record_is_found_by_its_key(spy: Any) -> None:
    reading.snapshot(spy, "a", 5)
    assert scans(spy.plans) == [plan for plan in scans(spy.plans) if "CO-ROUTINE" in plan]
    keyed = [plan for plan in spy.plans if plan.startswith("SEARCH")]
    assert any("PRIMARY KEY (stream=? AND version<?)" in plan for plan in keyed), spy.plans


@pytest.mark.parametrize("query", ["list", "counts"])
def test_a_text_is_looked_up_and_only_what_has_it_is_looked_at(spy: Any, query: str) -> None:
    wanted = ExecutionFilter(namespace=HERE, text="Refund 7")
    if query == "list":
        lists.executions(spy, wanted, None, 100)
    else:
        lists.count_executions(spy, wanted, "status")
    virtual = [plan for plan in spy.plans if "search_index" in plan]
    assert virtual
    assert all("VIRTUAL TABLE INDEX" in plan for plan in virtual), spy.plans
    rows = [plan for plan in spy.plans if plan.startswith("SEARCH e ")]
    assert rows == ["SEARCH e USING INTEGER PRIMARY KEY (rowid=?)"], spy.plans


def test_texts_that_the_index_does_not_know_are_looked_for_in_the_order_of_the_list(
    spy: Any,
) -> None:
    for text in ("ab", "a\0bc"):
        spy.plans.clear()
        lists.executions(spy, ExecutionFilter(namespace=HERE, text=text), None, 100)
        assert not any("search_index" in plan for plan in spy.plans)
        assert not any("TEMP B-TREE" in plan for plan in spy.plans), spy.plans


def test_places_in_line_are_counted_along_the_line(spy: Any) -> None:
    spy.execute(load_queries("sqlite")["places"], ('["a", "b"]', HERE, 10))
    assert scans(spy.plans) == []
    counted = "SEARCH q USING COVERING INDEX permits_waiting (namespace=? AND name=? AND key=? AND rank<?)"
    assert any(plan.startswith(counted[:-1]) for plan in spy.plans), spy.plans
    assert any("permits_execution (execution=?" in plan for plan in spy.plans), spy.plans


OPEN = ("offered", "allocated", "started", "suspended")
NARROWED: dict[str, dict[str, Any]] = {
    "all": {},
    "mine": {"user": "ada", "roles": ("clerk",)},
    "a playbook": {"playbook": "orders", "digests": ("d",)},
    "overdue": {"due_until": 9.0},
    "no due date": {"no_due": True},
}


@pytest.mark.parametrize("sort", get_args(ItemSort))
@pytest.mark.parametrize("narrow", NARROWED.values(), ids=NARROWED)
def test_open_work_items_come_from_the_index_of_their_state(
    spy: Any, narrow: dict[str, Any], sort: ItemSort
) -> None:
    """By priority in the order of the list. By another order what is open is sorted, and never what is over."""
    wanted = WorkItemFilter(namespace=HERE, states=OPEN, sort=sort, **narrow)
    items.work_items(spy, wanted, None, 100)
    own = "USING INDEX work_items_by_state (namespace=? AND state=?"
    taken = [plan for plan in spy.plans if "work_items" in plan]
    assert len(taken) == len(OPEN)
    assert all(own in plan for plan in taken), taken
    assert scans(spy.plans) == []
    looked = [plan for plan in spy.plans if plan.startswith("SEARCH e ")]
    assert all("USING INTEGER PRIMARY KEY (rowid=?)" in plan for plan in looked), looked
    if sort == "priority":
        assert_sorted_by_an_index(spy.plans)


def assert_sorted_by_an_index(plans: list[str]) -> None:
    """Only the pages of several states are sorted among each other."""
    sorts = [before for before, plan in pairwise(plans) if "TEMP B-TREE" in plan]
    assert all(before.startswith("SCAN (subquery") for before in sorts), plans


def test_a_text_in_work_items_is_looked_for_in_the_order_of_the_list(spy: Any) -> None:
    spy.connection.create_scalar_function("folded", str.casefold, 1, deterministic=True)
    wanted = WorkItemFilter(namespace=HERE, states=OPEN, text="Pay")
    items.work_items(spy, wanted, None, 100)
    assert scans(spy.plans) == []
    assert_sorted_by_an_index(spy.plans)


# PostgreSQL

IN_ORDER: dict[str, tuple[dict[str, Any], list[str]]] = {
    "all": ({}, ["executions_by_start"]),
    "a status": ({"statuses": ("failed",)}, ["executions_by_status"]),
    "two statuses": ({"statuses": ("failed", "stuck")}, ["executions_by_status"] * 2),
    "a playbook": ({"playbook": "orders"}, ["executions_by_playbook"]),
    "a status of a playbook": (
        {"playbook": "orders", "statuses": ("failed",)},
        ["executions_by_both"],
    ),
    "children": ({"parent": "a"}, ["executions_by_parent"]),
    "a time": ({"since": 1.0, "until": 2.0}, ["executions_by_start"]),
    "a text": ({"text": "refund"}, ["executions_by_start"]),
    "a text in a status": ({"text": "ab", "statuses": ("failed",)}, ["executions_by_status"]),
    "a version": ({"playbook": "orders", "digest": "d"}, ["executions_by_playbook"]),
    "an end": ({"ended_until": 9.0, "oldest_first": True}, ["executions_by_start"]),
}


async def _planned(dsn: str, queries: list[Any]) -> list[list[str]]:
    """Return the plans of queries, as of a table that is too large to be looked through or sorted."""
    store = await PostgresStore.open(dsn)
    await store.close()
    connection = await asyncpg.connect(dsn)
    try:
        await connection.execute(
            "SET plan_cache_mode = force_custom_plan; SET enable_seqscan = off"
        )
        await connection.execute("SET enable_bitmapscan = off; SET enable_sort = off")
        found = [await connection.fetch(f"EXPLAIN {sql}", *values) for sql, values in queries]
    finally:
        await connection.close()
    return [[str(row[0]) for row in plan] for plan in found]


def test_postgres_takes_a_page_and_a_count_from_an_index_in_its_order(
    new_database: Callable[[], str],
) -> None:
    asked = []
    for wanted, _ in IN_ORDER.values():
        looked = postgres_lists.looked_at(
            ExecutionFilter(namespace=HERE, **wanted), None, 1_000, indexed=False
        )
        assert looked is not None
        asked += [looked.page(100), looked.end()]
    plans = asyncio.run(_planned(new_database(), asked))
    for number, (name, (_, indices)) in enumerate(IN_ORDER.items()):
        for plan in plans[2 * number : 2 * number + 2]:
            used = [line.split(" using ")[1].split()[0] for line in plan if " using " in line]
            assert used == indices, (name, plan)
            sorts = [line for line in plan if "Sort" in line and "Key" not in line]
            assert len(sorts) <= len(indices) - 1, "only what several arms have found is sorted"


@pytest.mark.parametrize("name", ["all", "one status", "two statuses", "a playbook"])
def test_postgres_takes_a_page_of_all_namespaces_from_the_same_indices(
    new_database: Callable[[], str], name: str
) -> None:
    """Engines whose lists are listened to look at the newest ones every few seconds."""
    narrowed: dict[str, dict[str, Any]] = {
        "all": {},
        "one status": {"statuses": ("failed",)},
        "two statuses": {"statuses": ("failed", "stuck")},
        "a playbook": {"playbook": "orders"},
    }
    wanted = narrowed[name]
    looked = postgres_lists.looked_at(ExecutionFilter(**wanted), None, None, indexed=False)
    assert looked is not None
    (plan,) = asyncio.run(_planned(new_database(), [looked.page(100)]))
    used = [number for number, line in enumerate(plan) if " on executions" in line]
    assert all(" using executions_by_" in plan[at] for at in used), plan
    rows = [at for at in used if " Only Scan " not in plan[at]]
    assert len(rows) == max(1, len(wanted.get("statuses", ())))
    for at in rows:
        assert "(namespace = " in plan[at + 1], plan
        assert "Sort" not in plan[at - 1], "each comes in the order of its index"


@pytest.mark.parametrize("sort", get_args(ItemSort))
def test_postgres_takes_open_work_items_from_the_index_of_their_state(
    new_database: Callable[[], str], sort: ItemSort
) -> None:
    asked = [
        postgres_items.page(
            WorkItemFilter(namespace=HERE, states=OPEN, sort=sort, **narrow), None, 100
        )
        for narrow in NARROWED.values()
    ]
    for plan in asyncio.run(_planned(new_database(), asked)):
        used = [line for line in plan if " on work_items" in line]
        assert len(used) == 1, plan
        assert "using work_items_by_state" in used[0], plan
        at = plan.index(used[0])
        assert "(namespace = " in plan[at + 1], plan
        assert "(state = " in plan[at + 1], plan
        sorts = [line for line in plan if "Sort" in line and "Key" not in line]
        assert len(sorts) <= (1 if sort == "priority" else 2), plan


@pytest.mark.parametrize("sort", get_args(ItemSort))
def test_postgres_takes_those_of_all_namespaces_from_there_too(
    new_database: Callable[[], str], sort: ItemSort
) -> None:
    """Engines whose lists are listened to look at them every few seconds."""
    wanted = WorkItemFilter(states=OPEN, sort=sort)
    (plan,) = asyncio.run(_planned(new_database(), [postgres_items.page(wanted, None, 100)]))
    used = [number for number, line in enumerate(plan) if " on work_items" in line]
    assert all(" using work_items_" in plan[at] for at in used), plan
    rows = [at for at in used if " Only Scan " not in plan[at]]
    assert len(rows) == 1, "the others find the namespaces, from the index alone"
    assert "(namespace = " in plan[rows[0] + 1], plan
    assert "(state = " in plan[rows[0] + 1], plan


def test_postgres_counts_from_tallies(new_database: Callable[[], str]) -> None:
    asked = [
        postgres_lists.tallied_counts(ExecutionFilter(namespace=HERE, **wanted), "status")
        for wanted in (*TALLIED.values(), {"since": 3_601.0, "until": 36_001.0})
    ]
    *whole, parted = asyncio.run(_planned(new_database(), asked))
    for plan in whole:
        assert not any(" on executions" in line for line in plan), plan
        assert any(" on tallies" in line and "Index" in line for line in plan), plan
    parts = [at for at, line in enumerate(parted) if " on executions" in line]
    assert len(parts) == 2
    for at in parts:
        assert "Index Cond: ((namespace = " in parted[at + 1], parted
        assert "(started >= " in parted[at + 1], "of the hours of which it is a part, no others"
