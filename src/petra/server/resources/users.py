"""Users and service accounts. Who may do what with them is the register's to say."""

from __future__ import annotations

import msgspec
from litestar import Response, Router, get, patch, post
from litestar.params import FromPath, FromQuery, JSONBody

from petra.accounts import User
from petra.accounts.register import mark_of
from petra.accounts.shown import user_data
from petra.desk.principal import May, Principal, roles_in
from petra.server.conditions import IfMatch, entity_tag, replaced_by
from petra.server.needs import Where, needs
from petra.server.paging import Cursor, paged
from petra.server.parameters import Limit, page_size
from petra.server.problems import ProblemError
from petra.server.service import Here, TheService, Who
from petra.server.shapes import Page, Shape

_ADMIN = needs(May.ADMINISTER, where=Where.SOMEWHERE)


class Body(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is given."""


class NewUser(Body, frozen=True, kw_only=True):
    """A user with a password, or a service account without one."""

    name: str
    roles: list[str] = []
    password: str = ""
    service: bool = False
    act_as: bool = False


class UserChange(Body, frozen=True, kw_only=True):
    """What of a user becomes otherwise; what is not said stays."""

    roles: list[str] | None = None
    password: str | None = None
    disabled: bool | None = None


class UserItem(Shape, frozen=True):
    """A user as it is shown."""

    name: str
    kind: str
    roles: list[str]
    act_as: bool
    disabled: bool
    created: str | None
    issuer: str
    """The provider that vouches for it, if one does."""


def _user(user: User) -> UserItem:
    return UserItem(**user_data(user))


def _answer(user: User, status: int = 200) -> Response[UserItem]:
    return Response(_user(user), status_code=status, headers=entity_tag(mark_of(user)))


@get("/users", opt=needs(May.ADMINISTER, May.DECIDE, May.STEER, where=Where.SOMEWHERE))
async def listed(
    service: TheService,
    here: Here,
    q: FromQuery[str] = "",
    limit: Limit = 100,
    cursor: Cursor = None,
) -> Page[UserItem]:
    """List the users that you administer; others find with ``q`` those of their namespace by a part of their names."""
    most = page_size(limit)
    if here.has_somewhere(frozenset({May.ADMINISTER})):
        users = await service.register.users(here)
        named = [user for user in users if q.casefold() in user.name.casefold()]
        page, behind = paged(named, lambda user: (user.name,), cursor, most)
        return Page(items=[_user(user) for user in page], next=behind)
    if not q:
        raise ProblemError(
            "bad-request",
            "only who administers users lists all of them; others name a part of a name: 'q'",
        )
    acts = frozenset({May.DECIDE, May.STEER}) & here.may
    known = await service.register.known_in(here, q, most) if acts else []
    return Page(items=[_colleague(user, here) for user in known])


def _colleague(user: User, here: Principal) -> UserItem:
    """Return what others than administrators see of a user."""
    roles = [f"{role}@{here.namespace}" for role in roles_in(user.grants, here.namespace)]
    return UserItem(
        name=user.name, kind=user_data(user)["kind"], roles=roles, act_as=False, disabled=False, created=None,
        issuer="",
    )  # fmt: skip


@get("/users/{name:str}", opt=_ADMIN)
async def one(service: TheService, who: Who, name: FromPath[str]) -> Response[UserItem]:
    """Show a user that you administer; a change may name the tag of this answer in ``If-Match``."""
    return _answer(await service.register.administered(who, name))


@post("/users", status_code=201, opt=_ADMIN)
async def add(service: TheService, who: Who, data: JSONBody[NewUser]) -> Response[UserItem]:
    """Add a user, or a service account."""
    user = await service.register.add_user(
        who, data.name, data.roles, password=data.password, service=data.service, act_as=data.act_as
    )
    return _answer(user, 201)


@patch("/users/{name:str}", status_code=200, opt=_ADMIN)
async def change(
    service: TheService,
    who: Who,
    name: FromPath[str],
    data: JSONBody[UserChange],
    if_match: IfMatch = None,
) -> Response[UserItem]:
    """Change the roles or the password of a user, or disable one; sessions end where they must.

    With ``If-Match`` only if nobody changed it since.
    """
    changed = await service.register.change_user(
        who, name, roles=data.roles, password=data.password, disabled=data.disabled,
        replaces=replaced_by(if_match),
    )  # fmt: skip
    return _answer(changed)


def router(base: str) -> Router:
    """Return the routes of users."""
    return Router(path=base, route_handlers=[listed, one, add, change], tags=["accounts"])
