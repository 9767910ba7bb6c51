"""Machines of an ordeal: one runs the engine, some run workers. Whatever dies is started again.

Rule 1: an engine that says it is broken, or cannot come up, ends its process, and another is started.
Rule 2: a part of the engine that ends without saying so is a fault: nobody would start it again.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Coroutine
from dataclasses import dataclass, field
from typing import Any, cast

from ordeal.bus import RoughBus
from ordeal.chance import chance_of
from ordeal.clock import JumpingClock
from ordeal.ear import Ear
from ordeal.evidence import Evidence, Heard, Witness
from ordeal.hands import Hand, SeededTools
from ordeal.listening import note
from ordeal.loop import Process, VirtualLoop
from ordeal.network import Connection, End, Weather
from ordeal.objects import Disk, DiskFaults
from ordeal.plan import Plan, StoreFaults
from ordeal.scenes import Scene
from petra.engine import Engine
from petra.engine.limits import ENTRY_BYTES
from petra.engine.news import Appended, News, Topic
from petra.store.base import Store
from petra.store.errors import StoreError
from petra.testing.store_faults import FaultyStore
from petra.wire.connection import LostError
from petra.worker import Offer
from petra.worker.transport import ClosedError, Transport

SHARD_LEASE_S = 3.0
GRACE_S = 0.5
"""Seconds that an engine keeps a connection's leases after it broke, at most."""


@dataclass(slots=True)
class Seat:
    """A machine that runs an engine, one after the other."""

    number: int
    process: Process
    engine: Engine | None = None
    started: int = 0
    connections: list[Connection] = field(default_factory=list)


class Host:
    """Keeps engines and workers running."""

    def __init__(
        self,
        seed: int,
        plan: Plan,
        *,
        loop: VirtualLoop,
        clock: JumpingClock,
        witness: Witness,
        scenes: dict[str, Scene],
    ) -> None:
        self._seed = seed
        self._plan = plan
        self._loop = loop
        self._clock = clock
        self._witness = witness
        self._evidence: Evidence = witness.evidence
        self._scenes = scenes
        self._faults = StoreFaults(plan, chance_of(seed, "store"))
        self._disk_faults = DiskFaults(plan, chance_of(seed, "disk"))
        self._disk_chance = chance_of(seed, "disk time")
        self._chance = chance_of(seed, "host")
        self._bus = RoughBus(witness.inner.bus, chance_of(seed, "bus"))
        self._tries: Counter[str] = Counter()
        self._weather = plan.weather
        self._started = 0
        self._hired = 0
        self._handed_back = False
        self._up = asyncio.Event()
        self._talking: dict[str, Connection] = {}
        self.connections: list[Connection] = []
        self.seats = [Seat(number, Process("nobody yet")) for number in range(plan.engines)]
        self.workers: dict[int, Process] = {}
        self.over = False

    # Engines

    def start_engine(self, seat: Seat) -> None:
        """Start an engine as a process of its own."""
        if self.over:
            return
        self._started += 1
        seat.started = self._started
        process = seat.process = Process(f"engine-{self._started}")
        process.at_death = lambda: self._engine_died(seat)
        self._loop.start(process, self._live(seat, process))

    def _engine_died(self, seat: Seat) -> None:
        self._plan.counts["engines that died"] += 1
        seat.engine = None
        if not any(each.engine for each in self.seats):
            self._up.clear()
        for connection in seat.connections:
            connection.cut()
        seat.connections.clear()
        if not self.over:
            after_s = self._chance.choice((0.01, 1.0, 10.0)) * self._chance.random()
            self._world(self._again(seat, after_s))

    async def _again(self, seat: Seat, after_s: float) -> None:
        await asyncio.sleep(after_s)
        self.start_engine(seat)

    async def _live(self, seat: Seat, process: Process) -> None:
        store: Any = FaultyStore(cast("Store", self._witness), self._faults, pause=self._pause)
        engine = Engine(
            cast("Store", store),
            clock=self._clock,
            lease_s=self._plan.lease_s,
            handed_back=self._handed_back,
            holder=process.name if len(self.seats) > 1 else "",
            shard_lease_s=SHARD_LEASE_S,
            objects=self._disk(unreachable=True),
            bus=self._bus,
        )
        self._handed_back = False
        engine.cache.limit(self._plan.entries_most * ENTRY_BYTES)
        engine.feed.attach(Topic.RECORDS, Ear(taken=self._heard))
        try:
            await engine.__aenter__()
        except StoreError:
            self._plan.counts["engines that could not start"] += 1
            process.kill()
            return
        seat.engine = engine
        self._plan.counts["runs taken over"] += sum(one.adopted for one in engine.custody.leases)
        self._up.set()
        engine.feed.attach(Topic.WORKERS, Ear(ended=lambda: self._stopped(process, engine)))

    def _stopped(self, process: Process, engine: Engine) -> None:
        error = engine.life.failure
        if process.dead or error is None or self.over:
            return
        if not isinstance(error, StoreError):
            self._evidence.mishaps.append(f"I28: a part of the engine ended with {error!r}")
        process.kill()

    async def _pause(self) -> None:
        await asyncio.sleep(self._chance.random() * self._plan.store_delay_s)

    def _disk(self, *, unreachable: bool) -> Disk:
        return Disk(
            self._evidence.objects, self._disk_faults, self._disk_pause, unreachable=unreachable
        )

    async def _disk_pause(self) -> None:
        await asyncio.sleep(self._disk_chance.random() * self._plan.store_delay_s)

    async def reach(self) -> Engine:
        """Return an engine that is up, once there is one."""
        while not (up := [seat.engine for seat in self.seats if seat.engine is not None]):
            await self._up.wait()
        return self._chance.choice(up)

    async def close_engine(self, seat: Seat) -> None:
        """Close in order. One that is alone has its workers end first, unless they are elsewhere, and says that nothing was lost."""
        engine, process = seat.engine, seat.process
        if engine is None or process.dead or process.stopped:
            return
        if len(self.seats) == 1 and not self._plan.elsewhere:
            for worker in self.workers.values():
                worker.kill()
        closing = self._loop.start(process, engine.__aexit__())
        for _ in range(100):
            await asyncio.sleep(0.1)
            if closing.done() or process.dead:
                break
        in_order = closing.done() and not process.dead and engine.in_order
        if in_order:
            self._handed_back = len(self.seats) == 1
            self._plan.counts["engines that closed in order"] += 1
        process.kill()

    def _heard(self, told: News) -> None:
        if isinstance(told, Appended):
            durable = self._evidence.version(told.execution)
            self._evidence.heard.append(Heard(told.execution, told.records[-1].seq, durable))

    # Workers

    def start_worker(self, place: int) -> None:
        """Start a worker as a process of its own."""
        if self.over:
            return
        self._hired += 1
        name = f"worker-{self._hired}" + (100 * "👷שלום" if self._plan.odd else "")
        process = self.workers[place] = Process(name)
        process.at_death = lambda: self._worker_died(place)
        seat = self.seats[place // 2 % len(self.seats)]
        self._loop.start(process, self._work(process, seat, "other" if place % 2 else "default"))

    def _worker_died(self, place: int) -> None:
        self._plan.counts["workers that died"] += 1
        self._world(self._hire(place, self._chance.random() * 3))

    async def _hire(self, place: int, after_s: float) -> None:
        await asyncio.sleep(after_s)
        self.start_worker(place)

    async def _work(self, process: Process, seat: Seat, pool: str) -> None:
        own: list[Connection] = []
        name = process.name

        async def connect() -> Transport:
            if self.over:
                raise ClosedError("it is over")
            if seat.engine is None:
                raise LostError("no engine is up")
            own.append(self._connect(seat, seat.engine))
            self._talking[name] = own[-1]
            return own[-1].worker

        def crash() -> None:
            process.kill()

        def died() -> None:
            for connection in own:
                connection.cut()
            known()

        known, process.at_death = process.at_death, died
        tools = SeededTools(
            self._seed,
            self._evidence,
            plan=self._plan,
            scenes=self._scenes,
            tries=self._tries,
            crash=crash,
            worker=name,
        )
        session = name if self._plan.elsewhere else ""
        offer = Offer(name=name, pool=pool, slots=self._plan.slots, session=session)
        await Hand(connect, offer, tools, self._clock, self._disk(unreachable=False)).run()

    # Between them

    def connection_of(self, place: int) -> Connection | None:
        """Return the connection that the worker of a place has, if it has one."""
        found = self._talking.get(self.workers[place].name)
        return found if found is not None and found.whole else None

    def _connect(self, seat: Seat, engine: Engine) -> Connection:
        number, room = seat.started, Counter[str]()
        connection = Connection(
            chance_of(self._seed, "connection", len(self.connections)),
            self._weather,
            lambda frame: note(self._evidence, self._loop.time(), number, room, frame),
        )
        seat.connections.append(connection)
        self.connections.append(connection)
        self._loop.start(seat.process, self._serve(engine, connection.engine))
        return connection

    async def _serve(self, engine: Engine, end: End) -> None:
        try:
            if why := await engine.connections.converse(end):
                self._evidence.mishaps.append(f"I13: an honest worker was taken for another: {why}")
                end.close()
            elif self._plan.elsewhere:
                engine.connections.away(end)
                return
            else:
                await asyncio.sleep(self._chance.random() * GRACE_S)
        except StoreError:
            end.close()
        engine.connections.lost(end)

    def _world(self, coro: Coroutine[Any, Any, None]) -> None:
        """Start something that no process owns."""
        self._loop.start(Process("world"), coro)

    def calm(self) -> None:
        """Let nothing more go wrong."""
        self._faults.calm = self._disk_faults.calm = True
        self._weather = Weather()
        for seat in self.seats:
            for connection in seat.connections:
                connection.calm()
        for process in (*(seat.process for seat in self.seats), *self.workers.values()):
            process.dies_at = None
            if process.stopped:
                self._loop.go_on(process)
