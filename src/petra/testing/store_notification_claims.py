"""The claims about notifications; part of ``petra.testing.store_conformance``."""

# ruff: noqa: D103 - the name of a claim says it all

from __future__ import annotations

from typing import Any

import msgspec

from petra.store import Change, Fate, Store, shard_of
from petra.store.rows import NotificationFilter, NotificationRow
from petra.testing.store_rows import applied, claim, commit, make_next, make_start

_replace = msgspec.structs.replace


def _row(name: str, **more: Any) -> NotificationRow:
    base = NotificationRow(
        id=name, execution="a", channel="ops", about="failed", due=5.0, created=5.0, updated=5.0, body=b"{}\x00"
    )  # fmt: skip
    return _replace(base, **more)


async def _due(store: Store, until: float = 1e9, **more: Any) -> list[str]:
    return [row.id for row in await store.notifications.due("ops", until, **more)]


@claim
async def a_notification_is_stored_with_its_change_and_given_back_as_it_was(store: Store) -> None:
    sent = _row("n1", person="ü", namespace="other", attempts=3, sending="s", error="e", due=1.25)
    await applied(store, make_start("a", notifications=(sent, _row("n2", due=9.0))))
    assert await store.notifications.notification("n1") == sent
    assert await store.notifications.notification("nothing") is None
    assert await _due(store) == ["n1", "n2"]
    assert await _due(store, 8.9) == ["n1"]
    assert await _due(store, limit=1) == ["n1"]
    assert await store.notifications.due("other", 1e9) == []


@claim
async def the_channels_that_something_waits_for_are_known_by_shard(store: Store) -> None:
    rows = (_row("n1", due=4.5), _row("n2"), _row("n3", channel="mail"))
    await applied(
        store, make_start("a", notifications=(*rows, _row("n4", channel="done", state="sent")))
    )
    assert await store.notifications.channels() == {"ops": 4.5, "mail": 5.0}
    assert await store.notifications.channels(shards={shard_of("ops")}) == {"ops": 4.5}
    assert await store.notifications.channels(shards=()) == {}


@claim
async def a_change_that_is_not_applied_tells_nobody(store: Store) -> None:
    await applied(store, make_start("a", count=2))
    late = Change(execution="a", expected_version=1, notifications=(_row("never"),))
    assert await commit(store, late) == [Fate.CONFLICT]
    assert await _due(store) == []


@claim
async def the_same_change_again_tells_nobody_twice(store: Store) -> None:
    await applied(store, make_start("a"))
    change = make_next("a", 1, notifications=(_row("n"),))
    await applied(store, change)
    await store.notifications.settle([_row("n", state="sent", attempts=1)])
    await applied(store, change)
    assert await _due(store) == []


@claim
async def what_became_of_a_notification_is_kept_and_the_rest_of_it_stays(store: Store) -> None:
    kept = [_row("n1", body=b"one"), _row("n2")]
    await applied(store, make_start("a", notifications=tuple(kept)))
    moved = [_replace(r, due=50.0, attempts=2, sending="s", error="no", updated=7.0) for r in kept]
    await store.notifications.settle([_replace(row, body=b"other") for row in moved])
    assert await store.notifications.notification("n1") == moved[0]
    assert await store.notifications.together("s") == moved
    await store.notifications.settle([_replace(moved[0], state="sent")])
    assert await store.notifications.together("s") == moved[1:]
    assert await _due(store, 49.0) == []
    assert await store.notifications.count() == {"sent": 1, "waiting": 1}


@claim
async def notifications_are_listed_the_latest_first_in_pages(store: Store) -> None:
    made = [_row(f"n{n}", created=float(n // 2), channel=f"c{n % 2}") for n in range(6)]
    made += [_row("z", execution="b", state="given_up", namespace="other")]
    await applied(store, make_start("a", notifications=tuple(made)))
    rows = store.notifications
    first = await rows.notifications(NotificationFilter(execution="a"), limit=4)
    then = await rows.notifications(NotificationFilter(execution="a"), cursor=first.cursor, limit=4)
    assert [row.id for row in (*first.rows, *then.rows)] == ["n5", "n4", "n3", "n2", "n1", "n0"]
    assert then.cursor is None
    for wanted in (
        NotificationFilter(state="given_up"),
        NotificationFilter(namespace="other"),
        NotificationFilter(channel="ops"),
    ):
        assert [row.id for row in (await rows.notifications(wanted)).rows] == ["z"]


@claim
async def what_waits_is_never_forgotten(store: Store) -> None:
    rows = (_row("waits"), _row("old", state="sent"), _row("new", state="sent", updated=20.0))
    await applied(store, make_start("a", notifications=rows))
    assert await store.notifications.forget(10.0) == 1
    left = await store.notifications.notifications(NotificationFilter())
    assert sorted(row.id for row in left.rows) == ["new", "waits"]
