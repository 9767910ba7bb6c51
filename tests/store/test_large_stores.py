"""What is over costs nothing: what an engine, its pages and its metrics ask of a store takes as long with many rows as with few.

SQLite counts the steps of its machine, so no clock is needed. Of PostgreSQL the plans are looked at.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import apsw
import pytest
from msgspec import structs
from store.test_query_plans import _planned

from petra.clock import SystemClock
from petra.engine import Engine
from petra.server.metrics import Metrics
from petra.store import (
    Batch,
    Change,
    Pending,
    Store,
    WorkItemFilter,
    postgres_notifications,
    sqlite_notifications,
)
from petra.store.postgres import PostgresStore
from petra.store.queries import load_queries
from petra.store.rows import (
    ArrivalFilter,
    ArrivalRow,
    NotificationFilter,
    NotificationRow,
)
from petra.store.sqlite import SqliteStore
from petra.testing.store_rows import make_item, make_row, make_start

FEW, MANY, LIVE = 50, 1_500, 10
SLACK = 4_000
"""Steps more or less, by what loops happen to ask meanwhile: far less than one for each row that is over."""


def over(number: int) -> Change:
    """Return an execution that has ended, and all that has ended with it."""
    name = f"over{number}"
    told = NotificationRow(
        id=name, execution=name, channel="ops", about="completed", due=5.0, created=float(number), updated=5.0,
        body=b"{}", state="sent",
    )  # fmt: skip
    arrived = ArrivalRow(
        id=name, namespace="default", trigger=f"t{number % 2}", key=name, due=5.0, created=float(number), updated=5.0,
        body=b"{}", state="started", execution=name,
    )  # fmt: skip
    item = make_item(name, "i", state="completed", users=("ann",), holder="ann")
    row = make_row(name, status="completed", ended=9.0)
    return make_start(name, row=row, items=(item,), notifications=(told,), arrivals=(arrived,))


def live(number: int) -> Change:
    """Return an execution that runs, and waits for a person."""
    name = f"live{number}"
    item = make_item(name, "i", users=("ann",), created=9.0)
    return make_start(name, items=(item,), assigned=(Pending(run="r"),))


async def filled(store: Store, count: int) -> None:
    changes = [*map(over, range(count)), *map(live, range(LIVE))]
    for at in range(0, len(changes), 500):
        await store.commit(Batch(changes=tuple(changes[at : at + 500])))


async def opened(store: Store) -> None:
    async with Engine(store):
        await asyncio.sleep(0)


async def scraped(store: Store) -> None:
    engine = SimpleNamespace(store=store)
    service = SimpleNamespace(
        clock=SystemClock(), engine=engine, silence=SimpleNamespace(lasts=False)
    )
    await Metrics()._count(service)  # type: ignore[arg-type]


HERE = {"namespace": "default"}
ASKED: dict[str, Callable[[Any], Awaitable[Any]]] = {
    "an engine opens it": opened,
    "metrics": scraped,
    "what is out": lambda s: s.pending(),
    "an inbox": lambda s: s.work_items(WorkItemFilter(states=("offered", "claimed"), **HERE)),  # type: ignore[arg-type]
    "an inbox of all namespaces": lambda s: s.work_items(WorkItemFilter(states=("offered",))),
    "somebody's inbox": lambda s: s.work_items(
        WorkItemFilter(states=("offered", "claimed"), user="ann", roles=("x",), **HERE)  # type: ignore[arg-type]
    ),
    "an inbox by due date": lambda s: s.work_items(
        WorkItemFilter(states=("offered", "claimed"), due_until=9.0, sort="due", **HERE)  # type: ignore[arg-type]
    ),
    "an inbox of a playbook": lambda s: s.work_items(
        WorkItemFilter(states=("offered", "claimed"), playbook="orders", text="pay", **HERE)  # type: ignore[arg-type]
    ),
    "how many are in it": lambda s: s.count_work_items(WorkItemFilter(states=("offered",), **HERE)),  # type: ignore[arg-type]
    "a page of arrivals": lambda s: s.arrivals.arrivals(ArrivalFilter(**HERE), limit=20),
    "a page of a trigger's": lambda s: s.arrivals.arrivals(ArrivalFilter(trigger="t1", **HERE), limit=20),
    "those that waited in vain": lambda s: s.arrivals.arrivals(ArrivalFilter(state="dead", **HERE), limit=20),
    "how many did": lambda s: s.arrivals.dead("default"),
    "arrivals that are due": lambda s: s.arrivals.due(9.0),
    "a page of notifications": lambda s: s.notifications.notifications(NotificationFilter(), limit=20),
    "channels that something waits for": lambda s: s.notifications.channels(),
}  # fmt: skip


@contextmanager
def counted() -> Iterator[list[int]]:
    """Count the steps of SQLite's machine, on all connections that are opened meanwhile."""
    steps: list[int] = []

    def hook(connection: apsw.Connection) -> None:
        def done(event: dict[str, Any]) -> None:
            steps.append(event["stmt_status"]["SQLITE_STMTSTATUS_VM_STEP"])

        connection.trace_v2(apsw.SQLITE_TRACE_PROFILE, done)

    apsw.connection_hooks.append(hook)
    try:
        yield steps
    finally:
        apsw.connection_hooks.remove(hook)


@pytest.fixture(scope="module")
def costs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[int]]:
    """Return what each question takes of a small and of a large store."""

    async def measured(folder: Path, count: int) -> None:
        store = await SqliteStore.open(folder / "petra.db")
        await filled(store, count)
        await store.close()
        store = await SqliteStore.open(folder / "petra.db")
        await store.notifications.forget(
            0.0
        )  # who sends them does that, and adds up what was noted
        while await store._tallies._some():
            pass  # as whoever counts has it done
        for name, ask in ASKED.items():
            steps.clear()
            await ask(store)
            found.setdefault(name, []).append(sum(steps))
        await store.close()

    found: dict[str, list[int]] = {}
    with counted() as steps:
        for count in (FEW, MANY):
            asyncio.run(measured(tmp_path_factory.mktemp("large"), count))
    return found


@pytest.mark.parametrize("name", ASKED)
def test_what_is_over_costs_nothing(costs: dict[str, list[int]], name: str) -> None:
    small, large = costs[name]
    assert small > 0
    assert large <= 1.5 * small + SLACK, (small, large)


MINE = [1, 2]
PLANNED: dict[str, tuple[str, tuple[Any, ...], str]] = {
    "what is out": ("pending_in", ("", "", "", 100, MINE), "pending_by_shard"),
    "letters": ("letters_in", (100, MINE), "letters_by_shard"),
    "a page of arrivals": ("arrivals", ("default", None, None, None, None, 20), "arrivals_created"),
    "a page of a trigger's": ("arrivals_of_trigger", ("default", "t", None, None, None, 20), "arrivals_of_trigger"),
    "those that waited in vain": ("arrivals_unsettled", ("default", None, "dead", None, None, 20), "arrivals_not_started"),
    "arrivals that are due": ("due_arrivals", (9.0, MINE, 20), "arrivals_due"),
    "channels": ("notification_channels", (MINE,), "notifications_due"),
    "a page of notifications": ("notifications", (None, None, None, None, None, None, 20), "notifications_created"),
}  # fmt: skip


@pytest.mark.slow
def test_postgres_finds_each_by_an_index_in_its_order(new_database: Callable[[], str]) -> None:
    sql = load_queries("postgres")
    asked = [(sql[query], values) for query, values, _ in PLANNED.values()]
    plans = asyncio.run(_planned(new_database(), asked))
    for (name, (_, _, index)), plan in zip(PLANNED.items(), plans, strict=True):
        assert not any("Seq Scan" in line for line in plan), (name, plan)
        assert any(f" using {index} " in line for line in plan), (name, plan)


@pytest.mark.slow
def test_postgres_reads_what_changed_and_not_all_notifications(
    new_database: Callable[[], str],
) -> None:
    (plan,) = asyncio.run(
        _planned(new_database(), [(load_queries("postgres")["count_notifications"], ())])
    )
    assert not any(" on notifications" in line for line in plan), plan


@pytest.mark.parametrize("kind", ["sqlite", pytest.param("postgres", marks=pytest.mark.slow)])
def test_how_many_notifications_are_in_a_state_is_exact_whatever_became_of_them(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (sqlite_notifications, postgres_notifications):
        monkeypatch.setattr(module, "NOTES_MAX", 3)

    async def scenario(store: Store) -> None:
        await filled(store, 4)
        assert await store.notifications.count() == {"sent": 4}
        page = await store.notifications.notifications(NotificationFilter(), limit=2)
        await store.notifications.settle(
            [structs.replace(row, state="failed") for row in page.rows]
        )
        assert await store.notifications.count() == {"sent": 2, "failed": 2}
        assert await store.notifications.forget(1.0) == 0  # and what was noted is added up
        assert await store.notifications.count() == {"sent": 2, "failed": 2}
        assert await store.notifications.forget(6.0) == 4
        assert await store.notifications.count() == {}

    # before the loop begins: who asks for it first has it made, in a loop of its own
    address = request.getfixturevalue("database") if kind == "postgres" else ""

    async def run() -> None:
        if kind == "sqlite":
            store: Store = await SqliteStore.open(tmp_path / "petra.db")
        else:
            store = await PostgresStore.open(address)
        await scenario(store)
        await store.close()

    asyncio.run(run())
