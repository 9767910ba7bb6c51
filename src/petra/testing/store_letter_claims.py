"""The claims about letters and about engines that share a store; part of ``petra.testing.store_conformance``."""

# ruff: noqa: D103 - the name of a claim says it all

from __future__ import annotations

from petra.store import Batch, Change, Fate, Letter, ShardRow, Store, shard_of
from petra.testing.store_rows import applied, claim, commit, make_answer, make_next, make_start


def _letter(name: str, execution: str) -> Letter:
    return Letter(id=name, execution=execution, body=name.encode(), at=1.5)


async def _names(store: Store) -> list[str]:
    return [letter.id for letter in await store.letters()]


@claim
async def letters_are_listed_in_order_until_taken(store: Store) -> None:
    sent = [_letter(f"l{number}", f"e{number % 3}") for number in range(5)]
    await applied(store, make_start("a", letters=tuple(sent[:3])))
    await store.commit(Batch(letters=tuple(sent[3:])))
    assert await store.letters() == sent
    assert await store.letters(limit=2) == sent[:2]
    mine = {shard_of("e1")}
    wanted = [letter for letter in sent if shard_of(letter.execution) in mine]
    assert await store.letters(shards=mine) == wanted
    await applied(store, make_next("a", 1, taken=("l0", "l3")))
    await store.commit(Batch(taken=("l1",)))
    assert await _names(store) == ["l2", "l4"]


@claim
async def a_change_that_is_not_applied_sends_and_takes_no_letter(store: Store) -> None:
    await applied(store, make_start("a", count=2, letters=(_letter("kept", "a"),)))
    late = Change(
        execution="a", expected_version=1, taken=("kept",), letters=(_letter("never", "b"),)
    )
    assert await commit(store, late) == [Fate.CONFLICT]
    assert await _names(store) == ["kept"]


@claim
async def a_change_of_letters_and_answers_alone_checks_the_version(store: Store) -> None:
    await applied(store, make_start("a", count=2, letters=(_letter("asked", "a"),)))
    refusal = Change(
        execution="a", expected_version=2, taken=("asked",), answers=(make_answer("c"),)
    )
    await applied(store, refusal)
    assert await _names(store) == []
    assert await store.answer("c") == make_answer("c")
    assert len(await store.read("a")) == 2


@claim
async def the_same_batch_again_sends_its_letters_once(store: Store) -> None:
    batch = Batch(changes=(make_start("a", letters=(_letter("l", "b"),)),))
    assert (await store.commit(batch)).applied
    await store.commit(Batch(taken=("l",)))
    assert (await store.commit(batch)).applied
    assert await _names(store) == []


@claim
async def shards_tell_who_holds_them_and_who_died_with_them(store: Store) -> None:
    assert await store.shards() == {}
    epochs = await store.claim_shards("one", [1, 2], lease_s=60)
    await store.claim_shards("dead", [3], lease_s=-1)
    await store.release_shards("one", {2: epochs[2]})
    assert await store.shards() == {
        1: ShardRow(holder="one", epoch=1, held=True),
        2: ShardRow(holder="", epoch=1, held=False),
        3: ShardRow(holder="dead", epoch=1, held=False),
    }


@claim
async def engines_that_enrolled_are_listed_until_their_time_is_over(store: Store) -> None:
    assert await store.enrol("b", lease_s=1000) == ["b"]
    assert await store.enrol("a", lease_s=1000) == ["a", "b"]
    assert await store.enrol("c", lease_s=-1) == ["a", "b"]
    assert await store.enrol("b", lease_s=0) == ["a"]
