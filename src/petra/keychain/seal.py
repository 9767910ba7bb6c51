"""Secrets at rest: each sealed with a key of its own, and that key with the newest one of a key file.

Rule 1: AES-256-GCM throughout; what a sealed secret is called is authenticated with it, so none can be put in
the place of another.
Rule 2: the key file is the one thing to guard: mode 0600, refused when others can read it.
Rule 3: rotating adds a key and changes no secret; ``rewrap`` then moves the inner key of each over to it, and a
key that seals nothing any more can be dropped.
Rule 4: where ``PETRA_MASTER_KEY`` is set, its first key seals, and all of its keys and those of the file open.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import os
import stat
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any, Final

import msgspec

from petra.errors import UnreadableError
from petra.namespaces import DEFAULT

MASTER_KEY: Final = "PETRA_MASTER_KEY"
"""The variable that holds the key of secrets, 32 bytes in base64; older ones may follow it, behind commas."""
_KEY_BYTES = 32


def _cipher() -> ModuleType:
    """Load the cipher: most workers never open a credential."""
    from petra.keychain import cipher  # noqa: PLC0415 - that is the point

    return cipher


class KeychainError(UnreadableError):
    """A secret cannot be had; ``kind`` is that of the error outcome. Its message never holds a secret.

    ``not_found``: it is not declared, not set, not there. ``connection``: whoever has it does not answer. ``auth``: it
    is refused, or cannot be opened. ``client_error``: what the playbook says of it cannot be right.
    """

    def __init__(self, message: str, kind: str = "auth") -> None:
        super().__init__(kind, message)


class Sealed(msgspec.Struct, frozen=True, kw_only=True):
    """A secret at rest: safe to store, useless without its key. Without ``pools``, workers of all pools may have it."""

    name: str
    version: int
    key: str
    wrapped: bytes
    body: bytes
    namespace: str = DEFAULT
    pools: tuple[str, ...] = ()

    def about(self) -> bytes:
        """Return what it is sealed together with: where it belongs, and who may have it."""
        if self.namespace == DEFAULT and not self.pools:  # as it was before there was anything else
            return msgspec.json.encode(["petra credential", self.name, self.version])
        return msgspec.json.encode(
            ["petra credential", self.namespace, self.name, self.version, self.pools]
        )


class _Key(msgspec.Struct, frozen=True):
    id: str
    key: bytes


class KeyFile:
    """The keys that seal secrets; the last one seals, all of them open."""

    def __init__(self, path: Path, keys: list[_Key]) -> None:
        self._path = path
        self._keys = keys

    @classmethod
    def create(cls, path: Path) -> KeyFile:
        """Make a key file with one key.

        Raises:
            KeychainError: there is one already.
        """
        box = cls(path, [_new_key(1)])
        try:
            write_private(path, box._encoded(), fresh=True)
        except FileExistsError:
            raise KeychainError(f"there is a key file at {path} already; keep it") from None
        return box

    @classmethod
    def load(cls, path: Path) -> KeyFile:
        """Read a key file.

        Raises:
            KeychainError: it is not there, others can read it, or it is no key file.
        """
        try:
            with path.open("rb") as file:
                mode = os.fstat(file.fileno()).st_mode
                raw = file.read()
        except OSError as error:
            raise KeychainError(f"key file {path}: {error.strerror}") from None
        if stat.S_IMODE(mode) & 0o077:
            message = f"key file {path} can be read by others; run chmod 600 {path}"
            raise KeychainError(message)
        try:
            keys = msgspec.json.decode(raw, type=list[_Key])
        except msgspec.MsgspecError:
            keys = []
        if not keys or any(len(key.key) != _KEY_BYTES for key in keys):
            raise KeychainError(f"{path} is no key file")
        return cls(path, keys)

    @classmethod
    def for_secrets(
        cls, path: Path, environ: Mapping[str, str] | None = None, *, make: bool = False
    ) -> KeyFile:
        """Return the keys of the secrets of a home: those of the environment seal, else those of a file.

        Raises:
            KeychainError: they are not as they must be.
        """
        keys = (os.environ if environ is None else environ).get(MASTER_KEY, "")
        if not keys:
            return cls.create(path) if make and not path.exists() else cls.load(path)
        known = cls.load(path)._keys if path.exists() else []  # noqa: SLF001 - of its own class
        return cls(path, [*known, *reversed([_from_text(text) for text in keys.split(",")])])

    @property
    def is_given(self) -> bool:
        """Whether the key that seals comes from the environment."""
        return self.current.startswith(_GIVEN)

    @property
    def current(self) -> str:
        """The id of the key that seals."""
        return self._keys[-1].id

    @property
    def ids(self) -> list[str]:
        """The ids of all keys, oldest first."""
        return [key.id for key in self._keys]

    def rotate(self) -> str:
        """Add a key that seals from now on; return its id.

        Raises:
            KeychainError: the key comes from the environment, where a fresh one has to be put first.
        """
        if self.is_given:
            raise KeychainError(
                f"put a fresh key first in {MASTER_KEY}, before a comma and the old one"
            )
        newest = int(self.current.removeprefix("k"))
        self._keys = [*self._keys, _new_key(newest + 1)]
        write_private(self._path, self._encoded())
        return self.current

    def drop(self, key: str) -> None:
        """Forget an old key for good: what it sealed cannot be opened any more.

        Raises:
            KeychainError: it is the one that seals, or there is none of that id.
        """
        if key == self.current or key not in self.ids:
            raise KeychainError(f"key '{key}' is not an old key of {self._path}")
        self._keys = [known for known in self._keys if known.id != key]
        write_private(self._path, self._encoded())

    def drop_old(self) -> None:
        """Forget all keys of the file but the one that seals; those of the environment are for whoever set it to take away."""
        for old in [] if self.is_given else self.ids[:-1]:
            self.drop(old)

    def seal(
        self,
        name: str,
        version: int,
        value: Any,
        *,
        namespace: str = DEFAULT,
        pools: tuple[str, ...] = (),
    ) -> Sealed:
        """Seal a JSON value under a name and version, in a namespace, for some pools or all."""
        bare = Sealed(
            name=name, version=version, key=self.current, wrapped=b"", body=b"", namespace=namespace, pools=pools
        )  # fmt: skip
        cipher, about = _cipher(), bare.about()
        inner = cipher.new_key()
        return msgspec.structs.replace(
            bare,
            wrapped=cipher.encrypt(self._keys[-1].key, inner, about),
            body=cipher.encrypt(inner, msgspec.json.encode(value), about),
        )

    def open(self, sealed: Sealed) -> Any:
        """Return what was sealed.

        Raises:
            KeychainError: the key is missing, or something was changed.
        """
        cipher, about = _cipher(), sealed.about()
        try:
            return msgspec.json.decode(cipher.decrypt(self._inner(sealed), sealed.body, about))
        except cipher.ChangedError:
            raise self._changed(sealed) from None

    def rewrap(self, sealed: Sealed) -> Sealed:
        """Return the same secret under the newest key; its body stays as it is.

        Raises:
            KeychainError: the key is missing, or something was changed.
        """
        if sealed.key == self.current:
            return sealed
        cipher, about = _cipher(), sealed.about()
        try:
            wrapped = cipher.encrypt(self._keys[-1].key, self._inner(sealed), about)
        except cipher.ChangedError:
            raise self._changed(sealed) from None
        return msgspec.structs.replace(sealed, key=self.current, wrapped=wrapped)

    def _inner(self, sealed: Sealed) -> bytes:
        for known in self._keys:
            if known.id == sealed.key:
                about = sealed.about()
                inner: bytes = _cipher().decrypt(known.key, sealed.wrapped, about)
                return inner
        message = f"credential '{sealed.name}' is sealed with key '{sealed.key}'"
        raise KeychainError(f"{message}, which {self._path} does not have")

    def _changed(self, sealed: Sealed) -> KeychainError:
        message = f"credential '{sealed.name}' cannot be opened: it or the key file was changed"
        return KeychainError(message)

    def _encoded(self) -> bytes:
        return msgspec.json.encode(self._keys)


def _new_key(number: int) -> _Key:
    return _Key(f"k{number}", _cipher().new_key())


_GIVEN: Final = "given-"


def _from_text(text: str) -> _Key:
    """Read a key of the environment; its name follows from it, so that every server calls it the same."""
    try:
        key = base64.b64decode(text.strip(), validate=True)
    except binascii.Error:
        key = b""
    if len(key) != _KEY_BYTES:
        raise KeychainError(f"{MASTER_KEY} holds no key of {_KEY_BYTES} bytes in base64")
    return _Key(_GIVEN + hashlib.sha256(b"petra key " + key).hexdigest()[:12], key)


def write_private(path: Path, data: bytes, *, fresh: bool = False) -> None:
    """Write a file that only its owner can read, whole or not at all.

    Raises:
        FileExistsError: it was to be a fresh one.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    random = base64.b32encode(os.urandom(10)).decode().lower()
    temporary = path.with_name(f".{path.name}.{random}")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if fresh:
            os.link(temporary, path)  # unlike a rename, it never replaces
        else:
            temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
