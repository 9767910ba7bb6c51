"""Hearing what others send: each message is an event of one trigger (S24).

Rule 1: what was heard is durable before anything is done with it, and before its sender is told.
Rule 2: where the sender keeps nothing for whoever is away, from when to when nobody listened is noted and shown, also where
this process was not there at all.
Rule 3: a connection that says nothing is asked now and then whether it is one.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, NamedTuple

from petra.engine.limits import (
    ARRIVAL_BYTES_MAX,
    ARRIVALS_KEPT_S,
    LISTEN_CHECK_S,
    LISTEN_GAPS_MAX,
    WATCHED_AT_ONCE,
)
from petra.engine.trigger_ends import arrival_id
from petra.engine.trigger_intake import bounded_event
from petra.engine.trigger_registry import KeptTrigger
from petra.engine.trigger_watches import WatchNotes
from petra.errors import ExpressionError, PetraError
from petra.kernel.scope import timestamp
from petra.store.rows import ArrivalRow
from petra.triggers.incoming import Occurrence

if TYPE_CHECKING:
    from petra.engine.engine import Engine

_log = logging.getLogger(__name__)


class HeardEvent(NamedTuple):
    """An event, and how its sender is told that it is safe here; None, where it does not want to know."""

    occurrence: Occurrence
    acknowledge: Callable[[], Awaitable[None]] | None = None


class Hearing(ABC):
    """Hears for one trigger, until its connection ends."""

    forgetful = True
    """Whether what is sent while nobody listens is lost."""

    def __init__(self, engine: Engine, kept: KeptTrigger, notes: WatchNotes, room: int) -> None:
        self._engine = engine
        self._kept = kept
        self._notes = notes
        self._heard: asyncio.Queue[HeardEvent | None] = asyncio.Queue(room)
        self._alive = 0.0
        self._why = "nobody listens"

    # What each kind does in its own way

    @abstractmethod
    async def connect(self) -> None:
        """Begin to hear."""

    @abstractmethod
    async def check(self) -> None:
        """Find out whether the connection is one; raise where it is not."""

    @abstractmethod
    async def disconnect(self) -> None:
        """Hear no more; also where it never began."""

    # What is the same

    async def run(self) -> None:
        """Hear until the connection ends; whoever called begins again."""
        try:
            await self.connect()
            await self._back()
        except BaseException as error:
            await asyncio.shield(self.disconnect())
            if isinstance(error, Exception):
                await self._notes.note(trouble=f"it cannot listen: {in_words(error)}")
            raise
        try:
            await self._take_all()
        finally:
            await asyncio.shield(self._over())

    async def _over(self) -> None:
        await self.disconnect()
        until = {"until": self._alive} if self.forgetful else {}
        await self._notes.note(**until, trouble=self._why)

    async def _back(self) -> None:
        """Note that somebody listens, and since when nobody did."""
        now = self._alive = self._engine.clock.now()
        if not self.forgetful:
            await self._notes.note(trouble="", until=None, listening_since=now)
            return
        known = await self._notes.read()
        missed = list(known.get("missed", []))
        if known.get("until") is not None:
            gap = {"since": known["until"], "until": now}
            missed = [*missed, gap][-LISTEN_GAPS_MAX:]
            words = "trigger %s: nobody listened from %s to %s; what was sent then is lost"
            _log.warning(words, self._kept.name, timestamp(gap["since"]), timestamp(now))
        await self._notes.note(trouble="", missed=missed, until=now, listening_since=now)

    def end(self, why: str = "") -> None:
        """Say that there is nothing to hear any more."""
        self._why = why or self._why
        while self._heard.full():
            self._heard.get_nowait()
        self._heard.put_nowait(None)

    async def _take_all(self) -> None:
        while True:
            heard = await self._some()
            if heard is None:
                return
            if heard:
                await self._note(heard)
            else:
                await self.check()
            self._alive = self._engine.clock.now()
            if not heard and self.forgetful:
                await self._notes.note(until=self._alive)

    async def _some(self) -> list[HeardEvent] | None:
        """Return what was heard; nothing, where that takes long; None when there is nobody to hear."""
        try:
            async with asyncio.timeout(LISTEN_CHECK_S):
                first = await self._heard.get()
        except TimeoutError:
            return []
        occurrences = [first]
        while not self._heard.empty() and len(occurrences) < WATCHED_AT_ONCE:
            occurrences.append(self._heard.get_nowait())
        some = [event for event in occurrences if event is not None]
        if len(some) == len(occurrences):
            return some
        if not some:
            return None
        self.end()
        return some

    async def _note(self, heard: list[HeardEvent]) -> None:
        now = self._engine.clock.now()
        rows = {row.id: row for row in (self._row(event.occurrence, now) for event in heard)}
        await self._engine.store.arrivals.add(list(rows.values()))
        self._engine.triggers.wake()
        for event in heard:
            if event.acknowledge is not None:
                await event.acknowledge()

    def _row(self, occurrence: Occurrence, now: float) -> ArrivalRow:
        own = occurrence.id or f"one:{secrets.token_hex(12)}"
        try:
            key = self._kept.rules.key_of(occurrence.event, own, now)
        except ExpressionError:
            key = own  # whoever deals with it says what is wrong
        body, large = bounded_event(occurrence.event)
        error = f"it is too large, or too deep: at most {ARRIVAL_BYTES_MAX:,} bytes are taken"
        return ArrivalRow(
            id=arrival_id(self._kept.namespace, self._kept.name, key), namespace=self._kept.namespace,
            trigger=self._kept.name, key=key, due=now, created=now, updated=now, body=body,
            state="dead" if large else "waiting", error=error if large else "",
            until=now + ARRIVALS_KEPT_S if large else None,
        )  # fmt: skip


def in_words(error: Exception) -> str:
    """Say what went wrong; our own errors say it by themselves."""
    return str(error) if isinstance(error, PetraError) else f"{type(error).__name__}: {error}"
