"""Those who watch for triggers: one task for each that has to look by itself, at the engine that has its shard (S24)."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Protocol

import msgspec

from petra.engine.limits import WATCH_AGAIN_S
from petra.engine.trigger_registry import KeptTrigger
from petra.store.accounts import Account
from petra.store.rows import shard_of

if TYPE_CHECKING:
    from petra.engine.engine import Engine

WATCH: Final = "trigger-watch"
_log = logging.getLogger(__name__)


class Watcher(Protocol):
    """Somebody who looks for events of one trigger, for ever."""

    async def run(self) -> None:
        """Look."""


class MakeWatcher(Protocol):
    """How one is made."""

    def __call__(self, engine: Engine, kept: KeptTrigger, notes: WatchNotes, /) -> Watcher:
        """Make one."""


class WatchNotes:
    """What is known of a watch, whoever keeps it: a row that is shown with its trigger."""

    def __init__(self, engine: Engine, kept: KeptTrigger) -> None:
        self._store = engine.store
        self._name = f"{kept.namespace}/{kept.name}"

    async def read(self) -> dict[str, Any]:
        """Return what is noted."""
        row = await self._store.accounts.account(WATCH, self._name)
        return msgspec.json.decode(row.body, type=dict[str, Any]) if row is not None else {}

    async def note(self, **said: Any) -> None:
        """Note something beside what is noted already."""
        row = await self._store.accounts.account(WATCH, self._name)
        known = msgspec.json.decode(row.body, type=dict[str, Any]) if row is not None else {}
        if row is not None and {**known, **said} == known:
            return
        version = row.version + 1 if row is not None else 1
        body = msgspec.json.encode({**known, **said})
        await self._store.accounts.keep(
            Account(kind=WATCH, name=self._name, version=version, body=body)
        )


class Watches:
    """Has every trigger watched for that needs it, by one engine."""

    def __init__(self, engine: Engine, makers: Mapping[str, MakeWatcher]) -> None:
        self._engine = engine
        self._makers = MappingProxyType(dict(makers))
        self._going: dict[str, tuple[KeptTrigger, asyncio.Task[None]]] = {}

    async def shown(self, kept: KeptTrigger) -> dict[str, Any] | None:
        """Return what is noted of a trigger that is watched for; None for another one."""
        if kept.trigger.source not in self._makers:
            return None
        return await WatchNotes(self._engine, kept).read()

    def follow(self) -> None:
        """Begin to watch for what is ours now, and stop what is not, or has changed."""
        wanted = {
            f"{trigger.namespace}/{trigger.name}": trigger
            for trigger in self._engine.triggers.registry
            if self._is_ours(trigger)
        }
        for name, (kept, task) in list(self._going.items()):
            if wanted.get(name) is not kept or task.done():
                task.cancel()
                del self._going[name]
        for name, kept in wanted.items():
            if name not in self._going:
                task = asyncio.create_task(self._watch(kept), name=f"watch {name}")
                self._going[name] = kept, task

    def _is_ours(self, kept: KeptTrigger) -> bool:
        mine = self._engine.shards.mine()
        shard = shard_of(f"{kept.namespace}/{kept.name}")
        return (
            kept.trigger.source in self._makers
            and not kept.paused
            and (mine is None or shard in mine)
        )

    async def _watch(self, kept: KeptTrigger) -> None:
        notes = WatchNotes(self._engine, kept)
        make = self._makers[kept.trigger.source]
        while True:
            try:
                await make(self._engine, kept, notes).run()
            except Exception as error:  # noqa: BLE001 - whatever it is, it is tried again
                _log.warning("trigger %s: %s", kept.name, error)
            if (task := asyncio.current_task()) is not None and task.cancelling():
                raise asyncio.CancelledError  # what was waited for there took our end for its own
            await self._engine.clock.sleep(WATCH_AGAIN_S)

    async def close(self) -> None:
        """Stop."""
        tasks = [task for _, task in self._going.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._going.clear()
