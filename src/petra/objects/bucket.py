"""Objects in a bucket: S3 and what speaks like it, Google Cloud, Azure.

A bucket acknowledges a write when it is durable, so nothing else is needed before a reference is returned.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

from obstore.exceptions import BaseError, NotFoundError, PermissionDeniedError, UnauthenticatedError
from obstore.store import ObjectStore, from_url

from petra.errors import ObjectError, UsageError
from petra.objects.base import (
    ByContent,
    checked,
    checked_key,
    decode,
    encode,
    inside,
    sum_in,
    sum_of,
)
from petra.references import Reference


def open_bucket(address: str, name: str, place: str = "") -> BucketObjects:
    """Return the objects of a bucket; what opens it comes from the environment.

    Raises:
        UsageError: the address or the environment is not understood.
    """
    try:
        return BucketObjects(from_url(address), name=name, place=place)
    except (BaseError, ValueError) as error:
        raise UsageError(f"'{address}' cannot be opened: {error}") from None


class BucketObjects(ByContent):
    """Objects in a bucket; the store is made with one of the classes of ``obstore.store`` and its credentials."""

    def __init__(self, bucket: ObjectStore, *, name: str = "s3", place: str = "") -> None:
        self.name = name
        self.place = place
        """By which a worker knows that it was given the same bucket; nothing, if nobody can be sure."""
        self._bucket = bucket

    async def write(self, key: str, content: bytes) -> None:
        """Store content under the key that was made of it; durable when this returns."""
        try:
            await self._bucket.put_async(checked_key(key), content)
        except (BaseError, OSError) as error:
            raise _failure(key, error) from error

    async def keep(self, key: str, file: Path) -> None:
        """Store the content of a file under the key that was made of it, in parts."""
        _, checksum = await asyncio.to_thread(sum_of, file)
        if checksum != sum_in(key):
            raise ObjectError("parse", f"{key}: the content does not match its checksum")
        try:
            await self._bucket.put_async(key, file)
        except (BaseError, OSError) as error:
            raise _failure(key, error) from error

    async def join(self, execution: str, pieces: Sequence[Reference]) -> Reference:
        """Store the elements of several lists as one list: read once for its name, and once more to be sent."""
        own = encode(execution, None)[0].partition("/")[0]
        checksum, size = hashlib.sha256(), 0
        async for part in self._joined(pieces):
            checksum.update(part)
            size += len(part)
        key = f"{own}/{checksum.hexdigest()}.json"
        try:
            await self._bucket.put_async(key, self._joined(pieces))
        except (BaseError, OSError) as error:
            raise _failure(key, error) from error
        return Reference(store=self.name, key=key, checksum=checksum.hexdigest(), size=size)

    async def put_file(
        self, execution: str, file: Path, *, schema_hint: str | None = None
    ) -> Reference:
        """Store the bytes of a file: read once for its name, and once more to be sent in parts."""
        own = encode(execution, None)[0].partition("/")[0]
        size, checksum = await asyncio.to_thread(sum_of, file)
        key = f"{own}/{checksum}.bin"
        try:
            await self._bucket.put_async(key, file)
        except (BaseError, OSError) as error:
            raise _failure(key, error) from error
        return Reference(
            store=self.name, key=key, checksum=checksum, size=size, schema_hint=schema_hint
        )

    async def _joined(self, pieces: Sequence[Reference]) -> AsyncIterator[bytes]:
        yield b"["
        first = True
        for piece in pieces:
            content = inside(piece, await self._content(piece))
            if content:
                yield content if first else b"," + content
                first = False
        yield b"]"

    async def get(self, reference: Reference) -> Any:
        """Return the bytes or the JSON value a reference leads to."""
        return decode(reference, await self._content(reference))

    async def _content(self, reference: Reference) -> bytes:
        key = checked(reference, self.name).key
        try:
            content = await self._bucket.get_async(key)
            if (size := content.meta["size"]) != reference.size:
                raise ObjectError("parse", f"{key}: {size:,} bytes instead of {reference.size:,}")
            return bytes(await content.bytes_async())
        except (BaseError, OSError) as error:
            raise _failure(key, error) from error

    async def check(self, reference: Reference) -> None:
        """Read what a reference leads to, piece by piece, and compare."""
        size, checksum = 0, hashlib.sha256()
        async for block in self.blocks(reference):
            size += len(block)
            checksum.update(block)
        if (size, checksum.hexdigest()) != (reference.size, reference.checksum):
            raise ObjectError("parse", f"{reference.key}: is not what was stored")

    async def blocks(self, reference: Reference) -> AsyncIterator[bytes]:
        """Read the content that a reference leads to, block by block."""
        key = checked(reference, self.name).key
        try:
            content = await self._bucket.get_async(key)
            async for block in content.stream():
                yield bytes(block)
        except (BaseError, OSError) as error:
            raise _failure(key, error) from error

    async def remove(self, execution: str) -> int:
        """Remove every object of an execution; return how many there were."""
        prefix = encode(execution, None)[0].partition("/")[0]
        count = 0
        try:
            async for chunk in self._bucket.list(prefix):
                paths = [item["path"] for item in chunk]
                await self._bucket.delete_async(paths)
                count += len(paths)
        except (BaseError, OSError) as error:
            raise _failure(prefix, error) from error
        return count

    async def delete(self, key: str) -> None:
        """Remove one object."""
        try:
            await self._bucket.delete_async(checked_key(key))
        except NotFoundError:
            return
        except (BaseError, OSError) as error:
            raise _failure(key, error) from error


def _failure(key: str, error: Exception) -> ObjectError:
    if isinstance(error, NotFoundError | FileNotFoundError):
        return ObjectError("not_found", f"{key}: is not in the store")
    if isinstance(error, PermissionDeniedError | UnauthenticatedError | PermissionError):
        return ObjectError("auth", f"{key}: the store refuses access")
    return ObjectError("connection", f"{key}: the store does not answer: {str(error)[:200]}")
