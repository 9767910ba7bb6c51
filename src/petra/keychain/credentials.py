"""Stored credentials: what ``petra secret set`` keeps, sealed, for ``kind: credential`` and its kin."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

import msgspec

from petra.keychain.seal import KeychainError, KeyFile, Sealed, write_private

VERSIONS_KEPT = 5


class Credentials(Protocol):
    """Where stored credentials are found."""

    def names(self) -> list[str]:
        """Return the names there are, sorted."""

    def read(self, name: str, version: int | None = None) -> Any:
        """Return a credential, the latest version unless told.

        Raises:
            KeychainError: there is none, or it cannot be opened.
        """


class NoCredentials:
    """A worker that was given none."""

    def names(self) -> list[str]:
        """Return nothing."""
        return []

    def read(self, name: str, version: int | None = None) -> Any:  # noqa: ARG002
        """Refuse."""
        raise KeychainError(
            f"no credential '{name}': this worker was given no credentials", "not_found"
        )


class FileCredentials:
    """Sealed credentials in one file, beside which lies the key file; both are for the owner only.

    Each read looks at the file anew, so a credential that another process sets is seen at once. One process
    writes at a time.
    """

    def __init__(self, path: Path, key_path: Path | None = None) -> None:
        self.path = path
        self.key_path = key_path or path.with_suffix(".key")

    def names(self) -> list[str]:
        """Return the names there are, sorted."""
        return sorted({sealed.name for sealed in self._sealed()})

    def read(self, name: str, version: int | None = None) -> Any:
        """Return a credential, the latest version unless told.

        Raises:
            KeychainError: there is none, or it cannot be opened.
        """
        found = [one for one in self._sealed() if one.name == name]
        if version is not None:
            found = [one for one in found if one.version == version]
        if not found:
            which = f"'{name}'" if version is None else f"'{name}' of version {version}"
            message = f"no credential {which}; 'petra secret set {name}' stores one"
            raise KeychainError(message, "not_found")
        return KeyFile.load(self.key_path).open(found[-1])

    def set(self, name: str, value: Any) -> int:
        """Store a further version of a credential; return its number."""
        sealed = self._sealed()
        keys = self._keys()
        own = [one for one in sealed if one.name == name]
        version = own[-1].version + 1 if own else 1
        dropped = own[: max(0, len(own) + 1 - VERSIONS_KEPT)]
        kept = [one for one in sealed if one not in dropped]
        self._write([*kept, keys.seal(name, version, value)])
        return version

    def remove(self, name: str) -> None:
        """Forget a credential, all versions.

        Raises:
            KeychainError: there is none.
        """
        sealed = self._sealed()
        if all(one.name != name for one in sealed):
            raise KeychainError(f"no credential '{name}'", "not_found")
        self._write([one for one in sealed if one.name != name])

    def rotate(self) -> str:
        """Seal everything with a fresh key and forget the old ones; return the id of the new one.

        At every moment what is in the file can be opened: the new key is there before it is used, and the
        old ones go last.
        """
        keys = self._keys()
        keys.rotate()
        self._write([keys.rewrap(sealed) for sealed in self._sealed()])
        for old in keys.ids[:-1]:
            keys.drop(old)
        return keys.current

    def _keys(self) -> KeyFile:
        make: Callable[[Path], KeyFile] = KeyFile.load if self.key_path.exists() else KeyFile.create
        return make(self.key_path)

    def _sealed(self) -> list[Sealed]:
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
