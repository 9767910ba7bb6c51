"""The object store of an ordeal: a disk that all share, slow, full or out of reach now and then.

Rule 1: what was written stays, whoever dies. Content is there as a whole or not at all.
Rule 2: a worker meets a full disk, which it waits for; an engine also one that cannot be reached.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from random import Random  # noqa: TID251 - seeded, and only in tests
from typing import Any

import msgspec

from ordeal.plan import Plan
from petra.errors import ObjectError, PetraError
from petra.objects.base import checked, checked_key, decode, encode, inside, verified
from petra.references import (
    Followed,
    NeededError,
    Reference,
    is_reference,
    objects_of,
    read_reference,
    resolved,
)

STORE = "disk"
BLOCK = 10_000
"""Bytes that are read at a time."""


class Disk:
    """Objects as one process sees them; ``content`` is what the disk holds."""

    name = STORE

    def __init__(
        self,
        content: dict[str, bytes],
        faults: DiskFaults,
        pause: Callable[[], Awaitable[None]],
        *,
        unreachable: bool,
    ) -> None:
        self._content = content
        self._faults = faults
        self._pause = pause
        self._unreachable = unreachable

    async def put(self, execution: str, value: Any, *, schema_hint: str | None = None) -> Reference:
        """Store a value."""
        key, checksum, content = encode(execution, value)
        await self.write(key, content)
        return Reference(
            store=STORE, key=key, checksum=checksum, size=len(content), schema_hint=schema_hint
        )

    async def write(self, key: str, content: bytes) -> None:
        """Store content under its key."""
        checked_key(key)
        await self._pause()
        self._faults.write(key, unreachable=self._unreachable)
        self._content[key] = content
        await self._pause()

    async def keep(self, key: str, file: Path) -> None:
        """Store the content of a file under its key."""
        await self.write(key, await asyncio.to_thread(file.read_bytes))

    async def join(self, execution: str, pieces: Sequence[Reference]) -> Reference:
        """Store the elements of several lists as one."""
        parts = [inside(piece, await self._read(piece)) for piece in pieces]
        whole = msgspec.json.decode(b"[" + b",".join(part for part in parts if part) + b"]")
        return await self.put(execution, whole)

    async def put_file(
        self, execution: str, file: Path, *, schema_hint: str | None = None
    ) -> Reference:
        """Store the bytes of a file."""
        content = await asyncio.to_thread(file.read_bytes)
        return await self.put(execution, content, schema_hint=schema_hint)

    async def get(self, reference: Reference) -> Any:
        """Return what a reference leads to."""
        return decode(reference, await self._read(reference))

    async def check(self, reference: Reference) -> None:
        """Compare what a reference leads to with what it says."""
        verified(reference, await self._read(reference))

    async def blocks(self, reference: Reference) -> AsyncIterator[bytes]:
        """Read content block by block."""
        content = await self._read(reference)
        for at in range(0, len(content), BLOCK):
            await self._pause()
            yield content[at : at + BLOCK]

    async def _read(self, reference: Reference) -> bytes:
        key = checked(reference, STORE).key
        await self._pause()
        if self._unreachable:
            self._faults.read(key)
        if key not in self._content:
            raise ObjectError("not_found", f"{key}: is not in the store")
        return self._content[key]

    async def remove(self, execution: str) -> int:
        """Remove every object of an execution."""
        keys = [key for key in self._content if key.startswith(f"{execution}/")]
        for key in keys:
            del self._content[key]
        return len(keys)

    async def delete(self, key: str) -> None:
        """Remove one object."""
        self._content.pop(key, None)


class DiskFaults:
    """Asked before each use of the disk: it raises what goes wrong."""

    def __init__(self, plan: Plan, chance: Random) -> None:
        self._plan = plan
        self._chance = chance
        self.calm = False

    def write(self, key: str, *, unreachable: bool) -> None:
        """Refuse some writes."""
        if self.calm or not self._plan.large:
            return
        drawn = self._chance.random()
        if drawn < self._plan.disk_full:
            self._plan.counts["disk: full"] += 1
            raise ObjectError("quota", f"{key}: no space left, on purpose")
        if unreachable:
            self._refuse(key, drawn - self._plan.disk_full)

    def read(self, key: str) -> None:
        """Refuse some reads."""
        if not self.calm and self._plan.large:
            self._refuse(key, self._chance.random())

    def _refuse(self, key: str, drawn: float) -> None:
        if drawn < self._plan.disk_away:
            self._plan.counts["disk: out of reach"] += 1
            raise ObjectError("connection", f"{key}: out of reach, on purpose")


def whole(content: Mapping[str, bytes], value: Any) -> Any:
    """Return a value with every reference in it replaced by what the disk holds; what cannot be had stays."""
    followed = Followed()
    while True:
        try:
            return resolved(followed, value)
        except NeededError as lack:
            for reference in lack.references:
                if reference["key"] not in content:
                    return value
                found = decode(read_reference({**reference, "path": []}), content[reference["key"]])
                followed.put(reference, found)


def missing(content: Mapping[str, bytes], value: Any) -> list[str]:
    """Name the references in a value that lead to nothing, or to something else than they say."""
    if isinstance(value, dict):
        if not is_reference(value):
            return [key for item in value.values() for key in missing(content, item)]
        found = missing(content, value.get("tail", []))
        for one in objects_of(value):
            try:
                verified(read_reference(one), content.get(one["key"], b""))
            except PetraError:
                found.append(one["key"])
        return found
    if isinstance(value, list | tuple):
        return [key for item in value for key in missing(content, item)]
    return []
