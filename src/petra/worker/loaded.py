"""Objects that templates read through references: fetched once, kept while there is room (S18).

Rule 1: what is read is verified against its checksum; what cannot be read is an error with its kind.
Rule 2: an object that many runs want at once is fetched once. ``KEPT_BYTES`` bounds what is kept, the one unused for longest
goes first; one that is larger than that is not read into memory at all.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from typing import Any, Final

from petra.errors import ObjectError, UnreadableError
from petra.objects import ExecutionObjects, Reference

KEPT_BYTES: Final = 64 * 1024 * 1024


class Loaded:
    """The objects a worker has read, by their keys."""

    def __init__(self, most: int = KEPT_BYTES) -> None:
        self._most = most
        self._kept: OrderedDict[str, tuple[Any, int]] = OrderedDict()
        self._size = 0
        self._coming: dict[str, asyncio.Task[Any]] = {}

    async def read(self, objects: ExecutionObjects | None, reference: dict[str, Any]) -> Any:
        """Return what a reference leads to, or the ``UnreadableError`` that reading it came to."""
        if objects is None:
            message = f"{reference['key']:.80}: this worker has no object store"
            return UnreadableError("not_found", message)
        try:
            return await self._get(objects, objects.checked(reference))
        except ObjectError as error:
            return error
        except Exception as error:  # noqa: BLE001 - whatever a store does, the run has an outcome
            return UnreadableError("connection", f"{reference['key']:.80}: {type(error).__name__}")

    async def _get(self, objects: ExecutionObjects, reference: Reference) -> Any:
        key = reference.key
        if key in self._kept:
            self._kept.move_to_end(key)
            return self._kept[key][0]
        if reference.size > self._most:
            message = (
                f"{key} has {reference.size:,} bytes; at most {self._most:,} are read by templates"
            )
            raise ObjectError("limit", message)
        task = self._coming.get(key)
        if task is None:
            task = self._coming[key] = asyncio.create_task(objects.get(reference))
            task.add_done_callback(lambda done: self._arrived(reference, done))
        return await asyncio.shield(task)

    def _arrived(self, reference: Reference, task: asyncio.Task[Any]) -> None:
        self._coming.pop(reference.key, None)
        if task.cancelled() or task.exception() is not None:
            return
        self._kept[reference.key] = task.result(), reference.size
        self._size += reference.size
        while self._size > self._most:
            _, (_, size) = self._kept.popitem(last=False)
            self._size -= size
