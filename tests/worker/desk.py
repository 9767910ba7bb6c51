"""The server's side of a conversation with a worker, for tests: it assigns, reads along and acknowledges."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeVar

import msgspec
from support.clocks import FakeClock, settle

from petra.clock import Clock
from petra.keychain import Keychain
from petra.kinds import KINDS, Fields, Http
from petra.playbook import Playbook, read, to_yaml
from petra.playbook.write import to_plain
from petra.tools.base import ToolContext, attempt
from petra.values import digest
from petra.wire import Assignment, Iteration, Outcome, Report
from petra.wire import frames as f
from petra.worker import ClosedError, InProcess, LostError, Offer, Worker, in_process

T = TypeVar("T", bound=f.AnyFrame)
Behaviour = Callable[[Http, ToolContext], Awaitable[Outcome]]


def ok(result: Any = None) -> Outcome:
    return Outcome(status="ok", result=result)


class Probe:
    """Takes the place of http: what it does depends on the url."""

    kind: ClassVar[str] = "http"
    spec: ClassVar[type[Fields]] = Http

    def __init__(self, behaviours: Mapping[str, Behaviour]) -> None:
        self.behaviours = behaviours

    async def run(self, fields: Http, context: ToolContext) -> Outcome:
        behaviour = self.behaviours.get(fields.url)
        return ok({"url": fields.url}) if behaviour is None else await behaviour(fields, context)


class ProbeTools:
    """Tools with one kind, http, that does as the test says."""

    def __init__(self, **behaviours: Behaviour) -> None:
        self.probe = Probe(behaviours)

    def __iter__(self) -> Iterator[str]:
        return iter(["http", "noop", "python"])

    def __contains__(self, kind: object) -> bool:
        return kind in {"http", "noop", "python"}

    def specs(self) -> Mapping[str, type[Fields]]:
        return dict(KINDS)

    async def attempt(self, kind: str, fields: Mapping[str, Any], context: ToolContext) -> Outcome:
        assert kind == "http"
        return await attempt(self.probe, fields, context)


def playbook(workflow: str, *, head: str = "") -> Playbook:
    text = f"apiVersion: petra/v1\nkind: Playbook\nmetadata: {{name: p}}\n{head}\nworkflow:\n{workflow}"
    return read(text, "p.yaml").checked()


def digest_of(book: Playbook) -> str:
    return digest(to_plain(book))


@dataclass(slots=True)
class Desk:
    """Speaks with one worker over as many connections as it takes."""

    acknowledges: bool = True
    open: bool = True
    end: InProcess | None = None
    received: list[f.AnyFrame] = field(default_factory=list)
    refusals: int = 0
    connections: int = 0
    _reader: asyncio.Task[None] | None = None
    _seen: asyncio.Event = field(default_factory=asyncio.Event)
    _runs: int = 0

    async def connect(self) -> InProcess:
        if not self.open:
            raise ClosedError("closed")
        if self.refusals:
            self.refusals -= 1
            raise LostError("refused")
        self.connections += 1
        self.end, other = in_process()
        self._reader = asyncio.create_task(self._read(self.end))
        return other

    async def _read(self, end: InProcess) -> None:
        while True:
            try:
                frames = await end.receive()
            except LostError:
                return
            for frame in frames:
                self.received.append(frame)
                if isinstance(frame, f.Reports) and self.acknowledges:
                    end.send(f.Ack(parts=[(one.lease, one.part) for one in frame.reports]))
            self._seen.set()

    def send(self, *frames: f.AnyFrame) -> None:
        assert self.end is not None
        for frame in frames:
            self.end.send(frame)

    def lose(self) -> None:
        """Cut the connection."""
        assert self.end is not None
        self.end.close()

    def teach(self, book: Playbook) -> str:
        self.send(f.PlaybookText(digest=digest_of(book), text=to_yaml(book)))
        return digest_of(book)

    def assign(self, book: Playbook, **given: Any) -> Assignment:
        """Send the playbook and one assignment of its first step."""
        self.teach(book)
        made = self.assignment(book, **given)
        self.send(f.Assignments(assignments=[made]))
        return made

    def assignment(self, book: Playbook, **given: Any) -> Assignment:
        self._runs += 1
        scope = {"workload": book.workload, "ctx": {}, "args": {}, **given.pop("scope", {})}
        items = given.pop("items", [])
        values = {
            "execution": "e",
            "run": f"run-{self._runs}",
            "step": book.workflow[0].step,
            "playbook": digest_of(book),
            "lease": f"lease-{self._runs}",
            "iterations": [
                Iteration(path=(n,), iter={"item": item, "index": n})
                for n, item in enumerate(items)
            ],
            "chunk": "c" if items else "",
            **given,
        }
        return Assignment(scope=scope, **values)

    def all(self, kind: type[T]) -> list[T]:
        return [frame for frame in self.received if isinstance(frame, kind)]

    @property
    def reports(self) -> list[f.RunReport]:
        return [report for frame in self.all(f.Reports) for report in frame.reports]

    async def until(self, condition: Callable[[], object]) -> None:
        """Wait for what the worker sends, however long that takes."""
        while not condition():
            self._seen.clear()
            await self._seen.wait()

    async def report(self, number: int = 1) -> f.RunReport:
        await self.until(lambda: len(self.reports) >= number)
        return self.reports[number - 1]

    async def chunk(self) -> f.RunReport:
        """Wait for the last part of the only chunk; return all of its parts as one."""
        await self.until(lambda: any(not one.more for one in self.reports))
        parts = {one.part: one for one in self.reports}
        ended = [one for part in parts.values() for one in part.iterations]
        ended.sort(key=lambda one: one.path)
        return msgspec.structs.replace(self.reports[-1], iterations=ended)

    async def single(self) -> Report:
        """Wait for the only report, of a step without a loop."""
        found = (await self.report()).report
        assert found is not None
        return found


Scenario = Callable[[Desk, Worker, FakeClock], Awaitable[None]]


def scenario(
    play: Scenario,
    tools: Any = None,
    *,
    keychain: Keychain | None = None,
    objects: Any = None,
    acknowledges: bool = True,
    **offer: Any,
) -> Desk:
    """Run a scenario in virtual time, with a worker that has said hello."""

    async def run() -> Desk:
        clock = FakeClock()
        return await with_worker(
            lambda desk, worker: play(desk, worker, clock),
            tools or ProbeTools(),
            clock=clock,
            keychain=keychain,
            objects=objects,
            desk=Desk(acknowledges=acknowledges),
            **offer,
        )

    return asyncio.run(asyncio.wait_for(run(), 300))


async def with_worker(  # noqa: PLR0913 - the parts of a worker
    play: Callable[[Desk, Worker], Awaitable[None]],
    tools: Any,
    *,
    clock: Clock | None = None,
    keychain: Keychain | None = None,
    objects: Any = None,
    desk: Desk | None = None,
    **offer: Any,
) -> Desk:
    desk = desk or Desk()
    worker = Worker(
        desk.connect,
        Offer(name="w", **{"slots": 4, "heartbeat_s": 3600.0, **offer}),
        registry=tools,
        keychain=keychain or Keychain(environ={}, clock=clock),
        objects=objects,
        jitter=lambda: 0.5,
        clock=clock,
    )
    running = asyncio.create_task(worker.run())
    try:
        await desk.until(lambda: desk.all(f.Hello))
        await play(desk, worker)
        await settle()
    finally:
        desk.open = False
        if desk.end is not None:
            desk.end.close()
        await running
    return desk
