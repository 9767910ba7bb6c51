"""What is stored of somebody, as JSON; and names and roles, read as people write them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

import msgspec

from petra.desk.principal import EVERYWHERE, Grant
from petra.errors import MalformedError
from petra.namespaces import DEFAULT, namespace_name

_NAME: Final = re.compile(r"[a-z0-9][a-z0-9._@+-]{0,99}")
_WORD: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}")
GRANTS_MAX: Final = 200


class User(msgspec.Struct, frozen=True, kw_only=True):
    """A user, or a service account, which has tokens and no password.

    Sessions that began before ``sessions_since`` are over.
    """

    name: str
    grants: tuple[Grant, ...] = ()
    service: bool = False
    act_as: bool = False
    disabled: bool = False
    password: str = ""
    created: float = 0.0
    sessions_since: float = 0.0
    issuer: str = ""
    """Who vouches for it, if that is a provider: then its roles are those of its groups there."""


class ApiToken(msgspec.Struct, frozen=True, kw_only=True):
    """An API token: it acts as a user, or under a name of its own with roles of its own, or it is the owner's."""

    id: str
    name: str
    user: str = ""
    grants: tuple[Grant, ...] = ()
    pool: str = ""
    owner: bool = False
    created: float = 0.0
    by: str = ""
    expires: float | None = None
    used: float | None = None
    revoked: float | None = None


class Session(msgspec.Struct, frozen=True, kw_only=True):
    """A session: whose it is, and since when. Without a user it is the owner's."""

    id: str
    user: str
    created: float
    until: float
    address: str = ""


class Vouched(msgspec.Struct, frozen=True):
    """Which user somebody is whom a provider knows."""

    user: str


class Namespace(msgspec.Struct, frozen=True, kw_only=True):
    """A namespace that somebody made."""

    name: str
    created: float = 0.0


def user_name(text: str) -> str:
    """Return the name of a user.

    Raises:
        UsageError: it is none.
    """
    if not _NAME.fullmatch(text):
        raise MalformedError(
            f"'{text[:100]}' is no name of a user: small letters, digits and ._@+- , at most 100 of them, and the"
            " first is a letter or a digit"
        )
    return text


def read_grants(words: Iterable[str]) -> tuple[Grant, ...]:
    """Read roles as they are written, ``operator@default``; without a namespace it is the default one.

    Raises:
        UsageError: one is none, or there are too many.
    """
    grants = tuple(dict.fromkeys(_grant(word) for word in words))
    if len(grants) > GRANTS_MAX:
        raise MalformedError(f"{len(grants)} roles are too many; at most {GRANTS_MAX}")
    return grants


def _grant(word: str) -> Grant:
    role, at, namespace = word.partition("@")
    if not _WORD.fullmatch(role):
        raise MalformedError(
            f"'{word[:100]}' is no role; write ROLE@NAMESPACE, e.g. operator@default"
        )
    if not at:
        return Grant(role, DEFAULT)
    return Grant(role, namespace if namespace == EVERYWHERE else namespace_name(namespace))
