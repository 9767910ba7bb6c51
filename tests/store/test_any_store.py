"""Whatever is asked of them, in whatever order, the durable stores answer as the one in memory does."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import asyncpg  # type: ignore[import-untyped]
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)
from store.stores import in_a_file, in_memory
from thoroughness import few

from petra.store import (
    SHARDS,
    Batch,
    Change,
    ExecutionFilter,
    Pending,
    Snapshot,
    Store,
    WorkItemFilter,
    tallies,
)
from petra.store.postgres import PostgresStore
from petra.testing.store_rows import make_answer, make_item, make_records, make_rival, make_row

pytestmark = pytest.mark.slow

NAMES = ("a", "b", "c")
STATUSES = ("running", "waiting", "failed")
PEOPLE = ("ada", "bob")
ROLES = ("clerk", "*")

words = st.text(st.characters(exclude_characters="\x00", exclude_categories=["Cs"]), max_size=8)
times = st.integers(0, 5).map(float)
moments = st.integers(0, 8).map(lambda n: n * 1_200.0)  # of three hours, and what is between them
some = {
    "records": st.integers(0, 3),
    "lag": st.sampled_from((0, 0, 0, 0, -1, 1)),
    "rival": st.booleans(),
    "wake": st.one_of(st.none(), times),
    "item": st.one_of(st.none(), st.integers(0, 2)),
    "answer": st.one_of(st.none(), st.integers(0, 6)),
    "snapshot": st.booleans(),
    "object": st.one_of(st.none(), st.sampled_from(("k1", "k2"))),
    "row": st.one_of(
        st.none(),
        st.fixed_dictionaries(
            {
                "status": st.sampled_from(STATUSES),
                "started": moments,
                "playbook": st.sampled_from(("orders", "Refunds", "éclair")),
                "reason": words,
                "ended": st.one_of(st.none(), st.none(), times),
                "labels": st.dictionaries(words, words, max_size=2),
                "parent": st.sampled_from(("", "a")),
            }
        ),
    ),
    "users": st.sets(st.sampled_from(PEOPLE)).map(lambda s: tuple(sorted(s))),
    "roles": st.sets(st.sampled_from(("clerk", "boss"))).map(lambda s: tuple(sorted(s))),
    "excluded": st.sets(st.sampled_from(PEOPLE)).map(lambda s: tuple(sorted(s))),
    "holder": st.one_of(st.none(), st.sampled_from(PEOPLE)),
    "request": st.sampled_from((b"one", b"two")),
}
plans = st.fixed_dictionaries(some)


@pytest.fixture(autouse=True)
def _notes_are_soon_added_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tallies, "BEHIND", 2)
    monkeypatch.setattr(tallies, "PIECE", 3)


class AnyStore(RuleBasedStateMachine):
    """Two stores that are asked the same."""

    open_other: ClassVar[Callable[[], Any]]

    @initialize()
    def both_are_empty(self) -> None:
        self.runner = asyncio.Runner()
        self.reference: Store = self.runner.run(_opened(in_memory()))
        self.other: Store = self.runner.run(_opened(type(self).open_other))
        self.last: Batch | None = None
        self.epochs: dict[int, int] | None = None

    def teardown(self) -> None:
        if hasattr(self, "other"):
            self.runner.run(self.other.close())
            self.runner.close()

    def same(self, method: str, *args: Any, **more: Any) -> Any:
        """Ask both; return the answer, which must be one."""
        expected = self.runner.run(getattr(self.reference, method)(*args, **more))
        found = self.runner.run(getattr(self.other, method)(*args, **more))
        assert found == expected, method
        return expected

    def change(self, name: str, plan: dict[str, Any]) -> Change:
        stored = self.runner.run(self.reference.execution(name))
        version = max(0, (stored.version if stored else 0) + plan["lag"])
        count = plan["records"] if version else max(1, plan["records"])
        records = make_records(name, count, after=version)
        if plan["rival"] and len(records) == 1:
            records = (make_rival(records[0], previous=stored.head if stored else b""),)
        row = make_row(name, **(plan["row"] or {})) if plan["row"] or not version else None
        item = make_item(
            name,
            f"i{plan['item']}",
            users=plan["users"],
            roles=plan["roles"],
            excluded=plan["excluded"],
            holder=plan["holder"],
            priority=plan["item"] or 0,
        )
        answer = make_answer(f"c{plan['answer']}{name}", request=plan["request"])
        return Change(
            execution=name,
            expected_version=version,
            records=records,
            row=row,
            wake=plan["wake"],
            items=(item,) if plan["item"] is not None else (),
            assigned=(Pending(run=f"r{version % 2}", delivery=version + 1),),
            released=((f"r{version % 3}", ""),),
            snapshot=Snapshot(version=version, body=b"s") if plan["snapshot"] else None,
            answers=(answer,) if plan["answer"] is not None else (),
            objects=(plan["object"],) if plan["object"] else (),
        )

    @rule(plan=st.dictionaries(st.sampled_from(NAMES), plans, min_size=1))
    def a_batch_is_committed(self, plan: dict[str, dict[str, Any]]) -> None:
        changes = tuple(self.change(name, details) for name, details in plan.items())
        self.last = Batch(changes=changes, epochs=self.epochs)
        self.same("commit", self.last)

    @rule()
    def the_last_batch_is_committed_again(self) -> None:
        if self.last is not None:
            self.same("commit", self.last)

    @rule(holder=st.sampled_from(("one", "two")), lease_s=st.sampled_from((-1000.0, 1000.0)))
    def shards_are_claimed(self, holder: str, lease_s: float) -> None:
        claimed = self.same("claim_shards", holder, range(SHARDS), lease_s=lease_s)
        self.epochs = claimed or self.epochs

    @rule(before=times, limit=st.integers(1, 3))
    def old_executions_are_deleted(self, before: float, limit: int) -> None:
        self.same("expire", before, limit=limit)
        self.same("orphans")

    @rule(executions=st.lists(st.sampled_from(NAMES), max_size=3))
    def executions_are_removed(self, executions: list[str]) -> None:
        self.same("remove", executions)
        self.same("orphans")

    @rule(
        statuses=st.sets(st.sampled_from(STATUSES)),
        text=words,
        since=st.one_of(st.none(), moments),
        parent=st.sampled_from((None, "", "a")),
        labels=st.lists(st.tuples(words, words), max_size=2).map(tuple),
        ended_until=st.one_of(st.none(), times),
        limit=st.integers(1, 2),
    )
    def executions_are_listed(self, limit: int, statuses: set[str], **wanted: Any) -> None:
        asked = ExecutionFilter(statuses=tuple(sorted(statuses)), **wanted)
        cursor = self.same("executions", asked, limit=limit).cursor
        while cursor is not None:
            at = cursor
            cursor = self.same("executions", asked, cursor=at, limit=limit).cursor

    @rule(
        statuses=st.sets(st.sampled_from(STATUSES)),
        playbook=st.sampled_from((None, None, "orders", "Refunds")),
        since=st.one_of(st.none(), moments),
        until=st.one_of(st.none(), moments),
        text=st.sampled_from(("", "", "", "o")),
        namespace=st.sampled_from((None, "default", "other")),
    )
    def executions_are_counted(self, statuses: set[str], **wanted: Any) -> None:
        asked = ExecutionFilter(statuses=tuple(sorted(statuses)), **wanted)
        for by in ("status", "playbook", "hour"):
            self.same("count_executions", asked, by)

    @rule(user=st.sampled_from((None, *PEOPLE)), roles=st.sets(st.sampled_from(ROLES)))
    def work_items_are_listed(self, user: str | None, roles: set[str]) -> None:
        asked = WorkItemFilter(user=user, roles=tuple(sorted(roles)))
        self.same("work_items", asked, limit=1)
        self.same("work_items", asked)
        self.same("count_work_items", asked)

    @invariant()
    def everything_is_the_same(self) -> None:
        if not hasattr(self, "other"):
            return
        for name in NAMES:
            self.same("read", name)
            self.same("execution", name)
            self.same("snapshot", name)
        self.same("due", 1e9)
        self.same("pending")
        self.same("live")
        expected, found = (self.runner.run(_counts(s)) for s in (self.reference, self.other))
        assert found == expected


async def _opened(open_store: Callable[[], Any]) -> Any:
    return await open_store()


async def _counts(store: Store) -> Any:
    stats = await store.stats()
    return (stats.executions, stats.records, stats.wake_ups, stats.pending, stats.work_items)


def _run(machine: type[AnyStore], examples: int) -> None:
    checks = [HealthCheck.too_slow, HealthCheck.data_too_large]
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=few(examples),
            stateful_step_count=15,
            deadline=None,
            derandomize=True,
            suppress_health_check=checks,
        ),
    )


def _in_files(folder: Path) -> type[AnyStore]:
    async def open_store() -> Store:
        fresh = Path(tempfile.mkdtemp(dir=folder))
        return await in_a_file(fresh)()

    return type("AnySqliteStore", (AnyStore,), {"open_other": staticmethod(open_store)})


def test_sqlite_answers_as_memory_does(tmp_path: Path) -> None:
    _run(_in_files(tmp_path), 30)
    shutil.rmtree(tmp_path)


@pytest.mark.slow
def test_postgres_answers_as_memory_does(new_database: Callable[[], str]) -> None:
    dsn = new_database()

    async def open_store() -> Store:
        store = await PostgresStore.open(dsn)
        connection = await asyncpg.connect(dsn)
        rows = await connection.fetch(
            "SELECT tablename FROM pg_tables WHERE schemaname = 'public' AND tablename <> 'migrations'"
        )
        await connection.execute(f"TRUNCATE {', '.join(row[0] for row in rows)} RESTART IDENTITY")
        await connection.close()
        return store

    _run(type("AnyPostgresStore", (AnyStore,), {"open_other": staticmethod(open_store)}), 25)
