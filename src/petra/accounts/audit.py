"""The audit: every act, log-in and refusal, each entry with the hash of the one before it.

Rule 1: an entry is durable before the answer it is about goes out.
Rule 2: entries of many requests are written at once: nobody waits for more than the writing before theirs and its own.
Rule 3: who changes, drops or slips in an entry breaks the chain; ``verify`` says where.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator, Sequence
from typing import Any, Final

import msgspec

from petra.clock import Clock
from petra.errors import PetraError
from petra.store.accounts import Accounts, AuditRow
from petra.store.errors import UncertainError
from petra.values import canonical

GENESIS: Final = b"\0" * 32
PAGE: Final = 1_000
TRIES: Final = 50


class Note(msgspec.Struct, frozen=True, kw_only=True):
    """What is noted: who did what to what, from where, and what came of it."""

    actor: str
    act: str
    target: str = ""
    namespace: str = ""
    outcome: str = "done"
    """``done``, ``refused`` or ``failed``."""
    code: str = ""
    by: str = ""
    address: str = ""
    request: str = ""


class BusyError(PetraError):
    """The audit could not be written: others were quicker, over and over."""


class Audit:
    """Writes and reads the audit of a store."""

    def __init__(self, accounts: Accounts, clock: Clock) -> None:
        self._accounts = accounts
        self._clock = clock
        self._waiting: list[tuple[Note, float, asyncio.Future[None]]] = []
        self._task: asyncio.Task[None] | None = None

    async def note(self, note: Note) -> None:
        """Write something down; it is durable when this returns.

        Raises:
            StoreError, BusyError: it could not be written.
        """
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((note, self._clock.now(), done))
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
            await self._append([(note, at) for note, at, _ in taken])
        except Exception as error:  # noqa: BLE001 - whoever waits gets it
            for _, _, done in taken:
                if not done.done():
                    done.set_exception(error)
        else:
            for _, _, done in taken:
                if not done.done():
                    done.set_result(None)

    async def _append(self, notes: Sequence[tuple[Note, float]]) -> None:
        for _ in range(TRIES):
            rows = chained(await self._accounts.audit_end(), notes)
            try:
                if await self._accounts.note(rows):
                    return
            except UncertainError:
                found = await self._accounts.audit(after=rows[0].number - 1, limit=len(rows))
                if found == rows:
                    return
        raise BusyError("the audit could not be written; try again")

    async def entries(
        self,
        *,
        after: int = 0,
        limit: int = PAGE,
        namespace: str | None = None,
        actor: str | None = None,
    ) -> list[dict[str, Any]]:
        """Return entries behind a number, oldest first."""
        rows = await self._accounts.audit(
            after=after, limit=limit, namespace=namespace, actor=actor
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


def chained(last: AuditRow | None, notes: Sequence[tuple[Note, float]]) -> list[AuditRow]:
    """Return entries that follow the last one."""
    rows: list[AuditRow] = []
    number, previous = (last.number, last.hash) if last is not None else (0, GENESIS)
    for note, at in notes:
        number += 1
        row = AuditRow(
            number=number, at=at, namespace=note.namespace, actor=note.actor, hash=b"", previous=previous,
            body=canonical(msgspec.to_builtins(note)),
        )  # fmt: skip
        previous = hash_of(row)
        rows.append(msgspec.structs.replace(row, hash=previous))
    return rows


def hash_of(row: AuditRow) -> bytes:
    """Return the hash of an entry: over all that it says and the hash before it."""
    head = msgspec.json.encode([row.number, row.at, row.namespace, row.actor])
    return hashlib.sha256(row.previous + head + b"\n" + row.body).digest()


def entry_data(row: AuditRow) -> dict[str, Any]:
    """Return an entry as plain data."""
    said: dict[str, Any] = msgspec.json.decode(row.body)
    return {"number": row.number, "at": row.at, **said, "hash": row.hash.hex()}
