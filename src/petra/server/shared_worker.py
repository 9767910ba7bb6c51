"""A worker elsewhere that all engines of a server share: it has one connection, and each engine takes it for a worker of its own.

Rule 1: what it says goes to the engine that gave the lease, or the execution, that it is about.
Rule 2: its room is given to engines as they use it (``petra.server.shared_room``).
Rule 3: its connection ends with that to any engine: it connects again, with what it runs, and each lease goes to whoever acts for
it by then. One that nobody acts for is a guest of the engine here. An engine that comes later is introduced to it.
"""

from __future__ import annotations

import asyncio
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Collection, Coroutine, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Protocol

import msgspec

from petra.engine import Engine
from petra.engine.lease_names import shard_named
from petra.engine.limits import REMEMBERED_MAX
from petra.engine.manners import BreachError, check
from petra.engine.workers import Bounds, HeardLink
from petra.server.here_link import HereLink
from petra.server.shared_room import SharedRoom
from petra.store.errors import UnavailableError
from petra.store.rows import shard_of
from petra.wire import frames as f
from petra.wire.connection import LostError, NonsenseError


class Way(HeardLink, Protocol):
    """A connection to an engine in another process."""

    def close(self) -> None:
        """End it."""


class Others(Protocol):
    """The engines beside the one here."""

    def ways(self, bounds: Bounds, known: Collection[str]) -> Mapping[str, Way]:
        """Make a connection for a worker to each engine that is there and not known to it, by its name."""

    def coming(self) -> asyncio.Event:
        """Return what is set when the next engine has come."""


class SharedWorker:
    """One connection of a worker, and all that is said over it."""

    def __init__(self, engine: Engine, others: Others) -> None:
        self._engine, self._others = engine, others
        self._own = engine.shards.holder
        self._here = HereLink(partial(self._pass_on, self._own))
        self._there: dict[str, Way] = {}
        self._room = SharedRoom([self._own])
        self._tasks: list[asyncio.Task[str]] = []
        self._hello: f.Hello | None = None
        """How the worker introduced itself."""
        self._giver: dict[str, str] = {}
        """Which engine gave a lease."""
        self._about: dict[str, str] = {}
        """Which execution a lease is for."""
        self._actor = OrderedDict[str, str]()
        """Which engine acts for an execution."""
        self._reported: dict[str, int] = {}
        """The last part of what was reported under a lease to its end."""
        self._acks_left = 0
        """Acknowledgements of logs that are for more than the worker sent."""

    def executions(self) -> set[str]:
        """Return the executions that the worker has runs of."""
        return set(self._about.values())

    async def converse(self, link: HeardLink, *, bounds: Bounds) -> str:
        """Take what a worker says until its connection is to end; return how it broke the protocol, if it did."""
        self._link, self._bounds = link, bounds
        self._over: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._until_over(self._engine.connections.converse(self._here, bounds=bounds))
        self._until_over(self._hear_newcomers())
        self._until_over(self._hear_worker())
        try:
            return await self._over
        finally:
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)

    def _until_over(self, work: Coroutine[None, None, str]) -> None:
        """Have something done meanwhile: with its end all of it is over."""

        def over(done: asyncio.Task[str]) -> None:
            if done.cancelled() or self._over.done():
                return
            if (error := done.exception()) is not None:
                self._over.set_exception(error)
            else:
                self._over.set_result(done.result())

        task = asyncio.create_task(work)
        task.add_done_callback(over)
        self._tasks.append(task)

    async def _hear_newcomers(self) -> str:
        """Make the worker known to every engine, also to those that come later."""
        while True:
            coming = self._others.coming()
            for name, way in self._others.ways(self._bounds, self._there.keys()).items():
                self._there[name] = way
                self._room.add(name)
                self._until_over(self._hear(name, way))
                if self._hello is not None:
                    self._introduce(name, self._room.more(0)[name])
            await coming.wait()

    def ended(self, _: HeardLink, why: str) -> None:
        """The connection is over; of one that broke the protocol the others hear as of one that left."""
        self._engine.connections.ended(self._here, why)
        for way in self._there.values():
            if why and self._hello is not None:
                way.send(f.Bye())
            way.close()

    # What the worker says

    async def _hear_worker(self) -> str:
        try:
            while True:
                for frame in await self._link.receive():
                    await self._here.room()
                    if isinstance(frame, f.Unknown):
                        self._here.put(frame)  # who counts them
                    else:
                        await self._take(check(frame, greeted=self._hello is not None))
        except (NonsenseError, BreachError) as error:
            return str(error)
        except (LostError, UnavailableError):
            return ""

    async def _take(self, frame: f.FromWorker) -> None:  # noqa: C901 - a table
        match frame:
            case f.Hello():
                await self._greet(frame)
            case f.Reports():
                self._report(frame)
            case f.Credit(slots=slots):
                self._give(self._room.more(slots))
            case f.Heartbeat() | f.Bye():
                own = self._by_giver(frame.leases)
                for name in self._everybody():
                    self._tell(name, msgspec.structs.replace(frame, leases=own[name]))
            case f.Log():
                self._log(frame)
            case f.Retrying():
                self._tell(self._acts(frame.execution), frame)
            case f.Reveal():
                self._tell(self._giver.get(frame.lease, self._own), frame)
            case f.Checked() | f.Want() | f.Drain():
                for name in self._everybody():
                    self._tell(name, frame)

    async def _greet(self, frame: f.Hello) -> None:
        """Introduce the worker to every engine, to each with the leases that are its business."""
        rows = {row.lease: row.execution for row in await self._engine.store.leased(frame.leases)}
        held = {
            shard: row for shard, row in (await self._engine.store.shards()).items() if row.held
        }
        self._hello = frame
        known = set(self._everybody())
        for lease in frame.leases:
            shard = shard_named(lease)
            if shard is None and lease in rows:
                shard = shard_of(rows[lease])
            holder = held[shard].holder if shard in held else ""
            self._note(lease, rows.get(lease, ""), holder if holder in known else self._own)
        own = self._by_giver(frame.leases)
        for name in known:
            self._room.had(name, len(own[name]))
        gets = self._room.more(frame.credit)
        for name in known:
            self._introduce(name, gets.pop(name, 0), own[name])

    def _introduce(self, name: str, room: int, leases: Sequence[str] = ()) -> None:
        """Make the worker known to an engine, with what it has of that and so much room."""
        assert self._hello is not None, "it has said hello"
        credit = min(room, self._hello.slots)
        self._tell(name, msgspec.structs.replace(self._hello, leases=list(leases), credit=credit))
        if room > credit:
            self._give(Counter({name: room - credit}))

    def _report(self, frame: f.Reports) -> None:
        reports = defaultdict[str, list[f.RunReport]](list)
        gets = Counter[str]()
        for report in frame.reports:
            name = self._giver.get(report.lease, self._own)
            reports[name].append(report)
            if (
                not report.more
                and report.lease in self._giver
                and report.lease not in self._reported
            ):
                self._reported[report.lease] = report.part
                gets += self._room.done(name)
        for name, own in reports.items():
            self._tell(name, f.Reports(reports=own))
        self._give(gets)

    def _log(self, frame: f.Log) -> None:
        """Give each engine the lines of its executions; the worker hears once that they were taken."""
        parts: dict[str, f.Log] = {}
        for execution in {*(line.execution for line in frame.lines), *frame.dropped}:
            parts.setdefault(self._acts(execution), f.Log(lines=[]))
        for line in frame.lines:
            parts[self._acts(line.execution)].lines.append(line)
        for execution, count in frame.dropped.items():
            parts[self._acts(execution)].dropped[execution] = count
        parts = parts or {self._own: frame}
        self._acks_left += len(parts) - 1
        for name, part in parts.items():
            self._tell(name, part)

    # What engines say

    async def _hear(self, name: str, way: Way) -> str:
        with suppress(LostError):
            while True:
                for frame in await way.receive():
                    self._pass_on(name, frame)
        return ""

    def _pass_on(self, name: str, frame: f.AnyFrame) -> None:
        """Tell the worker what an engine says, and engines what room they get for that."""
        gets = Counter[str]()
        if isinstance(frame, f.Assignments):
            for assignment in frame.assignments:
                self._note(assignment.lease, assignment.execution, name)
            gets = self._room.used(name, len(frame.assignments))
        elif isinstance(frame, f.Ack):
            last = [lease for lease, part in frame.parts if self._reported.get(lease) == part]
            for lease in (*frame.leases, *last):
                self._forget(lease)
            if frame.logs and self._acks_left:
                self._acks_left -= 1
                frame = msgspec.structs.replace(frame, logs=False)
        self._link.send(frame)
        self._give(gets)

    # Who has what

    def _note(self, lease: str, execution: str, name: str) -> None:
        self._giver[lease] = name
        if execution:
            self._about[lease] = execution
            self._actor[execution] = name
            if len(self._actor) > REMEMBERED_MAX:
                self._actor.popitem(last=False)

    def _forget(self, lease: str) -> None:
        self._reported.pop(lease, None)
        self._giver.pop(lease, None)
        self._about.pop(lease, None)

    def _acts(self, execution: str) -> str:
        return self._actor.get(execution, self._own)

    def _everybody(self) -> tuple[str, ...]:
        return (self._own, *self._there)

    def _by_giver(self, leases: Iterable[str]) -> defaultdict[str, list[str]]:
        own = defaultdict[str, list[str]](list)
        for lease in leases:
            own[self._giver.get(lease, self._own)].append(lease)
        return own

    def _tell(self, name: str, frame: f.FromWorker) -> None:
        if name == self._own:
            self._here.put(frame)
        else:
            self._there[name].send(frame)

    def _give(self, gets: Counter[str]) -> None:
        for name, slots in gets.items():
            self._tell(name, f.Credit(slots=slots))
