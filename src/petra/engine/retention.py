"""Retention: executions that ended long ago are deleted, with the objects that only they referred to.

Rule 1: a few at a time, for ever, so that nobody waits for it.
Rule 2: an object goes when no execution that is left refers to it, whoever made it. What an execution made
and never told (a report that was refused) goes with its last object.
Rule 3: objects that cannot be deleted now are deleted later; the executions are gone all the same.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Collection

from petra.clock import Clock, SystemClock
from petra.engine.limits import EXPIRE_EVERY_S, EXPIRE_MAX
from petra.errors import ObjectError
from petra.objects import ObjectStore
from petra.store.base import Store

_log = logging.getLogger(__name__)


class Retention:
    """Deletes what ended more than ``keep_s`` seconds ago."""

    def __init__(
        self,
        store: Store,
        keep_s: float,
        *,
        objects: ObjectStore | None = None,
        clock: Clock | None = None,
    ) -> None:
        """Make one; without ``objects`` those that became orphans stay listed in the store."""
        self._store = store
        self._keep_s = keep_s
        self._objects = objects
        self._clock = clock or SystemClock()

    async def sweep(self) -> AsyncIterator[tuple[str, ...]]:
        """Delete for ever; yield the executions that are gone."""
        while True:
            gone = await self.once()
            if gone:
                yield gone
            if len(gone) < EXPIRE_MAX:
                await self._clock.sleep(EXPIRE_EVERY_S)

    async def once(self) -> tuple[str, ...]:
        """Delete up to ``EXPIRE_MAX`` executions and the objects nothing refers to; return the executions."""
        before = self._clock.now() - self._keep_s
        gone = (await self._store.expire(before, limit=EXPIRE_MAX)).executions
        if self._objects is not None:
            await collect(self._store, self._objects, gone)
        return gone


async def collect(store: Store, objects: ObjectStore, gone: Collection[str]) -> None:
    """Delete the objects that became orphans, and what else deleted executions have left behind; if not now, then later."""
    try:
        await _collect(store, objects, gone)
    except ObjectError as error:
        _log.warning("objects that nothing refers to stay for now: %s", error)


async def _collect(store: Store, objects: ObjectStore, gone: Collection[str]) -> None:
    makers = set(gone)
    while keys := await store.orphans(limit=EXPIRE_MAX):
        for key in keys:
            await objects.delete(key)
        makers |= {key.partition("/")[0] for key in keys}
        await store.forget_orphans(keys)
    for maker in sorted(makers):
        if await _is_over(store, maker):
            await objects.remove(maker)


async def _is_over(store: Store, maker: str) -> bool:
    """Whether an execution is deleted and nobody refers to what it made."""
    if await store.execution(maker) is not None:
        return False
    return not await store.refers_to(f"{maker}/")
