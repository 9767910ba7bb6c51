"""Secret managers: one small protocol, and HashiCorp Vault (KV version 2) behind it.

A further provider is an object with ``read``, given to the keychain under the name that ``provider:`` says.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Protocol
from urllib.parse import quote

from petra.keychain.seal import KeychainError
from petra.keychain.web import Web
from petra.plug_ins import entry_points


class Provider(Protocol):
    """A service that keeps secrets."""

    async def read(self, path: str, *, token: str | None, region: str | None) -> Mapping[str, Any]:
        """Return the secret at a path.

        Raises:
            KeychainError: it cannot be had.
        """


GROUP: Final = "petra.secret_managers"
"""The entry points that plug-ins announce themselves under: the name is what ``provider:`` says."""


def plug_ins() -> dict[str, Provider]:
    """Return the providers that are installed beside Petra; each is made by a call without arguments."""
    return {point.name: point.load()() for point in entry_points(GROUP)}


class Vault:
    """HashiCorp Vault. ``path`` is ``mount/name``, or ``mount/data/name`` as its API writes it.

    The address and, without ``auth``, the token are those of Vault's own variables: ``VAULT_ADDR``,
    ``VAULT_TOKEN``, ``VAULT_NAMESPACE``.
    """

    def __init__(self, web: Web, environ: Mapping[str, str]) -> None:
        self._web = web
        self._environ = environ

    async def read(self, path: str, *, token: str | None, region: str | None) -> Mapping[str, Any]:  # noqa: ARG002
        """Return the latest version of a secret.

        Raises:
            KeychainError: it cannot be had.
        """
        address = self._environ.get("VAULT_ADDR")
        token = token or self._environ.get("VAULT_TOKEN")
        if not address or not token:
            missing = "VAULT_ADDR" if not address else "VAULT_TOKEN"
            raise KeychainError(f"vault: the variable {missing} is not set", "not_found")
        headers = {"X-Vault-Token": token, "X-Vault-Request": "true"}
        if namespace := self._environ.get("VAULT_NAMESPACE"):
            headers["X-Vault-Namespace"] = namespace
        mount, _, rest = path.strip("/").partition("/")
        rest = rest.removeprefix("data/")
        url = f"{address.rstrip('/')}/v1/{quote(mount)}/data/{quote(rest)}"
        status, answer = await self._web.send("GET", url, headers=headers)
        return _secret(path, status, answer)


def _secret(path: str, status: int, answer: Any) -> Mapping[str, Any]:
    match status:
        case 200:
            pass
        case 403:
            raise KeychainError(f"vault: the token may not read '{path}'")
        case 404:
            raise KeychainError(f"vault: there is no secret at '{path}'", "not_found")
        case _:
            raise KeychainError(f"vault answers {status} for '{path}'", "connection")
    outer = answer.get("data") if isinstance(answer, Mapping) else None
    data = outer.get("data") if isinstance(outer, Mapping) else None
    if not isinstance(data, Mapping):
        raise KeychainError(f"vault: '{path}' is not a secret of KV version 2", "parse")
    return data
