"""Listening to a database: each notification of a channel is an event; PostgreSQL keeps nothing for whoever is away (S24)."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from petra.engine.limits import HEARD_MAX, LISTEN_CHECK_S
from petra.engine.trigger_hearing import HeardEvent, Hearing
from petra.engine.trigger_registry import KeptTrigger
from petra.engine.trigger_watches import WatchNotes
from petra.errors import UsageError
from petra.kernel.scope import timestamp
from petra.keychain import KeychainError
from petra.keychain.material import postgres
from petra.triggers.incoming import Occurrence
from petra.triggers.messages import json_or_text

if TYPE_CHECKING:
    from petra.engine.engine import Engine


class Listener(Hearing):
    """Listens for one trigger."""

    def __init__(self, engine: Engine, kept: KeptTrigger, notes: WatchNotes) -> None:
        super().__init__(engine, kept, notes, HEARD_MAX)
        assert kept.trigger.postgres is not None, "it listens to a database"
        self._listen = kept.trigger.postgres
        self._connection: Any = None

    async def connect(self) -> None:
        """Begin to listen."""
        try:
            import asyncpg  # type: ignore[import-untyped]  # noqa: PLC0415 - few listen
        except ImportError:
            words = "PostgreSQL needs 'asyncpg'; install it with pip install 'petra[postgres]'"
            raise UsageError(words) from None
        address = await self._address()
        self._connection = await asyncpg.connect(address, timeout=LISTEN_CHECK_S)
        self._connection.add_termination_listener(lambda _: self.end())
        await self._connection.add_listener(self._listen.channel, self._hear)

    async def check(self) -> None:
        """Ask for something."""
        await self._connection.execute("SELECT 1", timeout=LISTEN_CHECK_S)

    async def disconnect(self) -> None:
        """Leave without a word."""
        if self._connection is not None:
            self._connection.terminate()

    async def _address(self) -> str:
        name = self._listen.connection
        secret = await self._engine.triggers.secret(self._kept.namespace, name)
        if isinstance(secret, str):
            return secret
        address = postgres(name, secret, None).get("url")
        if not isinstance(address, str):
            raise KeychainError(f"credential '{name}' is no address of a database")
        return address

    def _hear(self, _connection: object, pid: int, channel: str, payload: str) -> None:
        event = {
            "kind": "notification", "channel": channel, "pid": pid, "payload": json_or_text(payload), "text": payload,
            "time": timestamp(self._engine.clock.now()),
        }  # fmt: skip
        try:
            self._heard.put_nowait(HeardEvent(Occurrence(event, "")))
        except asyncio.QueueFull:
            self.end()  # what is lost is told as a gap
