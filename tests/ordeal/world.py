"""An ordeal: the real engine and real workers under one seed's faults, in virtual time.

A storm comes first: processes are killed at any of their callbacks, frozen beyond their leases, cut off; the store
answers late, refuses, or does what it was asked and says that it does not know; the clock jumps. Then it is calm, and
everything must come to rest. ``Ordeal(seed).run()`` gives the evidence; ``ordeal.invariants`` judges it.
"""

from __future__ import annotations

import asyncio
import hashlib
import math
from functools import lru_cache
from random import Random  # noqa: TID251 - seeded, and only in tests

from ordeal.chance import chance_of
from ordeal.clients import Client
from ordeal.clock import EPOCH, JumpingClock
from ordeal.evidence import Evidence, Witness
from ordeal.hands import SLOWEST_S
from ordeal.host import SHARD_LEASE_S, Host, Seat
from ordeal.loop import Process, RestlessError, StandstillError, virtual_loop
from ordeal.memo import remembering
from ordeal.network import BEATS, HALF, SILENT
from ordeal.plan import Plan, beset, draw
from ordeal.scenes import Scene, children, choose
from ordeal.words import Words
from petra.kernel import Program
from petra.playbook import Playbook, to_yaml
from petra.store import rows
from petra.store.memory import MemoryStore

RECORDS_MAX = 120
"""Records after which somebody cancels an execution: a random playbook may go round for ever."""
CALM_MAX_S = 3_000.0
MANY = 1_000
RESTING = frozenset({"completed", "partial", "failed", "aborted", "waiting", "stuck", "paused"})


class Ordeal:
    """One seed: a plan of faults, scenes to run, and everything that is seen."""

    def __init__(self, seed: int, *, plan: Plan | None = None) -> None:
        self.seed = seed
        self.chance = chance_of(seed)
        self.plan = plan or beset(draw(self.chance), chance_of(seed, "hostile"))
        self._hostile = chance_of(seed, "silence")
        self.evidence = Evidence()
        self.scenes: dict[str, Scene] = {}
        self.digest = ""
        self.elapsed_s = 0.0

    def run(self) -> Evidence:
        """Run it to its end."""
        self.loop = virtual_loop()
        self.clock = JumpingClock(self.loop)
        with remembering(chance_of(self.seed, "ids")):
            try:
                self.loop.run_until_complete(self._main())
            except (StandstillError, RestlessError) as error:
                self.evidence.mishaps.append(f"I29: {error}")
            except (AssertionError, LookupError) as error:
                self.evidence.mishaps.append(f"I22: a caller was told {error!r}")
            finally:
                self.evidence.mishaps += self.loop.mishaps
                self.evidence.losses = self._losses()
                self.evidence.alone = self.plan.engines == 1
                self.digest = self._hash()
                self.elapsed_s = self.loop.time()
                self.host.over = True
                self.loop.bury()
        self.loop.close()
        return self.evidence

    def _losses(self) -> int:
        counts = self.plan.counts
        died = (
            "engines that died",
            "workers that died",
            "workers that froze",
            "engines that froze",
            "workers that fell silent",
        )
        cut = sum(not connection.whole for connection in self.host.connections)
        if self.plan.weather.slow or self.plan.engines > 1:
            return MANY  # any frame may come after its lease has run out, and any shard may move
        frozen = 2 * (
            counts["workers that froze"]
            + counts["engines that froze"]
            + counts["workers that fell silent"]
        )  # one may be frozen for more than two leases
        return cut + frozen + sum(counts[name] for name in died)

    def _hash(self) -> str:
        """Hash all logs, with times."""
        made = hashlib.sha256()
        for execution, stream in sorted(self.evidence.streams.items()):
            for record in stream.records:
                made.update(f"{execution}/{record.seq}/{record.at}/{record.hash}\n".encode())
        return made.hexdigest()

    # The course of things

    async def _main(self) -> None:
        plan = self.plan
        witness = Witness(
            MemoryStore(clock=lambda: EPOCH + self.loop.time()), self.evidence, self.clock.latest
        )
        self.host = Host(
            self.seed, plan, loop=self.loop, clock=self.clock, witness=witness, scenes=self.scenes
        )
        await self._stock(witness.inner)
        for seat in self.host.seats:
            self.host.start_engine(seat)
        for place in range(max(2 * plan.engines, plan.workers)):
            self.host.start_worker(place)
        clients = [asyncio.create_task(self._client(n)) for n in range(plan.executions)]
        storm = asyncio.gather(*self._storm())
        await asyncio.sleep(plan.storm_s)
        await storm
        self.host.calm()
        self.clock.jump(self.clock.latest() - self.clock.now())
        await asyncio.gather(*clients)
        await self._rest()
        await asyncio.sleep(3.0)
        self.evidence.letters_left = len(await witness.inner.letters())

    async def _stock(self, store: MemoryStore) -> None:
        for book in children():
            self._know(book)
        await store.commit(rows.Batch(playbooks=_stock()))

    def _know(self, book: Playbook) -> None:
        program = Program(book)
        self.evidence.programs[program.digest] = program

    async def _client(self, number: int) -> None:
        chance = chance_of(self.seed, "client", number)
        words = Words(self.plan, chance_of(self.seed, "words", number))
        client = Client(
            str(number), chance, self.evidence, self.host.reach, plan=self.plan, words=words
        )
        execution, scene = words.execution(number), choose(chance, large=self.plan.large > 0)
        self._know(scene.playbook)
        self.scenes[execution] = scene
        knows = scene.expects is not None
        if scene.expects is not None:
            self.evidence.wanted[execution] = scene.expects
        await asyncio.sleep(chance.random() * self.plan.storm_s / 2)
        await client.start(execution, scene)
        for _ in range(self.plan.commands):
            await asyncio.sleep(chance.random() * self.plan.storm_s / 3)
            await client.act(execution, harmless=knows)
        for _ in range(40):
            await asyncio.sleep(5.0)
            stream = self.evidence.streams.get(execution)
            if stream is None or self._at_rest(execution):
                return
            if len(stream.records) > RECORDS_MAX:
                break
        if not knows:
            await client.cancel(execution)

    # Faults

    def _storm(self) -> list[asyncio.Task[None]]:
        plan = self.plan
        faults = [self._kill_engine() for _ in range(plan.engine_kills)]
        faults += [self._kill_worker() for _ in range(plan.worker_kills)]
        faults += [self._freeze() for _ in range(plan.freezes)]
        faults += [self._freeze_engine() for _ in range(plan.engine_freezes)]
        faults += [self._jump() for _ in range(plan.jumps)]
        faults += [self._close() for _ in range(plan.engine_closes)]
        faults += [self._hush() for _ in range(plan.silences)]
        return [asyncio.create_task(fault) for fault in faults]

    async def _some_time(self) -> None:
        await asyncio.sleep(self.chance.random() * self.plan.storm_s)

    async def _kill_engine(self) -> None:
        await self._some_time()
        _doom(self._seat().process, self.chance)

    async def _kill_worker(self) -> None:
        await self._some_time()
        _doom(self.host.workers[self.chance.choice(sorted(self.host.workers))], self.chance)

    async def _freeze(self) -> None:
        await self._some_time()
        process = self.host.workers[self.chance.choice(sorted(self.host.workers))]
        if not process.dead and not process.stopped:
            self.plan.counts["workers that froze"] += 1
            process.stop()
            await asyncio.sleep(self.plan.lease_s * self.chance.choice((0.5, 1.2, 2.5)))
            self.loop.go_on(process)

    async def _freeze_engine(self) -> None:
        await self._some_time()
        process = self._seat().process
        if not process.dead and not process.stopped:
            self.plan.counts["engines that froze"] += 1
            process.stop()
            await asyncio.sleep(SHARD_LEASE_S * self.chance.choice((0.5, 1.5, 4.0)))
            self.loop.go_on(process)

    def _seat(self) -> Seat:
        return self.chance.choice(self.host.seats)

    async def _jump(self) -> None:
        await self._some_time()
        self.plan.counts["clocks that jumped"] += 1
        self.clock.jump(self.chance.choice((-3600.0, -40.0, -1.0, 1.0, 40.0, 3600.0)))

    async def _close(self) -> None:
        await self._some_time()
        for _ in range(int(math.exp(self.chance.random() * 5))):
            await asyncio.sleep(0)  # between any two steps of what happens at one moment
        await self.host.close_engine(self._seat())

    async def _hush(self) -> None:
        """Let a worker fall silent without closing: it speaks again, its connection breaks, or it is never heard of."""
        chance = self._hostile
        await asyncio.sleep(chance.random() * self.plan.storm_s)
        place = chance.choice(sorted(self.host.workers))
        connection = self.host.connection_of(place)
        if connection is None:
            return
        self.plan.counts["workers that fell silent"] += 1
        connection.hush(chance.choice((SILENT, BEATS, HALF)))
        await asyncio.sleep(self.plan.lease_s * chance.choice((0.5, 1.2, 2.5)))
        match chance.randrange(3):
            case 0:
                connection.speak()
            case 1:
                connection.cut()
            case _ if self.host.connection_of(place) is connection:
                connection.vanish()
                self.host.workers[place].kill()

    # Coming to rest

    async def _rest(self) -> None:
        """Wait until every execution rests; one that stands still without resting is written down."""
        quiet_s = 2 * self.plan.lease_s + 10 + 8 * SLOWEST_S
        seen: dict[str, tuple[int, float]] = {}
        end = self.loop.time() + CALM_MAX_S
        while busy := [key for key in self.evidence.streams if not self._at_rest(key)]:
            if self.loop.time() > end:
                break
            for execution in busy:
                version = self.evidence.version(execution)
                if seen.get(execution, (-1, 0.0))[0] != version:
                    seen[execution] = (version, self.loop.time())
                elif self.loop.time() - seen[execution][1] > quiet_s:
                    self._note_unrested(execution)
                    return
            await asyncio.sleep(3.0)
        for execution in busy:
            self._note_unrested(execution)

    def _note_unrested(self, execution: str) -> None:
        commit = self.evidence.streams[execution].commits[-1]
        self.evidence.unrested[execution] = (
            f"{commit.row.status} {commit.row.reason}, wake {commit.wake}, out {len(commit.pending)}"
        )

    def _at_rest(self, execution: str) -> bool:
        commit = self.evidence.streams[execution].commits[-1]
        if commit.row.status not in RESTING:
            return False
        if commit.row.status == "paused":
            return True
        due = commit.wake is not None and commit.wake <= self.clock.now() + 60
        children = [
            key for key, one in self.evidence.streams.items() if one.state.parent == execution
        ]
        waits = commit.row.reason == "child" and all(map(self._goes_on, children))
        return not due and not waits and (commit.row.status == "stuck" or not commit.pending)

    def _goes_on(self, execution: str) -> bool:
        state = self.evidence.streams[execution].state
        return bool(state.terminal) or not self._at_rest(execution)


def _doom(process: Process, chance: Random) -> None:
    """Let a process die at one of its next callbacks, sooner rather than later."""
    process.dies_at = process.callbacks + max(1, int(math.exp(chance.random() * 6)))


@lru_cache
def _stock() -> tuple[rows.PlaybookRow, ...]:
    return tuple(_row(book) for book in children())


def _row(book: Playbook) -> rows.PlaybookRow:
    meta = book.metadata
    return rows.PlaybookRow(
        digest=Program(book).digest, name=meta.name, path=meta.path or "", version="",
        source=to_yaml(book).encode(), applied=EPOCH,
    )  # fmt: skip
