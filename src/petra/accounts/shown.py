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


def user_data(user: User) -> dict[str, Any]:
    """Return what is shown of a user."""
    return {
        "name": user.name, "kind": "service" if user.service else "user", "roles": [str(grant) for grant in user.grants],
        "act_as": user.act_as, "disabled": user.disabled, "created": moment(user.created), "issuer": user.issuer,
    }  # fmt: skip


def token_data(token: ApiToken) -> dict[str, Any]:
    """Return what is shown of a token."""
    return {
        "id": token.id, "name": token.name, "user": token.user, "roles": [str(grant) for grant in token.grants],
        "pool": token.pool, "created": moment(token.created), "by": token.by, "expires": moment(token.expires),
        "used": moment(token.used), "revoked": moment(token.revoked),
    }  # fmt: skip
