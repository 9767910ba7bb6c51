"""The journal of lists: what was told of them lately, with numbers, so that a reader goes on behind what it has.

Rule 1: it hears what lists show while somebody reads it, and for a while after: whoever lost the connection comes back. All readers
read the same journal; none of them costs the engine anything.
Rule 2: a cursor is the number of a message of this journal. One of another server, or of too long ago, is unknown.
Rule 3: a reader that is further behind than the journal reaches is told that it lost something.
"""

from __future__ import annotations

import asyncio
import secrets
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from petra.clock import Clock
from petra.engine.feed import Feed
from petra.engine.news import Lagged, News, Topic
from petra.errors import PetraError

KEPT_MAX: Final = 2_000
"""Messages that are kept."""
LINGER_S: Final = 120.0
"""So long it goes on without a reader; a tab that is hidden lets go of its stream, and comes back."""
TOPICS: Final = (Topic.EXECUTIONS, Topic.WORK_ITEMS, Topic.WORKERS, Topic.PLAYBOOKS)


class Journal:
    """What was told of lists."""

    def __init__(self, feed: Feed, clock: Clock, most: int = KEPT_MAX) -> None:
        self._feed = feed
        self._clock = clock
        self._most = most
        self._epoch = ""
        self._last = 0
        self._messages: deque[tuple[Topic, News]] = deque()
        self._waiting: set[asyncio.Future[None]] = set()
        self._ears: list[_Ear] = []
        self._readers = 0
        self._left = 0
        self.ended = False

    @contextmanager
    def reading(self) -> Iterator[Reader]:
        """Give a reader of what is told from now on."""
        self._readers += 1
        if not self._ears:
            self._begin()
        try:
            yield Reader(self, self._last)
        finally:
            self._readers -= 1
            self._left += 1
            self._clock.call_later(LINGER_S, lambda left=self._left: self._rest(left))  # type: ignore[misc]

    def _begin(self) -> None:
        self._epoch, self._last = secrets.token_hex(6), 0
        self._messages.clear()
        self._ears = [_Ear(self, topic) for topic in TOPICS]
        for ear in self._ears:
            self._feed.attach(ear.topic, ear)

    def _rest(self, left: int) -> None:
        """Hear no more, if nobody has read since."""
        if self._readers or left != self._left:
            return
        for ear in self._ears:
            self._feed.detach(ear.topic, ear)
        self._ears = []

    def note(self, topic: Topic, message: News) -> None:
        """Keep a message, and wake who waits for one."""
        self._messages.append((topic, message))
        self._last += 1
        if len(self._messages) > self._most:
            self._messages.popleft()
        self._wake()

    def end(self) -> None:
        """There will be no more."""
        self.ended = True
        self._wake()

    def _wake(self) -> None:
        waiting, self._waiting = self._waiting, set()
        for future in waiting:
            if not future.done():
                future.set_result(None)

    def cursor(self, number: int) -> str:
        """Return how a reader names a message."""
        return f"{self._epoch}-{number}"

    def number(self, cursor: str) -> int | None:
        """Return the number of a message that a reader names; None: what followed it is not all here."""
        epoch, _, digits = cursor.rpartition("-")
        if epoch != self._epoch or not (digits.isascii() and digits.isdigit() and len(digits) < 20):
            return None
        number = int(digits)
        return number if self._last - len(self._messages) <= number <= self._last else None

    async def behind(self, number: int) -> tuple[int, Topic | None, News] | None:
        """Return the message behind one, with its number, once there is one; None: there will be none."""
        while number >= self._last:
            if self.ended:
                return None
            woken: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.add(woken)
            try:
                await woken
            finally:
                self._waiting.discard(woken)
        first = self._last - len(self._messages) + 1
        if number + 1 < first:
            return self._last, None, Lagged(lost=self._last - number)
        topic, message = self._messages[number + 1 - first]
        return number + 1, topic, message


class Reader:
    """How far one reader has come."""

    def __init__(self, journal: Journal, at: int) -> None:
        self._journal = journal
        self._at = at

    @property
    def cursor(self) -> str:
        """By which the reader may go on behind what it has."""
        return self._journal.cursor(self._at)

    def goes_on(self, cursor: str) -> bool:
        """Go on behind a cursor; False where it is not known."""
        number = self._journal.number(cursor)
        if number is not None:
            self._at = number
        return number is not None

    async def next(self) -> tuple[Topic | None, News] | None:
        """Return the next message, and of what topic it is; None: there will be none."""
        news = await self._journal.behind(self._at)
        if news is None:
            return None
        self._at, topic, message = news
        return topic, message


class _Ear:
    """Hears one topic for the journal."""

    def __init__(self, journal: Journal, topic: Topic) -> None:
        self._journal = journal
        self.topic = topic

    def take(self, message: News) -> None:
        self._journal.note(self.topic, message)

    def end(self, why: PetraError) -> None:  # noqa: ARG002 - the engine says it in its own way
        self._journal.end()
