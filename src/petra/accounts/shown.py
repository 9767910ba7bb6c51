"""Accounts as plain data, the same for the API and the command line: never a secret, never a hash."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from petra.accounts.rows import ApiToken, User


def moment(at: float | None) -> str | None:
    """Say a moment in UTC."""
    if at is None:
        return None
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def user_data(one: User) -> dict[str, Any]:
    """Return what is shown of a user."""
    return {
        "name": one.name, "kind": "service" if one.service else "user", "roles": [str(grant) for grant in one.grants],
        "act_as": one.act_as, "disabled": one.disabled, "created": moment(one.created), "issuer": one.issuer,
    }  # fmt: skip


def token_data(one: ApiToken) -> dict[str, Any]:
    """Return what is shown of a token."""
    return {
        "id": one.id, "name": one.name, "user": one.user, "roles": [str(grant) for grant in one.grants],
        "pool": one.pool, "created": moment(one.created), "by": one.by, "expires": moment(one.expires),
        "used": moment(one.used), "revoked": moment(one.revoked),
    }  # fmt: skip
