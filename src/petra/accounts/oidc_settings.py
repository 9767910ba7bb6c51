"""How a server lets people in whom somebody else knows: the provider, and which of its groups have which roles here."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import msgspec

from petra.accounts.rows import read_grants
from petra.desk.principal import Grant
from petra.errors import UsageError

SECRET: Final = "PETRA_OIDC_SECRET"  # noqa: S105 - the name of a variable
_HERE: Final = frozenset({"127.0.0.1", "::1", "localhost"})


class OidcSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is settled with a provider; ``roles`` are those of each of its groups, ``operator@default``."""

    issuer: str
    client_id: str
    client_secret_file: str = ""
    groups_claim: str = "groups"
    name_claim: str = "preferred_username"
    scopes: str = "openid profile email"
    roles: dict[str, list[str]] = {}

    def grants(self, groups: Iterable[str]) -> tuple[Grant, ...]:
        """Return the roles of somebody who is in some groups."""
        return read_grants(role for group in groups for role in self.roles.get(group, ()))

    def checked(self) -> OidcSettings:
        """Return these, if they can be.

        Raises:
            UsageError: they cannot, and why.
        """
        is_safe(self.issuer)
        if not self.client_id:
            raise UsageError(
                "OIDC needs the id under which the provider knows this server: client_id"
            )
        if not any(self.roles.values()):
            raise UsageError(
                "OIDC without a role for any group lets nobody in; give --oidc-role GROUP=ROLE@NAMESPACE"
            )
        self.grants(self.roles)
        return self

    def secret(self, environ: dict[str, str]) -> str:
        """Return what proves to the provider who we are; nothing, where it wants nothing.

        Raises:
            UsageError: it cannot be read.
        """
        if not self.client_secret_file:
            return environ.get(SECRET, "")
        try:
            return Path(self.client_secret_file).read_text("utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(f"{self.client_secret_file} cannot be read: {error}") from None


def is_safe(url: str) -> None:
    """Refuse an address at which somebody could listen in: TLS, or this machine.

    Raises:
        UsageError: it is none.
    """
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
    except ValueError:
        raise UsageError(f"'{url[:200]}' is no address of a provider") from None
    if not host or not (parts.scheme == "https" or (parts.scheme == "http" and host in _HERE)):
        raise UsageError(f"'{url[:200]}' is no address of a provider: it begins with https://")


def read_roles(lines: Iterable[str]) -> dict[str, list[str]]:
    """Read which groups have which roles, as they are written: ``GROUP=ROLE@NAMESPACE``.

    Raises:
        UsageError: one is not written so.
    """
    roles: dict[str, list[str]] = {}
    for line in lines:
        group, equals, role = line.rpartition("=")
        if not equals or not group:
            raise UsageError(f"'{line[:100]}' is no role of a group; write GROUP=ROLE@NAMESPACE")
        roles.setdefault(group, []).append(role)
    return roles


def read_config(path: Path) -> dict[str, Any]:
    """Read the table ``oidc`` of a file of settings; nothing, where it has none.

    Raises:
        UsageError: the file cannot be read, or has something else of that name.
    """
    try:
        known = tomllib.loads(path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise UsageError(f"{path} cannot be read: {error}") from None
    table = known.get("oidc", {})
    if not isinstance(table, dict):
        raise UsageError(f"{path}: 'oidc' is a table, [oidc]")
    return table


def settled(config: Path | None, flags: dict[str, Any]) -> OidcSettings | None:
    """Return the settings of a file with those of flags, which win; None, where neither names a provider.

    Raises:
        UsageError: they cannot be.
    """
    settings = read_config(config) if config is not None else {}
    settings |= {name: value for name, value in flags.items() if value}
    if not settings:
        return None
    try:
        return msgspec.convert(settings, OidcSettings).checked()
    except msgspec.ValidationError as error:
        raise UsageError(f"the settings of OIDC: {error}") from None
