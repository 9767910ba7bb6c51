"""Following an execution: with the home open, or by reading while another process has it open."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

import click

from petra.cli.board import Board
from petra.cli.home import either, reading
from petra.cli.show import Teller, status_text
from petra.clock import SystemClock
from petra.control import GoneError, connected
from petra.embedded import FOLLOWED_S, REST, Local, Result, records_of, result_of
from petra.engine.entries import Entries, Entry
from petra.kernel import Record
from petra.store.base import Store
from petra.wire.frames import Retrying

POLL_S = 0.15
OVER = frozenset({"completed", "partial", "failed", "aborted", "stuck"})


class View(Protocol):
    """Whoever is told what happens."""

    def past(self, records: list[Record]) -> None:
        """Take in what happened before anybody looked."""

    def take(self, records: list[Record]) -> None:
        """Take in what happens."""

    def retrying(self, notice: Retrying) -> None:
        """Take in that a worker will try again."""

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

    def finish(self, status: str) -> None:
        """Take in what it has come to."""


class Plain:
    """Tells line by line."""

    def __init__(self, execution: str) -> None:
        self._teller = Teller(Board(execution))

    def past(self, records: list[Record]) -> None:
        """Take in what happened before anybody looked."""
        for record in records:
            self._teller.board.take(record)

    def take(self, records: list[Record]) -> None:
        """Take in what happens, and say it."""
        for line in self._teller.lines(records):
            click.echo(line)  # a reader that has gone ends the telling, not the execution

    def retrying(self, notice: Retrying) -> None:
        """Say that a worker will try again."""
        line = self._teller.retrying(notice)
        if line is not None:
            click.echo(line)

    def finish(self, status: str) -> None:  # noqa: ARG002 - the summary says it
        """Say what was only counted."""
        for line in self._teller.rest():
            click.echo(line)


def is_live() -> bool:
    """Tell whether a tree can be drawn: on a terminal that can move its cursor."""
    return sys.stdout.isatty() and os.environ.get("TERM") != "dumb"


@contextmanager
def telling(execution: str, output: str, playbook: str = "") -> Iterator[View]:
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
            click.echo(f"{playbook}  {execution}  {status_text('running')}")
        yield Plain(execution)


class Feed:
    """Feeds a view with every record once, in order: those from the store, then those that are told."""

    def __init__(self, execution: str, view: View, *, fresh: bool = False) -> None:
        """Make a feed; ``fresh`` says that nothing has happened yet, so nothing is to be caught up with."""
        self._execution = execution
        self._view = view
        self._early: list[Record] | None = None if fresh else []
        self.seq = 0

    def listen(self, local: Local) -> None:
        """Listen to an engine of our own, and to its worker."""
        local.engine.listeners.append(self.heard)
        local.keeper.watchers.append(self.noticed)

    def noticed(self, notice: Retrying) -> None:
        """Pass on what a worker says."""
        if notice.execution == self._execution:
            self._view.retrying(notice)

    def heard(self, entry: Entry, records: list[Record]) -> None:
        """Listen to an engine."""
        if entry.state.id != self._execution:
            return
        if self._early is not None:
            self._early += records
        else:
            self.give(records)

    async def catch_up(self, store: Store) -> None:
        """Read what happened before."""
        past = await records_of(store, self._execution)
        self._view.past(past)
        self.seq = past[-1].seq if past else 0
        early, self._early = self._early or [], None
        self.give(early)

    def give(self, records: list[Record]) -> None:
        """Pass on what is new."""
        new = [record for record in records if record.seq > self.seq]
        if new:
            self.seq = new[-1].seq
            self._view.take(new)


def until(local: Local, *, waits: bool) -> Callable[[Result], bool]:
    """Tell when to stop: at the end; without ``waits``, at a rest that time will not soon end too."""
    return (lambda result: result.status in OVER) if waits else local.rests_for_long


async def follow(home: Path, execution: str, view: View, *, waits: bool) -> Result:
    """Follow an execution, whoever has the home open; when nobody has it any more, go on with it here."""
    result = await _follow(home, execution, view, waits=waits)
    view.finish(result.status)
    return result


async def _follow(home: Path, execution: str, view: View, *, waits: bool) -> Result:
    feed = Feed(execution, view)

    async def here(local: Local) -> Result:
        feed.listen(local)
        if feed.seq == 0:
            await feed.catch_up(local.engine.store)
        else:
            feed.give(await records_of(local.engine.store, execution, feed.seq))
        return await local.rest(execution, until(local, waits=waits))

    async def there() -> Result:
        async with connected(home) as (reader, _):
            gone = asyncio.create_task(reader.read())
            try:
                return await reading(
                    home, lambda store, _: _watch(store, execution, feed, gone, waits=waits)
                )
            finally:
                gone.cancel()

    return await either(home, here, there)


async def _watch(
    store: Store, execution: str, feed: Feed, gone: asyncio.Task[bytes], *, waits: bool
) -> Result:
    """Read the log as it grows.

    Raises:
        GoneError: whoever wrote it is gone.
    """
    if feed.seq == 0:
        await feed.catch_up(store)
    while True:
        feed.give(await records_of(store, execution, feed.seq))
        stored = await store.execution(execution)
        status = stored.row.status if stored is not None else ""
        if status in (OVER if waits else REST) and stored is not None:
            entry = await Entries(store).load(execution)
            result = result_of(entry)
            if waits or not await _wakes_soon(store, entry, result):
                return result
        if gone.done():
            raise GoneError("the process that had the home open is gone")
        await asyncio.wait({gone}, timeout=POLL_S)


async def _wakes_soon(store: Store, entry: Entry, result: Result) -> bool:
    if (result.status, result.reason) != ("waiting", "timer"):
        return False
    due = entry.state.next_due()
    return due is not None and due - await store.now() <= FOLLOWED_S
