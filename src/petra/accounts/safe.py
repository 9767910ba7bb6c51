"""The safe: the stored credentials of a server, by namespace, and who was given one.

Rule 1: what is stored is sealed (``petra.keychain.seal``); the key is not in the store.
Rule 2: a credential is of one namespace, and for workers of some pools, or of all; its latest version says which.
Rule 3: that one was given is durable in the audit before it goes out, and that one was refused to a pool is there too.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final, Protocol

import msgspec

from petra.accounts.audit import Audit, Note
from petra.accounts.seen import must_be
from petra.clock import Clock
from petra.engine.giving import Delivery
from petra.errors import MalformedError, UsageError
from petra.keychain import FileCredentials, KeychainError, KeyFile, Sealed
from petra.keychain.credentials import chosen, forgotten, with_one_more
from petra.namespaces import DEFAULT
from petra.store.accounts import Account, Accounts
from petra.store.trail import noted, under_way

KIND: Final = "secret"
TRIES: Final = 20
VALUE_MAX: Final = 256 * 1024
_NAME: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._:/@-]{0,199}")

Change = Callable[[list[Sealed]], list[Sealed]]


class StoredSecret(msgspec.Struct, frozen=True, kw_only=True):
    """A stored credential as it is shown: never its value."""

    name: str
    namespace: str
    version: int
    pools: list[str]
    key: str
    """Which key seals it."""


class Cupboard(Protocol):
    """Where sealed credentials lie."""

    async def all(self) -> list[Sealed]:
        """Return everything."""

    async def of(self, namespace: str, name: str) -> list[Sealed]:
        """Return the versions of one, oldest first."""

    async def change(self, namespace: str, name: str, change: Change) -> list[Sealed]:
        """Put other versions of one in the place of those that there are; return them."""


class FileCupboard:
    """Sealed credentials in a file of the home: every process of the folder sees the same."""

    def __init__(self, file: FileCredentials) -> None:
        self._file = file

    async def all(self) -> list[Sealed]:
        """Return everything."""
        return self._file.all()

    async def of(self, namespace: str, name: str) -> list[Sealed]:
        """Return the versions of one."""
        return [row for row in self._file.all() if (row.namespace, row.name) == (namespace, name)]

    async def change(self, namespace: str, name: str, change: Change) -> list[Sealed]:
        """Change the versions of one; no transaction of the store is about that, so it is noted before too."""
        if (trail := under_way()) is not None:
            await trail.intend()
        return self._file.change(namespace, name, change)


class RowCupboard:
    """Sealed credentials as rows of a database that several servers share; one row each, with all its versions."""

    def __init__(self, accounts: Accounts) -> None:
        self._accounts = accounts

    async def all(self) -> list[Sealed]:
        """Return everything."""
        versions: list[Sealed] = []
        after = ""
        while page := await self._accounts.accounts(KIND, after=after):
            versions += [sealed for row in page for sealed in _versions(row)]
            after = page[-1].name
        return versions

    async def of(self, namespace: str, name: str) -> list[Sealed]:
        """Return the versions of one."""
        return _versions(await self._accounts.account(KIND, f"{namespace}/{name}"))

    async def change(self, namespace: str, name: str, change: Change) -> list[Sealed]:
        """Change the versions of one."""
        key = f"{namespace}/{name}"
        for _ in range(TRIES):
            row = await self._accounts.account(KIND, key)
            versions = change(_versions(row))
            version = row.version + 1 if row is not None else 1
            body = msgspec.json.encode(versions)
            changed = Account(kind=KIND, name=key, version=version, body=body)
            if await noted(partial(self._accounts.keep, changed)):
                return versions
        raise UsageError(f"credential '{name}' is being changed by others; try again")


def _versions(row: Account | None) -> list[Sealed]:
    return msgspec.json.decode(row.body, type=list[Sealed]) if row is not None else []


class Safe:
    """Stores credentials, and gives them to workers that may have them."""

    def __init__(self, cupboard: Cupboard, key_path: Path, audit: Audit | None = None) -> None:
        """Make one; without an audit it gives nothing away."""
        self._cupboard = cupboard
        self._key_path = key_path
        self._audit = audit

    @classmethod
    def of_home(cls, file: Path, accounts: Accounts, clock: Clock, *, shared: bool) -> Safe:
        """Return that of a home, whose file it is; ``shared`` says that its database is the one of other homes too."""
        kept = FileCredentials(file)
        cupboard: Cupboard = RowCupboard(accounts) if shared else FileCupboard(kept)
        return cls(cupboard, kept.key_path, Audit(accounts, clock))

    @classmethod
    def of_file(cls, file: Path) -> Safe:
        """Return what stores credentials in a file, and gives none."""
        kept = FileCredentials(file)
        return cls(FileCupboard(kept), kept.key_path)

    # For workers

    async def lacks(self, namespace: str, pool: str, name: str, version: int | None = None) -> str:
        """Say why workers of a pool do not get a credential of a namespace; nothing, if they do."""
        try:
            await self._allowed(namespace, pool, name, version)
        except KeychainError as error:
            return str(error)
        return ""

    async def give(self, delivery: Delivery) -> Any:
        """Return a credential, once it is noted that it was given.

        Raises:
            KeychainError: there is none, or not for that pool.
        """
        try:
            sealed = await self._allowed(
                delivery.namespace, delivery.pool, delivery.name, delivery.version
            )
        except KeychainError as error:
            if error.kind == "auth":
                await self._note(delivery, delivery.version, "refused")
            raise
        value = self._keys().open(sealed)
        await self._note(delivery, sealed.version, "done")
        return value

    async def fetch(self, name: str, version: int | None = None, *, dry: bool = False) -> Any:
        """Return a credential of the default namespace, for what the server itself sends; ``dry`` only looks for it.

        Raises:
            KeychainError: there is none.
        """
        sealed = chosen(await self._cupboard.of(DEFAULT, name), name, version)
        return None if dry else self._keys().open(sealed)

    async def reveal(self, namespace: str, name: str) -> Any:
        """Return a credential of a namespace, for what the server itself does there: verify a webhook, listen.

        Raises:
            KeychainError: there is none.
        """
        sealed = chosen(await self._cupboard.of(namespace, name), name)
        return self._keys().open(sealed)

    async def _allowed(self, namespace: str, pool: str, name: str, version: int | None) -> Sealed:
        own = await self._cupboard.of(namespace, name)
        sealed = chosen(own, name, version)
        if own[-1].pools and pool not in own[-1].pools:
            raise KeychainError(f"credential '{name}' is not for pool '{pool}'", "auth")
        return sealed

    async def _note(self, delivery: Delivery, version: int | None, outcome: str) -> None:
        assert self._audit is not None, "what is given away is noted"
        which = f" v{version}" if version is not None else ""
        await self._audit.note(
            Note(
                actor=delivery.account or "worker", act="secret given", namespace=delivery.namespace, outcome=outcome,
                target=f"{delivery.name}{which} for {delivery.execution}/{delivery.run} to {delivery.worker}",
                code="" if outcome == "done" else "forbidden",
            )
        )  # fmt: skip

    # For who stores them

    async def set(
        self,
        namespace: str,
        name: str,
        value: Any,
        pools: Sequence[str] = (),
        replaces: str | None = None,
    ) -> StoredSecret:
        """Store a further version of a credential.

        Raises:
            StaleError: ``replaces`` is not the version that is there, or not nothing where none is.
            UsageError: the name is none, or the value is too large.
        """
        if not _NAME.fullmatch(name):
            raise MalformedError(
                f"'{name[:100]}' is no name of a credential: letters, digits and ._:/@- , at most 200 of them"
            )
        if len(msgspec.json.encode(value)) > VALUE_MAX:
            raise MalformedError(f"a credential has at most {VALUE_MAX:,} bytes")
        keys = self._keys(make=True)

        def one_more(own: list[Sealed]) -> list[Sealed]:
            _must_be(own, name, replaces)
            return with_one_more(own, keys, name, value, namespace=namespace, pools=pools)

        return _shown(await self._cupboard.change(namespace, name, one_more))

    async def shown(self, namespace: str, name: str) -> StoredSecret:
        """Return a credential as it is shown.

        Raises:
            KeychainError: there is none.
        """
        own = await self._cupboard.of(namespace, name)
        chosen(own, name)
        return _shown(own)

    async def remove(self, namespace: str, name: str, replaces: str | None = None) -> None:
        """Forget a credential, all versions.

        Raises:
            StaleError: ``replaces`` is not the version that is there.
            KeychainError: there is none.
        """

        def nothing(own: list[Sealed]) -> list[Sealed]:
            left = forgotten(own, name)
            _must_be(own, name, replaces)
            return left

        await self._cupboard.change(namespace, name, nothing)

    async def list(self, namespace: str) -> list[StoredSecret]:
        """List the credentials of a namespace, by name."""
        by_name: dict[str, list[Sealed]] = {}
        for sealed in await self._cupboard.all():
            if sealed.namespace == namespace:
                by_name.setdefault(sealed.name, []).append(sealed)
        return [_shown(by_name[name]) for name in sorted(by_name)]

    async def rotate(self) -> tuple[str, int]:
        """Seal everything with a fresh key; return its id, and how many versions are sealed with it now.

        What is stored can be opened at every moment: the fresh key is there before it is used, and old ones go last.
        """
        keys = self._keys(make=True)
        if not keys.is_given:
            keys.rotate()
        count = 0
        for namespace, name in dict.fromkeys(
            (sealed.namespace, sealed.name) for sealed in await self._cupboard.all()
        ):
            changed = await self._cupboard.change(
                namespace, name, lambda own: [keys.rewrap(sealed) for sealed in own]
            )
            count += len(changed)
        keys.drop_old()
        return keys.current, count

    def _keys(self, *, make: bool = False) -> KeyFile:
        return KeyFile.for_secrets(self._key_path, make=make)


def _must_be(own: Sequence[Sealed], name: str, replaces: str | None) -> None:
    must_be(f"credential '{name}'", str(own[-1].version) if own else "", replaces)


def _shown(versions: Sequence[Sealed]) -> StoredSecret:
    last = versions[-1]
    return StoredSecret(
        name=last.name, namespace=last.namespace, version=last.version, pools=list(last.pools), key=last.key
    )  # fmt: skip
