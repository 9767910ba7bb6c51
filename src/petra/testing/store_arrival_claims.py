"""The claims about events that arrived at triggers; part of ``petra.testing.store_conformance``."""

# ruff: noqa: D103 - the name of a claim says it all

from __future__ import annotations

from typing import Any

import msgspec

from petra.store import Change, Fate, Store, shard_of
from petra.store.rows import ArrivalFilter, ArrivalRow
from petra.testing.store_rows import applied, claim, commit, make_start

_replace = msgspec.structs.replace


def _row(name: str, **more: Any) -> ArrivalRow:
    base = ArrivalRow(
        id=name, namespace="default", trigger="orders", key=f"key of {name}", due=5.0, created=5.0, updated=5.0,
        body=b"{}\x00",
    )  # fmt: skip
    return _replace(base, **more)


async def _due(store: Store, until: float = 1e9, **more: Any) -> list[str]:
    return [row.id for row in await store.arrivals.due(until, **more)]


@claim
async def an_arrival_is_stored_with_its_change_and_given_back_as_it_was(store: Store) -> None:
    kept = _row(
        "a1", key="ü", namespace="other", attempts=3, execution="e", error="no", due=1.25, until=9.5
    )
    await applied(store, make_start("a", arrivals=(kept, _row("a2", due=9.0))))
    assert await store.arrivals.arrival("a1") == kept
    assert await store.arrivals.arrival("nothing") is None
    assert await store.arrivals.known(["a2", "nothing", "a1"]) == {"a1", "a2"}
    assert await store.arrivals.known([]) == set()
    assert await _due(store) == ["a1", "a2"]
    assert await _due(store, 8.9) == ["a1"]
    assert await _due(store, limit=1) == ["a1"]


@claim
async def an_arrival_that_is_there_stays_as_it_is(store: Store) -> None:
    await store.arrivals.add([_row("a1", body=b"first"), _row("a2")])
    await store.arrivals.add([_row("a1", body=b"second", state="dead"), _row("a3")])
    await applied(store, make_start("a", arrivals=(_row("a1", body=b"third"),)))
    await store.arrivals.add([])
    assert (await store.arrivals.arrival("a1")) == _row("a1", body=b"first")
    assert sorted(await _due(store)) == ["a1", "a2", "a3"]


@claim
async def a_change_that_is_not_applied_brings_no_arrival(store: Store) -> None:
    await applied(store, make_start("a", count=2))
    late = Change(execution="a", expected_version=1, arrivals=(_row("never"),))
    assert await commit(store, late) == [Fate.CONFLICT]
    assert await _due(store) == []


@claim
async def arrivals_that_wait_are_found_by_shard(store: Store) -> None:
    await store.arrivals.add([_row("a1"), _row("gone", state="started")])
    assert await _due(store, shards={shard_of("a1")}) == ["a1"]
    assert await _due(store, shards=()) == []


@claim
async def what_became_of_an_arrival_is_kept(store: Store) -> None:
    await store.arrivals.add([_row("a1"), _row("a2")])
    done = _row(
        "a1", state="started", execution="e", attempts=2, updated=7.0, until=8.0, body=b"", error="x", due=6.0
    )  # fmt: skip
    await store.arrivals.settle([done, _row("nothing")])
    assert await store.arrivals.arrival("a1") == done
    assert await store.arrivals.arrival("nothing") is None
    assert await _due(store) == ["a2"]


@claim
async def arrivals_are_listed_the_latest_first_in_pages_and_dead_ones_counted(store: Store) -> None:
    made = [_row(f"a{n}", created=float(n // 2), state="dead") for n in range(6)]
    made += [_row("b", trigger="other", state="dead"), _row("c", namespace="other", state="dead")]
    await store.arrivals.add([*made, _row("d", created=9.0)])
    rows = store.arrivals
    wanted = ArrivalFilter(namespace="default", trigger="orders", state="dead")
    first = await rows.arrivals(wanted, limit=4)
    then = await rows.arrivals(wanted, cursor=first.cursor, limit=4)
    assert [row.id for row in (*first.rows, *then.rows)] == ["a5", "a4", "a3", "a2", "a1", "a0"]
    assert then.cursor is None
    everything = await rows.arrivals(ArrivalFilter(namespace="default"))
    assert [row.id for row in everything.rows][:2] == ["d", "b"]
    assert await rows.dead("default") == {"orders": 6, "other": 1}


@claim
async def an_arrival_is_forgotten_when_its_time_is_over(store: Store) -> None:
    await store.arrivals.add([_row("waits"), _row("old", until=9.0), _row("new", until=11.0)])
    assert await store.arrivals.forget(10.0) == 1
    assert await store.arrivals.known(["waits", "old", "new"]) == {"waits", "new"}
