"""The claims about queries and ownership; part of ``petra.testing.store_conformance``."""

# ruff: noqa: D103 - the name of a claim says it all

from __future__ import annotations

import asyncio
from typing import Any

import msgspec

from petra.errors import UsageError
from petra.store import (
    Batch,
    ExecutionFilter,
    Fate,
    Store,
    shard_of,
)
from petra.testing.store_rows import (
    applied,
    claim,
    commit,
    make_next,
    make_playbook,
    make_row,
    make_start,
    refuses,
)

# Queries


@claim
async def executions_are_filtered(store: Store) -> None:
    rows = [
        make_row("a", status="running", started=10.0, labels={"team": "Blue"}),
        make_row("b", status="failed", started=20.0, reason="Quorum 100%"),
        make_row("c", status="completed", started=30.0, playbook="Refunds", parent="a"),
    ]
    await applied(store, *(make_start(row.id, row=row) for row in rows))

    async def ids(**wanted: Any) -> str:
        page = await store.executions(ExecutionFilter(**wanted))
        return "".join(stored.row.id for stored in page.rows)

    assert await ids() == "cba"
    assert await ids(statuses=("failed",)) == "b"
    assert await ids(statuses=("failed", "running")) == "ba"
    assert await ids(playbook="orders") == "ba"
    assert await ids(parent="a") == "c"
    assert await ids(parent="") == "ba"
    assert await ids(text="team=blue") == "a"
    assert await ids(text="REFUND") == "c"
    assert await ids(text="100%") == "b"
    assert await ids(text="_") == ""
    assert await ids(since=20.0) == "cb"
    assert await ids(until=20.0) == "a"
    assert await ids(since=10.0, until=30.0, statuses=("failed",), text="quorum") == "b"


@claim
async def executions_are_counted(store: Store) -> None:
    rows = [
        make_row("a", status="running", started=3_600.0, labels={"team": "blue"}),
        make_row("b", status="failed", started=3_700.0, digest="other"),
        make_row("c", status="failed", started=7_200.0, playbook="Refunds"),
    ]
    await applied(store, *(make_start(row.id, row=row) for row in rows))

    async def counts(by: Any, **wanted: Any) -> list[tuple[str, str, int]]:
        counts = await store.count_executions(ExecutionFilter(**wanted), by)
        return [(count.key, count.status, count.count) for count in counts.rows]

    assert await counts("status") == [("failed", "", 2), ("running", "", 1)]
    assert await counts("playbook") == [("Refunds", "", 1), ("orders", "", 2)]
    hours = [("3600", "failed", 1), ("3600", "running", 1), ("7200", "failed", 1)]
    assert await counts("hour") == hours
    assert await counts("hour", since=7_200.0) == hours[2:]
    assert await counts("status", labels=(("team", "blue"),)) == [("running", "", 1)]
    assert await counts("status", digest="other") == [("failed", "", 1)]
    assert await counts("status", text="nothing has that") == []
    upwards = ExecutionFilter(oldest_first=True)
    first = await store.executions(upwards, limit=2)
    rest = await store.executions(upwards, cursor=first.cursor, limit=2)
    assert [entry.row.id for entry in (*first.rows, *rest.rows)] == ["a", "b", "c"]


@claim
async def what_few_have_is_looked_for_in_pieces(store: Store) -> None:
    rows = [
        make_row(f"e{n:02}", started=float(n), reason="rare" if n % 9 == 0 else "", status="failed" if n % 5 else "running",
                 labels={"team": "blue"} if n % 2 else {})
        for n in range(30)
    ]  # fmt: skip
    await applied(store, *(make_start(row.id, row=row) for row in rows))
    labels = (("team", "blue"),)
    for wanted in (
        ExecutionFilter(text="RARE"),
        ExecutionFilter(text="ra", oldest_first=True),
        ExecutionFilter(text="ra", labels=labels),
        ExecutionFilter(digest="none"),
        ExecutionFilter(text="ra", statuses=("running", "failed", "running")),
        ExecutionFilter(text="ra", statuses=("running",), since=3.0, until=28.0),
    ):
        whole = (await store.executions(wanted)).rows
        page = await store.executions(wanted, limit=2, look_at=4)
        found = [*page.rows]
        while page.cursor is not None:
            page = await store.executions(wanted, cursor=page.cursor, limit=2, look_at=4)
            found += page.rows
        assert found == list(whole)
        counts = await store.count_executions(wanted, "status", look_at=4)
        counted = [count.count for count in counts.rows]
        while counts.cursor is not None:
            counts = await store.count_executions(wanted, "status", cursor=counts.cursor, look_at=4)
            counted += [count.count for count in counts.rows]
        assert sum(counted) == len(whole)


@claim
async def executions_are_found_by_their_labels(store: Store) -> None:
    blue, both = {"team": "blue"}, {"team": "blue", "of=": "'\u00e9\" \\"}
    rows = [
        make_row("a", started=10.0, labels=blue),
        make_row("b", started=20.0, labels=both),
        make_row("c", started=30.0, labels={"team": "green"}),
        make_row("d", started=40.0, labels=blue, status="failed", ended=50.0),
    ]
    await applied(store, *(make_start(row.id, row=row) for row in rows))

    async def ids(*labels: tuple[str, str], **wanted: Any) -> str:
        page = await store.executions(ExecutionFilter(labels=labels, **wanted))
        return "".join(stored.row.id for stored in page.rows)

    assert await ids(("team", "blue")) == "dba"
    assert await ids(("team", "blue"), *both.items()) == "b"
    assert await ids(("team", "blue"), ("team", "green")) == ""
    assert await ids(("team", "Blue")) == await ids(("Team", "blue")) == ""
    assert await ids(("team", "blue"), statuses=("failed",)) == "d"
    assert await ids(("team", "blue"), ended_until=50.5) == await ids(ended_until=51.0) == "d"
    assert await ids(ended_until=50.0) == ""
    wanted = ExecutionFilter(labels=(("team", "blue"),))
    first = await store.executions(wanted, limit=2)
    rest = await store.executions(wanted, cursor=first.cursor)
    assert [stored.row.id for stored in (*first.rows, *rest.rows)] == ["d", "b", "a"]
    await applied(store, make_next("a", 1, row=make_row("a", started=10.0, labels={"x": "1"})))
    assert await ids(("team", "blue")) == "db"
    assert await ids(("x", "1")) == "a"


@claim
async def pages_of_executions_cover_all_once(store: Store) -> None:
    names = [f"e{n:02}" for n in range(23)]
    starts = [make_start(n, row=make_row(n, started=float(i // 4))) for i, n in enumerate(names)]
    await applied(store, *starts)
    seen: list[str] = []
    cursor: str | None = None
    while True:
        page = await store.executions(ExecutionFilter(), cursor=cursor, limit=5)
        seen += [stored.row.id for stored in page.rows]
        if seen[-1:] == ["e10"]:
            await applied(store, make_start("new", row=make_row("new", started=99.0)))
        cursor = page.cursor
        if cursor is None:
            break
    assert seen == sorted(names, key=lambda n: (names.index(n) // 4, n), reverse=True)
    await refuses(store.executions(ExecutionFilter(), cursor="nonsense"), UsageError)


# Ownership


@claim
async def a_shard_has_one_holder_until_its_lease_runs_out(store: Store) -> None:
    assert await store.claim_shards("one", [1, 2], lease_s=1000) == {1: 1, 2: 1}
    assert await store.claim_shards("one", [1], lease_s=1000) == {1: 1}
    assert await store.claim_shards("two", [1, 2, 3], lease_s=-1) == {3: 1}
    assert await store.claim_shards("one", [3], lease_s=1000) == {3: 2}
    assert await store.renew_shards("two", {3: 1}, lease_s=1000) == {}
    assert await store.renew_shards("one", {1: 1, 2: 7, 3: 2}, lease_s=1000) == {1: 1, 3: 2}
    await store.release_shards("two", {1: 1})
    assert await store.claim_shards("two", [1], lease_s=1000) == {}
    await store.release_shards("one", {1: 1})
    assert await store.claim_shards("two", [1], lease_s=1000) == {1: 2}


@claim
async def a_stale_epoch_is_fenced(store: Store) -> None:
    shard = shard_of("a")
    old = await store.claim_shards("one", [shard], lease_s=-1)
    await applied(store, make_start("a"), epochs=old)
    new = await store.claim_shards("two", [shard], lease_s=1000)
    assert await commit(store, make_next("a", 1), epochs=old) == [Fate.FENCED]
    assert await commit(store, make_next("a", 1), epochs={}) == [Fate.FENCED]
    assert len(await store.read("a")) == 1
    await applied(store, make_next("a", 1), epochs=new)


@claim
async def losing_one_shard_does_not_stop_the_others(store: Store) -> None:
    lost, kept = "a", next(n for n in "bcdefgh" if shard_of(n) != shard_of("a"))
    mine = await store.claim_shards("one", [shard_of(lost), shard_of(kept)], lease_s=1000)
    mine[shard_of(lost)] -= 1
    fates = await commit(store, make_start(lost), make_start(kept), epochs=mine)
    assert fates == [Fate.FENCED, Fate.APPLIED]


@claim
async def a_playbook_replaces_the_one_it_was_made_from_or_none(store: Store) -> None:
    first = make_playbook("d1", applied=1.0)
    second, third = (make_playbook(digest, applied=2.0, replaces="d1") for digest in ("d2", "d3"))
    none_yet = msgspec.structs.replace(first, replaces="")
    assert (await store.commit(Batch(playbooks=(none_yet,)))).stale == ()
    assert (await store.commit(Batch(playbooks=(second,)))).stale == ()
    assert (
        await store.commit(Batch(playbooks=(second,)))
    ).stale == ()  # nobody knew whether it was stored
    assert (await store.commit(Batch(playbooks=(third,)))).stale == ("d3",)
    assert await store.playbook("d3") is None
    playbook = await store.find_playbook(first.path)
    assert playbook is not None
    assert (playbook.digest, playbook.replaces) == ("d2", None)


@claim
async def of_two_that_replace_the_same_playbook_one_does(store: Store) -> None:
    await store.commit(Batch(playbooks=(make_playbook("d0", applied=1.0),)))
    rivals = [make_playbook(f"d{n}", applied=2.0, replaces="d0") for n in range(1, 6)]
    done = await asyncio.gather(*(store.commit(Batch(playbooks=(rival,))) for rival in rivals))
    assert sorted(len(result.stale) for result in done) == [0, 1, 1, 1, 1]
    assert [p.digest for p in await store.playbook_versions("shop/orders")][1:] == ["d0"]
