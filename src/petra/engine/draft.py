"""Drafts: what a batch is going to do to each execution, on its way from decisions to one transaction."""

from __future__ import annotations

import asyncio
import hashlib
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import msgspec
from msgspec import UNSET

from petra.engine.cache import Cache, Entry
from petra.engine.codec import TYPES, body_end, execution_row, item_row, status_of
from petra.engine.dispatch import Dispatcher
from petra.engine.limits import WORDS_MAX
from petra.engine.references import objects_of
from petra.engine.workers import Link
from petra.errors import UsageError
from petra.kernel import Decision, Program, Record
from petra.kernel import commands as c
from petra.kernel import effects as f
from petra.kernel import events as e
from petra.kernel.objects import Made
from petra.kernel.replay import Written, recorded
from petra.store import rows
from petra.wire import Assignment, Iteration, frames

Make = Callable[[float], c.AnyCommand]
Asked = Callable[[float], c.CallerCommand]
"""What callers give: a command that they may give, once the time is known."""


@dataclass(frozen=True, slots=True)
class Answered:
    """What came of a command: the execution it concerned, and why it was refused, if it was."""

    execution: str
    refused: str = ""
    version: int = 0


class ReusedError(UsageError):
    """A command id was used before for a different request."""


class Submission(msgspec.Struct):
    """A command on its way to be decided, and whom to tell, if anybody waits.

    ``program`` is what a start begins with, ``target`` the definition that a move leads to. ``part`` is what of a
    worker's report it came from: the lease and the number. ``alone`` says that it shares its change with no other
    command: one of several was the trouble, and it has to be seen which.
    """

    execution: str
    make: Make
    answer: asyncio.Future[Answered] | None = None
    command: str = ""
    request: bytes = b""
    program: Program | None = None
    target: Program | None = None
    part: tuple[Link, str, int] | None = None
    letter: str = ""
    alone: bool = False
    brought: Any = None
    """Large values that were brought for it (see ``petra.engine.shelf``)."""

    def reply(self, answered: Answered) -> None:
        """Tell who waits what came of it."""
        if self.answer is not None and not self.answer.done():
            self.answer.set_result(answered)

    def fail(self, error: Exception) -> None:
        """Tell who waits that it could not be decided."""
        if self.answer is not None and not self.answer.done():
            self.answer.set_exception(error)


def reported(
    link: Link, given: frames.RunReport, holds: Callable[[Link, frames.RunReport], bool]
) -> Submission:
    """Return the request that a worker's report makes; whether it counts is asked when it is decided."""

    def make(now: float) -> c.AnyCommand:
        delivery = given.delivery if holds(link, given) else 0  # which the kernel rejects
        if given.refused:
            return c.RaiseIncident(
                now=now,
                message=given.refused[:WORDS_MAX],
                run=given.run,
                chunk=given.chunk,
                delivery=delivery,
            )
        if given.chunk:
            reports = [
                c.IterationReport(path=one.path, report=one.report) for one in given.iterations
            ]
            return c.ChunkReport(
                now=now,
                run=given.run,
                chunk=given.chunk,
                reports=reports,
                delivery=delivery,
                more=given.more,
                gathered=given.report,
            )
        assert given.report is not None
        return c.StepReport(now=now, run=given.run, report=given.report, delivery=delivery)

    return Submission(given.execution, make, part=(link, given.lease, given.part))


def out_by_shard(
    dispatcher: Dispatcher, waiting: Iterable[Submission], cache: Cache
) -> Counter[int]:
    """Count what of each shard is with workers, or came back from them and is not durable yet."""
    found = dispatcher.out()
    found.update(rows.shard_of(one.execution) for one in waiting if one.part is not None)
    found.update(map(rows.shard_of, cache.busy()))
    return found


def lost_delivery(row: rows.PendingRow) -> Submission:
    """Return the request that a lost delivery makes."""
    pending = row.pending
    return Submission(
        row.execution,
        lambda now: c.LeaseExpired(
            now=now, run=pending.run, delivery=pending.delivery, chunk=pending.chunk
        ),
    )


def taken_back(row: rows.PendingRow) -> Submission:
    """Return the request that a run makes whose worker was ended in order."""
    pending = row.pending
    return Submission(
        row.execution,
        lambda now: c.TakeBack(
            now=now, run=pending.run, delivery=pending.delivery, chunk=pending.chunk
        ),
    )


class Draft(msgspec.Struct):
    """What a batch will do to one execution."""

    entry: Entry
    expected: int
    lines: list[rows.RecordRow] = []
    said: list[Written] = []
    """What each line was made of."""
    stopped: list[str] = []
    mail: list[tuple[str, bytes]] = []
    told: list[f.Notify] = []
    assigned: dict[tuple[str, str], tuple[rows.Pending, Assignment]] = {}
    extended: list[tuple[rows.Pending, list[Iteration], bool]] = []
    released: dict[tuple[str, str], None] = {}
    answers: list[rows.Answer] = []
    requests: list[tuple[Submission, str]] = []
    created: bool = False
    change: rows.Change | None = None
    moved: bool = False
    letters: tuple[rows.Letter, ...] = ()
    taken: list[str] = []
    made: list[Made] = []
    items: dict[str, None] = {}

    def answers_to(self, command: str) -> bool:
        """Whether a command is answered here already."""
        return any(answer.command == command for answer in self.answers)

    @property
    def version(self) -> int:
        """The version after it."""
        return self.expected + len(self.lines)

    def write(self, decision: Decision, at: float) -> None:
        """Add the events of a decision to the log, and what came with them to the rest."""
        if decision.made:
            self.made += decision.made
        if decision.items:
            self.items.update(decision.items)
        written, end = self.entry.ledger.write(decision.events, decision.markings), body_end(at)
        self.said += written
        self.lines += [
            rows.RecordRow(
                one.seq, TYPES[type(one.event)], at, one.hash, one.previous, one.body[:-1] + end
            )
            for one in written
        ]

    def records(self) -> list[Record]:
        """Return its lines as records, for whoever listens."""
        return [recorded(one, line.at) for one, line in zip(self.said, self.lines, strict=True)]


def change_of(draft: Draft, due: float | None) -> rows.Change:
    """Return what a draft does to its execution, with the rows that show it."""
    entry, state = draft.entry, draft.entry.state
    shown = status_of(entry.program, state)
    row = None
    if draft.created or shown != entry.shown:
        entry.shown = shown
        row = execution_row(entry.program, state, shown)
    known, entry.wake = entry.wake, due
    return rows.Change(
        execution=state.id,
        expected_version=draft.expected,
        records=tuple(draft.lines),
        row=row,
        wake=UNSET if due == known else due,
        items=_items(draft) if draft.items else (),
        assigned=_assigned(draft) if draft.assigned else (),
        released=_released(draft) if draft.released else (),
        snapshot=entry.snapshot_at(draft.version),
        answers=tuple(draft.answers),
        objects=objects_of(draft.lines),
        letters=draft.letters,
        taken=tuple(draft.taken),
    )


def _items(draft: Draft) -> tuple[rows.WorkItemRow, ...]:
    state = draft.entry.state
    return tuple([item_row(state, state.items[item]) for item in draft.items])


def _assigned(draft: Draft) -> tuple[rows.Pending, ...]:
    return tuple([pending for pending, _ in draft.assigned.values()])


def _released(draft: Draft) -> tuple[tuple[str, str], ...]:
    """Return what is no longer out; what is out anew is replaced."""
    assigned = draft.assigned
    if not assigned:
        return tuple(draft.released)
    return tuple([key for key in draft.released if key not in assigned])


def answer_of(request: Submission, refused: str, version: int, at: float) -> rows.Answer:
    """Return what is stored as the answer to a command."""
    body = msgspec.json.encode(Answered(request.execution, refused, version))
    return rows.Answer(command=request.command, request=request.request, body=body, at=at)


def refused_act(events: list[e.AnyEvent]) -> str:
    """Say why an act was refused, if one was: that is recorded, unlike other refusals."""
    return next((event.reason for event in events if isinstance(event, e.ActRefused)), "")


def request_hash(request: Any) -> bytes:
    """Hash what is asked under a command id, so that another question under the same id is noticed."""
    return hashlib.sha256(msgspec.json.encode(request, order="deterministic")).digest()


def known_answer(known: rows.Answer, request: bytes) -> Answered:
    """Return the stored answer to a command.

    Raises:
        ReusedError: the command id was used before for a different request.
    """
    if known.request != request:
        raise ReusedError(
            f"command id '{known.command}' was used before for a different request; use a fresh id"
        )
    return msgspec.json.decode(known.body, type=Answered)
