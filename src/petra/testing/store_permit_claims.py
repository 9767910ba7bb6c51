"""The claims about permits; part of ``petra.testing.store_conformance``."""

# ruff: noqa: D103 - the name of a claim says it all

from __future__ import annotations

from typing import Any

import msgspec

from petra.store import SHARDS, Batch, Change, Fate, Letter, Store
from petra.store.rows import LineCount, LineMoved, LineName, LineRow, PermitRow
from petra.testing.store_rows import applied, claim, commit, make_next, make_start

_replace = msgspec.structs.replace
_LINE = LineName(namespace="default", limit="db", key="k")


def _permit(name: str, **more: Any) -> PermitRow:
    base = PermitRow(id=name, execution="a", limit="db", key="k", rank=5.0, asked=5.0)
    return _replace(base, **more)


async def _queue(store: Store) -> list[str]:
    return [row.id for row in (await store.permits.line(_LINE)).queue]


async def _held(store: Store) -> list[str]:
    return [row.id for row in (await store.permits.line(_LINE)).holders]


@claim
async def a_permit_is_asked_for_with_its_change_and_given_back_as_it_was(store: Store) -> None:
    asked = _permit(
        "p", key="ü", units=3, most=4, on_limit="reject", parent="b", step="s", namespace="other",
        rank=-1.25, asked=7.5,
    )  # fmt: skip
    await applied(store, make_start("a", permits=(asked, _permit("q"))))
    assert await store.permits.of("a") == [asked, _permit("q")]
    assert await store.permits.of("b") == []
    assert await store.permits.waited_for() == [_LINE, asked.line]
    assert await store.permits.waited_for(shards={_LINE.shard}) == [_LINE]
    assert await store.permits.waited_for(shards=()) == []


@claim
async def a_line_goes_by_rank_then_by_id(store: Store) -> None:
    permits = [
        _permit("b"),
        _permit("a"),
        _permit("c", rank=1.0),
        _permit("x", key="other", units=9),
    ]
    await applied(store, make_start("a", permits=tuple(permits)))
    assert await _queue(store) == ["c", "a", "b"]
    assert [await store.permits.ahead(_permit(x)) for x in ("a", "b")] == [1, 2]
    line = await store.permits.line(_LINE, most=2)
    assert (line.waiting, line.used, len(line.queue)) == (3, 0, 2)
    nobody = LineName(namespace="x", limit="y", key="")
    assert await store.permits.line(nobody) == LineRow(used=0, waiting=0)


@claim
async def some_executions_are_told_how_many_stand_in_front_of_each(store: Store) -> None:
    await applied(store, make_start("a", permits=(_permit("a1"), _permit("a2", state="held"))))
    more = (_permit("b1", execution="b", step="s"), _permit("b2", execution="b", rank=9.0))
    await applied(store, make_start("b", permits=more))
    other = (
        _permit("c1", execution="c", key="x", step="t"),
        _permit("c2", execution="c", step="s", rank=1.0),
    )
    await applied(store, make_start("c", permits=other))
    hidden = _permit("d1", execution="d", namespace="other")
    await applied(store, make_start("d", permits=(hidden,)))
    places = await store.permits.places(["d", "c", "b", "a", "nobody"], "default")
    assert [(place.execution, place.line.key, place.ahead) for place in places] == [
        ("a", "k", 1), ("b", "k", 3), ("c", "k", 0),
    ]  # fmt: skip
    assert [place.ahead for place in await store.permits.places(["b"], "default", most=2)] == [2]
    assert await store.permits.places([], "default") == []
    assert [place.line.namespace for place in await store.permits.places(["d"], "other")] == [
        "other"
    ]


@claim
async def permits_are_given_and_given_back(store: Store) -> None:
    permits = tuple(_permit(name, units=n) for n, name in enumerate("abc", 1))
    await applied(store, make_start("a", permits=permits))
    letter = Letter(id="told", execution="a", body=b"go", at=1.0)
    states = (("a", "held"), ("b", "leaving"), ("gone", "held"))
    moved = LineMoved(line=_LINE, states=states, letters=(letter,), recent=b"\x00now")
    for _ in range(2):  # the same again is safe
        await store.commit(Batch(moved=(moved,)))
    line = await store.permits.line(_LINE)
    assert (line.used, line.waiting, line.recent) == (3, 1, b"\x00now")
    assert [row.state for row in line.holders] == ["held", "leaving"]
    assert await store.letters() == [letter]
    assert await store.permits.lines("default") == [LineCount(line=_LINE, used=3, waiting=1)]
    assert await store.permits.lines("default", "other") == await store.permits.lines("x") == []
    await applied(store, make_next("a", 1, returned=("a", "c", "nobody")))
    assert (await _held(store), await _queue(store)) == (["b"], [])
    assert await store.permits.waited_for() == []


@claim
async def limits_are_counted_over_all_keys_and_namespaces(store: Store) -> None:
    assert await store.permits.totals() == []
    permits = [
        _permit("a", units=2),
        _permit("b", key="other"),
        _permit("c", namespace="b", limit="x"),
    ]
    await applied(store, make_start("a", permits=tuple(permits)))
    await store.commit(Batch(moved=(LineMoved(line=_LINE, states=(("a", "held"),)),)))
    assert await store.permits.totals() == [
        LineCount(line=LineName(namespace="b", limit="x", key=""), used=0, waiting=1),
        LineCount(line=LineName(namespace="default", limit="db", key=""), used=2, waiting=1),
    ]


@claim
async def a_change_that_is_not_applied_asks_for_nothing_and_gives_nothing_back(
    store: Store,
) -> None:
    await applied(store, make_start("a", count=2, permits=(_permit("p"),)))
    late = Change(execution="a", expected_version=1, permits=(_permit("q"),), returned=("p",))
    assert await commit(store, late) == [Fate.CONFLICT]
    assert await _queue(store) == ["p"]


@claim
async def the_same_change_again_asks_for_nothing_anew(store: Store) -> None:
    await applied(store, make_start("a"))
    change = make_next("a", 1, permits=(_permit("p"),))
    await applied(store, change)
    await applied(store, make_next("a", 2, returned=("p",)))
    await applied(store, change)
    assert await _queue(store) == []


@claim
async def only_the_owner_of_a_line_gives_permits_out(store: Store) -> None:
    await applied(store, make_start("a", permits=(_permit("p"), _permit("q"))))
    epochs = await store.claim_shards("one", range(SHARDS), lease_s=60.0)
    letter = Letter(id="told", execution="a", body=b"go", at=1.0)
    moved = LineMoved(line=_LINE, states=(("p", "held"),), letters=(letter,), recent=b"no")
    for wrong in ({}, {_LINE.shard: epochs[_LINE.shard] + 1}):
        await store.commit(Batch(moved=(moved,), epochs=wrong))
        assert (await _held(store), await store.letters()) == ([], [])
        assert (await store.permits.line(_LINE)).recent == b""
    await store.commit(Batch(moved=(moved,), epochs=epochs))
    assert (await _held(store), await store.letters()) == (["p"], [letter])
