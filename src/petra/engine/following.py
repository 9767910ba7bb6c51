"""Following an execution: every record once, in order, from any one on; whoever acts for it, however slow the reader.

Rule 1: the log decides. What the feed tells is given on only where it joins what was given before; where it does
not, the log is read from there.
Rule 2: a reader that lags is told so. It loses hints, never records.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import nullcontext
from typing import TypeVar

import msgspec

from petra.clock import Clock
from petra.engine.cache import UnknownExecutionError
from petra.engine.codec import from_row
from petra.engine.feed import Feed, Subscription
from petra.engine.limits import FEED_PAGE, RETRY_S
from petra.engine.news import Appended, Ended, Gone, Head, Lagged, News, Reset
from petra.store.base import Store
from petra.store.errors import StoreError, UnavailableError
from petra.store.rows import RecordRow as StoredRecord
from petra.store.rows import StoredExecution

T = TypeVar("T")


async def follow(  # noqa: PLR0913 - where it is told and kept, of what, from where on
    feed: Feed,
    store: Store,
    clock: Clock,
    execution: str,
    after: int = 0,
    *,
    heard: Subscription | None = None,
) -> AsyncGenerator[News, None]:
    """Yield what happens in an execution behind a record: what has happened, then what happens.

    What tasks print is told while it happens only. Whoever wants all of it begins to listen before the execution begins, and
    gives what was ``heard`` since.

    The last message is ``Ended`` or ``Gone``; an execution that is over has no further records, and its ``head`` says so.

    Raises:
        UnknownExecutionError: there is none of that id.
    """
    reading = _Reading(feed, store, clock, execution, after)
    with feed.subscribe(execution) if heard is None else nullcontext(heard) as listening:
        if await reading.stored() is None:
            raise UnknownExecutionError(f"there is no execution '{execution}'")
        behind = not listening.has_records  # else they come first, among what was printed
        while True:
            if behind:
                async for past in reading.catch_up():
                    yield past
            message = reading.join(await listening.next())
            behind = message is None or isinstance(message, Lagged)
            if message is not None:
                yield message
            if isinstance(message, Ended | Gone):
                return


class _Reading:
    """How far a reader has come in a log."""

    def __init__(self, feed: Feed, store: Store, clock: Clock, execution: str, seen: int) -> None:
        self._feed = feed
        self._store = store
        self._clock = clock
        self._execution = execution
        self._seen = seen

    def join(self, message: News) -> News | None:
        """Return what is new in a message; None where records are missing before it."""
        if not isinstance(message, Appended):
            return message
        records, head = message.records, message.head
        if head and records and (records[0].seq, records[-1].seq) == (self._seen + 1, head.version):
            self._seen = head.version
            return message  # all of it is new, as it mostly is
        new = [record for record in records if record.seq > self._seen]
        reached = new[-1].seq if new else self._seen
        if (new and new[0].seq != self._seen + 1) or (head and head.version > reached):
            return None
        self._seen = reached
        leads = head if head and head.version == reached else None  # else it is an old one
        return msgspec.structs.replace(message, records=new, head=leads)

    async def catch_up(self) -> AsyncIterator[News]:
        """Read from the log, page by page, up to where it stands; the last page says where that is.

        Where the store is closed there is no more to read: the feed says why. So it does of what was deleted.
        """
        try:
            stored = await self.stored()
            if stored is None:
                return
            if self._seen > stored.version:
                yield Reset(version=stored.version)
                self._seen = 0
            async for message in self._up_to(stored):
                yield message
        except StoreError:
            if self._feed.ended is None:
                raise

    async def _up_to(self, stored: StoredExecution) -> AsyncIterator[News]:
        head = Head(version=stored.version, status=stored.row.status, reason=stored.row.reason)
        if self._seen == stored.version:
            yield Appended(execution=self._execution, records=(), head=head)
        while self._seen < stored.version:
            rows = await self._page(min(FEED_PAGE, stored.version - self._seen))
            if not rows:
                return  # it was deleted meanwhile
            self._seen = rows[-1].seq
            leads = head if self._seen == stored.version else None
            records = [from_row(row) for row in rows]
            yield Appended(execution=self._execution, records=records, head=leads)

    async def stored(self) -> StoredExecution | None:
        """Return where the execution stands."""
        return await self._again(lambda: self._store.execution(self._execution))

    async def _page(self, most: int) -> list[StoredRecord]:
        return await self._again(
            lambda: self._store.read(self._execution, after=self._seen, limit=most)
        )

    async def _again(self, ask: Callable[[], Awaitable[T]]) -> T:
        """Ask a store that is away again."""
        while True:
            try:
                return await ask()
            except UnavailableError:
                await self._clock.sleep(RETRY_S)
