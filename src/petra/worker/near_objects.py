"""Large results of a worker that can reach the bucket of its server: they go there straight, and through the server otherwise.

Rule 1: it is the same bucket if both were given the same address, at the same place; else a reference would lead nowhere for the others.
Rule 2: that is found out on each connection, since the next server may be configured in another way.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

from petra.objects.base import ObjectStore
from petra.references import Reference
from petra.worker.server_objects import ServerObjects


class NearObjects(ServerObjects):
    """The objects of a server, straight from their bucket where that is known."""

    def __init__(self, url: str, token: str, bucket: ObjectStore) -> None:
        super().__init__(url, token)
        self._bucket = bucket
        self._near: ObjectStore | None = None

    @property
    def is_near(self) -> bool:
        """Whether the server keeps its objects in the bucket that this worker was given."""
        return self._near is not None

    async def learn(self) -> None:
        """Ask what the server calls its store, and whether it is ours."""
        await super().learn()
        own = getattr(self._bucket, "place", "")
        same = bool(own) and own == self.place and self._bucket.name == self.name
        self._near = self._bucket if same else None

    async def write(self, key: str, content: bytes) -> None:
        """Store content under the key that was made of it; durable when this returns."""
        near = self._near
        await (super().write(key, content) if near is None else near.write(key, content))

    async def keep(self, key: str, file: Path) -> None:
        """Store the content of a file under the key that was made of it."""
        near = self._near
        await (super().keep(key, file) if near is None else near.keep(key, file))

    async def put_file(
        self, execution: str, file: Path, *, schema_hint: str | None = None
    ) -> Reference:
        """Store the bytes of a file."""
        put = super().put_file if self._near is None else self._near.put_file
        return await put(execution, file, schema_hint=schema_hint)

    async def join(self, execution: str, pieces: Sequence[Reference]) -> Reference:
        """Store the elements of several lists as one."""
        join = super().join if self._near is None else self._near.join
        return await join(execution, pieces)

    async def get(self, reference: Reference) -> Any:
        """Return the bytes or the JSON value a reference leads to."""
        get = super().get if self._near is None else self._near.get
        return await get(reference)

    async def check(self, reference: Reference) -> None:
        """Read what a reference leads to, and compare."""
        check = super().check if self._near is None else self._near.check
        await check(reference)

    def blocks(self, reference: Reference) -> AsyncIterator[bytes]:
        """Read the content that a reference leads to, block by block."""
        return super().blocks(reference) if self._near is None else self._near.blocks(reference)
