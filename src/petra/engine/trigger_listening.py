"""Listening to a database: each notification of a channel is an event (S24).

Rule 1: what was heard is durable before anything is done with it.
Rule 2: PostgreSQL keeps nothing for who is away. From when to when nobody listened is noted and shown, also where this
process was not there at all.
Rule 3: a connection that says nothing is asked now and then whether it is one.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from typing import TYPE_CHECKING, Any

import msgspec

from petra.engine.limits import HEARD_MAX, LISTEN_CHECK_S, LISTEN_GAPS_MAX, WATCHED_AT_ONCE
from petra.engine.trigger_ends import arrival_id
from petra.engine.trigger_registry import KeptTrigger
from petra.engine.trigger_watches import WatchNotes
from petra.errors import ExpressionError, UsageError
from petra.kernel.scope import timestamp
from petra.keychain import KeychainError
from petra.keychain.material import postgres
from petra.store.rows import ArrivalRow

if TYPE_CHECKING:
    from petra.engine.engine import Engine

_log = logging.getLogger(__name__)
_Heard = tuple[int, str]


class Listener:
    """Listens for one trigger."""

    def __init__(self, engine: Engine, kept: KeptTrigger, notes: WatchNotes) -> None:
        assert kept.trigger.postgres is not None, "it listens to a database"
        self._engine = engine
        self._kept = kept
        self._notes = notes
        self._listen = kept.trigger.postgres
        self._heard: asyncio.Queue[_Heard | None] = asyncio.Queue(HEARD_MAX)
        self._alive = 0.0

    async def run(self) -> None:
        """Listen until the connection ends; whoever called begins again."""
        try:
            connection = await self._connected()
        except Exception as error:
            await self._notes.note(trouble=f"it cannot listen: {type(error).__name__}: {error}")
            raise
        try:
            await self._take_all(connection)
        finally:
            connection.terminate()
            await asyncio.shield(self._notes.note(until=self._alive, trouble="nobody listens"))

    async def _connected(self) -> Any:
        try:
            import asyncpg  # type: ignore[import-untyped]  # noqa: PLC0415 - few listen
        except ImportError:
            words = "PostgreSQL needs 'asyncpg'; install it with pip install 'petra[postgres]'"
            raise UsageError(words) from None
        address = await self._address()
        connection = await asyncpg.connect(address, timeout=LISTEN_CHECK_S)
        try:
            connection.add_termination_listener(lambda _: self._end())
            await connection.add_listener(self._listen.channel, self._hear)
            await self._back()
        except BaseException:
            connection.terminate()
            raise
        return connection

    async def _address(self) -> str:
        name = self._listen.connection
        found = await self._engine.triggers.secret(self._kept.namespace, name)
        if isinstance(found, str):
            return found
        address = postgres(name, found, None).get("url")
        if not isinstance(address, str):
            raise KeychainError(f"credential '{name}' is no address of a database")
        return address

    async def _back(self) -> None:
        """Note that somebody listens, and since when nobody did."""
        now = self._engine.clock.now()
        known = await self._notes.read()
        missed = list(known.get("missed", []))
        if known.get("until") is not None:
            gap = {"since": known["until"], "until": now}
            missed = [*missed, gap][-LISTEN_GAPS_MAX:]
            words = "trigger %s: nobody listened from %s to %s; what was sent then is lost"
            _log.warning(words, self._kept.name, timestamp(gap["since"]), timestamp(now))
        self._alive = now
        await self._notes.note(trouble="", missed=missed, until=now, listening_since=now)

    # Hearing

    def _hear(self, _connection: object, pid: int, _channel: str, payload: str) -> None:
        try:
            self._heard.put_nowait((pid, payload))
        except asyncio.QueueFull:
            self._end()  # what is lost is told as a gap

    def _end(self) -> None:
        while self._heard.full():
            self._heard.get_nowait()
        self._heard.put_nowait(None)

    async def _take_all(self, connection: Any) -> None:
        while True:
            heard = await self._some()
            if heard is None:
                return
            if heard:
                await self._note(heard)
            else:
                await connection.execute("SELECT 1", timeout=LISTEN_CHECK_S)
            self._alive = self._engine.clock.now()
            if not heard:
                await self._notes.note(until=self._alive)

    async def _some(self) -> list[_Heard] | None:
        """Return what was heard; nothing, where that takes long; None when there is nobody to hear."""
        try:
            async with asyncio.timeout(LISTEN_CHECK_S):
                first = await self._heard.get()
        except TimeoutError:
            return []
        found = [first]
        while not self._heard.empty() and len(found) < WATCHED_AT_ONCE:
            found.append(self._heard.get_nowait())
        some = [one for one in found if one is not None]
        if len(some) == len(found):
            return some
        if not some:
            return None
        self._heard.put_nowait(None)
        return some

    async def _note(self, heard: list[_Heard]) -> None:
        now = self._engine.clock.now()
        rows = {row.id: row for row in (self._row(one, now) for one in heard)}
        await self._engine.store.arrivals.add(list(rows.values()))
        self._engine.triggers.wake()

    def _row(self, heard: _Heard, now: float) -> ArrivalRow:
        pid, payload = heard
        event = {
            "kind": "notification", "channel": self._listen.channel, "pid": pid, "payload": _payload(payload), "text": payload,
            "time": timestamp(now),
        }  # fmt: skip
        own = f"one:{secrets.token_hex(12)}"
        try:
            key = self._kept.rules.key_of(event, own, now)
        except ExpressionError:
            key = own  # whoever deals with it says what is wrong
        return ArrivalRow(
            id=arrival_id(self._kept.namespace, self._kept.name, key), namespace=self._kept.namespace,
            trigger=self._kept.name, key=key, due=now, created=now, updated=now, body=msgspec.json.encode(event),
        )  # fmt: skip


def _payload(text: str) -> Any:
    """Return what a notification says: JSON as what it means, anything else as text."""
    try:
        return msgspec.json.decode(text)
    except (msgspec.MsgspecError, RecursionError):
        return text
