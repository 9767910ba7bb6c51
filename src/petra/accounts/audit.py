"""The audit: every act, log-in and refusal, each entry with the hash of the one before it.

Rule 1: an entry is durable before the answer it is about goes out, and with the act that it is about
(``petra.store.trail``).
Rule 2: entries of many requests are written at once: nobody waits for more than the writing before theirs and its own.
Rule 3: who changes, drops or slips in an entry breaks the chain; ``verify`` says where.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final

import msgspec

from petra.clock import Clock
from petra.errors import PetraError
from petra.store.accounts import GENESIS, Accounts, AuditRow, hash_of
from petra.store.errors import UncertainError
from petra.store.rows import AuditNote
from petra.store.trail import Trail, acting

PAGE: Final = 1_000
NEWEST: Final = 1 << 62
"""A number before which everything is."""
TRIES: Final = 5
_encode = msgspec.json.Encoder(order="sorted").encode
"""The canonical encoding of what is nothing but texts (``petra.values``)."""


class Note(msgspec.Struct, frozen=True, kw_only=True):
    """What is noted: who did what to what, from where, and what came of it."""

    actor: str
    act: str
    target: str = ""
    namespace: str = ""
    outcome: str = "done"
    """``done``, ``refused`` or ``failed``; ``begun`` before an act that no transaction of the store contains."""
    code: str = ""
    by: str = ""
    address: str = ""
    request: str = ""


class BusyError(PetraError):
    """The audit could not be written: the store was lost over and over."""


class Audit:
    """Writes and reads the audit of a store."""

    def __init__(self, accounts: Accounts, clock: Clock) -> None:
        self._accounts = accounts
        self._clock = clock
        self._waiting: list[tuple[AuditNote, asyncio.Future[None]]] = []
        self._task: asyncio.Task[None] | None = None

    async def note(self, note: Note) -> None:
        """Write something down; it is durable when this returns.

        Raises:
            StoreError, BusyError: it could not be written.
        """
        await self._write_one(_entry(note, self._clock.now()))

    async def _write_one(self, note: AuditNote) -> None:
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((note, done))
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(
                self._write_all()
            )  # one writes for all who came meanwhile
        await done

    async def _write_all(self) -> None:
        while self._waiting:
            await self._write()

    async def _write(self) -> None:
        taken, self._waiting = self._waiting, []
        try:
            await self._append([note for note, _ in taken])
        except Exception as error:  # noqa: BLE001 - whoever waits gets it
            for _, done in taken:
                if not done.done():
                    done.set_exception(error)
        else:
            for _, done in taken:
                if not done.done():
                    done.set_result(None)

    async def _append(self, notes: Sequence[AuditNote]) -> None:
        for again in (False, *[True] * TRIES):
            try:
                await self._accounts.note(notes, again=again)
            except UncertainError:
                continue
            return
        raise BusyError("the audit could not be written; try again")

    def trail(self, make: Callable[[str], Note | None]) -> Trail:
        """Return the trail of an act; ``make`` says what to note of an outcome, if anything is."""

        def entry(outcome: str) -> AuditNote | None:
            note = make(outcome)
            return _entry(note, self._clock.now()) if note is not None else None

        return Trail(entry, self._write_one)

    @asynccontextmanager
    async def act(self, note: Note) -> AsyncIterator[Trail]:
        """Have something done that is noted with it, or after it."""
        trail = self.trail(lambda outcome: msgspec.structs.replace(note, outcome=outcome))
        with acting(trail):
            yield trail
            if not trail.written:
                await self.note(note)

    async def entries(
        self,
        *,
        after: int = 0,
        limit: int = PAGE,
        namespace: str | None = None,
        actor: str | None = None,
        before: int | None = None,
    ) -> list[dict[str, Any]]:
        """Return entries behind a number, oldest first; with ``before`` those before that one, newest first."""
        rows = await self._accounts.audit(
            after=after, limit=limit, namespace=namespace, actor=actor, before=before
        )
        return [entry_data(row) for row in rows]

    async def verify(self) -> tuple[int, list[str]]:
        """Return how many entries there are, and what is wrong with them."""
        count, previous, wrong = 0, GENESIS, list[str]()
        async for row in self._rows():
            count += 1
            if row.number != count:
                wrong.append(f"entry {count} is missing: entry {row.number} comes instead")
                count = row.number
            elif row.previous != previous:
                wrong.append(f"entry {row.number} does not follow the one before it")
            if row.hash != hash_of(row):
                wrong.append(f"entry {row.number} is not as it was written")
            previous = row.hash
        return count, wrong

    async def _rows(self) -> AsyncIterator[AuditRow]:
        after = 0
        while page := await self._accounts.audit(after=after, limit=PAGE):
            for row in page:
                yield row
            after = page[-1].number


def _entry(note: Note, at: float) -> AuditNote:
    return AuditNote(at=at, namespace=note.namespace, actor=note.actor, body=_encode(note))


def entry_data(row: AuditRow) -> dict[str, Any]:
    """Return an entry as plain data."""
    said: dict[str, Any] = msgspec.json.decode(row.body)
    return {"number": row.number, "at": row.at, **said, "hash": row.hash.hex()}
