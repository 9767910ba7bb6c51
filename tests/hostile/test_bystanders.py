"""Nobody else waits for more than two seconds when a worker hangs or dies, in virtual time: engine and keeper are real, workers scripted."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from engine_support import chain, playbook
from support.clocks import FakeClock

from petra.embedded import judging
from petra.embedded import keeper as kept
from petra.embedded.keeper import Keeper
from petra.embedded.pulse import Pulse
from petra.engine import Engine
from petra.store.memory import MemoryStore
from petra.wire import Report
from petra.wire import frames as f
from petra.wire.connection import LostError

LATE_S = 2.0
EVERY_S, COUNT = 0.1, 50
BEAT_S = 0.3
DIES_S = 0.25
"""So long it has others beside the hostile run before it dies of it."""
HOSTILE = "hostile"


class Scripted:
    """A worker process that does its runs at once, until it is given a hostile one: then it does what its kind does."""

    pids = itertools.count(100)

    def __init__(
        self, clock: FakeClock, kind: str, *, slots: int = 64, pool: str = "default"
    ) -> None:
        self.pid = next(self.pids)
        self.transport = self
        self._clock, self._kind = clock, kind
        self._said: asyncio.Queue[f.AnyFrame | None] = asyncio.Queue()
        self._ended: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self.stuck: float | None = None
        """Since when it does nothing any more."""
        self._said.put_nowait(f.Hello(worker=str(self.pid), pool=pool, slots=slots, credit=slots))
        self._beating = asyncio.create_task(self._beat())

    async def _beat(self) -> None:
        while not self._ended.done():
            await self._clock.sleep(BEAT_S)
            stalled = 0.0 if self.stuck is None else self._clock.monotonic() - self.stuck
            if self.stuck is None or self._kind == "its loop does not move":
                self._said.put_nowait(f.Heartbeat(leases=[], stalled_s=stalled))

    # The connection

    def send(self, frame: f.AnyFrame) -> None:
        if not isinstance(frame, f.Assignments) or self._ended.done():
            return
        hostile = any(one.step == HOSTILE for one in frame.assignments)
        if hostile and self.stuck is None:
            self.stuck = self._clock.monotonic()
            if self._kind == "it dies":
                self._clock.call_later(DIES_S, lambda: self._end(7))
        if self.stuck is None:
            done = [
                f.RunReport(
                    execution=one.execution, run=one.run, chunk=one.chunk, delivery=one.delivery, lease=one.lease,
                    report=Report(status="ok", result=1),
                )
                for one in frame.assignments
            ]  # fmt: skip
            self._said.put_nowait(f.Reports(reports=done))
            self._said.put_nowait(f.Credit(slots=len(done)))

    async def receive(self) -> list[f.AnyFrame]:
        said = await self._said.get()
        if said is None:
            raise LostError("it has ended")
        return [said]

    # The process

    def kill(self) -> None:
        self._end(-9)

    def destroy(self) -> None:
        self._end(-9)

    def _end(self, code: int) -> None:
        if not self._ended.done():
            self._ended.set_result(code)
            self._said.put_nowait(None)
            self._beating.cancel()

    async def wait(self) -> int:
        return await asyncio.shield(self._ended)

    def close(self) -> None:
        self._end(0)

    def last_words(self) -> str:
        return ""


class Machine:
    """Workers that are started, and what is seen of their threads."""

    def __init__(self, clock: FakeClock, kind: str) -> None:
        self._clock, self._kind = clock, kind
        self.workers: list[Scripted] = []

    async def start(self, *arguments: str) -> Any:
        given = dict(zip(arguments[::2], arguments[1::2], strict=True))
        pool = given.get("--pool", "default")
        worker = Scripted(self._clock, self._kind, slots=int(given.get("--slots", 64)), pool=pool)
        self.workers.append(worker)
        return worker

    def pulse(self, pid: int) -> Pulse:
        """Of one that is stuck one thread uses all the time, its loop; the heart gets turns."""
        used = self._clock.monotonic()
        return Pulse(turns=int(used * 100), used_s={pid: used})


@asynccontextmanager
async def kept_by(
    clock: FakeClock, kind: str, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Engine]:
    machine = Machine(clock, kind)
    for place in (kept, judging):
        monkeypatch.setattr(place, "pulse", machine.pulse)
    async with Engine(MemoryStore(clock=clock.now), clock=clock) as engine:
        first = asyncio.create_task(machine.start())
        async with Keeper(engine, clock).keeping(first, machine.start):
            await clock.advance(1.0)
            yield engine
            for worker in machine.workers:
                worker.kill()


@pytest.mark.spec("S11")
@pytest.mark.parametrize("kind", ["it says nothing", "its loop does not move", "it dies"])
@pytest.mark.parametrize("hostile", [1, 3, 20])
def test_no_other_execution_is_delayed_by_more_than_two_seconds(
    kind: str, hostile: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scenario() -> None:
        clock, book = FakeClock(), chain(1)
        guilty = playbook(f"  - step: {HOSTILE}\n    tool: {{kind: python, code: 'result = 1'}}\n")
        began: dict[str, float] = {}
        async with kept_by(clock, kind, monkeypatch) as engine:
            for number in range(COUNT):
                if number in range(5, 5 + hostile):
                    await engine.start(guilty, execution=f"guilty{number}", allow_unsound=True)
                name = f"bystander{number}"
                began[name] = clock.monotonic()
                await engine.start(book, execution=name, allow_unsound=True)
                await clock.advance(EVERY_S)
            await clock.advance(10.0)
            waited = {name: await over(engine, name) - at for name, at in began.items()}
            assert max(waited.values()) <= LATE_S, max(waited.items(), key=lambda one: one[1])
            # and somebody did wait: what was with the worker had to go elsewhere
            logs = [[one.type for one in await engine.store.read(name)] for name in began]
            assert any("run.redelivered" in types for types in logs)

    async def over(engine: Engine, name: str) -> float:
        records = await engine.store.read(name)
        assert records[-1].type == "execution.ended", [one.type for one in records]
        return records[-1].at - 1_767_225_600.0

    asyncio.run(scenario())
