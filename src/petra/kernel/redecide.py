"""Decide every recorded input again, and compare with what was recorded (E0, S17).

Rule 1: the input of a decision is read back from its records and decided on the state before it; the events that come
of it are the records, ids included, or the first that differs is named.
Rule 2: an input that the log does not hold is not made up: such a decision is counted, with the reason, and its
records are applied as they are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import msgspec

from petra.errors import PetraError
from petra.kernel import commands as c
from petra.kernel import events as e
from petra.kernel.decide import decide
from petra.kernel.evolve import evolve
from petra.kernel.fork import lived
from petra.kernel.inputs import commands
from petra.kernel.objects import Recalled, Shelf
from petra.kernel.program import Program
from petra.kernel.replay import BadRecord, Record
from petra.kernel.state import State
from petra.references import NeededError, is_reference
from petra.wire import Report

_LOST = "the result and the writes of a run that the server made fail"
_encode = msgspec.json.Encoder(order="deterministic").encode


@dataclass(frozen=True, slots=True)
class Redecided:
    """How many decisions were made again, how many could not be and why, and the first that came out differently."""

    decisions: int
    unrecorded: Mapping[str, int]
    bad: BadRecord | None = None


def redecide(
    execution: str,
    records: Sequence[Record],
    program: Callable[[str], Program],
    shelf: Shelf | None = None,
) -> Redecided:
    """Decide everything again, up to the first record that comes out differently."""
    again = _Again(execution, records, program, shelf)
    while again.at < len(records):
        bad = again.step()
        if bad is not None:
            return Redecided(again.decisions, again.unrecorded, bad)
    return Redecided(again.decisions, again.unrecorded)


@dataclass
class _Again:
    """A log that is decided again, up to ``at``."""

    execution: str
    records: Sequence[Record]
    program: Callable[[str], Program]
    shelf: Shelf | None
    at: int = 0
    decisions: int = 0
    unrecorded: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self.state = State(id=self.execution)
        self._stale = False
        self._lacks = ""

    def step(self) -> BadRecord | None:
        """Make the next decision again."""
        rest = [(record.at, record.event) for record in self.records[self.at : self.at + 400]]
        if isinstance(rest[0][1], e.ExecutionForked):
            rest = [(record.at, record.event) for record in self.records[self.at :]]
        nearest: BadRecord | None = None
        self._lacks = ""
        known = list(commands(self._fresh(), rest))
        for mismatch in self._tries(known):
            if mismatch is None:
                return None
            if nearest is None or mismatch.seq > nearest.seq:
                nearest = mismatch
        why = self._lacks or _why_unrecorded(self._fresh(), rest)
        if why:
            self._apply_as_it_is(why)
            return None
        first = self.records[self.at]
        return nearest or BadRecord(seq=first.seq, reason="no input is recorded that leads to it")

    def _tries(self, known: Iterable[c.AnyCommand]) -> Iterator[BadRecord | None]:
        """Decide about each command; once more where it mattered which large lists were at hand."""
        shelf = self.shelf
        for command in known:
            if not isinstance(shelf, Recalled):
                yield self._decided(command)
                continue
            shelf.near, shelf.asked = False, set()
            yield self._decided(command)
            if shelf.asked:
                shelf.near = True
                yield self._decided(command)
            if len(shelf.asked) > 1:
                self._lacks = "which of several large lists were at hand"

    def _decided(self, command: c.AnyCommand) -> BadRecord | None:
        """Decide about a command; say where what comes of it is not what was recorded."""
        state = self._fresh()
        self._stale = True
        try:
            events = decide(self._program(state), state, self._whole(command), self.shelf).events
        except NeededError:
            self._lacks = "a large value that is not at hand"
            return BadRecord(seq=0, reason=self._lacks)
        except PetraError as error:
            return BadRecord(seq=0, reason=str(error))
        if not events:
            return BadRecord(seq=0, reason="nothing comes of it")
        wanted = self.records[self.at : self.at + len(events)]
        for record, event in zip(wanted, events, strict=False):
            if record.at != command.now or _encode(record.event) != _encode(event):
                return BadRecord(seq=record.seq, reason=_differs(record.event, event))
        if len(wanted) < len(events):
            seq = self.at + len(wanted) + 1
            return BadRecord(seq=seq, reason=f"it is missing: {_name(events[len(wanted)])}")
        self.at += len(events)
        self._stale = False
        if _lost_before(command):
            self.unrecorded[_LOST] += 1
        else:
            self.decisions += 1
        return None

    def _whole(self, command: c.AnyCommand) -> c.AnyCommand:
        """Return a command with what it brought, where the log has the reference to that."""
        if self.shelf is None:
            return command
        if isinstance(command, c.Start) and is_reference(command.workload):
            return msgspec.structs.replace(command, workload=self.shelf(command.workload))
        if (
            isinstance(command, c.Act)
            and isinstance(command.data, dict)
            and is_reference(command.data)
        ):
            return msgspec.structs.replace(command, data=self.shelf(command.data))
        return command

    def _program(self, state: State) -> Program:
        digest = state.digest or _first_digest(self.records)
        program = self.program(digest)
        for record in self.records[self.at : self.at + 2]:
            if isinstance(record.event, e.ExecutionMigrated):
                program.versions[record.event.digest] = self.program(record.event.digest)
        return program

    def _fresh(self) -> State:
        """Return the state before the next decision; one that was tried on is made again from the log."""
        if self._stale:
            self.state = State(id=self.execution)
            for record in self.records[: self.at]:
                evolve(self.state, record.event, seq=record.seq, at=record.at)
            self._stale = False
        return self.state

    def _apply_as_it_is(self, why: str) -> None:
        """Take over the records of a decision whose input is not recorded."""
        state, now = self._fresh(), self.records[self.at].at
        while self.at < len(self.records) and self.records[self.at].at == now:
            record = self.records[self.at]
            evolve(state, record.event, seq=record.seq, at=record.at)
            self.at += 1
        self.unrecorded[why] += 1


def _first_digest(records: Sequence[Record]) -> str:
    """Return the definition that the first decision goes by: of a fork, the one that its past ended with."""
    digest = ""
    for _, _, event in lived(records[:1]):
        if isinstance(event, e.ExecutionStarted | e.ExecutionMigrated):
            digest = event.digest
    return digest


def _why_unrecorded(state: State, rest: Sequence[tuple[float, e.AnyEvent]]) -> str:
    """Say which part of the input of a decision a log does not hold; nothing where it holds all."""
    now, first = rest[0]
    for at, event in rest:
        if at != now:
            break
        match event:
            case e.ActRefused():
                return "what was asked by an act that was refused"
            case e.StepEnded() | e.IterationsEnded() if _has_whole_writes(event):
                return "what was written to a large ctx value"
            case e.StepFailed() if event.run in state.runs and _lost_result(event):
                return _LOST
            case e.AttemptEnded() if event.attempt.status == "ok":
                return "the output of a child that was tried again"
            case _:
                pass
    if isinstance(first, e.ExecutionForked):
        return "the definition of what was forked"
    return ""


def _has_whole_writes(event: e.StepEnded | e.IterationsEnded) -> bool:
    if isinstance(event, e.StepEnded):
        return any(write.whole for write in event.writes)
    return any(write.whole for iteration in event.ended for write in iteration.writes)


def _lost_result(event: e.StepFailed | Report) -> bool:
    """Whether a run had succeeded before it failed by what it wrote, or by what its arcs say."""
    last = event.attempts[-1] if event.attempts else None
    return last is not None and last.action != "fail"


def _lost_before(command: c.AnyCommand) -> bool:
    """Whether a report can be taken for a failure only because what it held before is not recorded."""
    match command:
        case c.StepReport():
            reports = [command.report]
        case c.ChunkReport():
            reports = [iteration.report for iteration in command.reports]
        case _:
            return False
    return any(report.status == "error" and _lost_result(report) for report in reports)


def _differs(recorded: e.AnyEvent, decided: e.AnyEvent) -> str:
    if type(recorded) is not type(decided):
        return f"{_name(recorded)} is recorded, and {_name(decided)} is decided"
    fields = [
        name
        for name in recorded.__struct_fields__
        if _encode(getattr(recorded, name)) != _encode(getattr(decided, name))
    ]
    return f"{_name(recorded)} is decided with another {', '.join(fields)}"


def _name(event: e.AnyEvent) -> str:
    return str(event.__struct_config__.tag)
