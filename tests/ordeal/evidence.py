"""What can be seen of an engine from outside: its commits, its frames, its answers, and what tools really did.

Nothing here asks the engine. The store's side of a commit, the frames as they leave, the clients' own journal and
the tools' own ledger are written down as they happen; the invariants are judged afterwards from these alone.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

import msgspec

from ordeal.objects import missing, whole
from petra.engine.codec import from_row
from petra.engine.letters import decode
from petra.kernel import Program, Record, State, evolve
from petra.kernel import commands as c
from petra.store.base import Committed
from petra.store.memory import MemoryStore
from petra.store.rows import Batch, ExecutionRow, Pending, WorkItemRow, shard_of
from petra.wire import Assignment


@dataclass(frozen=True, slots=True)
class Commit:
    """What the store held of one execution right after a commit."""

    version: int
    row: ExecutionRow
    wake: float | None
    pending: dict[tuple[str, str], Pending]
    items: dict[str, WorkItemRow]
    epoch: int
    """Under which epoch the engine that wrote it owned the shard; 0 where it is alone."""
    latest: float
    """The latest time that the clock has ever shown."""


@dataclass(slots=True)
class Stream:
    """One execution: its log as the store has it, and how the store stood after each commit."""

    program: Program
    state: State
    records: list[Record] = field(default_factory=list)
    commits: list[Commit] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Sent:
    """An assignment that left the engine, and how far the log was durable then."""

    at: float
    engine: int
    given: Assignment
    durable: int
    room: int
    """How many assignments the worker had offered to take on this connection, beyond those sent before."""


@dataclass(frozen=True, slots=True)
class Acknowledged:
    """A report that an engine told a worker to forget."""

    at: float
    engine: int
    lease: str
    part: int
    durable: int


@dataclass(frozen=True, slots=True)
class Extended:
    """Further iterations that left the engine for a chunk."""

    lease: str
    paths: list[tuple[int, ...]]
    durable: int


@dataclass(frozen=True, slots=True)
class Heard:
    """Records that a listener of the engine was told of."""

    execution: str
    last: int
    durable: int


@dataclass(slots=True)
class Asked:
    """A command in its client's journal. ``mark`` is found in the log where it had its effect."""

    command: str
    execution: str
    kind: str
    mark: str
    tries: int = 0
    answers: list[tuple[str, str, int]] = field(default_factory=list)
    """What came back: the execution, why it was refused, and how far its log was durable then."""


@dataclass(frozen=True, slots=True)
class Effect:
    """One thing that a tool did in the world."""

    execution: str
    run: str
    chunk: str
    delivery: int
    task: str
    nonce: str
    worker: str


@dataclass(slots=True)
class Evidence:
    """All that was seen in one ordeal."""

    programs: dict[str, Program] = field(default_factory=dict)
    streams: dict[str, Stream] = field(default_factory=dict)
    sent: list[Sent] = field(default_factory=list)
    extended: list[Extended] = field(default_factory=list)
    reported: dict[tuple[str, int], set[tuple[int, ...]]] = field(default_factory=dict)
    """Which iterations workers reported under a lease, by part."""
    passed_on: set[tuple[str, str, str, int]] = field(default_factory=set)
    """Reports that lie in the store as letters to another engine: execution, run, chunk, delivery."""
    letters_left: int = 0
    acknowledged: list[Acknowledged] = field(default_factory=list)
    heard: list[Heard] = field(default_factory=list)
    journal: dict[str, Asked] = field(default_factory=dict)
    ledger: list[Effect] = field(default_factory=list)
    leases: dict[str, Assignment] = field(default_factory=dict)
    mishaps: list[str] = field(default_factory=list)
    alone: bool = True
    """Whether there was one engine at a time."""
    losses: int = 0
    """How often something happened that can cost a delivery: a death, a stop, a connection that broke."""
    unrested: dict[str, str] = field(default_factory=dict)
    wanted: dict[str, Callable[[State, dict[str, Any]], str]] = field(default_factory=dict)
    """What must come of an execution, by its state and its ctx without references."""
    objects: dict[str, bytes] = field(default_factory=dict)
    """What the disk of the object store holds."""
    shared: dict[str, Any] = field(default_factory=dict)
    """Workloads and ctxs that went to workers by themselves."""

    def whole(self, value: Any) -> Any:
        """Return a value with what its references lead to in their place."""
        return whole(self.objects, value)

    def completed(self, given: Assignment) -> Assignment:
        """Return an assignment with what went before it by itself."""
        if not given.shared:
            return given
        shared = {name: self.shared[key] for name, key in given.shared.items()}
        return msgspec.structs.replace(given, scope={**given.scope, **shared})

    def version(self, execution: str) -> int:
        """Return how far the log of an execution is durable now."""
        stream = self.streams.get(execution)
        return stream.state.seq if stream is not None else 0


class Witness:
    """A store in memory that writes down what every commit left in it."""

    def __init__(self, inner: MemoryStore, evidence: Evidence, latest: Callable[[], float]) -> None:
        self._latest = latest
        self.inner = inner
        self.evidence = evidence

    def __getattr__(self, name: str) -> Callable[..., Awaitable[Any]]:
        """Pass on every other call."""
        found: Callable[..., Awaitable[Any]] = getattr(self.inner, name)
        return found

    async def commit(self, batch: Batch) -> Committed:
        """Commit, and look at what is there now."""
        committed = await self.inner.commit(batch)
        for letter in batch.letters:
            command = decode(letter.body).command
            if isinstance(command, c.StepReport | c.ChunkReport):
                chunk = command.chunk if isinstance(command, c.ChunkReport) else ""
                key = (letter.execution, command.run, chunk, command.delivery)
                self.evidence.passed_on.add(key)
        for change in batch.changes:
            self._look(change.execution, (batch.epochs or {}).get(shard_of(change.execution), 0))
        return committed

    def _look(self, execution: str, epoch: int) -> None:
        stored = self.inner._streams.get(execution)
        if stored is None:
            return
        stream = self.evidence.streams.get(execution)
        if stream is None:
            program = self.evidence.programs[stored.row.digest]
            stream = self.evidence.streams[execution] = Stream(program, State(id=execution))
        for row in stored.records[len(stream.records) :]:
            record = from_row(row)
            if b'"checksum"' in row.body:
                lost = missing(self.evidence.objects, msgspec.to_builtins(record.event))
                self.evidence.mishaps += [
                    f"I26: {execution}/{record.seq} refers to {key:.200}, which is not there"
                    for key in lost
                ]
            stream.records.append(record)
            try:
                evolve(stream.state, record.event, seq=record.seq, at=record.at)
            except (AssertionError, LookupError) as error:
                self.evidence.mishaps.append(
                    f"I22: {execution}/{record.seq} is no sequel: {error!r}"
                )
                raise
        stream.commits.append(
            Commit(
                len(stream.records),
                stored.row,
                stored.wake,
                dict(stored.pending),
                dict(stored.items),
                epoch,
                self._latest(),
            )
        )
