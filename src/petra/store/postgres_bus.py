"""Hints through PostgreSQL: LISTEN and NOTIFY, on connections of their own.

A transaction with NOTIFY in it commits alone, one after the other in the whole database, and waits for its flush while
it does. So hints have their own transactions, which are small, wait for no flush, and tell many at once.
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any, Final, TypeAlias

import asyncpg  # type: ignore[import-untyped]

from petra.store.bus import Heard
from petra.store.errors import UnavailableError
from petra.store.queries import load_queries

Connection: TypeAlias = Any  # asyncpg brings no types

CHANNEL: Final = "petra"
CONNECT_TIMEOUT_S: Final = 10.0
TELL_TIMEOUT_S: Final = 5.0
HINTS_MAX: Final = 10_000
"""So many hints wait to be told; more are dropped, as hints may be."""
_SETTINGS: Final = {"application_name": "petra hints", "synchronous_commit": "off"}
_SQL = load_queries("postgres")


class PostgresBus:
    """A bus through a database. What goes wrong with telling costs hints, and nothing else."""

    def __init__(self, dsn: str) -> None:
        self._dsn = dsn
        self._ear: Connection | None = None
        self.ears = 0
        """How often hearing was begun: what was told between two of them was not heard."""
        self._beginning = asyncio.Lock()
        self._mouth: Connection | None = None
        self._waiting: dict[str, None] = {}
        self._telling: asyncio.Task[None] | None = None

    def tell(self, *hints: str) -> None:
        """Have hints told; those that come while some are being told go together."""
        room = HINTS_MAX - len(self._waiting)
        self._waiting.update(dict.fromkeys(hints[:room]))
        if self._waiting and (self._telling is None or self._telling.done()):
            self._telling = asyncio.create_task(self._tell_all())

    async def _tell_all(self) -> None:
        while self._waiting:
            hints, self._waiting = list(self._waiting), {}
            with contextlib.suppress(
                OSError, TimeoutError, asyncpg.PostgresError, asyncpg.InterfaceError
            ):
                mouth = await self._connected()
                await mouth.execute(_SQL["notify"], hints, timeout=TELL_TIMEOUT_S)

    async def _connected(self) -> Connection:
        if self._mouth is None or self._mouth.is_closed():
            self._mouth = await asyncpg.connect(
                self._dsn, timeout=CONNECT_TIMEOUT_S, server_settings=_SETTINGS
            )
        return self._mouth

    async def hear(self, heard: Heard) -> None:
        """Hear from now on, through a connection of its own; of several who ask at once one makes it."""
        async with self._beginning:
            if self._ear is None or self._ear.is_closed():
                self._ear = await self._listening(heard)
                self.ears += 1

    async def _listening(self, heard: Heard) -> Connection:
        try:
            ear = await asyncpg.connect(self._dsn, timeout=CONNECT_TIMEOUT_S)
            try:
                await ear.add_listener(CHANNEL, lambda *given: heard(given[3]))
            except (
                BaseException
            ):  # also who is told to stop lets go of it: nobody else knows it yet
                ear.terminate()
                raise
        except (OSError, TimeoutError, asyncpg.PostgresError, asyncpg.InterfaceError) as error:
            raise UnavailableError(f"the database cannot be reached: {error}") from error
        return ear

    async def close(self) -> None:
        """Tell what is to be told, and let go of the connections."""
        if self._telling is not None:
            await asyncio.wait([self._telling], timeout=TELL_TIMEOUT_S)
            self._telling.cancel()
        for connection in (self._ear, self._mouth):
            if connection is not None:
                connection.terminate()
