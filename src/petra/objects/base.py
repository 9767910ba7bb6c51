"""The protocol of object stores, and the view of one execution (S18)."""

from __future__ import annotations

import abc
import base64
import hashlib
import re
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any, Final, Protocol

import msgspec

from petra.errors import ObjectError
from petra.references import (
    KEY,
    Reference,
    is_reference,
    look_through,
    objects_of,
    read_reference,
    walk,
)
from petra.values import canonical

_EXECUTION: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:@+=~-]{0,200}")


class ObjectStore(Protocol):
    """A store of immutable objects, addressed by execution and content."""

    name: str

    async def put(self, execution: str, value: Any, *, schema_hint: str | None = None) -> Reference:
        """Store bytes, or any other value as JSON; durable when this returns.

        Raises:
            ObjectError: it could not be stored.
        """

    async def write(self, key: str, content: bytes) -> None:
        """Store content under the key that was made of it; durable when this returns.

        Raises:
            ObjectError: it could not be stored.
        """

    async def keep(self, key: str, file: Path) -> None:
        """Store the content of a file under the key that was made of it, block by block; durable when this returns.

        Raises:
            ObjectError: it is not what the key says, or could not be stored.
        """

    async def join(self, execution: str, pieces: Sequence[Reference]) -> Reference:
        """Store the elements of several lists as one list, without holding more than one of them in memory.

        Raises:
            ObjectError: a piece cannot be read, is no list, or the whole cannot be stored.
        """

    async def put_file(
        self, execution: str, file: Path, *, schema_hint: str | None = None
    ) -> Reference:
        """Store the bytes of a file, block by block; durable when this returns.

        Raises:
            ObjectError: it could not be stored.
        """

    async def get(self, reference: Reference) -> Any:
        """Return the bytes or the JSON value a reference leads to.

        Raises:
            ObjectError: it is missing (not_found) or not what was stored (parse).
        """

    async def check(self, reference: Reference) -> None:
        """Read what a reference leads to, piece by piece, and compare.

        Raises:
            ObjectError: it is missing, or not what was stored.
        """

    def blocks(self, reference: Reference) -> AsyncIterator[bytes]:
        """Read the content that a reference leads to, block by block; who needs to be sure has it checked first.

        Raises:
            ObjectError: it is missing, or cannot be read.
        """

    async def remove(self, execution: str) -> int:
        """Remove every object of an execution; return how many there were."""

    async def delete(self, key: str) -> None:
        """Remove one object; one that is not there is removed already.

        Raises:
            ObjectError: it could not be removed, or this is no key.
        """


class ByContent(abc.ABC):
    """What every store of objects does alike: a value is written under the key that is made of its content."""

    name: str

    async def put(self, execution: str, value: Any, *, schema_hint: str | None = None) -> Reference:
        """Store bytes, or any other value as JSON; durable when this returns."""
        key, checksum, content = encode(execution, value)
        await self.write(key, content)
        return Reference(
            store=self.name, key=key, checksum=checksum, size=len(content), schema_hint=schema_hint
        )

    @abc.abstractmethod
    async def write(self, key: str, content: bytes) -> None:
        """Store content under the key that was made of it; durable when this returns."""


def encode(execution: str, value: Any) -> tuple[str, str, bytes]:
    """Return key, checksum and content of a value.

    Raises:
        ObjectError: it is no JSON, or the execution cannot stand in a key.
    """
    if not _EXECUTION.fullmatch(execution):
        raise ObjectError("client_error", f"'{execution:.80}' cannot be the id of an execution")
    try:
        is_bytes = isinstance(value, bytes | bytearray | memoryview)
        content = bytes(value) if is_bytes else canonical(value)
    except (TypeError, ValueError) as error:
        raise ObjectError("transform", f"the value cannot be stored: {error}") from error
    checksum = hashlib.sha256(content).hexdigest()
    return f"{execution}/{checksum}.{'bin' if is_bytes else 'json'}", checksum, content


def sum_of(file: Path) -> tuple[int, str]:
    """Return the size and the checksum of a file, read block by block."""
    with file.open("rb") as opened:
        checksum = hashlib.file_digest(opened, "sha256").hexdigest()
        return opened.tell(), checksum


def sum_in(key: str) -> str:
    """Return the checksum that a key names.

    Raises:
        ObjectError: it is no key.
    """
    return checked_key(key).rpartition("/")[2].partition(".")[0]


def decode(reference: Reference, content: bytes) -> Any:
    """Verify what was read, and return the value.

    Raises:
        ObjectError: it is not what was stored.
    """
    verified(reference, content)
    if reference.key.endswith(".bin"):
        return content
    try:
        return msgspec.json.decode(content)
    except (msgspec.DecodeError, RecursionError) as error:
        raise ObjectError("parse", f"{reference.key}: no JSON: {error}") from error


def as_json(value: Any) -> Any:
    """Return a value as expressions and code see it: bytes are their base64."""
    return base64.b64encode(value).decode("ascii") if isinstance(value, bytes) else value


def verified(reference: Reference, content: bytes) -> None:
    """Refuse what is not the object that was stored.

    Raises:
        ObjectError: it is not.
    """
    if len(content) != reference.size:
        message = f"{reference.key}: {len(content):,} bytes instead of {reference.size:,}"
        raise ObjectError("parse", message)
    if hashlib.sha256(content).hexdigest() != reference.checksum:
        raise ObjectError("parse", f"{reference.key}: the content does not match its checksum")


def inside(reference: Reference, content: bytes) -> bytes:
    """Verify a piece that was read, and return what is between its brackets.

    Raises:
        ObjectError: it is not what was stored, or no list.
    """
    verified(reference, content)
    if content[:1] != b"[" or content[-1:] != b"]":
        raise ObjectError("parse", f"{reference.key}: is no list")
    return content[1:-1]


def checked(reference: Reference, store: str) -> Reference:
    """Refuse a reference that leads elsewhere: to another store, or out of this one.

    Raises:
        ObjectError: it does.
    """
    if reference.store != store:
        message = f"the reference is of the store '{reference.store:.80}', this is '{store}'"
        raise ObjectError("not_found", message)
    checked_key(reference.key)
    return reference


def checked_key(key: str) -> str:
    """Refuse what is no key.

    Raises:
        ObjectError: it is none.
    """
    if not KEY.fullmatch(key):
        raise ObjectError("parse", f"'{key:.80}' is no key")
    return key


class ExecutionObjects:
    """The objects of one execution; those of ``readable`` executions (a parent's) can be read too."""

    def __init__(
        self, objects: ObjectStore, execution: str, *, readable: frozenset[str] = frozenset()
    ) -> None:
        self._objects = objects
        self._execution = execution
        self._readable = readable | {execution}

    async def put(self, value: Any, *, schema_hint: str | None = None) -> dict[str, Any]:
        """Store a value; return its reference once it is durable."""
        stored = await self._objects.put(self._execution, value, schema_hint=schema_hint)
        return stored.as_data()

    async def put_file(self, file: Path, *, schema_hint: str | None = None) -> dict[str, Any]:
        """Store the bytes of a file; return their reference once they are durable."""
        stored = await self._objects.put_file(self._execution, file, schema_hint=schema_hint)
        return stored.as_data()

    async def blocks(self, reference: Any) -> AsyncIterator[bytes]:
        """Read what a reference leads to, block by block, verified before the first.

        Raises:
            ObjectError: it is no reference, belongs to another execution, is missing or broken.
        """
        checked = self.checked(reference)
        if checked.path or "pieces" in reference:
            raise ObjectError("client_error", f"{checked.key:.80}: a part of an object is no file")
        await self._objects.check(checked)
        async for block in self._objects.blocks(checked):
            yield block

    async def join(self, pieces: Sequence[Any]) -> dict[str, Any]:
        """Store the elements of several lists as one list; return its reference once it is durable."""
        checked = [self.checked(piece) for piece in pieces]
        return (await self._objects.join(self._execution, checked)).as_data()

    async def get(self, reference: Any) -> Any:
        """Return what a reference leads to, verified: the part of an object that its path means.

        Raises:
            ObjectError: it is no reference, belongs to another execution, is missing or broken.
        """
        if is_reference(reference) and "pieces" in reference:
            pieces = {piece["key"]: await self.get(piece) for piece in objects_of(reference)}
            return look_through(reference, lambda piece: pieces[piece["key"]])
        checked = self.checked(reference)
        return walk(checked.as_data(), await self._objects.get(checked))

    def checked(self, reference: Any) -> Reference:
        """Read a reference that this execution may follow.

        Raises:
            ObjectError: it is none, or belongs to another execution.
        """
        checked = read_reference(reference)
        if checked.execution not in self._readable:
            raise ObjectError("denied", f"{checked.key:.80} belongs to another execution")
        return checked
