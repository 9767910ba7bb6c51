"""The claims about accounts and the audit; part of ``petra.testing.store_conformance``."""

# ruff: noqa: D103 - the name of a claim says it all

from __future__ import annotations

import asyncio

from petra.store import Store
from petra.store.accounts import Account, AuditRow
from petra.testing.store_rows import claim


def _account(name: str, version: int = 1, body: bytes = b"x", **more: float) -> Account:
    return Account(kind="user", name=name, version=version, body=body, **more)


def _row(number: int, namespace: str = "default", actor: str = "ann") -> AuditRow:
    return AuditRow(
        number=number, at=float(number), namespace=namespace, actor=actor, hash=b"%d" % number,
        previous=b"%d" % (number - 1), body=b"body",
    )  # fmt: skip


@claim
async def an_account_is_given_back_as_it_was_kept(store: Store) -> None:
    accounts = store.accounts
    kept = [_account("ann", until=5.5), _account("Bob"), _account("ü")]
    for one in kept:
        assert await accounts.keep(one)
    assert await accounts.keep(Account(kind="token", name="ann", version=1, body=b""))
    assert await accounts.account("user", "ann") == kept[0]
    assert await accounts.account("user", "nobody") is None
    assert [one.name for one in await accounts.accounts("user")] == ["Bob", "ann", "ü"]
    assert [one.name for one in await accounts.accounts("user", after="Bob", limit=1)] == ["ann"]


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
    for one in (_account("a", until=1.0), _account("b", until=2.0), _account("c")):
        await accounts.keep(one)
    assert await accounts.forget("user", "c")
    assert not await accounts.forget("user", "c")
    assert await accounts.forget_old(2.0) == 1
    assert [one.name for one in await accounts.accounts("user")] == ["b"]


@claim
async def the_audit_grows_at_its_end_only(store: Store) -> None:
    accounts = store.accounts
    assert await accounts.audit_end() is None
    assert not await accounts.note([_row(2)])
    assert await accounts.note([_row(1), _row(2, "other", "bob")])
    assert not await accounts.note([_row(2)])
    both = await asyncio.gather(*(accounts.note([_row(3)]) for _ in range(2)))
    assert sorted(both) == [False, True]
    rows = [_row(1), _row(2, "other", "bob"), _row(3)]
    assert await accounts.audit() == rows
    assert await accounts.audit(after=1, limit=1) == rows[1:2]
    assert await accounts.audit(namespace="other") == rows[1:2]
    assert await accounts.audit(actor="ann") == [rows[0], rows[2]]
    assert await accounts.audit_end() == rows[2]
