"""Who asks: every call at the desk carries a principal, and what is asked is signed with its name.

Rule 1: the identity is the actor. Who may not act as others cannot have anything recorded under another name.
Rule 2: who may, and does, is recorded too: ``actor`` is as whom, ``by`` is who.
Rule 3: roles and powers come from whoever made sure who it is; only who may act as others names the roles of those.
Rule 4: roles are granted in a namespace and give powers there; whoever has none somewhere may do nothing there.
"""

from __future__ import annotations

import enum
import os
import pwd
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Final, NamedTuple, TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from petra.errors import PetraError
from petra.kernel import commands as c
from petra.kernel.human import ANY_ROLE
from petra.namespaces import DEFAULT

A = TypeVar("A", bound=c.Asked)


class Kind(enum.Enum):
    """What kind of somebody it is."""

    OWNER = "owner"
    """Whoever the folder belongs to."""
    USER = "user"
    SERVICE = "service"
    """A program with an account of its own."""


class May(enum.Enum):
    """What somebody may do."""

    SEE = "see executions"
    START = "start executions"
    STEER = "steer executions"
    APPLY = "apply playbooks"
    DECIDE = "act on work items"
    ADMINISTER = "act as an administrator"
    ACT_AS = "act as somebody else"
    WORK = "work for this server"

    __hash__ = (
        object.__hash__
    )  # there is one of each; that of an enum is computed in Python, and asked for at every call


ALL: Final = frozenset(May)
"""Every power there is."""

EVERYWHERE: Final = "*"
"""In a grant: every namespace."""
POWERS: Final[Mapping[str, frozenset[May]]] = {
    "viewer": frozenset({May.SEE}),
    "operator": frozenset({May.SEE, May.START, May.STEER}),
    "author": frozenset({May.SEE, May.APPLY}),
    "approver": frozenset({May.DECIDE}),
    "admin": ALL - {May.ACT_AS, May.WORK},
    "worker": frozenset({May.WORK}),
}
"""What the roles that Petra knows let somebody do. Every other role is a group that playbooks name: it may decide."""


_OWN: Final = frozenset({May.ADMINISTER, May.ACT_AS, May.WORK})
"""What nobody does in the name of somebody else."""


class Grant(NamedTuple):
    """A role in a namespace."""

    role: str
    namespace: str = DEFAULT

    def __str__(self) -> str:
        """Return it as it is written."""
        return f"{self.role}@{self.namespace}"


class ForbiddenError(PetraError):
    """Somebody may not do what they ask for."""


class Principal(Struct, frozen=True):
    """Somebody who asks. ``roles`` are the groups that playbooks name, as they hold in ``namespace``."""

    name: str
    kind: Kind = Kind.USER
    roles: tuple[str, ...] = ()
    may: frozenset[May] = frozenset()
    namespace: str = DEFAULT
    grants: tuple[Grant, ...] = ()
    pool: str | None = None
    """The pool whose runs a worker of this name may do; None: any."""
    by: str = ""
    """Who acts under this name, if that is somebody else: then nothing of it is about accounts, or more names."""

    def within(self, namespace: str) -> Principal:
        """Return the same somebody with what holds in a namespace."""
        if namespace == self.namespace:
            return self
        if self.kind is Kind.OWNER:
            return replace(self, namespace=namespace)
        roles = roles_in(self.grants, namespace)
        may = powers_of(roles) | (self.may & {May.ACT_AS})
        return replace(self, namespace=namespace, roles=roles, may=may - _OWN if self.by else may)

    def in_the_name_of(self, other: Principal) -> Principal:
        """Return somebody else, as far as one may act as others: what is recorded names both.

        Raises:
            ForbiddenError: one may not.
        """
        self.must(May.ACT_AS)
        return replace(other, by=self.name, may=other.may - _OWN)

    def places(self, power: May) -> frozenset[str] | None:
        """Return the namespaces in which somebody has a power; None: in all of them."""
        if power in self.within(EVERYWHERE).may:
            return None
        return frozenset(
            grant.namespace for grant in self.grants if power in powers_of([grant.role])
        )

    def must(self, power: May) -> None:
        """Let nobody go on who may not.

        Raises:
            ForbiddenError: it may not.
        """
        if power not in self.may:
            raise ForbiddenError(f"'{self.name}' may not {power.value}")

    def must_one(self, powers: frozenset[May]) -> None:
        """Let nobody go on who has none of some powers.

        Raises:
            ForbiddenError: they have none.
        """
        if not powers & self.may:
            raise ForbiddenError(f"'{self.name}' may not {_names_of(powers)} in '{self.namespace}'")

    def has_somewhere(self, powers: frozenset[May]) -> bool:
        """Tell whether they have one of some powers in any namespace."""
        places = {self.namespace, *(grant.namespace for grant in self.grants)}
        return any(powers & self.within(place).may for place in places)

    def must_somewhere(self, powers: frozenset[May]) -> None:
        """Let nobody go on who has none of some powers anywhere.

        Raises:
            ForbiddenError: they have none.
        """
        if not self.has_somewhere(powers):
            raise ForbiddenError(f"'{self.name}' may not {_names_of(powers)} anywhere")

    def signature(self, power: May, actor: str = "") -> tuple[str, str]:
        """Return as whom one does something, and who does it if that is another one.

        Raises:
            ForbiddenError: one may not do that, or not under that name.
        """
        self.must(power)
        if actor in ("", self.name):
            return self.name, self.by
        self.must(May.ACT_AS)
        return actor, self.name

    def signed(self, command: A) -> A:
        """Return a command under this name, or under the one it names, if one may act as another.

        Raises:
            ForbiddenError: it may not do that, or not under that name.
        """
        actor, by = self.signature(_power(command), command.actor)
        if not isinstance(command, c.Act):
            return msgspec.structs.replace(command, actor=actor, by=by)
        if command.admin:
            self.must(May.ADMINISTER)
        if command.on_behalf_of is not None:
            self.must(May.ACT_AS)
        own = May.ACT_AS not in self.may or not command.roles
        roles = list(self.roles) if own else command.roles
        return msgspec.structs.replace(command, actor=actor, by=by, roles=roles)


def roles_in(grants: Iterable[Grant], namespace: str) -> tuple[str, ...]:
    """Return the roles that hold in a namespace."""
    held = (grant.role for grant in grants if grant.namespace in (namespace, EVERYWHERE))
    return tuple(dict.fromkeys(held))


def powers_of(roles: Iterable[str]) -> frozenset[May]:
    """Return what roles let somebody do."""
    group = frozenset({May.DECIDE})
    return frozenset(power for role in roles for power in POWERS.get(role, group))


def granted(
    name: str,
    kind: Kind,
    grants: Iterable[Grant],
    *,
    act_as: bool = False,
    pool: str | None = None,
) -> Principal:
    """Return somebody with the roles that were granted, as they hold in the default namespace."""
    all_grants = tuple(grants)
    roles = roles_in(all_grants, DEFAULT)
    more = frozenset({May.ACT_AS} if act_as else ())
    may = powers_of(roles) | more
    return Principal(name, kind, roles=roles, may=may, grants=all_grants, pool=pool)


def _names_of(powers: frozenset[May]) -> str:
    return " or ".join(sorted(power.value for power in powers))


def _power(command: c.Asked) -> May:
    if isinstance(command, c.Act):
        return May.DECIDE
    return May.START if isinstance(command, c.Start | c.Fork) else May.STEER


def owner(name: str = "") -> Principal:
    """Return who has the folder: the user of this process, who may do everything in it."""
    return Principal(name or login_name(), Kind.OWNER, roles=(ANY_ROLE,), may=ALL)


def login_name() -> str:
    """Return the name of the user that this process belongs to, as the system knows it."""
    return _name_of(os.geteuid())


@cache
def _name_of(user: int) -> str:
    try:
        return pwd.getpwuid(user).pw_name
    except KeyError:  # a user without a name, as in many containers
        return f"uid-{user}"
