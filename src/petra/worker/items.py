"""Items of a long list, which lie together in objects, for iterations that go through a thread (S18).

A thread can load nothing. So before a stride the objects that its items lie in are read once, and each iteration gets
its item; neighbours share an object.
"""

from __future__ import annotations

import contextlib
from typing import Any, Final

import msgspec

from petra.errors import UnreadableError
from petra.objects import ExecutionObjects
from petra.references import is_reference, walk
from petra.wire import Iteration
from petra.worker.loaded import Loaded

SHARED_MAX: Final = 1024 * 1024
"""Bytes of an object whose items are put into the iterations that share it."""


async def with_items(
    loaded: Loaded, objects: ExecutionObjects | None, iterations: list[Iteration]
) -> list[Iteration]:
    """Put items in the place of references to them; what cannot be had is left for the machine to meet."""
    wanted = {
        value["key"]: value
        for iteration in iterations
        for value in iteration.iter.values()
        if type(value) is dict and "checksum" in value and "pieces" not in value
        if is_reference(value)
        if value["size"] <= SHARED_MAX
    }
    if not wanted:
        return iterations
    items = await loaded.bring(objects, list(wanted.values()), {}, 0)
    held = dict(zip(wanted, items, strict=True))
    return [_filled(iteration, held) for iteration in iterations]


def _filled(iteration: Iteration, held: dict[str, Any]) -> Iteration:
    items = dict(iteration.iter)
    for name, value in iteration.iter.items():
        if type(value) is not dict or value.get("key") not in held or not is_reference(value):
            continue
        if "pieces" in value:
            continue  # the key is that of its first piece
        item = held[value["key"]]
        if not isinstance(item, UnreadableError):
            with contextlib.suppress(UnreadableError):
                items[name] = walk(value, item)
    return msgspec.structs.replace(iteration, iter=items)
