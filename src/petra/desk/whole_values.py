"""What callers see of large values: the values themselves (S18).

The log holds a reference in place of what is too large for an event. Whoever asks what an execution has come to gets the
data, up to a bound; what is beyond it, holds no JSON or cannot be had stays a reference, which ``petra result`` fetches.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec.structs import replace

from petra.desk.result import Result
from petra.engine.authority import may_read
from petra.errors import UnreadableError
from petra.kernel import State
from petra.objects import ObjectStore
from petra.references import (
    is_reference,
    look_through,
    objects_of,
    read_reference,
    references_within,
    walk,
    with_tail,
)
from petra.store.base import Store

WHOLE_MAX = 64 * 1024 * 1024
"""Bytes of objects that one answer brings."""


def has_references(result: Result) -> bool:
    """Tell whether something of an answer lies elsewhere."""
    for value in (result.output, result.ctx):
        if value:  # which mostly there is not
            for _ in references_within(value):
                return True
    return False


async def whole(result: Result, state: State, store: Store, objects: ObjectStore) -> Result:
    """Return an answer with what its references lead to."""
    values: dict[str, Any] = {}
    left = WHOLE_MAX
    for reference in _references([result.output, result.ctx]):
        read = read_reference({**reference, "path": []})
        if read.key in values or read.key.endswith(".bin") or read.size > left:
            continue
        try:
            if await may_read(store, state, read.execution):
                values[read.key] = await objects.get(read)
                left -= read.size
        except UnreadableError:
            continue
    ctx = {key: _filled(value, values) for key, value in result.ctx.items()}
    return replace(result, output=_filled(result.output, values), ctx=ctx)


def _references(value: Any) -> Iterator[dict[str, Any]]:
    for reference in references_within(value):
        yield from objects_of(reference)


def _filled(value: Any, values: dict[str, Any]) -> Any:
    """Put objects in the place of the references to them; what they hold is data, references in it too."""
    if isinstance(value, list):
        return [_filled(part, values) for part in value]
    if not isinstance(value, dict):
        return value
    if not is_reference(value):
        return {key: _filled(part, values) for key, part in value.items()}
    if any(reference["key"] not in values for reference in objects_of(value)):
        return value
    try:
        if "pieces" in value:
            filled = with_tail(value, lambda item: _filled(item, values))
            return look_through(filled, lambda reference: values[reference["key"]])
        return walk(value, values[value["key"]])
    except UnreadableError:
        return value
