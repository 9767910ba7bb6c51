"""Stored objects over HTTP: a key is all that a caller has, and what goes out is read block by block."""

from __future__ import annotations

from collections.abc import AsyncIterator

from litestar.response import Stream

from petra.objects import ObjectStore, Reference
from petra.objects.base import sum_in


def reference_to(objects: ObjectStore, key: str) -> Reference:
    """Return a reference to the object of a key; its size is not known.

    Raises:
        ObjectError: no object can have that key.
    """
    return Reference(store=objects.name, key=key, checksum=sum_in(key), size=0)


async def object_stream(objects: ObjectStore, key: str) -> Stream:
    """Answer with the bytes of an object.

    Raises:
        ObjectError: it cannot be read: before anything is answered, and not after half of it.
    """
    blocks = objects.blocks(reference_to(objects, key))
    first = await anext(blocks, b"")

    async def content() -> AsyncIterator[bytes]:
        yield first
        async for block in blocks:
            yield block

    return Stream(content(), media_type="application/octet-stream")
