"""What acts on executions are given, and what those that say more than the execution answer."""

from __future__ import annotations

from typing import Any

import msgspec

from petra.server.shapes import Execution


class Body(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What an act is given."""


class SignalBody(Body, frozen=True):
    """A signal: what it carries, and the key of whoever it is for."""

    payload: Any = None
    key: Any = None


class Reason(Body, frozen=True):
    """Why."""

    reason: str = ""


class PatchBody(Body, frozen=True):
    """Values of ctx."""

    values: dict[str, Any]
    reason: str = ""


class GivenError(Body, frozen=True):
    """Why a step failed, as an operator says."""

    kind: str = "unknown"
    message: str = ""
    code: str | int | None = None
    retryable: bool | None = None
    details: Any = None


class Outcome(Body, frozen=True):
    """How a step ended, as an operator decides: a result, or an error."""

    ok: Any = msgspec.UNSET
    error: GivenError | None = None
    reason: str = ""


class Group(Body, frozen=True):
    """What becomes of a live group."""

    change: str
    item: Any = None


class Done(msgspec.Struct, frozen=True, kw_only=True):
    """What an act came to."""

    execution: Execution
    waited: bool | None = None
