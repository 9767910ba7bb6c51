"""Changes: what a batch does to each execution, first as a draft that decisions add to, then as rows of one transaction."""

from __future__ import annotations

from typing import TypedDict

import msgspec
from msgspec import UNSET

from petra.engine.cache import Entry
from petra.engine.codec import TYPES, body_end, execution_row, from_row, item_row, status_of
from petra.engine.limits import EVENT_BYTES, SAID_MAX
from petra.engine.references import objects_of
from petra.engine.submissions import Submission
from petra.errors import UsageError
from petra.kernel import Decision, Record
from petra.kernel import effects as f
from petra.kernel.objects import Made
from petra.kernel.replay import Written, recorded
from petra.store import rows
from petra.wire import Assignment, Iteration


class Draft(msgspec.Struct):
    """What a batch will do to one execution."""

    entry: Entry
    expected: int
    lines: list[rows.RecordRow] = []
    heard: bool = True
    """Whether somebody listened to it when it was begun."""
    said: list[Written] = []
    """What each line was made of, where that is heard; else, and of very many, it is read from them again, if somebody asks."""
    stopped: list[str] = []
    mail: list[tuple[str, bytes]] = []
    told: tuple[f.Notify, ...] = ()
    assigned: dict[tuple[str, str], tuple[rows.Pending, Assignment]] = {}
    extended: list[tuple[rows.Pending, list[Iteration], bool]] = []
    released: dict[tuple[str, str], None] = {}
    """What is no longer out; what is out anew is among ``assigned`` only."""
    answers: tuple[rows.Answer, ...] = ()
    requests: list[tuple[Submission, str]] = []
    created: bool = False
    change: rows.Change | None = None
    moved: bool = False
    letters: tuple[rows.Letter, ...] = ()
    taken: tuple[str, ...] = ()
    made: list[Made] = []
    items: dict[str, None] = {}
    stuck: str = ""
    """Why the execution was stuck before it."""
    notifications: tuple[rows.NotificationRow, ...] = ()
    permits: tuple[rows.PermitRow, ...] = ()
    returned: tuple[str, ...] = ()
    touched: frozenset[rows.LineName] = frozenset()
    """The lines in which that changes something."""
    arrivals: tuple[rows.ArrivalRow, ...] = ()
    notes: tuple[rows.AuditNote, ...] = ()

    def answers_to(self, command: str) -> bool:
        """Whether a command is answered here already."""
        return any(answer.command == command for answer in self.answers)

    @property
    def version(self) -> int:
        """The version after it."""
        return self.expected + len(self.lines)

    def write(self, decision: Decision, at: float) -> None:
        """Add the events of a decision to the log, and what came with them to the rest.

        Raises:
            UsageError: one of them is larger than any may be; the state has moved on all the same.
        """
        if decision.made:
            self.made += decision.made
        if decision.items:
            self.items.update(decision.items)
        events, markings = decision.events, decision.markings
        if len(events) <= SAID_MAX:
            self._add(self.entry.ledger.write(events, markings), at, keeps=self.heard)
            return
        for begin in range(0, len(events), SAID_MAX):
            some = slice(begin, begin + SAID_MAX)
            self._add(self.entry.ledger.write(events[some], markings[some]), at, keeps=False)

    def _add(self, written: list[Written], at: float, *, keeps: bool) -> None:
        end = body_end(at)
        for record in written:
            if len(record.body) > EVENT_BYTES:
                raise _too_large(record)
        if keeps:
            self.said += written
        self.lines += [
            rows.RecordRow(
                record.seq,
                TYPES[type(record.event)],
                at,
                record.hash,
                record.previous,
                record.body[:-1] + end,
            )
            for record in written
        ]

    def forget_log(self) -> None:
        """Let go of the lines, which are durable and told."""
        self.change = None
        self.lines, self.said = [], []

    def keep(self, request: Submission, refused: str, at: float) -> None:
        """Add what is stored of a request that was decided: its answer, its entry in the audit, that its letter is taken."""
        if request.letter:
            self.taken += (request.letter,)
        if request.command:
            self.answers += (request.stored_answer(refused, self.entry.state.seq, at),)
        if request.note is not None and not refused:
            self.notes += (request.note,)

    def records(self) -> list[Record]:
        """Return its lines as records, for whoever listens."""
        if len(self.said) != len(self.lines):
            return [from_row(line) for line in self.lines]
        return [
            recorded(record, line.at) for record, line in zip(self.said, self.lines, strict=True)
        ]


def _too_large(record: Written) -> UsageError:
    """What is large in an event should have been a reference: a name, a key, very many small values."""
    return UsageError(
        f"the record {TYPES[type(record.event)]} would have {len(record.body):,} bytes; at most {EVENT_BYTES:,} are written at once"
    )


class _Further(TypedDict, total=False):
    items: tuple[rows.WorkItemRow, ...]
    answers: tuple[rows.Answer, ...]
    letters: tuple[rows.Letter, ...]
    taken: tuple[str, ...]
    notifications: tuple[rows.NotificationRow, ...]
    permits: tuple[rows.PermitRow, ...]
    returned: tuple[str, ...]
    arrivals: tuple[rows.ArrivalRow, ...]
    notes: tuple[rows.AuditNote, ...]


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
        assigned=_assigned(draft) if draft.assigned else (),
        released=tuple(draft.released),
        snapshot=entry.snapshot_at(draft.version),
        objects=objects_of(draft.lines),
        **_further(draft),
    )


def _further(draft: Draft) -> _Further:
    """Return what few changes have; to name all of it each time would cost more than all the rest."""
    further: _Further = {}
    if draft.items:
        further["items"] = _items(draft)
    if draft.answers:
        further["answers"] = draft.answers
    if draft.letters or draft.taken:
        further["letters"], further["taken"] = draft.letters, draft.taken
    if draft.notifications:
        further["notifications"] = draft.notifications
    if draft.permits or draft.returned:
        further["permits"], further["returned"] = draft.permits, draft.returned
    if draft.arrivals:
        further["arrivals"] = draft.arrivals
    if draft.notes and draft.lines:
        further["notes"] = draft.notes
    return further


def _items(draft: Draft) -> tuple[rows.WorkItemRow, ...]:
    state = draft.entry.state
    return tuple([item_row(state, state.items[item]) for item in draft.items])


def _assigned(draft: Draft) -> tuple[rows.Pending, ...]:
    return tuple([pending for pending, _ in draft.assigned.values()])
