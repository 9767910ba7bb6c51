"""What happens between an execution and the limits that it shares with others (S15)."""

from __future__ import annotations

import msgspec


class PermitEvent(msgspec.Struct, frozen=True, kw_only=True, gc=False, omit_defaults=True):
    """Something about a permit."""


class NewPermit(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """A permit that is asked for.

    ``most`` is how many units the limit has, where the playbook says so; 0: the server's configuration does. ``token``
    and ``run`` are those of a step that waits for it.
    """

    id: str
    limit: str
    rank: float
    key: str = ""
    units: int = 1
    most: int = 0
    on_limit: str = "queue"
    step: str = ""
    run: str = ""
    token: str = ""


class PermitsAsked(PermitEvent, frozen=True, tag="permit.asked"):
    """Permits are asked for, one after the other; with ``blocks`` nothing fires before all of them were given.

    With ``anew`` they take the place of all that a past had.
    """

    permits: list[NewPermit]
    blocks: bool = False
    anew: bool = False


class PermitGiven(PermitEvent, frozen=True, tag="permit.given"):
    """A permit was given."""

    id: str


class PermitRefused(PermitEvent, frozen=True, tag="permit.refused"):
    """A permit will not be given, and ``reason`` says why."""

    id: str
    reason: str
    kind: str = "limit"


AnyPermitEvent = PermitsAsked | PermitGiven | PermitRefused
