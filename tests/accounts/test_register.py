"""Who may come in: what lets somebody in is hashed, ends when it is ended, and gives nobody more than they have."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from support.clocks import FakeClock

from petra.accounts import Register
from petra.accounts.attempts import (
    PER_ACCOUNT,
    PER_ADDRESS,
    REMEMBERED_MAX,
    WINDOW_S,
    Attempts,
    TooManyError,
)
from petra.accounts.register import SESSION_S, TakenError, UnknownAccountError
from petra.accounts.rows import read_grants
from petra.accounts.secrets import is_token, new_token
from petra.desk import ForbiddenError, Kind, May, Principal, owner
from petra.desk.principal import Grant, granted
from petra.errors import UsageError
from petra.store.memory import MemoryStore

WORD = "correct horse"


class World:
    """A register on a store, with a clock that tests move."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.store = MemoryStore(clock=self.clock.now)
        self.register = Register(self.store.accounts, self.clock)

    async def rows(self) -> str:
        kinds = ("user", "token", "session")
        found = [one for kind in kinds for one in await self.store.accounts.accounts(kind)]
        return "".join(f"{one.name}{one.body.decode()}" for one in found)


def run(work: Callable[[World], Awaitable[None]]) -> None:
    async def main() -> None:
        await work(World())

    asyncio.run(main())


def somebody(*roles: str, name: str = "ann") -> Principal:
    return granted(name, Kind.USER, read_grants(roles))


def test_a_password_lets_its_user_in_and_is_not_stored() -> None:
    async def work(world: World) -> None:
        register = world.register
        await register.add_user(owner(), "ann", ["operator@default"], password=WORD)
        assert WORD not in await world.rows()
        user = await register.logged_in("ann", WORD)
        assert user is not None
        assert user.grants == (Grant("operator", "default"),)
        assert user.password.startswith("$argon2id$")
        for name, password in (("ann", WORD + "x"), ("ann", ""), ("nobody", WORD), ("", "")):
            assert await register.logged_in(name, password) is None
        await register.change_user(owner(), "ann", disabled=True)
        assert await register.logged_in("ann", WORD) is None

    run(work)


def test_a_session_ends_with_its_time_its_user_and_a_new_password() -> None:
    async def work(world: World) -> None:
        register = world.register
        await register.add_user(owner(), "ann", ["viewer"], password=WORD)

        async def is_in(secret: str) -> bool:
            return await register.by_session(secret) is not None

        first, second = [await register.begin_session("ann") for _ in range(2)]
        assert first not in await world.rows()
        assert await is_in(first)
        assert not await is_in(first[:-1] + ("a" if first[-1] != "a" else "b"))
        await register.end_session(first)
        assert (await is_in(first), await is_in(second)) == (False, True)
        await world.clock.advance(1)
        await register.change_user(owner(), "ann", password=WORD + "2")
        assert not await is_in(second)
        third = await register.begin_session("ann")
        await world.clock.advance(SESSION_S)
        assert not await is_in(third)
        fourth = await register.begin_session("ann")
        await register.change_user(owner(), "ann", disabled=True)
        assert not await is_in(fourth)

    run(work)


def test_a_token_ends_when_it_is_revoked_or_runs_out_or_its_user_is_disabled() -> None:
    async def work(world: World) -> None:
        register = world.register
        await register.add_user(owner(), "robot", ["operator"], service=True)
        made, secret = await register.issue(owner(), user="robot", expires_s=60)
        assert secret not in await world.rows()
        who = await register.by_token(secret)
        assert who is not None
        assert (who.name, who.kind, May.START in who.may) == ("robot", Kind.SERVICE, True)
        shown = (await register.tokens(owner()))[0]
        assert (shown.id, shown.used) == (made.id, world.clock.now())
        await world.clock.advance(60)
        assert await register.by_token(secret) is None
        made, secret = await register.issue(owner(), user="robot")
        await register.revoke(owner(), made.id)
        assert await register.by_token(secret) is None
        _, secret = await register.issue(owner(), user="robot")
        await register.change_user(owner(), "robot", disabled=True)
        assert await register.by_token(secret) is None

    run(work)


def test_a_typo_in_a_token_is_seen_without_looking_it_up() -> None:
    token = new_token()
    assert is_token(token)
    for wrong in ("", "petra_", token[:-1], token[:-1] + "z", token + "0", token.upper(), "é" * 46):
        assert not is_token(wrong)


@pytest.mark.parametrize(
    ("roles", "allowed"),
    [
        (["viewer@default"], False),
        (["operator@default"], False),
        (["admin@default"], True),
        (["admin@other"], False),
        (["admin@*"], True),
        ([], False),
    ],
    ids=str,
)
def test_users_are_added_by_who_administers_all_that_they_get(
    roles: list[str],
    allowed: bool,  # noqa: FBT001 - a column of the table
) -> None:
    async def work(world: World) -> None:
        who = somebody(*roles)
        added = world.register.add_user(who, "bob", ["operator@default"], password=WORD)
        if allowed:
            assert (await added).name == "bob"
        else:
            with pytest.raises(ForbiddenError):
                await added

    run(work)


@pytest.mark.slow
@pytest.mark.parametrize("roles", [[], ["viewer@acme"]])
def test_who_may_act_as_others_is_for_who_administers_everything(roles: list[str]) -> None:
    """A token of such an account is as good as one of anybody, in any namespace."""

    async def work(world: World) -> None:
        register = world.register
        await register.add_user(owner(), "robot", roles, service=True, act_as=True)
        token, _ = await register.issue(owner(), user="robot")
        for who in (somebody("admin@default"), somebody("admin@acme")):
            with pytest.raises(UnknownAccountError):
                await register.issue(who, user="robot")
            with pytest.raises(UnknownAccountError):
                await register.change_user(who, "robot", roles=[])
            with pytest.raises(UnknownAccountError):
                await register.revoke(who, token.id)
            assert await register.users(who) == []
            assert await register.tokens(who) == []
        await register.issue(somebody("admin@*"), user="robot")

    run(work)


def test_who_acts_in_the_name_of_somebody_ends_no_session_and_no_token_of_theirs() -> None:
    async def work(world: World) -> None:
        register = world.register
        await register.add_user(owner(), "ann", ["operator"], password=WORD)
        secret = await register.begin_session("ann")
        token, _ = await register.issue(owner(), user="ann")
        robot = granted("robot", Kind.SERVICE, (), act_as=True)
        acting = robot.in_the_name_of(somebody("operator"))
        assert await register.sessions(acting) == []
        assert await register.tokens(acting) == []
        (session,) = await register.sessions(somebody("operator"))
        with pytest.raises(UnknownAccountError):
            await register.end_sessions(acting, session.id)
        with pytest.raises(UnknownAccountError):
            await register.revoke(acting, token.id)
        assert await register.by_session(secret) is not None

    run(work)


def test_who_administers_a_namespace_gets_no_further() -> None:
    async def work(world: World) -> None:
        register, admin = world.register, somebody("admin@a")
        await register.add_user(owner(), "chief", ["admin@*"], password=WORD)
        await register.add_user(owner(), "both", ["viewer@a", "viewer@b"], password=WORD)
        await register.add_user(admin, "mine", ["viewer@a"], password=WORD)
        assert [one.name for one in await register.users(admin)] == ["mine"]
        for name in ("chief", "both", "nobody"):
            with pytest.raises(UnknownAccountError):
                await register.change_user(admin, name, password="stolen it")
            with pytest.raises(UnknownAccountError):
                await register.issue(admin, user=name)
        with pytest.raises(ForbiddenError):
            await register.change_user(admin, "mine", roles=["viewer@a", "viewer@b"])
        with pytest.raises(ForbiddenError):
            await register.issue(admin, roles=["admin@*"])
        with pytest.raises(ForbiddenError):
            await register.add_user(admin, "x", ["operator@a"], service=True, act_as=True)
        with pytest.raises(ForbiddenError):
            await register.add_namespace(admin, "c")
        made, _ = await register.issue(owner(), roles=["viewer@b"])
        with pytest.raises(UnknownAccountError):
            await register.revoke(admin, made.id)
        assert await register.tokens(admin) == []

    run(work)


def test_users_make_tokens_of_their_own_in_a_session_only() -> None:
    async def work(world: World) -> None:
        register = world.register
        await register.add_user(owner(), "ann", ["viewer"], password=WORD)
        _, secret = await register.issue(somebody("viewer"), user="ann", in_session=True)
        who = await register.by_token(secret)
        assert who is not None
        with pytest.raises(ForbiddenError):
            await register.issue(who, user="ann")
        with pytest.raises(ForbiddenError):
            await register.issue(somebody("viewer", name="bob"), user="ann", in_session=True)

    run(work)


def test_the_token_of_the_owner_is_good_until_it_is_revoked() -> None:
    async def work(world: World) -> None:
        register, token = world.register, new_token()
        assert await register.greet_owner(token)
        who = await register.by_token(token)
        assert who == owner()
        session = await register.begin_session("")
        chief = somebody("admin@*")
        (shown,) = await register.tokens(chief)
        with pytest.raises(UnknownAccountError):
            await register.revoke(somebody("admin@default"), shown.id)
        await register.revoke(chief, shown.id)
        assert await register.by_token(token) is None
        assert await register.by_session(session) is None
        assert not await register.greet_owner(token)

    run(work)


@pytest.mark.parametrize(
    ("name", "more", "words"),
    [
        ("Ann", {}, "small letters"),
        ("a b", {}, "small letters"),
        ("token:x", {}, "small letters"),
        ("", {}, "small letters"),
        (owner().name, {}, "owner"),
        ("ann", {"password": "short"}, "8"),
        ("ann", {"roles": ["viewer@"]}, "namespace"),
        ("ann", {"roles": ["@default"]}, "ROLE@NAMESPACE"),
        ("ann", {"service": True, "password": WORD}, "service account"),
        ("ann", {"act_as": True}, "service account"),
    ],
)
def test_what_is_not_as_it_must_be_is_refused(name: str, more: dict[str, Any], words: str) -> None:
    async def work(world: World) -> None:
        given = {"roles": ["viewer"], "password": WORD, **more}
        with pytest.raises(UsageError, match=words):
            await world.register.add_user(owner(), name, **given)

    run(work)


def test_of_two_who_add_the_same_user_one_is_told() -> None:
    async def work(world: World) -> None:
        added = [
            world.register.add_user(owner(), "ann", ["viewer"], password=WORD) for _ in range(2)
        ]
        done = await asyncio.gather(*added, return_exceptions=True)
        assert sum(isinstance(one, TakenError) for one in done) == 1

    run(work)


def test_attempts_are_bounded_by_account_and_by_address() -> None:
    clock = FakeClock()
    attempts = Attempts(clock)
    for number in range(PER_ACCOUNT):
        attempts.count("ann", f"address {number}")
    with pytest.raises(TooManyError) as too_many:
        attempts.count("ann", "another")
    assert too_many.value.wait_s == pytest.approx(WINDOW_S)
    attempts.count("bob", "another")
    for number in range(PER_ADDRESS):
        attempts.count(f"user {number}", "one address")
    with pytest.raises(TooManyError):
        attempts.count("fresh", "one address")
    asyncio.run(clock.advance(WINDOW_S))
    attempts.count("ann", "one address")
    attempts.succeeded("ann")


def test_attempts_that_are_refused_are_not_remembered_and_push_nobody_out() -> None:
    """Whoever is over the limit of their address would forget what counts against them by naming very many others."""
    clock = FakeClock()
    attempts = Attempts(clock)
    for _ in range(PER_ACCOUNT):
        attempts.count("ann", "thief")
    for number in range(PER_ADDRESS - PER_ACCOUNT):
        attempts.count(f"user {number}", "thief")
    for number in range(REMEMBERED_MAX + 1):
        with pytest.raises(TooManyError):
            attempts.count(f"other {number}", "thief")
    attempts.count_address("thief")
    for account, address in (("ann", "thief"), ("ann", "elsewhere"), ("bob", "thief")):
        with pytest.raises(TooManyError):
            attempts.count(account, address)


def test_all_addresses_of_one_network_of_ipv6_are_one_address() -> None:
    """Anybody has 2**64 of them."""
    attempts = Attempts(FakeClock())
    for number in range(PER_ADDRESS):
        attempts.count(f"user {number}", f"2001:db8:0:1::{number:x}")
    with pytest.raises(TooManyError):
        attempts.count("fresh", "2001:db8:0:1:ffff::1")
    attempts.count("fresh", "2001:db8:0:2::1")
    for number in range(PER_ADDRESS):
        attempts.count(f"user {number}", f"::ffff:10.0.0.{number}")


def test_what_is_remembered_of_a_name_is_short() -> None:
    attempts = Attempts(FakeClock())
    for number in range(PER_ACCOUNT):
        attempts.count("a" * 10_000 + str(number), f"address {number}")
    with pytest.raises(TooManyError):
        attempts.count("a" * 10_000, "another")


def test_roles_hold_in_their_namespace_and_nowhere_else() -> None:
    who = somebody("operator@a", "approver@b", "finance@b", "viewer@*")
    assert May.START in who.within("a").may
    assert who.within("b").roles == ("approver", "finance", "viewer")
    assert who.within("b").may == {May.DECIDE, May.SEE}
    assert who.within("c").may == {May.SEE}
    assert somebody("operator@a").within("b").may == frozenset()
    assert somebody("operator@a").may == frozenset()
    assert somebody("admin@*").within("anything").may == frozenset(May) - {May.ACT_AS, May.WORK}


def test_a_worker_has_a_token_for_one_pool() -> None:
    async def work(world: World) -> None:
        for role, pool in (("worker", ""), ("viewer", "etl")):
            with pytest.raises(UsageError, match="pool"):
                await world.register.issue(owner(), roles=[role], pool=pool)
        made, secret = await world.register.issue(owner(), roles=["worker"], pool="etl")
        who = await world.register.by_token(secret)
        assert who is not None
        assert (who.name, who.pool, who.may) == (f"token:{made.id}", "etl", frozenset({May.WORK}))

    run(work)
