"""What every store must do, as claims that a test suite runs on each of them.

A claim is an async function that takes an empty store and fails with an ``AssertionError``. ``CLAIMS`` has
all of them; to test a store of your own with pytest:

```python
@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.__name__)
def test_my_store(claim):
    asyncio.run(with_an_empty_store(claim))
```

``petra.testing.store_rows`` makes the rows.
"""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec

from petra.errors import UsageError
from petra.store import (
    Batch,
    Change,
    ExecutionFilter,
    Fate,
    Pending,
    PendingRow,
    Snapshot,
    Store,
    StoreError,
    UncertainError,
    WakeUp,
    WorkItemFilter,
    shard_of,
)
from petra.testing import (
    store_account_claims,
    store_arrival_claims,
    store_item_claims,
    store_letter_claims,
    store_namespace_claims,
    store_notification_claims,
    store_permit_claims,
    store_query_claims,
)
from petra.testing.store_faults import StoreFault, faulty
from petra.testing.store_rows import (
    CLAIMS,
    Claim,
    a_workout,
    applied,
    claim,
    commit,
    make_answer,
    make_hash,
    make_item,
    make_next,
    make_playbook,
    make_records,
    make_rival,
    make_row,
    make_start,
    refuses,
    some_items,
    what_is_stored,
)

__all__ = [
    "CLAIMS",
    "Claim",
    "store_account_claims",
    "store_arrival_claims",
    "store_item_claims",
    "store_letter_claims",
    "store_namespace_claims",
    "store_notification_claims",
    "store_permit_claims",
    "store_query_claims",
]


# The log


@claim
async def records_come_back_as_given_and_in_order(store: Store) -> None:
    await applied(store, make_start("a", count=3), make_start("b", count=2))
    await applied(store, make_next("a", 3, 4))
    assert await store.read("a") == list(make_records("a", 7))
    assert await store.read("b") == list(make_records("b", 2))
    assert await store.read("a", after=2, limit=3) == list(make_records("a", 3, after=2))
    assert await store.read("a", after=7) == []
    assert await store.read("nobody") == []


@claim
async def several_logs_are_read_at_once(store: Store) -> None:
    await applied(store, make_start("a", count=3), make_start("b", count=9), make_start("c"))
    await applied(store, make_next("a", 3, 2))
    logs = await store.logs(["a", "b", "c", "nobody"], most=5)
    assert sorted(logs) == ["a", "c"]
    for name, (stored, records) in logs.items():
        assert stored == await store.execution(name)
        assert records == await store.read(name)
    assert await store.logs([]) == {}


@claim
async def the_row_tells_where_the_log_ends(store: Store) -> None:
    await applied(store, make_start("a", count=3))
    await applied(store, make_next("a", 3, 2))
    stored = await store.execution("a")
    assert stored is not None
    assert (stored.version, stored.head) == (5, make_hash("a", 5))
    assert stored.row == make_row("a", updated=1005.0)
    assert await store.execution("nobody") is None


@claim
async def every_column_of_a_row_comes_back(store: Store) -> None:
    row = make_row(
        "a", reason="ü", ended=3.5, parent="p", labels={"k": "v", "": "ö"}, status="failed"
    )
    await applied(store, make_start("a", row=row))
    stored = await store.execution("a")
    assert stored is not None
    assert stored.row == row


@claim
async def a_stale_version_is_a_conflict_and_the_others_are_stored(store: Store) -> None:
    await applied(store, make_start("a", count=2), make_start("b"))
    stale = msgspec.structs.replace(
        make_next("a", 1, 1), records=(make_rival(make_records("a", 2)[1]),)
    )
    committed = await store.commit(Batch(changes=(stale, make_next("b", 1), make_start("c"))))
    fates = [outcome.fate for outcome in committed.outcomes]
    assert fates == [Fate.CONFLICT, Fate.APPLIED, Fate.APPLIED]
    assert committed.outcomes[0].version == 2
    assert not committed.applied
    assert await store.read("a") == list(make_records("a", 2))
    assert len(await store.read("b")) == 2


@claim
async def a_conflict_leaves_no_trace(store: Store) -> None:
    await applied(store, make_start("a", count=2))
    before = await what_is_stored(store, "a")
    ahead = make_next(
        "a", 5, 1, wake=9.0, items=(make_item("a", "i"),), answers=(make_answer("c"),)
    )
    again = make_start("a", snapshot=Snapshot(version=1, body=b""), objects=("key",))
    again = msgspec.structs.replace(again, records=(make_rival(again.records[0]),))
    assert await commit(store, ahead) == [Fate.CONFLICT]
    assert await commit(store, again) == [Fate.CONFLICT]
    assert await what_is_stored(store, "a") == before
    assert await store.answer("c") is None


@claim
async def a_change_without_records_checks_the_version_too(store: Store) -> None:
    await applied(store, make_start("a", count=3))
    for version in (2, 4):
        late = Change(execution="a", expected_version=version, wake=9.0)
        assert await commit(store, late) == [Fate.CONFLICT]
    assert await store.due(100.0) == []
    await applied(store, Change(execution="a", expected_version=3, wake=9.0))
    assert await store.due(100.0) == [WakeUp(execution="a", due=9.0)]


@claim
async def a_record_must_follow_the_stored_head(store: Store) -> None:
    await applied(store, make_start("a"))
    forged = make_rival(make_records("a", 2)[1], previous=make_hash("elsewhere"))
    change = Change(execution="a", expected_version=1, records=(forged,))
    assert await commit(store, change) == [Fate.CONFLICT]


@claim
async def the_same_batch_again_is_applied_once(store: Store) -> None:
    batch = Batch(
        changes=(make_start("a", count=2, wake=5.0, answers=(make_answer("c"),)), make_start("b")),
        playbooks=(make_playbook("d1"),),
        answers=(make_answer("free"),),
    )
    first = await store.commit(batch)
    assert first.applied
    assert await store.commit(batch) == first
    await applied(store, make_next("a", 2, 3))
    late = await store.commit(batch)
    assert late.applied
    assert late.outcomes[0].version == 5
    assert await store.read("a") == list(make_records("a", 5))


@claim
async def a_batch_that_contradicts_itself_is_refused(store: Store) -> None:
    gap = Change(
        execution="a", expected_version=0, records=make_records("a", 1, after=4), row=make_row("a")
    )
    torn = Change(
        execution="a",
        expected_version=0,
        records=(make_records("a", 1)[0], make_records("b", 2)[1]),
        row=make_row("a"),
    )
    bare = Change(execution="a", expected_version=0, records=make_records("a", 1))
    wrong = make_start("a", row=make_row("b"))
    for changes in ((gap,), (torn,), (bare,), (wrong,), (make_start("a"), make_start("a"))):
        await refuses(store.commit(Batch(changes=changes)), UsageError)
    assert await store.execution("a") is None


@claim
async def an_end_is_final(store: Store) -> None:
    over = make_row("a", status="completed", ended=7.0)
    await applied(store, make_start("a"), make_start("b"))
    await applied(store, make_next("a", 1, row=over))
    assert await commit(store, make_next("a", 2, row=make_row("a"))) == [Fate.CONFLICT]
    changed = msgspec.structs.replace(over, status="failed")
    assert await commit(store, make_next("a", 2, row=changed)) == [Fate.CONFLICT]
    await applied(store, make_next("a", 2))
    stored = await store.execution("a")
    assert stored is not None
    assert (stored.row.status, stored.row.ended, stored.version) == ("completed", 7.0, 3)


@claim
async def large_bodies_and_long_logs_come_back(store: Store) -> None:
    big = make_records("a", 3, size=256 * 1024)
    await applied(store, Change(execution="a", expected_version=0, records=big, row=make_row("a")))
    await applied(store, make_start("b", count=3000))
    assert await store.read("a") == list(big)
    assert await store.read("b") == list(make_records("b", 3000))


# Commands


@claim
async def a_command_is_answered_once(store: Store) -> None:
    await applied(store, make_start("a", answers=(make_answer("c", b"first"),)))
    again = make_next("a", 1, answers=(make_answer("c", b"second"),))
    outcome = (await store.commit(Batch(changes=(again,)))).outcomes[0]
    assert outcome.fate is Fate.REPEATED
    assert outcome.answers == (make_answer("c", b"first"),)
    assert await store.answer("c") == make_answer("c", b"first")
    assert len(await store.read("a")) == 1


@claim
async def a_command_id_for_another_request_is_refused(store: Store) -> None:
    await applied(store, make_start("a", answers=(make_answer("c"),)))
    other = make_start("b", answers=(make_answer("c", request=b"something else"),))
    assert await commit(store, other, make_start("d")) == [Fate.REFUSED, Fate.APPLIED]
    assert await store.execution("b") is None


@claim
async def commands_without_an_execution_are_answered_once_too(store: Store) -> None:
    first = await store.commit(Batch(answers=(make_answer("c", b"first"),)))
    assert first.answers == (make_answer("c", b"first"),)
    again = await store.commit(Batch(answers=(make_answer("c", b"second"), make_answer("e"))))
    assert again.answers == (make_answer("c", b"first"), make_answer("e"))
    other = await store.commit(Batch(answers=(make_answer("c", request=b"other"),)))
    assert (other.answers, other.refused) == ((), ("c",))


@claim
async def of_two_at_once_one_wins(store: Store) -> None:
    await applied(store, make_start("a"))
    rivals = []
    for n in range(8):
        record = make_rival(make_records("a", 2)[1], mark=n)
        rivals.append(Change(execution="a", expected_version=1, records=(record,)))
    fates = [
        f for fs in await asyncio.gather(*(commit(store, rival) for rival in rivals)) for f in fs
    ]
    assert sorted(fate.value for fate in fates) == ["applied"] + ["conflict"] * 7
    new = [make_start("n", answers=(make_answer("c", str(n).encode()),)) for n in range(8)]
    new = [
        msgspec.structs.replace(c, records=(make_rival(c.records[0], mark=n),))
        for n, c in enumerate(new)
    ]
    fates = [f for fs in await asyncio.gather(*(commit(store, rival) for rival in new)) for f in fs]
    assert sorted(fate.value for fate in fates) == ["applied"] + ["repeated"] * 7
    assert len(await store.read("n")) == 1


# Projections


@claim
async def the_latest_snapshot_is_kept(store: Store) -> None:
    await applied(store, make_start("a", count=3, snapshot=Snapshot(version=2, body=b"two")))
    assert await store.snapshot("a") == Snapshot(version=2, body=b"two")
    await applied(store, make_next("a", 3, snapshot=Snapshot(version=4, body=b"four" * 50_000)))
    assert await store.snapshot("a") == Snapshot(version=4, body=b"four" * 50_000)
    alone = Change(execution="a", expected_version=4, snapshot=Snapshot(version=4, body=b"again"))
    await applied(store, alone)
    assert await store.snapshot("a") == Snapshot(version=4, body=b"again")
    assert await store.snapshot("nobody") is None
    assert await store.snapshot("nobody", upto=9) is None
    assert await store.snapshot("a", upto=1) is None
    for upto, body in ((2, b"two"), (3, b"two"), (4, b"again"), (99, b"again")):
        snapshot = await store.snapshot("a", upto=upto)
        assert snapshot is not None
        assert snapshot.body == body
    newer = make_next("a", 4, snapshot=Snapshot(version=6, body=b""))
    await refuses(store.commit(Batch(changes=(newer,))), UsageError)


@claim
async def wake_ups_are_set_moved_and_removed_by_the_batch(store: Store) -> None:
    await applied(
        store, *(make_start(name, wake=due) for name, due in zip("abc", (30, 10, 20), strict=True))
    )
    assert await store.due(20.0) == [
        WakeUp(execution="b", due=10.0),
        WakeUp(execution="c", due=20.0),
    ]
    assert await store.due(100.0, limit=1) == [WakeUp(execution="b", due=10.0)]
    await applied(
        store, make_next("b", 1, wake=None), make_next("c", 1), make_next("a", 1, wake=15.0)
    )
    assert [row.execution for row in await store.due(100.0)] == ["a", "c"]
    assert [row.execution for row in await store.due(100.0, shards={shard_of("c")})] == ["c"]
    assert await store.due(100.0, shards=()) == []


@claim
async def pending_assignments_are_listed_until_released(store: Store) -> None:
    gpu = Pending(run="r2", chunk="k", delivery=2, pool="gpu", kinds="http\npython")
    out = (Pending(run="r1"), gpu)
    await applied(store, make_start("a", assigned=out), make_start("b", assigned=out[:1]))
    pending = [(row.execution, row.pending) for row in await store.pending()]
    assert pending == [("a", out[0]), ("a", out[1]), ("b", out[0])]
    behind = await store.pending(after=("a", "r1", ""), limit=1)
    assert [(row.execution, row.pending) for row in behind] == [("a", out[1])]
    again = Pending(run="r1", delivery=3, kinds="duckdb")
    await applied(store, make_next("a", 1, released=(("r1", ""), ("r2", "k")), assigned=(again,)))
    assert [row.pending for row in await store.pending(shards={shard_of("a")})] == [again]
    assert len(await store.pending()) == 2


@claim
async def a_lease_is_written_for_the_delivery_that_is_out_and_for_no_other(store: Store) -> None:
    out = (Pending(run="r1"), Pending(run="r2", chunk="k", delivery=2))
    await applied(store, make_start("a", assigned=out))
    rows = [
        PendingRow(execution="a", pending=out[0], lease="l1"),
        PendingRow(execution="a", pending=Pending(run="r2", chunk="k", delivery=1), lease="l2"),
        PendingRow(execution="a", pending=Pending(run="r3"), lease="l3"),
        PendingRow(execution="b", pending=out[0], lease="l4"),
    ]
    assert "l1" in await store.lease(rows)
    assert [row.pending for row in await store.leased(["l1", "l2", "nobody", ""])] == [out[0]]
    assert [row.lease for row in await store.pending()] == ["l1", ""]
    await applied(store, make_next("a", 1, assigned=out))
    assert [row.lease for row in await store.pending()] == ["l1", ""]
    await applied(store, make_next("a", 2, assigned=(Pending(run="r1", delivery=2),)))
    assert [row.lease for row in await store.pending()] == ["", ""]


@claim
async def live_executions_are_those_without_an_end(store: Store) -> None:
    names = [f"e{n}" for n in range(6)]
    await applied(store, *(make_start(name) for name in names))
    await applied(store, make_next("e2", 1, row=make_row("e2", status="done", ended=1.0)))
    assert [e.row.id for e in await store.live()] == ["e0", "e1", "e3", "e4", "e5"]
    assert [e.row.id for e in await store.live(after="e1", limit=2)] == ["e3", "e4"]
    mine = {shard_of("e3"), shard_of("e4")}
    assert [e.row.id for e in await store.live(shards=mine)] == [
        n for n in names if shard_of(n) in mine and n != "e2"
    ]


@claim
async def playbooks_are_found_by_digest_path_and_name(store: Store) -> None:
    one, two = make_playbook("d1", version="1"), make_playbook("d2", version="2", applied=1.0)
    await store.commit(Batch(playbooks=(one, two, make_playbook("d3", path="b", name="other"))))
    assert await store.playbook("d1") == one
    assert await store.find_playbook("shop/orders") == two
    assert await store.find_playbook("orders") == two
    assert await store.find_playbook("shop/orders", "1") == one
    assert await store.find_playbook("nothing") is None
    assert [p.digest for p in await store.playbook_versions("shop/orders")] == ["d2", "d1"]
    assert [p.digest for p in await store.playbook_versions("shop/orders", limit=1)] == ["d2"]
    assert await store.playbook_versions("orders") == []
    assert [p.digest for p in await store.playbooks()] == ["d3", "d2"]
    assert [p.digest for p in await store.playbooks(after="b", limit=1)] == ["d2"]
    await store.commit(Batch(playbooks=(one,)))
    assert await store.find_playbook("shop/orders") == one


@claim
async def a_playbook_that_is_archived_is_kept_and_not_found(store: Store) -> None:
    one, two = make_playbook("d1", version="1"), make_playbook("d2", version="2", applied=1.0)
    other = make_playbook("d3", path="b", name="other")
    await store.commit(Batch(playbooks=(one, two, other)))
    assert await store.archive("shop/orders") == 2
    assert await store.archive("shop/orders") == 0
    assert await store.find_playbook("shop/orders") is None
    assert await store.playbook_versions("shop/orders") == []
    assert [p.digest for p in await store.playbooks()] == ["d3"]
    kept = await store.playbook("d1")
    assert kept is not None
    assert kept.source == one.source
    await store.commit(Batch(playbooks=(one,)))  # it may be applied again
    assert await store.find_playbook("shop/orders") == one


@claim
async def a_playbook_that_was_only_run_is_kept_and_not_found(store: Store) -> None:
    run, applied_ = make_playbook("run", applied=0.0), make_playbook("applied")
    await store.commit(Batch(playbooks=(run,)))
    assert await store.playbook("run") == run
    assert await store.find_playbook("shop/orders") is None
    assert await store.find_playbook("orders") is None
    assert await store.playbooks() == await store.playbook_versions("shop/orders") == []
    await store.commit(Batch(playbooks=(applied_,)))
    later = msgspec.structs.replace(applied_, applied=0.0)
    await store.commit(Batch(playbooks=(later, run)))  # running it changes nothing
    assert await store.find_playbook("shop/orders") == applied_
    await store.commit(Batch(playbooks=(msgspec.structs.replace(run, applied=2.0),)))
    playbook = await store.find_playbook("shop/orders")
    assert playbook is not None
    assert playbook.digest == "run"


@claim
async def executions_that_ended_are_removed_by_name(store: Store) -> None:
    over = make_row("over", status="completed", ended=1.0, labels={"team": "blue"})
    await applied(
        store,
        make_start("over", row=over, objects=("shared", "mine")),
        make_start("other", row=make_row("other", status="failed", ended=2.0), objects=("shared",)),
        make_start("live"),
    )
    assert (await store.remove(["live", "nothing"])).executions == ()
    gone = await store.remove(["over", "live", "over"])
    assert (gone.executions, gone.records) == (("over",), 1)
    assert await store.orphans() == ["mine"]
    assert await store.read("over") == []
    rows = (await store.executions(ExecutionFilter(labels=(("team", "blue"),)))).rows
    assert rows == ()
    assert [row.row.id for row in (await store.executions(ExecutionFilter())).rows] == [
        "other",
        "live",
    ]
    assert await store.verify() == []


@claim
async def retention_deletes_whole_executions(store: Store) -> None:
    def over(name: str, ended: float, **more: Any) -> Change:
        row = make_row(name, status="completed", ended=ended)
        return make_start(name, count=5, row=row, **more)

    await applied(
        store,
        over("old", 10.0, wake=1.0, items=(make_item("old", "i"),), answers=(make_answer("c"),)),
        over("older", 5.0, objects=("mine", "shared"), snapshot=Snapshot(version=5, body=b"")),
        over("young", 99.0, objects=("shared",), assigned=(Pending(run="r"),)),
        make_start("live", answers=(make_answer("kept"),)),
        answers=(make_answer("free"),),
    )
    first = await store.expire(50.0, limit=1)
    assert (first.executions, first.records) == (("older",), 5)
    assert await store.orphans() == ["mine"]
    assert (await store.expire(50.0)).executions == ("old",)
    assert (await store.expire(50.0)).executions == ()
    assert [row.row.id for row in (await store.executions(ExecutionFilter())).rows] == [
        "young",
        "live",
    ]
    assert await store.read("old") == []
    assert await store.due(100.0) == []
    assert (await store.work_items(WorkItemFilter())).rows == ()
    assert [await store.answer(c) for c in ("c", "free")] == [None, make_answer("free")]
    assert await store.answer("kept") is not None
    await store.expire(2000.0, limit=0)
    assert await store.answer("free") is None
    await store.forget_orphans(["mine"])
    assert await store.orphans() == []
    assert await store.verify() == []


@claim
async def objects_that_are_referred_to_are_found_by_their_beginning(store: Store) -> None:
    row = make_row("a", status="completed", ended=1.0)
    await applied(store, make_start("a", row=row, objects=("a/1", "ab/2")))
    assert await store.refers_to("a/")
    assert await store.refers_to("ab/")
    assert not await store.refers_to("b/")
    await store.expire(5.0)
    assert not await store.refers_to("a/")


@claim
async def an_object_that_is_used_again_is_no_orphan(store: Store) -> None:
    row = make_row("a", status="completed", ended=1.0)
    await applied(store, make_start("a", row=row, objects=("key",)))
    await store.expire(5.0)
    assert await store.orphans() == ["key"]
    await applied(store, make_start("b", objects=("key",)))
    assert await store.orphans() == []


@claim
async def a_deleted_id_can_be_used_again(store: Store) -> None:
    row = make_row("a", status="completed", ended=1.0)
    await applied(store, make_start("a", count=9, row=row))
    await store.expire(5.0)
    await applied(store, make_start("a", count=2))
    assert await store.read("a") == list(make_records("a", 2))


@claim
async def stats_count_what_is_there(store: Store) -> None:
    await some_items(store)
    await applied(store, make_start("c", count=3, wake=1.0, assigned=(Pending(run="r"),)))
    stats = await store.stats()
    assert stats.executions == {"running": 3}
    assert (stats.records, stats.wake_ups, stats.pending, stats.orphans) == (5, 1, 1, 0)
    assert stats.work_items == {"offered": 4, "allocated": 1, "done": 1}


@claim
async def readers_see_whole_batches_only(store: Store) -> None:
    """Both executions grow by the same number of records in every batch: no reader may see a difference."""
    await applied(store, make_start("a"), make_start("b"))
    done = False

    async def look() -> int:
        looks = 0
        while not done:
            page = await store.executions(ExecutionFilter())
            versions = {stored.version for stored in page.rows}
            assert len(versions) == 1, versions
            looks += 1
            await asyncio.sleep(0)
        return looks

    watcher = asyncio.ensure_future(look())
    for version in range(1, 61, 3):
        await applied(store, make_next("a", version, 3), make_next("b", version, 3))
        await asyncio.sleep(0)
    done = True
    assert await watcher > 0


@claim
async def the_time_does_not_go_back(store: Store) -> None:
    first = await store.now()
    assert await store.now() >= first


@claim
async def verify_finds_nothing_wrong(store: Store) -> None:
    for batch in a_workout():
        await store.commit(batch)
    assert await store.verify() == []


# Faults


@claim
async def a_batch_told_as_failed_is_found_out_by_committing_it_again(store: Store) -> None:
    """At every call in turn: it happened, the caller hears that it failed, and asks again."""
    batches = a_workout()
    for batch in batches:
        unsure = faulty(store, lambda _, number: StoreFault.AFTER if number == 1 else None)
        await refuses(unsure.commit(batch), UncertainError)
        again = await unsure.commit(batch)
        assert again.applied, again
    for name in sorted({change.execution for batch in batches for change in batch.changes}):
        expected = [r for b in batches for c in b.changes if c.execution == name for r in c.records]
        assert await store.read(name) == expected
    assert await store.verify() == []


@claim
async def a_batch_that_failed_before_it_happened_left_nothing(store: Store) -> None:
    for batch in a_workout():
        name = batch.changes[0].execution
        before = await what_is_stored(store, name)
        refused = faulty(store, lambda _, number: StoreFault.BEFORE if number == 1 else None)
        await refuses(refused.commit(batch), StoreError)
        assert await what_is_stored(store, name) == before
        await applied(store, *batch.changes)
