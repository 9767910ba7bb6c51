"""The feed: every record once, in order, from any one on; nobody who listens holds up the engine."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing
from pathlib import Path

import pytest
from engine_support import Ear, chain, local, opened, playbook
from hypothesis import given, settings
from hypothesis import strategies as st
from support.clocks import FakeClock, settle
from support.notices import notices
from thoroughness import few

from petra.clock import SystemClock
from petra.engine.cache import UnknownExecutionError
from petra.engine.codec import to_row
from petra.engine.feed import Feed
from petra.engine.following import follow
from petra.engine.life import StoppedError
from petra.engine.news import (
    OF_EXECUTIONS,
    Appended,
    Ended,
    Gone,
    Hint,
    Lagged,
    Listed,
    News,
    Place,
    Printed,
    Reset,
    Told,
    Topic,
)
from petra.errors import PetraError
from petra.kernel import Record
from petra.kernel.replay import encode_body
from petra.store.memory import MemoryStore
from petra.store.rows import Batch, Change, ExecutionRow, WorkItemRow
from petra.testing import Simulation
from petra.wire import Attempt
from petra.wire.frames import LogLine, Retrying

QUEUE = 4
WHY = PetraError("that was all")
ASK = playbook("  - step: ask\n    tool: {kind: human, title: Sure?}\n")


# Any interleaving


def _log() -> list[Record]:
    simulation = Simulation(chain(12, "{kind: noop}"))
    simulation.start({})
    simulation.run()
    return simulation.root.log


LOG = _log()


class Writer:
    """Appends to a log, and tells of it or not, as somebody else's engine would."""

    def __init__(self, feed: Feed) -> None:
        self.feed = feed
        self.store = MemoryStore(clock=lambda: 0.0)
        self.version = 0

    async def append(self, count: int, *, told: bool) -> None:
        new = LOG[self.version : self.version + count]
        if not new:
            return
        row = ExecutionRow(
            id="x", playbook="p", digest="d", status="running", started=0.0, updated=0.0
        )
        lines = tuple(to_row(one, encode_body(one.event, one.receipt)) for one in new)
        change = Change(execution="x", expected_version=self.version, records=lines, row=row)
        assert (await self.store.commit(Batch(changes=(change,)))).applied
        self.version += len(new)
        if told:
            self.tell(new)

    def tell(self, records: list[Record]) -> None:
        self.feed.appended("x", records, "running")


class Reader:
    """Reads at its own pace, goes away, and comes back to where it was."""

    def __init__(self, writer: Writer, after: int) -> None:
        self._writer = writer
        self.begin = self.seen = after
        self.got: list[int] = []
        self.ended: PetraError | None = None
        self._come()

    def _come(self) -> None:
        writer = self._writer
        self._messages = follow(writer.feed, writer.store, FakeClock(), "x", self.seen)
        self._next: asyncio.Task[News] | None = None

    async def read(self, most: int) -> None:
        for _ in range(most):
            if self._next is None:
                self._next = asyncio.ensure_future(anext(self._messages))
            await settle()
            if not self._next.done():
                return
            self._take(self._next.result())
            self._next = None
            if self.ended is not None:
                return

    def _take(self, message: News) -> None:
        if isinstance(message, Appended):
            self.got += [record.seq for record in message.records]
            self.seen = self.got[-1] if self.got else self.begin
            assert message.head is None or message.head.version == self.seen
        elif isinstance(message, Ended):
            self.ended = message.reason

    async def leave(self) -> None:
        if self._next is not None:
            self._next.cancel()
            await asyncio.gather(self._next, return_exceptions=True)
        await self._messages.aclose()

    async def again(self) -> None:
        await self.leave()
        self._come()


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("append"), st.integers(1, 6), st.booleans()),
        st.tuples(st.just("repeat"), st.integers(1, 6), st.booleans()),
        st.tuples(st.just("read"), st.integers(0, 2), st.booleans()),
        st.tuples(st.just("come"), st.integers(0, 8), st.booleans()),
        st.tuples(st.just("again"), st.integers(0, 2), st.booleans()),
    ),
    max_size=25,
)


async def _act(writer: Writer, readers: list[Reader], step: tuple[str, int, bool]) -> None:
    what, number, flag = step
    match what:
        case "append":
            await writer.append(number, told=flag)
        case "repeat":  # told twice, or late
            writer.tell(LOG[max(0, writer.version - number) : writer.version])
        case "come":
            readers.append(Reader(writer, min(number, writer.version)))
        case _ if number < len(readers):
            await (readers[number].again() if what == "again" else readers[number].read(1 + flag))


@settings(max_examples=few(150), deadline=None)
@given(STEPS)
def test_any_interleaving_gives_each_reader_each_record_once_in_order(
    steps: list[tuple[str, int, bool]],
) -> None:
    async def scenario() -> None:
        writer = Writer(Feed(most=QUEUE))
        await writer.append(1, told=False)
        readers = [Reader(writer, 0)]
        for step in steps:
            await _act(writer, readers, step)
            assert all(_held(sink) <= QUEUE for sink in writer.feed._sinks.get("x", ()))
        await writer.append(3, told=False)
        writer.tell(LOG[writer.version - 1 : writer.version])  # the last one is always told of
        writer.feed.close(WHY)
        for reader in readers:
            await reader.read(100)
            assert reader.got == list(range(reader.begin + 1, writer.version + 1))
            assert reader.ended is WHY
            await reader.leave()
        assert not list(writer.feed.followed())

    asyncio.run(scenario())


def _held(sink: object) -> int:
    return sum(len(one.records) for one in getattr(sink, "_queue", ()))


def test_a_log_that_is_shorter_than_the_reader_thought_begins_anew() -> None:
    async def scenario() -> None:
        writer = Writer(Feed())
        await writer.append(3, told=True)
        async with aclosing(follow(writer.feed, writer.store, FakeClock(), "x", 9)) as messages:
            assert await anext(messages) == Reset(version=3)
            assert [record.seq for record in _appended(await anext(messages))] == [1, 2, 3]
        async with aclosing(follow(writer.feed, writer.store, FakeClock(), "nobody")) as messages:
            with pytest.raises(UnknownExecutionError):
                await anext(messages)

    asyncio.run(scenario())


def _appended(message: News) -> list[Record]:
    assert isinstance(message, Appended), message
    return list(message.records)


# With an engine


async def taken(messages: AsyncIterator[News], until: Callable[[News], bool]) -> list[News]:
    """Return what is told up to a message."""
    found: list[News] = []
    async for message in messages:
        found.append(message)
        if until(message):
            return found
    raise AssertionError("it never came")


def over(message: News) -> bool:
    return isinstance(message, Appended) and message.head is not None and message.head.over


def numbers(messages: list[News]) -> list[int]:
    return [one.seq for told in messages if isinstance(told, Appended) for one in told.records]


def test_a_slow_reader_is_told_and_misses_no_record_and_nobody_waits_for_it(
    kind: str, tmp_path: Path
) -> None:
    async def scenario() -> None:
        async with opened(kind, tmp_path) as store, local(store) as petra:
            petra.engine.feed._most = QUEUE
            await petra.run(ASK, execution="e0")
            await petra.start(chain(6), execution="e1")
            async with aclosing(petra.follow("e1")) as messages:
                first = await anext(messages)
                assert (await petra.rest("e1")).status == "completed"
                heard = [first, *await taken(messages, over)]
            assert numbers(heard) == [row.seq for row in await store.read("e1")]
            assert any(isinstance(one, Lagged) for one in heard)
            async with aclosing(petra.follow("e1", after=5)) as messages:
                assert numbers(await taken(messages, over))[0] == 6

    asyncio.run(scenario())


def test_a_reader_of_a_list_that_lags_loses_messages_and_hears_on() -> None:
    async def scenario() -> None:
        async with local(MemoryStore(clock=SystemClock().now)) as petra:
            petra.engine.feed._most = QUEUE
            with petra.engine.feed.subscribe(Topic.EXECUTIONS) as heard:
                for number in range(4):
                    await petra.run(chain(1), execution=f"e{number}")
                assert isinstance(await heard.next(), Lagged)
                while heard._queue:
                    await heard.next()
                await petra.run(chain(1), execution="last")
                told = [await heard.next() for _ in range(2)]
            rows = [one.row for one in told if isinstance(one, Listed)]
            assert [(row.id, getattr(row, "status", "")) for row in rows][-1] == (
                "last", "completed"
            )  # fmt: skip

    asyncio.run(scenario())


def test_work_items_are_told_of_with_the_record_that_says_so(kind: str, tmp_path: Path) -> None:
    async def scenario() -> None:
        async with opened(kind, tmp_path) as store, local(store) as petra:
            with petra.engine.feed.subscribe(Topic.WORK_ITEMS) as heard:
                await petra.run(ASK, execution="e1")
                row, told = await heard.next(), await heard.next()
            assert isinstance(row, Listed)
            assert isinstance(row.row, WorkItemRow)
            assert isinstance(told, Told)
            assert (told.execution, told.item, told.about) == ("e1", row.row.id, "offered")
            records = (await petra.records("e1"))[: told.version]
            said = [one for record in records for one in notices(record.event)]
            assert [(one.item, one.about) for one in said] == [(told.item, told.about)]

    asyncio.run(scenario())


def test_when_the_engine_stops_everybody_is_told_why(kind: str, tmp_path: Path) -> None:
    async def scenario() -> None:
        async with opened(kind, tmp_path) as store:
            async with local(store) as petra:
                await petra.run(ASK, execution="e1")
                feed = petra.engine.feed
                resting = asyncio.ensure_future(petra.rest("e1", lambda _: False))
                messages, early = petra.follow("e1"), Ear(lambda _: None)
                feed.attach(Topic.WORKERS, early)
                await anext(messages)
            with pytest.raises(StoppedError, match="the engine is clos"):
                await resting
            last = await taken(messages, lambda one: isinstance(one, Ended))
            assert isinstance(last[-1], Ended)
            late = Ear(lambda _: None)
            feed.attach("e1", late)
            assert {str(last[-1].reason), *early.told} == set(late.told)

    asyncio.run(scenario())


def test_an_engine_that_breaks_says_why_to_who_waits() -> None:
    async def scenario() -> None:
        async with local(MemoryStore(clock=SystemClock().now)) as petra:
            await petra.run(ASK, execution="e1")
            resting = asyncio.ensure_future(petra.rest("e1", lambda _: False))
            await settle()
            petra.engine.life.broke(ValueError("a disk is gone"))
            with pytest.raises(StoppedError, match="a disk is gone"):
                await resting

    asyncio.run(scenario())


def test_hints_of_workers_reach_who_follows_and_are_in_no_log() -> None:
    async def scenario() -> None:
        async with local(MemoryStore(clock=SystemClock().now)) as petra:
            await petra.run(ASK, execution="e1")
            attempt = Attempt(task="t", number=1, status="error", action="retry")
            hint = Retrying(execution="e1", run="r", attempt=attempt)
            async with aclosing(petra.follow("e1")) as messages:
                await anext(messages)
                petra.engine.feed.hint(hint)
                petra.engine.feed.hint(Retrying(execution="e2", run="r", attempt=attempt))
                assert await anext(messages) == Hint(notice=hint)
                petra.engine.feed.gone("e1")
                assert await anext(messages) == Gone(execution="e1")

    asyncio.run(scenario())


@pytest.mark.parametrize("told", [True, False])
def test_who_listens_before_an_execution_begins_hears_what_is_printed_in_its_place(
    *, told: bool
) -> None:
    async def scenario() -> list[News]:
        feed = Feed(QUEUE * 4)
        writer = Writer(feed)
        with feed.subscribe("x") as heard:
            await writer.append(2, told=told)
            feed.printed([LogLine(at=1.0, execution="x", step="s", task="t", text="one")])
            await writer.append(2, told=told)
            feed.close(WHY)
            messages = follow(feed, writer.store, FakeClock(), "x", heard=heard)
            return await taken(messages, lambda message: isinstance(message, Ended))

    messages = asyncio.run(scenario())
    kinds = [type(message) for message in messages]
    assert numbers(messages) == [1, 2, 3, 4]
    # where nothing tells of records, they are read from the log before anything else
    assert kinds == [Appended, *([Printed, Appended] if told else [Printed]), Ended]


def test_asking_what_there_is_waits_for_one_batch_at_most() -> None:
    async def scenario() -> None:
        async with local(MemoryStore(clock=SystemClock().now)) as petra:
            await petra.run(ASK, execution="e1")
            entry = await petra.engine.cache.load("e1")
            entry.busy += 1  # as if batch after batch of it were on its way
            asking = asyncio.ensure_future(petra.get("e1"))
            await settle()
            assert not asking.done()
            petra.engine.feed.stirred("e1")
            assert (await asking).waiting_on == "human"
            assert not list(petra.engine.feed.followed())
            entry.busy -= 1

    asyncio.run(scenario())


def test_telling_costs_nothing_where_nobody_listens() -> None:
    feed = Feed()
    feed.appended("x", LOG, "running")
    feed.listed(())
    assert not feed._sinks
    assert not feed._bells


@pytest.mark.parametrize(
    ("place", "hears"),
    [("x", True), ("y", False), *((topic, topic in OF_EXECUTIONS) for topic in Topic)],
)
def test_who_listens_to_something_else_costs_an_execution_nothing(
    place: Place, *, hears: bool
) -> None:
    feed = Feed()
    with feed.subscribe(place):
        assert feed.changed("x", "running") is hears


def test_workers_that_come_and_go_are_told_of() -> None:
    async def scenario() -> None:
        store = MemoryStore(clock=SystemClock().now)
        heard: list[tuple[str, str]] = []
        async with local(store) as petra:
            noted = Ear(lambda _: None, noted=lambda one: heard.append((one.about, one.text)))
            petra.engine.feed.attach(Topic.WORKERS, noted)
            await petra.run(chain(1), execution="e1")
            (link,) = petra.engine.roster.workers
            petra.engine.connections.lost(link)
        assert heard == [("come", "w"), ("gone", "w")]

    asyncio.run(scenario())
