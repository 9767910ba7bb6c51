"""What a worker costs: python benchmarks/worker.py

Per trivial task, all inclusive: frames encoded and decoded on both sides, the pipeline machine, the tool, the
report and its acknowledgement. Wall time means little on a machine that others use, so CPU time is shown beside
it, and the range of both. Then memory over many parallel iterations, and how late heartbeats are under load.
"""

from __future__ import annotations

import asyncio
import os
import re
import resource
import statistics
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from itertools import pairwise
from typing import Any, ClassVar

import msgspec

from petra.keychain import Keychain
from petra.kinds import KINDS, Fields, Http
from petra.playbook import Playbook, read, to_yaml
from petra.playbook.write import to_plain
from petra.tools.base import ToolContext, attempt, ok
from petra.tools.registry import Registry
from petra.values import digest
from petra.wire import Assignment, Iteration, Outcome
from petra.wire import frames as f
from petra.worker import ClosedError, InProcess, Offer, Worker, in_process
from petra.worker.child import Stem

HEAD = "apiVersion: petra/v1\nkind: Playbook\nmetadata: {name: bench}\nworkflow:\n"
NOOP = "- step: s\n  tool: {kind: noop}\n"
PYTHON = "- step: s\n  tool: {kind: python, code: 'result = 1'}\n"
TOOL = "- step: s\n  tool: {kind: http, url: '{{ args.url }}'}\n"
TRIVIAL = {"noop": NOOP, "a tool that does nothing": TOOL, "python, in a thread": PYTHON}
BEAT_S = 0.1
WINDOW = 512
WAITING = "- step: s\n  loop: {in: [], iterator: n}\n  tool: {kind: http, url: '{{ iter.n }}'}\n"


class Probe:
    """A tool that costs nothing: with ``wait``, it lets the others go on first."""

    kind: ClassVar[str] = "http"
    spec: ClassVar[type[Fields]] = Http

    def __init__(self, behaviour: Callable[[], Awaitable[None]] | None = None) -> None:
        self.behaviour = behaviour
        self.running = self.most = 0

    async def run(self, fields: Http, context: ToolContext) -> Outcome:  # noqa: ARG002
        self.running += 1
        self.most = max(self.most, self.running)
        if self.behaviour is not None:
            await self.behaviour()
        self.running -= 1
        return ok({"n": fields.url})


class Tools:
    """The real registry, with ``http`` replaced."""

    def __init__(self, probe: Probe) -> None:
        self.registry, self.probe = Registry(plug_ins=False), probe

    def __iter__(self) -> Iterator[str]:
        return iter(self.registry)

    def __contains__(self, kind: object) -> bool:
        return kind in self.registry

    def specs(self) -> Mapping[str, type[Fields]]:
        return dict(KINDS)  # type: ignore[arg-type]

    async def attempt(self, kind: str, fields: Mapping[str, Any], context: ToolContext) -> Outcome:
        if kind == "http":
            return await attempt(self.probe, fields, context)
        return await self.registry.attempt(kind, fields, context)


def book(workflow: str) -> Playbook:
    return read(HEAD + workflow, "bench.yaml").checked()


class Server:
    """Keeps a worker busy: as many assignments as it gives credit for."""

    def __init__(self, transport: Any, playbook: Playbook) -> None:
        self.transport, self.digest = transport, digest(to_plain(playbook))
        transport.send(f.PlaybookText(digest=self.digest, text=to_yaml(playbook)))
        self.given = self.done = self.credit = 0

    def assignment(self, **more: Any) -> Assignment:
        self.given += 1
        scope = {"workload": {}, "ctx": {}, "args": {"url": "x"}, "step": {}}
        return Assignment(
            execution="e", run=f"r{self.given}", step="s", playbook=self.digest,
            lease=f"l{self.given}", scope=scope, **more,
        )  # fmt: skip

    async def serve(self, total: int) -> None:
        """Have so many step runs done."""
        self.hand_out(total)
        while self.done < total:
            for frame in await self.transport.receive():
                match frame:
                    case f.Hello(credit=slots) | f.Credit(slots=slots):
                        self.credit += slots
                    case f.Reports(reports=reports):
                        self.done += len(reports)
                        assert all(r.report and r.report.status == "ok" for r in reports), reports
                        self.transport.send(f.Ack(parts=[(r.lease, r.part) for r in reports]))
            self.hand_out(total)

    def hand_out(self, total: int) -> None:
        count = min(self.credit, total - self.given)
        if count:
            self.credit -= count
            self.transport.send(
                f.Assignments(assignments=[self.assignment() for _ in range(count)])
            )

    def hold(self) -> None:
        """Give the worker a lease so short that it beats every ``BEAT_S``, for a playbook it never gets."""
        held = self.assignment(lease_s=3 * BEAT_S)
        self.given -= 1
        held = msgspec.structs.replace(held, playbook="unknown", lease="held")
        self.transport.send(f.Assignments(assignments=[held]))

    async def one(self, items: list[Iteration] | None = None, **given: Any) -> int:
        """Have one assignment done; return how many iterations it had. Long loops go out bit by bit."""
        waiting = list(items or ())
        first, waiting = waiting[:WINDOW], waiting[WINDOW:]
        made = self.assignment(iterations=first, more=bool(waiting), **given)
        self.transport.send(f.Assignments(assignments=[made]))
        done = 0
        while True:
            for frame in await self.transport.receive():
                for part in frame.reports if isinstance(frame, f.Reports) else ():
                    count = len(part.iterations)
                    done += count
                    self.transport.send(f.Ack(parts=[(part.lease, part.part)]))
                    if not part.more:
                        return done
                    if waiting:
                        further, waiting = waiting[:count], waiting[count:]
                        self.transport.send(
                            f.Further(lease=part.lease, iterations=further, more=bool(waiting))
                        )


async def with_worker(
    workflow: str,
    play: Callable[[Server, Worker], Awaitable[None]],
    probe: Probe | None = None,
    slots: int = 32,
) -> None:
    ends: list[InProcess] = []
    ours, theirs = in_process()
    ends.append(theirs)

    async def connect() -> InProcess:
        if not ends:
            raise ClosedError("over")
        return ends.pop()

    tools = Tools(probe or Probe())
    worker = Worker(
        connect, Offer(name="bench", slots=slots), registry=tools, keychain=Keychain(environ={}),
        jitter=lambda: 0.5,
    )  # fmt: skip
    running = asyncio.create_task(worker.run())
    await play(Server(ours, book(workflow)), worker)
    ours.close()
    await running
    await tools.registry.close()


async def overhead(total: int, rounds: int) -> None:
    """Measure in turns: on a busy machine, rounds that follow each other share their luck."""
    wall: dict[str, list[float]] = {}
    cpu: dict[str, list[float]] = {}

    async def play(name: str, server: Server) -> None:
        await server.serve(500)
        began, used = time.perf_counter(), time.process_time()
        await server.serve(server.given + total)
        wall.setdefault(name, []).append((time.perf_counter() - began) / total * 1e6)
        cpu.setdefault(name, []).append((time.process_time() - used) / total * 1e6)

    for _ in range(rounds):
        for name, workflow in TRIVIAL.items():
            await with_worker(workflow, lambda server, _, name=name: play(name, server))  # type: ignore[misc]
    for name in TRIVIAL:
        show(name, wall[name], cpu[name])


def show(name: str, wall: list[float], cpu: list[float]) -> None:
    print(
        f"{name:<46} CPU {min(cpu):6.1f} to {max(cpu):6.1f} µs, "
        f"wall {min(wall):6.1f} to {max(wall):6.1f} µs per task"
    )


async def child(total: int) -> None:
    stem = Stem()
    process = await stem.fork(["--slots", "64"])
    server = Server(process.transport, book(NOOP))
    await server.serve(500)
    wall, cpu = [], []
    for _ in range(5):
        began, used = time.perf_counter(), time.process_time()
        await server.serve(server.given + total)
        wall.append((time.perf_counter() - began) / total * 1e6)
        cpu.append((time.process_time() - used) / total * 1e6)
    show("noop in a child (CPU: this side only)", wall, cpu)
    process.kill()
    await process.wait()
    process.close()
    await stem.close()


class Pulse:
    """Notes when the heart beats, in the heart's own thread."""

    def __init__(self, worker: Worker) -> None:
        self.times: list[float] = []
        self._send = worker.heart._send  # noqa: SLF001
        worker.heart._send = self._note  # noqa: SLF001

    def _note(self, frame: f.Heartbeat) -> None:
        self.times.append(time.monotonic())
        self._send(frame)

    async def next(self) -> None:
        """Wait for one more beat: one that is late has not been noted before."""
        count = len(self.times)
        while len(self.times) == count:  # noqa: ASYNC110 - it comes from another thread
            await asyncio.sleep(0.01)

    def show(self, name: str, since: float) -> None:
        before = [at for at in self.times if at < since][-1:]
        times = before + [at for at in self.times if at >= since]
        late = [(b - a - BEAT_S) * 1000 for a, b in pairwise(times)]
        print(
            f"{name:<46} {len(late)} beats, latest {max(late):.0f} ms late, "
            f"median {statistics.median(late):.1f} ms"
        )


async def parallel(width: int) -> None:
    """One lease with many iterations: they come and go bit by bit."""
    probe = Probe(lambda: asyncio.sleep(0.001))

    async def play(server: Server, worker: Worker) -> None:
        pulse = Pulse(worker)
        server.hold()
        await pulse.next()
        began = time.monotonic()
        for count in (1_000, 10_000, 100_000):
            items = [Iteration(path=(n,), iter={"n": str(n), "index": n}) for n in range(count)]
            before, start = peak_mb(), time.perf_counter()
            done = await server.one(items, chunk="c", width=width, total=count)
            took = time.perf_counter() - start
            assert done == count
            print(
                f"{count:>6,} iterations on one lease, {probe.most} at once: {count / took:,.0f}/s, "
                f"{peak_mb() - before:.1f} MB more at the peak, both sides"
            )
        await pulse.next()
        pulse.show("heartbeats meanwhile", began)

    await with_worker(WAITING, play, probe)


async def many(slots: int) -> None:
    """Each a lease of its own: what is done is forgotten."""
    probe = Probe(lambda: asyncio.sleep(0.001))

    async def play(server: Server, worker: Worker) -> None:
        pulse = Pulse(worker)
        server.hold()
        await pulse.next()
        began = time.monotonic()
        for total in (10_000, 10_000, 10_000):
            before, start = peak_mb(), time.perf_counter()
            await server.serve(server.given + total)
            print(
                f"{total:>6,} step runs, {probe.most} at once: "
                f"{total / (time.perf_counter() - start):,.0f}/s, "
                f"{peak_mb() - before:.1f} MB more at the peak, both sides"
            )
        await pulse.next()
        pulse.show("heartbeats meanwhile", began)

    await with_worker(TOOL, play, probe, slots=slots)


def peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _block() -> None:
    time.sleep(2)


def _spin() -> None:
    until = time.monotonic() + 2
    while time.monotonic() < until:
        pass


def _hold() -> None:
    re.match(r"(a+)+$", "a" * 25 + "b")  # one call into C that keeps the interpreter


async def lateness(name: str, function: Callable[[], None]) -> None:
    took = 0.0

    async def behaviour() -> None:
        nonlocal took
        began = time.monotonic()
        function()
        took = time.monotonic() - began

    async def play(server: Server, worker: Worker) -> None:
        pulse = Pulse(worker)
        server.hold()
        await pulse.next()
        began = time.monotonic()
        await server.one()
        await pulse.next()
        pulse.show(f"a tool {name} for {took:.1f} s", began)

    await with_worker(TOOL, play, Probe(behaviour))


async def main() -> None:
    print(f"load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    await many(200)  # first: what came before would hide its peak
    await parallel(200)
    await overhead(3_000, rounds=7)
    await child(5_000)
    await lateness("sleeps on the loop", _block)
    await lateness("computes on the loop", _spin)
    await lateness("keeps the interpreter in C", _hold)


if __name__ == "__main__":
    asyncio.run(main())
