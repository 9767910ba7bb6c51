"""The register: users, tokens and sessions in a store, and who may change them.

Rule 1: whoever administers the namespaces of all roles of somebody may change them, and give them no others; who may act as
others is for whoever administers everything.
Rule 2: what was disabled, revoked, or ran out lets nobody in, from the next request on.
Rule 3: whoever acts in the name of somebody has nothing to do with the accounts of those.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from functools import partial
from typing import Final, TypeVar

import msgspec

from petra.accounts.passwords import Passwords
from petra.accounts.rows import (
    ApiToken,
    Namespace,
    Session,
    User,
    Vouched,
    read_grants,
    user_name,
)
from petra.accounts.secrets import ID_CHARS, digest, is_token, new_session, new_token
from petra.accounts.seen import must_be
from petra.clock import Clock
from petra.desk.principal import (
    EVERYWHERE,
    ForbiddenError,
    Grant,
    Kind,
    May,
    Principal,
    granted,
    login_name,
    owner,
    roles_in,
)
from petra.errors import MalformedError, PetraError, UsageError
from petra.namespaces import DEFAULT, namespace_name
from petra.store.accounts import Account, Accounts
from petra.store.trail import noted

SESSION_S: Final = 12 * 3600.0
TOKEN_S_MAX: Final = 10 * 365 * 86_400.0
USED_S: Final = 60.0
"""So often, at most, it is written down that a token was used."""
TRIES: Final = 20
R = TypeVar("R", User, ApiToken, Session, Namespace, Vouched)


class UnknownAccountError(PetraError):
    """There is no such user, token, session or namespace, or not for whoever asks."""


class TakenError(UsageError):
    """The name is taken."""


class Register:
    """Knows who may come in."""

    def __init__(self, accounts: Accounts, clock: Clock) -> None:
        self._accounts = accounts
        self._clock = clock
        self._passwords = Passwords()

    # Who it is

    async def by_token(self, token: str) -> Principal | None:
        """Return whom a token stands for, or None."""
        if not is_token(token):
            return None
        account = await self._accounts.account("token", digest(token))
        if account is None:
            return None
        api_token, now = _read(account, ApiToken), self._clock.now()
        if api_token.revoked is not None or (
            api_token.expires is not None and api_token.expires <= now
        ):
            return None
        await self._used(account, api_token, now)
        if api_token.owner:
            return owner()
        if not api_token.user:
            return granted(
                f"token:{api_token.id}", Kind.SERVICE, api_token.grants, pool=api_token.pool or None
            )
        user = await self.user(api_token.user)
        return _principal(user) if user is not None and not user.disabled else None

    async def _used(self, account: Account, token: ApiToken, now: float) -> None:
        if token.used is None or token.used < now - USED_S:
            # where somebody else changes it just now, that is worth more
            await self._accounts.keep(_changed(account, msgspec.structs.replace(token, used=now)))

    async def by_session(self, secret: str) -> tuple[Session, Principal | None] | None:
        """Return a session and whose it is, None for the owner; nothing where it is over."""
        account = await self._accounts.account("session", digest(secret))
        if account is None:
            return None
        session = _read(account, Session)
        if session.until <= self._clock.now():
            return None
        if not session.user:
            return session, None
        user = await self.user(session.user)
        if user is None or user.disabled or session.created < user.sessions_since:
            return None
        return session, _principal(user)

    async def logged_in(self, name: str, password: str) -> User | None:
        """Return a user who knows the password; whoever does not is told nothing else, and not sooner."""
        user = await self.user(name)
        fits = await self._passwords.fits(password, user.password if user is not None else "")
        return user if fits and user is not None and not user.disabled else None

    async def user(self, name: str) -> User | None:
        """Return a user, or None."""
        account = await self._accounts.account("user", name)
        return _read(account, User) if account is not None else None

    async def has_users(self) -> bool:
        """Tell whether there is anybody beside the owner."""
        return bool(await self._accounts.accounts("user", limit=1))

    async def greet_owner(self, token: str) -> bool:
        """Let the token in that lies in the home; False where it was revoked."""
        key = digest(token)
        owner_token = ApiToken(
            id=key[:ID_CHARS], name="owner", owner=True, created=self._clock.now()
        )
        await self._add("token", key, owner_token)  # where it is there already, it stays as it is
        account = await self._accounts.account("token", key)
        return account is not None and _read(account, ApiToken).revoked is None

    async def vouched_for(
        self, issuer: str, subject: str, named: str, grants: tuple[Grant, ...]
    ) -> User | None:
        """Return the user that somebody is whom a provider vouches for, with the roles that they have now; None: disabled.

        Who comes for the first time gets a name that nobody has, as near as can be to the one they have there.
        """
        key = digest(f"{issuer}\n{subject}")
        for _ in range(TRIES):
            known = await self._accounts.account("vouched", key)
            if known is None:
                name = await self._free_name(named, key)
                new = User(name=name, grants=grants, issuer=issuer, created=self._clock.now())
                if await self._add("user", name, new) and not await self._add(
                    "vouched", key, Vouched(name)
                ):
                    await self._accounts.forget(
                        "user", name
                    )  # they came twice at once, and are known by now
                continue
            account = await self._accounts.account("user", _read(known, Vouched).user)
            user = _read(account, User) if account is not None else None
            if account is None or user is None or user.disabled:
                return None
            now = msgspec.structs.replace(user, grants=grants)
            if now == user or await self._keep(account, now):
                return now
        raise UsageError(f"'{named[:100]}' is being changed by others; try again")

    async def _free_name(self, named: str, key: str) -> str:
        near = re.sub(r"[^a-z0-9._@+-]+", "-", named.lower()).strip("._@+-")[:60] or "user"
        if near != login_name() and await self.user(near) is None:
            return near
        return f"{near}-{key[:8]}"

    # Sessions

    async def begin_session(self, user: str, address: str = "") -> str:
        """Begin a session of a user, or of the owner; return its secret."""
        secret, now = new_session(), self._clock.now()
        name, until = digest(secret), now + SESSION_S
        row = Session(id=name[:ID_CHARS], user=user, created=now, until=until, address=address)
        await self._accounts.forget_old(now)
        await self._add("session", name, row, until)
        return secret

    async def end_session(self, secret: str) -> None:
        """End a session."""
        await noted(partial(self._accounts.forget, "session", digest(secret)))

    async def sessions(self, who: Principal) -> list[Session]:
        """List the sessions of whoever asks; who acts in the name of somebody has none of theirs."""
        if who.by:
            return []
        own = "" if who.kind is Kind.OWNER else who.name
        return [session for session in await self._all("session", Session) if session.user == own]

    async def end_sessions(self, who: Principal, name: str) -> None:
        """End one session of whoever asks, by its id.

        Raises:
            UnknownAccountError: they have none of that id.
        """
        for session in await self.sessions(who):
            if session.id == name:
                key = (await self._found("session", name)).name
                await noted(partial(self._accounts.forget, "session", key))
                return
        raise UnknownAccountError(f"you have no session '{name[:40]}'")

    async def _end_all(self, user: str) -> None:
        for account in await self._accounts.accounts("session"):
            if _read(account, Session).user == user:
                await self._accounts.forget("session", account.name)

    # Users

    async def add_user(  # noqa: PLR0913 - what a user is made of
        self,
        who: Principal,
        name: str,
        roles: Iterable[str],
        *,
        password: str = "",
        service: bool = False,
        act_as: bool = False,
    ) -> User:
        """Add a user, with a password, or a service account, without one.

        Raises:
            ForbiddenError: they may not, or not with these roles.
            UsageError: something of it is not as it must be, or the name is taken.
        """
        grants = read_grants(roles)
        _must_administer(who, grants)
        if act_as:
            who.within(EVERYWHERE).must(May.ADMINISTER)
        if user_name(name) == login_name():
            raise TakenError(f"'{name}' is what the owner of this server is called")
        if service and password:
            raise MalformedError("a service account has tokens, and no password")
        if act_as and not service:
            raise MalformedError("only a service account may act as others")
        user = User(
            name=name, grants=grants, service=service, act_as=act_as, created=self._clock.now(),
            password="" if service else await self._passwords.hashed(password),
        )  # fmt: skip
        if not await self._add("user", name, user):
            raise TakenError(f"there is a user '{name}' already")
        return user

    async def change_user(  # noqa: PLR0913 - what of a user may change
        self,
        who: Principal,
        name: str,
        *,
        roles: Iterable[str] | None = None,
        password: str | None = None,
        disabled: bool | None = None,
        replaces: str | None = None,
    ) -> User:
        """Change a user; one with a new password, or disabled, has no sessions any more.

        Raises:
            ForbiddenError: they may not, or not with these roles.
            StaleError: it is not as whoever changes it saw it (``mark_of``).
            UnknownAccountError: there is none, or none that they administer.
        """
        grants = read_grants(roles) if roles is not None else None
        hashed = await self._passwords.hashed(password) if password is not None else None
        for _ in range(TRIES):
            account, user = await self._administered(who, name)
            must_be(f"user '{name}'", mark_of(user), replaces)
            if grants is not None:
                _must_administer(who, grants)
                user = msgspec.structs.replace(user, grants=grants)
            if hashed is not None:
                if user.service or user.issuer:
                    which = (
                        "a service account has tokens"
                        if user.service
                        else f"'{name}' logs in at {user.issuer}"
                    )
                    raise UsageError(f"{which}, and no password")
                user = msgspec.structs.replace(user, password=hashed)
            if disabled is not None:
                user = msgspec.structs.replace(user, disabled=disabled)
            if hashed is not None or disabled:
                user = msgspec.structs.replace(user, sessions_since=self._clock.now())
            if await self._keep(account, user):
                return user
        raise UsageError(f"user '{name}' is being changed by others; try again")

    async def administered(self, who: Principal, name: str) -> User:
        """Return a user that somebody administers.

        Raises:
            ForbiddenError: they administer nothing.
            UnknownAccountError: there is none, or none that they administer.
        """
        return (await self._administered(who, name))[1]

    async def users(self, who: Principal) -> list[User]:
        """List the users that somebody administers.

        Raises:
            ForbiddenError: they administer nothing.
        """
        _must_administer_something(who)
        return [user for user in await self._all("user", User) if _administers_user(who, user)]

    async def known_in(self, who: Principal, word: str, limit: int) -> list[User]:
        """List those who have a role where somebody acts, by a part of their names: work is delegated to them."""
        users = [
            user for user in await self._all("user", User)
            if word.casefold() in user.name.casefold() and not user.disabled and roles_in(user.grants, who.namespace)
        ]  # fmt: skip
        return sorted(users, key=lambda user: (not user.name.startswith(word), user.name))[:limit]

    async def _administered(self, who: Principal, name: str) -> tuple[Account, User]:
        _must_administer_something(who)
        account = await self._accounts.account("user", name)
        if account is not None:
            user = _read(account, User)
            if _administers_user(who, user):
                return account, user
        raise UnknownAccountError(f"there is no user '{name[:100]}' that you administer")

    # Tokens

    async def issue(  # noqa: PLR0913 - what a token is made of
        self,
        who: Principal,
        *,
        user: str = "",
        roles: Iterable[str] = (),
        pool: str = "",
        name: str = "",
        expires_s: float | None = None,
        in_session: bool = False,
    ) -> tuple[ApiToken, str]:
        """Make a token that acts as a user, or with roles of its own; it is shown here and never again.

        Users make tokens of their own in a session only: a token that was stolen makes no others.

        Raises:
            ForbiddenError: they may not, or not with these roles.
            UnknownAccountError: there is no such user.
        """
        grants = read_grants(roles)
        if bool(user) == bool(grants):
            raise MalformedError("a token is for a user, or has roles; give one of them")
        if user:
            if not (in_session and user == who.name and who.kind is Kind.USER):
                await self._administered(who, user)
        else:
            _must_administer(who, grants)
        if expires_s is not None and not 0 < expires_s <= TOKEN_S_MAX:
            raise MalformedError(f"a token is good for more than 0 and at most {TOKEN_S_MAX:.0f} s")
        if bool(pool) != any(grant.role == "worker" for grant in grants):
            raise MalformedError("a token of role 'worker' is for a pool, and no other one is")
        secret, now = new_token(), self._clock.now()
        key = digest(secret)
        token = ApiToken(
            id=key[:ID_CHARS], name=name[:100], user=user, grants=grants, pool=pool,
            created=now, by=who.name, expires=now + expires_s if expires_s is not None else None,
        )  # fmt: skip
        await self._add("token", key, token)
        return token, secret

    async def tokens(self, who: Principal) -> list[ApiToken]:
        """List the tokens that somebody may revoke: their own, and those they administer."""
        tokens = await self._all("token", ApiToken)
        return [token for token in tokens if await self._may_revoke(who, token)]

    async def revoke(self, who: Principal, name: str) -> ApiToken:
        """Let a token in no more, by its id.

        Raises:
            UnknownAccountError: there is none that they may revoke.
        """
        for _ in range(TRIES):
            account = await self._found("token", name)
            token = _read(account, ApiToken)
            if not await self._may_revoke(who, token):
                break
            if token.revoked is not None:
                return token
            token = msgspec.structs.replace(token, revoked=self._clock.now())
            if await self._keep(account, token):
                if token.owner:
                    await self._end_all("")
                return token
        raise UnknownAccountError(f"there is no token '{name[:40]}' that you may revoke")

    async def _may_revoke(self, who: Principal, token: ApiToken) -> bool:
        if token.owner:
            return May.ADMINISTER in who.within(EVERYWHERE).may
        if token.user:
            if token.user == who.name and who.kind is not Kind.OWNER and not who.by:
                return True
            user = await self.user(token.user)
            return user is not None and _administers_user(who, user)
        return _administers(who, token.grants)

    # Namespaces

    async def add_namespace(self, who: Principal, name: str) -> Namespace:
        """Make a namespace.

        Raises:
            ForbiddenError: only who administers everything may.
            TakenError: there is one.
        """
        who.within(EVERYWHERE).must(May.ADMINISTER)
        added = Namespace(name=namespace_name(name), created=self._clock.now())
        if name == DEFAULT or not await self._add("namespace", name, added):
            raise TakenError(f"there is a namespace '{name}' already")
        return added

    async def has_namespace(self, name: str) -> bool:
        """Tell whether there is such a namespace."""
        return name == DEFAULT or await self._accounts.account("namespace", name) is not None

    async def is_divided(self) -> bool:
        """Tell whether there is any namespace but the default one."""
        return bool(await self._accounts.accounts("namespace", limit=1))

    async def namespaces(self, who: Principal) -> list[str]:
        """List the namespaces in which somebody has a role."""
        known = [
            DEFAULT,
            *(namespace.name for namespace in await self._all("namespace", Namespace)),
        ]
        return [name for name in sorted(set(known)) if who.within(name).may - {May.ACT_AS}]

    # Rows

    async def _add(
        self, kind: str, name: str, row: msgspec.Struct, until: float | None = None
    ) -> bool:
        body = msgspec.json.encode(row)
        account = Account(kind=kind, name=name, version=1, body=body, until=until)
        return await noted(partial(self._accounts.keep, account))

    async def _keep(self, account: Account, row: msgspec.Struct) -> bool:
        return await noted(partial(self._accounts.keep, _changed(account, row)))

    async def _found(self, kind: str, beginning: str) -> Account:
        """Return the account whose name begins with an id."""
        if len(beginning) == ID_CHARS:
            for account in await self._accounts.accounts(kind, after=beginning, limit=1):
                if account.name.startswith(beginning):
                    return account
        raise UnknownAccountError(f"there is no {kind} '{beginning[:40]}'")

    async def _all(self, kind: str, row: type[R]) -> list[R]:
        rows: list[R] = []
        after = ""
        while page := await self._accounts.accounts(kind, after=after):
            rows += [_read(account, row) for account in page]
            after = page[-1].name
        return rows


def mark_of(user: User) -> str:
    """Return what tells whether a user is still as somebody saw it."""
    return hashlib.sha256(msgspec.json.encode(user)).hexdigest()[:16]


def _changed(account: Account, row: msgspec.Struct) -> Account:
    body = msgspec.json.encode(row)
    return msgspec.structs.replace(account, version=account.version + 1, body=body)


def _read(account: Account, row: type[R]) -> R:
    return msgspec.json.decode(account.body, type=row)


def _principal(user: User) -> Principal:
    kind = Kind.SERVICE if user.service else Kind.USER
    return granted(user.name, kind, user.grants, act_as=user.act_as)


def _administers(who: Principal, grants: Iterable[Grant]) -> bool:
    """Tell whether somebody administers every namespace of some roles; who has none belongs to the default one."""
    places = {grant.namespace for grant in grants} or {DEFAULT}
    return all(May.ADMINISTER in who.within(place).may for place in places)


def _administers_user(who: Principal, user: User) -> bool:
    """Tell whether somebody administers a user; one who may act as others may what anybody may, anywhere."""
    if user.act_as:
        return May.ADMINISTER in who.within(EVERYWHERE).may
    return _administers(who, user.grants)


def _must_administer(who: Principal, grants: Iterable[Grant]) -> None:
    for place in sorted({grant.namespace for grant in grants} or {DEFAULT}):
        who.within(place).must(May.ADMINISTER)


def _must_administer_something(who: Principal) -> None:
    places = {who.namespace, *(grant.namespace for grant in who.grants)}
    if not any(May.ADMINISTER in who.within(place).may for place in places):
        raise ForbiddenError(f"'{who.name}' administers no namespace")
