"""Drafts: what a batch is going to do to each execution, on its way from decisions to one transaction."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

from msgspec import UNSET

from petra.engine.codec import execution_row, item_row, status_of
from petra.engine.dispatch import Link
from petra.engine.entries import Entry
from petra.kernel import Program, Record
from petra.kernel import commands as c
from petra.kernel import effects as f
from petra.kernel import events as e
from petra.store import rows

Make = Callable[[float], c.AnyCommand]


@dataclass(frozen=True, slots=True)
class Answered:
    """What came of a command: the execution it concerned, and why it was refused, if it was."""

    execution: str
    refused: str = ""
    version: int = 0


@dataclass(slots=True, eq=False)
class Request:
    """A command on its way to be decided, and whom to tell, if anybody waits."""

    execution: str
    make: Make
    answer: asyncio.Future[Answered] | None = None
    command: str = ""
    request: bytes = b""
    program: Program | None = None
    lease: tuple[Link, str] | None = None

    def reply(self, answered: Answered) -> None:
        """Tell who waits what came of it."""
        if self.answer is not None and not self.answer.done():
            self.answer.set_result(answered)

    def fail(self, error: Exception) -> None:
        """Tell who waits that it could not be decided."""
        if self.answer is not None and not self.answer.done():
            self.answer.set_exception(error)


@dataclass(slots=True)
class Draft:
    """What a batch will do to one execution."""

    entry: Entry
    expected: int
    records: list[Record] = field(default_factory=list)
    lines: list[rows.Record] = field(default_factory=list)
    effects: list[f.AnyEffect] = field(default_factory=list)
    assigned: dict[tuple[str, str], rows.Pending] = field(default_factory=dict)
    released: dict[tuple[str, str], None] = field(default_factory=dict)
    answers: list[rows.Answer] = field(default_factory=list)
    requests: list[tuple[Request, str]] = field(default_factory=list)
    created: bool = False
    change: rows.Change | None = None

    @property
    def version(self) -> int:
        """Where the log stands after it."""
        return self.expected + len(self.records)

    @property
    def writes(self) -> bool:
        """Whether there is anything to store; the answer of a command is, also where it was refused."""
        return bool(self.records or (self.answers and not self.created))


def change_of(draft: Draft, due: float | None) -> rows.Change:
    """Return what a draft does to its execution, with the rows that show it."""
    entry, state = draft.entry, draft.entry.state
    shown = status_of(entry.program, state)
    row = execution_row(entry.program, state) if draft.created or shown != entry.shown else None
    entry.shown = shown
    known, entry.wake = entry.wake, due
    return rows.Change(
        execution=state.id,
        expected_version=draft.expected,
        records=tuple(draft.lines),
        row=row,
        wake=UNSET if due == known else due,
        items=changed_items(entry),
        assigned=tuple(draft.assigned.values()),
        released=tuple(key for key in draft.released if key not in draft.assigned),
        answers=tuple(draft.answers),
    )


def changed_items(entry: Entry) -> tuple[rows.WorkItemRow, ...]:
    """Return the rows of work items that are not as they were written last."""
    changed = []
    for item in entry.state.items.values():
        mark = f"{item.state}\0{item.holder}\0{item.spec.get('assignees')}\0{len(item.comments)}\0{item.draft}"
        if entry.items.get(item.id) != mark:
            entry.items[item.id] = mark
            changed.append(item_row(entry.state, item))
    return tuple(changed)


def pool_of(entry: Entry, run_id: str) -> str:
    """Return the worker pool of a run."""
    run = entry.state.runs.get(run_id)
    return entry.program.steps[run.step].step.spec.pool if run is not None else "default"


def note_assigned(draft: Draft, entry: Entry, effect: f.Assign) -> None:
    """Note that an assignment is out now."""
    if effect.run not in entry.state.runs:
        return
    key = (effect.run, effect.chunk)
    draft.released.pop(key, None)
    entry.out.setdefault(effect.run, set()).add(effect.chunk)
    draft.assigned[key] = rows.Pending(
        run=effect.run,
        chunk=effect.chunk,
        delivery=effect.delivery,
        pool=pool_of(entry, effect.run),
    )


def note_released(draft: Draft, entry: Entry, event: e.AnyEvent) -> None:
    """Note which assignments an event ends: they are no longer out."""
    match event:
        case e.StepEnded():
            ended = {event.run: entry.out.pop(event.run, set())}
        case e.Withdrawn():
            ended = {run: entry.out.pop(run, set()) for run in event.runs}
        case e.IterationsEnded():
            entry.out.get(event.run, set()).discard(event.chunk)
            ended = {event.run: {event.chunk}}
        case _:
            return
    for run, chunks in ended.items():
        for chunk in chunks:
            draft.assigned.pop((run, chunk), None)
            draft.released[run, chunk] = None
