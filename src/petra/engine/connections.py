"""The connections of workers: the one place where what they say is read, however it came.

Rule 1: while there is no room in the inbox, no more reports are read from a connection.
Rule 2: a worker that breaks the protocol is dropped, and what it had is lost at once.
A frame that this version does not know is skipped (``petra.wire.connection.Skipped``).
Rule 3: what comes when the engine closes is for the next one to ask for again.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import assert_never

from msgspec import Struct

from petra.engine.custody import Custody
from petra.engine.dispatch import Dispatcher
from petra.engine.feed import Feed
from petra.engine.giving import Giving
from petra.engine.guests import Guests
from petra.engine.inbox import Inbox
from petra.engine.keychains import Keychains
from petra.engine.life import Life
from petra.engine.logs import RunLogs
from petra.engine.manners import BreachError, check
from petra.engine.news import Notice, Topic
from petra.engine.reports import ReportIntake
from petra.engine.retries import Retries
from petra.engine.workers import ANYTHING, Bounds, HeardLink, Link
from petra.wire import frames
from petra.wire.connection import LostError, NonsenseError

_log = logging.getLogger(__name__)


class WorkerConnections(Struct, frozen=True, kw_only=True):
    """Takes what workers say."""

    life: Life
    inbox: Inbox
    custody: Custody
    reports: ReportIntake
    dispatcher: Dispatcher
    keychains: Keychains
    feed: Feed
    logs: RunLogs
    retries: Retries
    giving: Giving
    guests: Guests

    async def converse(
        self,
        link: HeardLink,
        heard: Callable[[frames.AnyFrame], None] | None = None,
        bounds: Bounds = ANYTHING,
    ) -> str:
        """Take what a worker says until its connection is gone; return how it broke the protocol, if it did.

        ``heard`` is told of each frame first; ``bounds`` are what the worker may do.
        """
        try:
            while True:
                for frame in await link.receive():
                    if heard is not None:
                        heard(frame)
                    if bounds.pool is not None:
                        _must_serve(bounds.pool, frame)
                    if isinstance(frame, frames.Unknown):
                        self._skip(link, frame)
                    else:
                        await self.receive(link, frame, bounds)
        except (NonsenseError, BreachError) as error:
            return str(error)
        except LostError:
            return ""

    async def receive(self, link: Link, frame: frames.AnyFrame, bounds: Bounds = ANYTHING) -> None:
        """Take a frame of a worker.

        Raises:
            BreachError: the worker broke the protocol. It is to be dropped.
        """
        if not self.life.goes_on():
            return
        roster, dispatcher = self.custody.roster, self.dispatcher
        frame = check(frame, greeted=roster.greeted(link))
        roster.heard(link)
        match frame:
            case frames.Reports():  # what is said most comes first
                await self.inbox.room()
                if self.life.goes_on():
                    for report in frame.reports:
                        self.reports.take(link, report)
            case frames.Credit():
                roster.credit(link, frame.slots)
                await dispatcher.pump()
            case frames.Heartbeat():
                self.custody.heartbeat(link, frame.leases)
                self.guests.beat(link, frame.leases)
                await dispatcher.pump()
            case frames.Hello() | frames.Want() | frames.Drain() | frames.Bye():
                await self._staff(link, frame, bounds)
                await dispatcher.pump()
            case frames.Reveal():
                link.send(await self.giving.answer(link, frame))
            case frames.Log() | frames.Retrying() | frames.Checked():
                self._take_news(link, frame)
            case _:
                assert_never(frame)

    def _skip(self, link: Link, frame: frames.Unknown) -> None:
        """Leave out what this version does not know."""
        roster = self.custody.roster
        if roster.skip(link, frame):
            name = roster.name_of(link)
            _log.warning("worker %s is of another version: its '%s' is skipped", name, frame)

    async def _staff(
        self, link: Link, frame: frames.Hello | frames.Want | frames.Drain | frames.Bye, bounds: Bounds
    ) -> None:  # fmt: skip
        """Take what changes who is there, and what they have."""
        match frame:
            case frames.Hello():
                self.keychains.came(link, frame.pool, bounds)
                self.custody.hello(link, frame, bounds)
                await self.dispatcher.know_again(link)
                await self.guests.came(link)
                self.feed.tell(Topic.WORKERS, Notice(about="come", text=frame.worker))
            case frames.Want():
                await self.dispatcher.forgot(link, frame.digests, frame.shared)
            case frames.Drain():
                self.keychains.gone(link)
                self.custody.roster.drain(link)
            case frames.Bye():
                self._gone(link, in_order=True)
            case _:
                assert_never(frame)

    def _take_news(self, link: Link, frame: frames.Log | frames.Retrying | frames.Checked) -> None:
        """Take what a worker tells beside its work; nobody gets room by it."""
        match frame:
            case frames.Log():
                self._log(link, frame)
            case frames.Retrying():
                if self.custody.roster.serves(link, frame.execution):
                    self.retries.take(frame)
                    self.feed.hint(frame)
            case frames.Checked():
                self.keychains.answered(link, frame)
            case _:
                assert_never(frame)

    def _log(self, link: Link, frame: frames.Log) -> None:
        """Take lines of executions that a worker has runs of, or had; others are none of its business."""
        serves = self.custody.roster.serves
        own = frames.Log(
            lines=[line for line in frame.lines if serves(link, line.execution)],
            dropped={key: count for key, count in frame.dropped.items() if serves(link, key)},
        )
        self.feed.printed(own.lines)
        self.logs.take(link, own)

    # Ends

    def ended(self, link: Link, why: str) -> None:
        """A worker elsewhere has no connection any more: it broke, or the worker broke the protocol."""
        if why:
            text = f"a worker was dropped: {why}"
            self.feed.tell(Topic.WORKERS, Notice(about="trouble", text=text))
            self.lost(link)
        else:
            self.away(link)

    def away(self, link: Link) -> None:
        """A connection broke; its worker may come back with another one, and keeps what it has until its leases run out."""
        if self.life.goes_on():
            self._left(link)
            self.custody.away(link)

    def lost(self, link: Link) -> None:
        """A connection broke for good."""
        if self.life.goes_on():
            self._gone(link)

    def _gone(self, link: Link, *, in_order: bool = False) -> None:
        self._left(link)
        self.custody.gone(link, in_order=in_order)

    def _left(self, link: Link) -> None:
        self.keychains.gone(link)
        if name := self.custody.roster.name_of(link):
            self.feed.tell(Topic.WORKERS, Notice(about="gone", text=name))


def _must_serve(pool: str, frame: frames.AnyFrame) -> None:
    if isinstance(frame, frames.Hello) and frame.pool != pool:
        raise BreachError(f"its token is for pool '{pool}', and it came for '{frame.pool}'")
