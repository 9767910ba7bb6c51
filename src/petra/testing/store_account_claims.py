"""The claims about accounts and the audit; part of ``petra.testing.store_conformance``."""

# ruff: noqa: D103 - the name of a claim says it all

from __future__ import annotations

import asyncio

from msgspec.structs import replace

from petra.store import Store
from petra.store.accounts import Account, chained
from petra.store.rows import AuditNote, Batch
from petra.testing.store_rows import claim, make_next, make_playbook, make_start


def _account(name: str, version: int = 1, body: bytes = b"x", **more: float) -> Account:
    return Account(kind="user", name=name, version=version, body=body, **more)


def _note(at: float, namespace: str = "default", actor: str = "ann") -> AuditNote:
    return AuditNote(at=at, namespace=namespace, actor=actor, body=b"body")


@claim
async def an_account_is_given_back_as_it_was_kept(store: Store) -> None:
    accounts = store.accounts
    kept = [_account("ann", until=5.5), _account("Bob"), _account("ü")]
    for account in kept:
        assert await accounts.keep(account)
    assert await accounts.keep(Account(kind="token", name="ann", version=1, body=b""))
    assert await accounts.account("user", "ann") == kept[0]
    assert await accounts.account("user", "nobody") is None
    assert [account.name for account in await accounts.accounts("user")] == ["Bob", "ann", "ü"]
    assert [account.name for account in await accounts.accounts("user", after="Bob", limit=1)] == [
        "ann"
    ]


@claim
async def an_account_changes_only_from_the_version_that_was_seen(store: Store) -> None:
    accounts = store.accounts
    both = await asyncio.gather(
        *(accounts.keep(_account("ann", body=body)) for body in (b"1", b"2"))
    )
    assert sorted(both) == [False, True]
    assert await accounts.keep(_account("ann", 2, b"3"))
    assert not await accounts.keep(_account("ann", 2, b"4"))
    assert not await accounts.keep(_account("ann", 4, b"4"))
    assert not await accounts.keep(_account("nobody", 2, b"4"))
    assert await accounts.account("user", "ann") == _account("ann", 2, b"3")


@claim
async def accounts_are_forgotten_by_name_and_by_age(store: Store) -> None:
    accounts = store.accounts
    for account in (_account("a", until=1.0), _account("b", until=2.0), _account("c")):
        await accounts.keep(account)
    assert await accounts.forget("user", "c")
    assert not await accounts.forget("user", "c")
    assert await accounts.forget_old(2.0) == 1
    assert [account.name for account in await accounts.accounts("user")] == ["b"]


@claim
async def the_audit_grows_at_its_end_as_one_chain(store: Store) -> None:
    accounts = store.accounts
    assert await accounts.audit() == []
    await accounts.note([_note(1.0), _note(2.0, "other", "bob")])
    await asyncio.gather(*(accounts.note([_note(at)]) for at in (3.0, 4.0, 5.0)))
    await accounts.note([_note(5.0)], again=True)  # it is there already
    rows = await accounts.audit()
    assert sorted(row.at for row in rows) == [1.0, 2.0, 3.0, 4.0, 5.0]
    notes = [
        AuditNote(at=row.at, namespace=row.namespace, actor=row.actor, body=row.body)
        for row in rows
    ]
    assert rows == chained(None, notes)
    assert await accounts.audit(after=1, limit=1) == rows[1:2]
    assert await accounts.audit(namespace="other") == rows[1:2]
    assert await accounts.audit(before=3) == rows[1::-1]
    assert await accounts.audit(before=99, limit=1) == rows[-1:]
    assert await accounts.audit(before=3, actor="ann") == rows[:1]
    assert await accounts.audit(before=1) == []
    assert await accounts.audit(actor="ann") == [rows[0], *rows[2:]]


async def _noted(store: Store) -> list[float]:
    return [row.at for row in await store.accounts.audit()]


@claim
async def what_is_noted_with_a_change_is_there_exactly_if_that_is(store: Store) -> None:
    begun = replace(make_start("a"), notes=(_note(1.0),))
    assert (await store.commit(Batch(changes=(begun,)))).applied
    assert (await store.commit(Batch(changes=(begun,)))).applied  # the same again
    late = replace(make_next("a", 5), notes=(_note(2.0),))
    assert not (await store.commit(Batch(changes=(late,)))).applied
    both = (replace(make_start("b"), notes=(_note(3.0), _note(4.0))), make_next("a", 1))
    assert (await store.commit(Batch(changes=both))).applied
    assert await _noted(store) == [1.0, 3.0, 4.0]


@claim
async def what_is_noted_with_anything_else_is_there_exactly_if_that_is(store: Store) -> None:
    accounts = store.accounts
    assert await accounts.keep(_account("ann"), _note(1.0))
    assert not await accounts.keep(_account("ann"), _note(9.0))
    assert await accounts.forget("user", "ann", _note(2.0))
    assert not await accounts.forget("user", "ann", _note(9.0))
    book = Batch(playbooks=(make_playbook("d1", path="p"),), notes=(_note(3.0),))
    await store.commit(book)
    await store.commit(book)  # the same again
    stale = make_playbook("d2", path="p", replaces="another")
    assert (await store.commit(Batch(playbooks=(stale,), notes=(_note(9.0),)))).stale
    assert await store.archive("p", note=_note(4.0)) == 1
    assert await store.archive("p", note=_note(9.0)) == 0
    assert (await store.remove(["nothing"], _note(9.0))).executions == ()
    await store.notifications.settle([], _note(5.0))
    assert await _noted(store) == [1.0, 2.0, 3.0, 4.0, 5.0]
