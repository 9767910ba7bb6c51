"""Following an execution: with the home open, or by reading while another process has it open."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Coroutine, Iterator, Sequence
from contextlib import aclosing, asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, Protocol

from petra.cli.board import Board
from petra.cli.home import either, reading
from petra.cli.marks import status_text
from petra.cli.output import Quoted, tell
from petra.cli.place import forever, remote
from petra.cli.show import Teller, printed_line
from petra.cli.tail import POLL_S, Tail, tail_of
from petra.clock import SystemClock
from petra.control import GoneError, connected
from petra.desk.resting import FOLLOWED_S, Resting
from petra.embedded import Home, Result, records_of
from petra.engine.cache import Cache
from petra.engine.feed import Feed, Subscription
from petra.engine.following import follow as following
from petra.engine.lookout import looking_on
from petra.engine.news import Appended, Hint, News, Printed
from petra.kernel import Record
from petra.store.base import Store
from petra.wire.frames import LogLine, Retrying


class Onlooker(Protocol):
    """Whoever is told what happens."""

    def past(self, records: list[Record]) -> None:
        """Take in what happened before anybody looked."""

    def take(self, records: list[Record]) -> None:
        """Take in what happens."""

    def retrying(self, notice: Retrying) -> None:
        """Take in that a worker will try again."""

    def printed(self, lines: Sequence[LogLine]) -> None:
        """Take in what tasks print."""

    def finish(self, status: str) -> None:
        """Take in what it has come to."""


class Silent:
    """Tells nothing: the result is all that is wanted."""

    def past(self, records: list[Record]) -> None:
        """Take in what happened before anybody looked."""

    def take(self, records: list[Record]) -> None:
        """Take in what happens."""

    def retrying(self, notice: Retrying) -> None:
        """Take in that a worker will try again."""

    def printed(self, lines: Sequence[LogLine]) -> None:
        """Take in what tasks print."""

    def finish(self, status: str) -> None:
        """Take in what it has come to."""


class Plain:
    """Tells line by line."""

    def __init__(self, execution: str) -> None:
        self._teller = Teller(Board(execution))
        self._quoted = Quoted()

    def past(self, records: list[Record]) -> None:
        """Take in what happened before anybody looked; that it stands in a line is said, or nothing would be."""
        for record in records:
            self._teller.board.take(record)
        if turn := self._teller.board.turns.words():
            tell(f"  ◷ {turn}")

    def take(self, records: list[Record]) -> None:
        """Take in what happens, and say it."""
        for line in self._teller.lines(records):
            tell(line)  # a reader that has gone ends the telling, not the execution

    def retrying(self, notice: Retrying) -> None:
        """Say that a worker will try again."""
        line = self._teller.retrying(notice)
        if line is not None:
            tell(line)

    def printed(self, lines: Sequence[LogLine]) -> None:
        """Say what tasks print."""
        for line in lines:
            if (shown := printed_line(line, self._quoted)) is not None:
                tell(shown)

    def finish(self, status: str) -> None:  # noqa: ARG002 - the summary says it
        """Say what was only counted."""
        for line in self._teller.rest():
            tell(line)


def is_live() -> bool:
    """Tell whether a tree can be drawn: on a terminal that can move its cursor."""
    return sys.stdout.isatty() and os.environ.get("TERM") not in ("dumb", "unknown")


@contextmanager
def telling(execution: str, output: str, playbook: str = "") -> Iterator[Onlooker]:
    """Give a view: none for a program, a live tree on a terminal, plain lines otherwise.

    ``playbook`` is the name of one that is only just started.
    """
    if output == "json":
        yield Silent()
    elif is_live():
        from petra.cli.live import LiveTree  # noqa: PLC0415 - not needed without a terminal

        board = Board(execution)
        board.playbook = playbook
        with LiveTree(board, SystemClock().now) as tree:
            yield tree
    else:
        if playbook:
            tell(f"{playbook}  {execution}  {status_text('running')}")
        yield Plain(execution)


class Showing:
    """Shows a view what happens: every record once, in order, however often it has to begin to listen anew.

    A view that fails (its reader has gone, say) ends the telling, not the execution.
    """

    def __init__(self, execution: str, view: Onlooker, *, fresh: bool = False) -> None:
        """Make one; ``fresh`` says that nothing has happened yet, so nothing is past."""
        self._execution = execution
        self._view = view
        self._fresh = fresh
        self._over = False
        self._reads = False
        self._moved = asyncio.Event()
        self.seq = 0

    @asynccontextmanager
    async def of(
        self, feed: Feed, store: Store, heard: Subscription | None = None
    ) -> AsyncIterator[None]:
        """Show what a feed tells meanwhile, from where it stopped before; ``heard`` is as for ``following``."""
        if not self._fresh and self.seq == 0:
            past = await records_of(store, self._execution)
            self._view.past(past)
            self.seq = past[-1].seq if past else 0
        showing = asyncio.create_task(self._show(feed, store, heard))
        try:
            yield
        finally:
            showing.cancel()
            await asyncio.gather(showing, return_exceptions=True)

    async def _show(self, feed: Feed, store: Store, heard: Subscription | None) -> None:
        try:
            messages = following(feed, store, SystemClock(), self._execution, self.seq, heard=heard)
            async with aclosing(messages):
                async for message in messages:
                    self._take(message)
        finally:
            self._over = True
            self._moved.set()

    def _take(self, message: News) -> None:
        if isinstance(message, Hint):
            self._view.retrying(message.notice)
        elif isinstance(message, Printed) and not self._reads:
            self._view.printed(message.lines)
        elif isinstance(message, Appended) and message.records:
            self.seq = message.records[-1].seq
            self._view.take(list(message.records))
            self._moved.set()

    @asynccontextmanager
    async def reading(self, lines: Tail) -> AsyncIterator[None]:
        """Show what tasks print as it is written down, where a feed does not tell of all of it."""
        self._reads = True
        reading = asyncio.create_task(self._read(lines))
        try:
            yield
        finally:
            reading.cancel()
            await asyncio.gather(reading, return_exceptions=True)
            await asyncio.sleep(POLL_S)  # the last lines may be on their way to the file
            self._view.printed(await lines.read())

    async def _read(self, lines: Tail) -> None:
        while True:
            self._view.printed(await lines.read())
            await asyncio.sleep(POLL_S)

    async def reached(self, version: int) -> None:
        """Wait until everything up to a record is shown, or nothing can be any more."""
        while self.seq < version and not self._over:
            self._moved.clear()
            await self._moved.wait()


async def follow(
    home: Path, execution: str, view: Onlooker, *, waits: bool, fresh: bool = False
) -> Result:
    """Follow an execution, whoever has the home open; when nobody has it any more, go on with it here.

    Of one that is ``fresh``, everything is shown that was printed.
    """
    lines = tail_of(home, execution, fresh=fresh)
    showing = Showing(execution, view, fresh=fresh)
    result = await _follow(home, execution, showing, lines, waits=waits)
    view.finish(result.status)
    return result


async def _follow(
    home: Path, execution: str, showing: Showing, lines: Tail, *, waits: bool
) -> Result:
    async def here(local: Home) -> Result:
        # whoever had it open before us may have run some of it: the file has what that printed
        async with (
            showing.reading(lines),
            showing.of(local.engine.feed, local.engine.store),
        ):
            result = await local.desk.rest_for_long(local.who, execution, over=waits)
            await showing.reached(result.version)
            return result

    async def there() -> Result:
        async with _whoever_acts(home) as ends:
            gone = asyncio.create_task(ends)
            try:
                async with showing.reading(lines):
                    return await reading(
                        home,
                        lambda store, cache: _watch(
                            store, cache, execution, showing, gone, waits=waits
                        ),
                    )
            finally:
                gone.cancel()

    return await either(home, here, there, only=[execution])


@asynccontextmanager
async def _whoever_acts(home: Path) -> AsyncIterator[Coroutine[Any, Any, bytes]]:
    """Give what ends when the process that has the home open does; a server that goes away says so by itself."""
    if remote(home) is not None:
        yield forever()
        return
    async with connected(home) as (reader, _):
        yield reader.read()


async def _watch(
    store: Store, cache: Cache, execution: str, showing: Showing, gone: asyncio.Task[bytes], *, waits: bool
) -> Result:  # fmt: skip
    """Read the log as it grows.

    Raises:
        GoneError: whoever wrote it is gone.
    """
    clock = SystemClock()
    async with looking_on(cache, clock) as (feed, lookout), showing.of(feed, store):
        resting = Resting(feed, lookout.look, clock.now)
        wanted = resting.over(execution) if waits else resting.settled(execution, FOLLOWED_S)
        rests = asyncio.ensure_future(wanted)
        try:
            await asyncio.wait({rests, gone}, return_when=asyncio.FIRST_COMPLETED)
            if not rests.done():
                raise GoneError("the process that had the home open is gone")
            result = rests.result()
            await showing.reached(result.version)
            return result
        finally:
            rests.cancel()
