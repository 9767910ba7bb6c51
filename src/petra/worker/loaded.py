"""Objects that templates and tools read through references: fetched once, kept while there is room (S18).

Rule 1: what is read is verified against its checksum; what cannot be read is an error with its kind.
Rule 2: an object that many runs want at once is fetched once. ``KEPT_BYTES`` bounds what is kept for runs to come
(``petra.objects.kept``).
Rule 3: one run reads at most ``BUDGET_BYTES``; what goes beyond is an error of kind limit that names value and size.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from petra.errors import ObjectError, UnreadableError
from petra.objects import ExecutionObjects, Reference, as_json
from petra.objects.kept import FEW, KEPT_WEIGHT, Kept
from petra.references import name_of

KEPT_BYTES: Final = 64 * 1024 * 1024
BUDGET_BYTES: Final = 256 * 1024 * 1024
"""Bytes of objects that one run may read."""
AT_ONCE: Final = 16
"""Objects that are fetched at a time for one run."""


class Loaded:
    """The objects a worker has read, by their keys."""

    def __init__(
        self,
        most: int = KEPT_BYTES,
        budget: int = BUDGET_BYTES,
        weight: int = KEPT_WEIGHT,
        few: int = FEW,
    ) -> None:
        self._budget = budget
        self._kept = Kept(most, weight, few)
        self._coming: dict[str, asyncio.Task[Any]] = {}

    async def bring(
        self,
        objects: ExecutionObjects | None,
        references: Sequence[dict[str, Any]],
        scope: Mapping[str, Any],
        held: int,
    ) -> list[Any]:
        """Return what references lead to, or the ``UnreadableError`` that reading one came to.

        ``scope`` has the names they go by; the run holds so many bytes already.
        """
        values: list[Any] = []
        for start in range(0, len(references), AT_ONCE):
            wanted: list[Any] = []
            for reference in references[start : start + AT_ONCE]:
                held += max(0, _size(reference))
                fits = held <= self._budget
                wanted.append(
                    self._read(objects, reference) if fits else self._refuse(scope, reference, held)
                )
            values += await asyncio.gather(*wanted)
        return values

    async def _refuse(
        self, scope: Mapping[str, Any], reference: dict[str, Any], held: int
    ) -> UnreadableError:
        name, size = name_of(scope, reference), _size(reference)
        others = f" beside {held - size:,} that the run has read" if held > size else ""
        return UnreadableError(
            "limit",
            f"'{name}' has {size:,} bytes{others}; a worker reads at most {self._budget:,} for one run",
        )

    async def _read(self, objects: ExecutionObjects | None, reference: dict[str, Any]) -> Any:
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
            return self._kept[key]
        task = self._coming.get(key)
        if task is None:
            task = self._coming[key] = asyncio.create_task(_value(objects, reference))
            task.add_done_callback(lambda done: self._arrived(reference, done))
        return await asyncio.shield(task)

    def _arrived(self, reference: Reference, task: asyncio.Task[Any]) -> None:
        self._coming.pop(reference.key, None)
        if task.cancelled() or task.exception() is not None:
            return
        self._kept.put(reference.key, task.result(), reference.size)


async def _value(objects: ExecutionObjects, reference: Reference) -> Any:
    return as_json(await objects.get(_whole(reference)))


def _size(reference: Mapping[str, Any]) -> int:
    size = reference["size"]
    return size if isinstance(size, int) else 0


def _whole(reference: Reference) -> Reference:
    return msgspec.structs.replace(reference, path=[]) if reference.path else reference
