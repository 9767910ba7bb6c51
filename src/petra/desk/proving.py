"""Proving that a log is as it was written, with the objects that it refers to; or naming the first record that is not."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from petra.engine.authority import may_read
from petra.engine.cache import Cache, Entry
from petra.engine.codec import DamagedError, proved
from petra.engine.references import references_of
from petra.errors import ObjectError
from petra.kernel import Record, verify
from petra.kernel.replay import BadRecord
from petra.objects import ObjectStore, Reference, read_reference
from petra.store.base import Store
from petra.store.rows import RecordRow as Row

_PAGE = 5_000
Held = dict[str, tuple[int, Reference]]
"""The objects that a log refers to, by their keys, with the record that does so first."""


def noting(rows: Iterable[Row], held: Held) -> Iterator[Row]:
    """Note which objects rows refer to, and where first, while they pass by."""
    for row in rows:
        for reference in references_of(row):
            held.setdefault(reference["key"], (row.seq, read_reference(reference)))
        yield row


async def objects_hold(
    objects: ObjectStore, store: Store, entry: Entry, held: Held
) -> BadRecord | None:
    """Name the first record that refers to an object that is missing, broken or somebody else's."""
    allowed: dict[str, bool] = {}
    for seq, reference in held.values():
        owner = reference.execution
        if owner not in allowed:
            allowed[owner] = await may_read(store, entry.state, owner)
        if not allowed[owner]:
            return BadRecord(seq=seq, reason=f"the object {reference.key} is not this execution's")
        try:
            await objects.check(reference)
        except ObjectError as error:
            return BadRecord(seq=seq, reason=f"the object {error.message}")
    return None


def prove(execution: str, rows: Iterable[Row], version: int, head: bytes) -> BadRecord | None:
    """Name the first row that is not as it was written; ``version`` and ``head`` say where the log ends.

    Rows are taken one by one: a log of a million records needs no more memory than one of ten.
    """
    seen, last = 0, b""

    def records() -> Iterator[Record]:
        nonlocal seen, last
        for row in rows:
            if row.seq != seen + 1:
                raise DamagedError(seen + 1, f"it is missing; after it comes {row.seq}")
            record = proved(row)
            seen, last = row.seq, row.hash
            yield record

    try:
        bad = verify(execution, records())
    except DamagedError as error:
        return BadRecord(seq=error.seq, reason=error.reason)
    if bad is not None:
        return bad
    if version > seen:
        return BadRecord(seq=seen + 1, reason="it is missing")
    if version < seen or head != last:
        return BadRecord(seq=seen, reason="it is not the last one that was stored")
    return None


async def verified(
    store: Store,
    cache: Cache,
    objects: ObjectStore | None,
    execution: str,
    elsewhere: Callable[..., Any],
) -> tuple[int, BadRecord | None]:
    """Prove the log of an execution; return how many records it has, and the first that is not as it was written."""
    stored = await store.execution(execution)
    assert stored is not None, "it was found by its id"
    held: Held = {}
    loop = asyncio.get_running_loop()
    rows = noting(_rows(loop, store, execution, stored.version), held)
    bad = await elsewhere(lambda: prove(execution, rows, stored.version, stored.head))
    if bad is None and held and objects is not None:
        bad = await objects_hold(objects, store, await cache.read(execution), held)
    return stored.version, bad


def _rows(
    loop: asyncio.AbstractEventLoop, store: Store, execution: str, until: int
) -> Iterator[Row]:
    """Yield the rows of a log up to a record, from another thread."""
    after = 0
    while after < until:
        reading = store.read(execution, after=after, limit=min(_PAGE, until - after))
        page = asyncio.run_coroutine_threadsafe(reading, loop).result()
        yield from page
        if not page:
            return
        after = page[-1].seq
