"""Triggers of an engine: which there are, and who deals with what waits for them (S24).

Rule 1: an event that waits is dealt with by the engine that has its shard, and again until that is stored.
Rule 2: an engine that goes on with some executions only leaves what waits to others.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any, Final

from petra.clock import doze
from petra.engine.giving import SecretKeeper
from petra.engine.life import StoppedError
from petra.engine.limits import (
    ARRIVALS_AT_ONCE,
    RETRY_S,
    TRIGGER_SECRET_S,
    TRIGGERS_FORGET_S,
    TRIGGERS_POLL_S,
)
from petra.engine.trigger_ends import TriggerNotes
from petra.engine.trigger_intake import TriggerIntake
from petra.engine.trigger_registry import KeptTrigger, TriggerRegistry
from petra.engine.trigger_watches import Watcher, Watches, WatchNotes
from petra.errors import PetraError
from petra.keychain import KeychainError
from petra.store.errors import FullError, UnavailableError, UncertainError
from petra.store.rows import ArrivalRow

if TYPE_CHECKING:
    from petra.engine.engine import Engine

_AWAY: Final = (UnavailableError, UncertainError, FullError)
_log = logging.getLogger(__name__)


class Triggers:
    """What starts executions of an engine from outside."""

    def __init__(self, engine: Engine, secrets: SecretKeeper | None = None) -> None:
        self._engine = engine
        self._secrets = secrets
        self.registry = TriggerRegistry(engine.store, shared=engine.shards.epochs is not None)
        self.notes = TriggerNotes(self.registry)
        self.intake = TriggerIntake(engine)
        self.watches = Watches(engine, {"files": _watch_files, "postgres": _listen, "nats": _hear})
        self._woken = asyncio.Event()
        self._forgot = self._looked = float("-inf")
        self._revealed: dict[tuple[str, str], tuple[float, Any]] = {}

    async def secret(self, namespace: str, name: str) -> Any:
        """Return a credential that a trigger names; it is looked for again after a moment.

        Raises:
            KeychainError: there is none.
        """
        now = self._engine.clock.monotonic()
        known = self._revealed.get((namespace, name))
        if known is None or known[0] < now:
            if self._secrets is None:
                raise KeychainError(f"this engine was given no credential '{name}'", "not_found")
            secret = await self._secrets.reveal(namespace, name)
            known = self._revealed[namespace, name] = now + TRIGGER_SECRET_S, secret
        return known[1]

    async def begin(self) -> None:
        """Know the triggers there are, before anything is decided."""
        await self.registry.load()

    def wake(self) -> None:
        """Something waits, or the triggers have changed."""
        self._woken.set()

    def swept(self) -> None:
        """Look by ourselves now and then: others may have changed something, and old rows are forgotten."""
        now, shared = self._engine.clock.now(), self._engine.shards.epochs is not None
        if now - self._looked >= (TRIGGERS_POLL_S if shared else TRIGGERS_FORGET_S):
            self.wake()

    async def run(self) -> None:
        """Deal with what waits, for ever."""
        while True:
            self._woken.clear()
            try:
                pause_s = await self._look()
            except _AWAY:
                pause_s = RETRY_S
            if pause_s is None:
                await self._woken.wait()
            else:
                await doze(self._engine.clock, pause_s, self._woken)

    async def _look(self) -> float | None:
        """Deal with some of what waits; return after how long to look again, None: when somebody says so."""
        engine = self._engine
        self._looked = engine.clock.now()
        await self.registry.load()
        self.watches.follow()
        rows = await engine.store.arrivals.due(
            engine.clock.now(), shards=engine.shards.mine(), limit=ARRIVALS_AT_ONCE
        )
        done = await asyncio.gather(*(self._deal_with(row) for row in rows))
        await self._forget_old()
        if not all(done):
            return RETRY_S
        return 0.0 if len(rows) == ARRIVALS_AT_ONCE else None

    async def _deal_with(self, row: ArrivalRow) -> bool:
        """Deal with one; say whether that is done."""
        try:
            await self.intake.deal_with(row)
        except (*_AWAY, StoppedError):
            return False
        except PetraError as error:
            _log.warning("event %s of trigger %s waits: %s", row.key, row.trigger, error)
            return False
        return True

    async def _forget_old(self) -> None:
        now = self._engine.clock.now()
        if now - self._forgot >= TRIGGERS_FORGET_S:
            self._forgot = now
            await self._engine.store.arrivals.forget(now)


def _watch_files(engine: Engine, kept: KeptTrigger, notes: WatchNotes) -> Watcher:
    from petra.engine.trigger_files import FileWatcher  # noqa: PLC0415 - few watch files

    return FileWatcher(engine, kept, notes)


def _listen(engine: Engine, kept: KeptTrigger, notes: WatchNotes) -> Watcher:
    from petra.engine.trigger_listening import Listener  # noqa: PLC0415 - few listen

    return Listener(engine, kept, notes)


def _hear(engine: Engine, kept: KeptTrigger, notes: WatchNotes) -> Watcher:
    from petra.engine.trigger_nats import NatsListener  # noqa: PLC0415 - few hear messages

    return NatsListener(engine, kept, notes)
