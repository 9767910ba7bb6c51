"""The results of a loop as one object, whatever they have in all: at most a few pages are in memory at a time (S18)."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import AsyncIterator
from typing import Any, Final

import msgspec

from petra.objects import ExecutionObjects
from petra.references import is_reference, walk

PIECE_BYTES: Final = 8 * 1024 * 1024
"""Bytes of results that are stored at a time, on the way to one object."""
PAGES_HELD: Final = 4
"""Pages that are in memory while results are gathered from them."""

_json = msgspec.json.Encoder().encode


def is_part(value: Any) -> bool:
    """Tell whether a result stands on a page with others."""
    return (
        type(value) is dict
        and bool(value.get("path"))
        and "pieces" not in value
        and is_reference(value)
    )


async def gather(objects: ExecutionObjects, results: list[Any], *, joins: bool) -> dict[str, Any]:
    """Store results as one list, those on pages as data; or join the lists that they were stored in.

    Raises:
        UnreadableError: something cannot be read or stored.
    """
    if joins:
        return await objects.join(results)
    pieces: list[dict[str, Any]] = []
    some: list[Any] = []
    size = 0
    async for result in _data(objects, results):
        some.append(result)
        size += len(_json(result))
        if size > PIECE_BYTES:
            pieces.append(await objects.put(some))
            some, size = [], 0
    if not pieces:
        return await objects.put(some)
    if some:
        pieces.append(await objects.put(some))
    return await objects.join(pieces)


async def _data(objects: ExecutionObjects, results: list[Any]) -> AsyncIterator[Any]:
    """Yield results, those on pages read from there; neighbours are on the same few."""
    pages: OrderedDict[str, Any] = OrderedDict()
    for result in results:
        if not is_part(result):
            yield result
            continue
        key = result["key"]
        if key not in pages:
            pages[key] = await objects.get({**result, "path": []})
            if len(pages) > PAGES_HELD:
                pages.popitem(last=False)
        yield walk(result, pages[key])
