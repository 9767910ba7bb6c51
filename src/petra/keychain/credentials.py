"""Stored credentials: what ``petra secret set`` keeps, sealed, for ``kind: credential`` and its kin."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

import msgspec

from petra.keychain.seal import KeychainError, KeyFile, Sealed, write_private
from petra.namespaces import DEFAULT

VERSIONS_KEPT = 5


class Later(Exception):  # noqa: N818 - no error: it cannot be told now
    """Nothing is wrong so far; the rest is seen when somebody is asked."""


class Credentials(Protocol):
    """Where a worker finds stored credentials."""

    async def fetch(self, name: str, version: int | None = None, *, dry: bool = False) -> Any:
        """Return a credential, the latest version unless told; ``dry`` only looks whether it could be had.

        Raises:
            KeychainError: there is none, or it cannot be opened.
            Later: this was dry, and it is with somebody else.
        """


class NoCredentials:
    """A worker that was given none."""

    async def fetch(self, name: str, version: int | None = None, *, dry: bool = False) -> Any:  # noqa: ARG002
        """Refuse."""
        raise KeychainError(
            f"no credential '{name}': this worker was given no credentials", "not_found"
        )


def chosen(own: Sequence[Sealed], name: str, version: int | None = None) -> Sealed:
    """Return one of the versions of a credential, the latest unless told.

    Raises:
        KeychainError: there is none.
    """
    versions = [sealed for sealed in own if version is None or sealed.version == version]
    if not versions:
        which = f"'{name}'" if version is None else f"'{name}' of version {version}"
        message = f"no credential {which}; 'petra secret set {name}' stores one"
        raise KeychainError(message, "not_found")
    return versions[-1]


def with_one_more(  # noqa: PLR0913 - what a credential is made of
    own: Sequence[Sealed], keys: KeyFile, name: str, value: Any, *, namespace: str, pools: Sequence[str]
) -> list[Sealed]:  # fmt: skip
    """Return the versions of a credential with a further one; the oldest may be dropped for it."""
    version = own[-1].version + 1 if own else 1
    sealed = keys.seal(name, version, value, namespace=namespace, pools=tuple(sorted(set(pools))))
    return [*own, sealed][-VERSIONS_KEPT:]


def forgotten(own: Sequence[Sealed], name: str) -> list[Sealed]:
    """Return what is left of a credential that is to be forgotten.

    Raises:
        KeychainError: there is none.
    """
    chosen(own, name)
    return []


class FileCredentials:
    """Sealed credentials in one file, beside which lies the key file; both are for the owner only.

    Each read looks at the file anew, so a credential that another process sets is seen at once. Whoever writes waits for
    who writes already.
    """

    def __init__(self, path: Path, key_path: Path | None = None) -> None:
        self.path = path
        self.key_path = key_path or path.with_suffix(".key")

    def names(self, namespace: str = DEFAULT) -> list[str]:
        """Return the names there are, sorted."""
        return sorted({sealed.name for sealed in self.all() if sealed.namespace == namespace})

    async def fetch(self, name: str, version: int | None = None, *, dry: bool = False) -> Any:  # noqa: ARG002 - it is here
        """Return a credential of the default namespace; see ``Credentials``."""
        return self.read(name, version)

    def read(self, name: str, version: int | None = None, *, namespace: str = DEFAULT) -> Any:
        """Return a credential, the latest version unless told.

        Raises:
            KeychainError: there is none, or it cannot be opened.
        """
        wanted = chosen(
            [sealed for sealed in self.all() if _is(sealed, namespace, name)], name, version
        )
        return self.keys().open(wanted)

    def set(
        self, name: str, value: Any, *, namespace: str = DEFAULT, pools: Sequence[str] = ()
    ) -> int:
        """Store a further version of a credential; return its number."""
        keys = self.keys(make=True)
        versions = self.change(
            namespace,
            name,
            lambda own: with_one_more(own, keys, name, value, namespace=namespace, pools=pools),
        )
        return versions[-1].version

    def remove(self, name: str, *, namespace: str = DEFAULT) -> None:
        """Forget a credential, all versions.

        Raises:
            KeychainError: there is none.
        """
        self.change(namespace, name, lambda own: forgotten(own, name))

    def change(
        self, namespace: str, name: str, change: Callable[[list[Sealed]], list[Sealed]]
    ) -> list[Sealed]:
        """Put other versions of a credential in the place of those that there are; return them."""
        with self._alone():
            sealed = self.all()
            own = change([row for row in sealed if _is(row, namespace, name)])
            self._write([*(row for row in sealed if not _is(row, namespace, name)), *own])
        return own

    def rotate(self) -> str:
        """Seal everything with a fresh key and forget the old ones; return the id of the new one.

        At every moment what is in the file can be opened: the new key is there before it is used, and the
        old ones go last. Of keys that the environment gives, the first one is the fresh one.
        """
        with self._alone():
            keys = self.keys(make=True)
            if not keys.is_given:
                keys.rotate()
            self._write([keys.rewrap(sealed) for sealed in self.all()])
        keys.drop_old()
        return keys.current

    def keys(self, *, make: bool = False) -> KeyFile:
        """Return the keys that seal and open them."""
        return KeyFile.for_secrets(self.key_path, make=make)

    def all(self) -> list[Sealed]:
        """Return everything that is stored, sealed.

        Raises:
            KeychainError: the file cannot be read, or is something else.
        """
        try:
            raw = self.path.read_bytes()
        except FileNotFoundError:
            return []
        except OSError as error:
            raise KeychainError(f"credentials {self.path}: {error.strerror}") from None
        try:
            return msgspec.json.decode(raw, type=list[Sealed])
        except msgspec.MsgspecError:
            raise KeychainError(f"{self.path} holds no credentials") from None

    def _write(self, sealed: list[Sealed]) -> None:
        write_private(self.path, msgspec.json.encode(sealed))

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Have nobody else write meanwhile; the folder is the lock, so that no file is left for it."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        folder = os.open(self.path.parent, os.O_RDONLY)
        try:
            fcntl.flock(folder, fcntl.LOCK_EX)
            yield
        finally:
            os.close(folder)


def _is(sealed: Sealed, namespace: str, name: str) -> bool:
    return sealed.namespace == namespace and sealed.name == name
