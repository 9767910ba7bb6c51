"""The board: what an execution's records say about each of its steps, for whoever watches.

Rule 1: it is a fold over records, so it shows the same after a resume as without one.
Rule 2: one row per step, however many runs it has: a fan-out of thousands is a count.
"""

from __future__ import annotations

from typing import Any

from msgspec import Struct, field

from petra.cli.turns import Turns
from petra.desk.forms import example
from petra.kernel import Record
from petra.kernel import events as e
from petra.wire import Attempt


class Person(Struct):
    """A work item that waits for somebody."""

    step: str
    title: str
    users: list[str]
    roles: list[str]
    action: str
    holder: str | None = None
    data: dict[str, Any] | None = None

    @property
    def who(self) -> str:
        """Whom it waits for."""
        named = [*self.users, *(f"role:{role}" for role in self.roles)]
        return self.holder or ", ".join(named) or "anyone"


class NextTry(Struct, frozen=True):
    """Another try: its number, of how many, when it comes, and why the last one failed."""

    number: int
    of: int | None
    due: float
    why: str
    message: str = ""

    def words(self, now: float) -> str:
        """Say it; once it has begun, only its number."""
        number = f"{self.number}/{self.of}" if self.of else f"{self.number}"
        if now >= self.due:
            return f"try {number}"
        why = f" ({self.why})" if self.why else ""
        said = f": {self.message}" if self.message else ""
        return f"retry {number} in {duration(self.due - now)}{why}{said}"


def retry_of(attempt: Attempt, at: float, of: int | None = None) -> NextTry:
    """Return the try that comes after one that failed at a time."""
    error = attempt.error
    why = "" if error is None else error.kind if error.code is None else str(error.code)
    return NextTry(
        attempt.number + 1, of, at + (attempt.delay_s or 0.0),
        why="" if why == "unknown" else why, message="" if error is None else error.message,
    )  # fmt: skip


class BoardRow(Struct):
    """One step: its runs that are under way, how the others ended, and what there is to say about it."""

    step: str
    active: dict[str, float] = field(default_factory=dict)
    done: int = 0
    failed: int = 0
    handled: int = 0
    withdrawn: int = 0
    took: float = 0.0
    """How long the last run took; of several, from the first start to the last end."""
    first: float | None = None
    tries: int = 0
    again: int = 0
    words: str = ""
    retry: NextTry | None = None
    wait: str = ""
    total: int = 0
    iterated: int = 0
    iterations_failed: int = 0
    out: dict[str, int] = field(default_factory=dict)
    incident: bool = False

    @property
    def in_flight(self) -> int:
        """How many iterations are with workers."""
        return sum(self.out.values())

    @property
    def ended(self) -> int:
        """How many runs are over."""
        return self.done + self.failed + self.withdrawn


class Board:
    """The rows of an execution, in the order in which its steps were first started."""

    def __init__(self, execution: str) -> None:
        self.execution = execution
        self.playbook = ""
        self.began: float | None = None
        self.now = 0.0
        self.status = "running"
        self.rows: dict[str, BoardRow] = {}
        self.turns = Turns()
        self.people: dict[str, Person] = {}
        self._step_of: dict[str, str] = {}
        self._items_of: dict[str, list[str]] = {}
        self._over: dict[str, float] = {}

    @property
    def over(self) -> bool:
        """Whether it has ended: from then on it takes no longer."""
        return self.status != "running"

    def take(self, record: Record) -> None:
        """Move on by one record."""
        self.now = max(self.now, record.at)
        self._apply(record.event, record.at)

    def _apply(self, event: e.AnyEvent, at: float) -> None:  # noqa: C901 - a table
        self.turns.take(event)
        match event:
            case e.ExecutionStarted():
                self.playbook, self.began = event.playbook, at
            case e.ExecutionForked() | e.PastTaken():
                for then, past in event.past:
                    self._apply(past, then)
                self.began = at
            case e.StepStarted():
                self._started(event, at)
            case e.StepEnded():
                self._ended(event, at)
            case e.Withdrawn():
                for run in event.runs:
                    self._withdrawn(run)
            case e.RunReturned():
                self._withdrawn(event.run)
            case e.ItemChanged():
                self._item_changed(event)
            case e.ExecutionEnded():
                self.status = event.status
            case _:
                self._apply_to_run(event, at)

    def _apply_to_run(self, event: e.AnyEvent, at: float) -> None:
        """Take in what happens to a run between its start and its end."""
        run = getattr(event, "run", None)
        row = self.rows.get(self._step_of.get(run, "")) if isinstance(run, str) else None
        if row is None or not isinstance(run, str):
            return
        match event:
            case e.IterationsStarted():
                row.out[event.chunk] = row.out.get(event.chunk, 0) + len(event.paths)
                self._armed(row, run, event.armed)
            case e.ItemsAdded():
                row.total += len(event.items) + sum(count for count, _ in event.pieces)
            case e.IterationsEnded():
                self._iterated(row, event)
            case e.RunRedelivered():
                row.again += 1
                row.incident = False
            case e.IncidentRaised():
                row.incident, row.words = True, event.message
            case e.AttemptEnded():
                row.retry = retry_of(event.attempt, at)
            case e.AttemptStarted():
                row.retry = None
                self._armed(row, run, event.armed)
            case _:
                pass

    def retrying(self, run: str, attempt: Attempt, of: int | None, now: float) -> NextTry | None:
        """Take in that a worker waits before another try."""
        row = self.rows.get(self._step_of.get(run, ""))
        if row is None:
            return None
        row.retry = retry_of(attempt, now, of)
        return row.retry

    def took(self, run: str) -> float:
        """How long a run that is over took, in seconds."""
        return self._over.pop(run, 0.0)

    def step_of(self, run: str) -> str:
        """Return the step of a run."""
        return self._step_of.get(run, "")

    def asked_by(self, run: str) -> Person | None:
        """Return whom a run asks, the first of them, if it asks anybody."""
        asked = (self.people.get(item) for item in self._items_of.get(run, ()))
        return next((person for person in asked if person is not None), None)

    def _row_of(self, run: str) -> BoardRow:
        return self.rows[self._step_of[run]]

    def _started(self, event: e.StepStarted, at: float) -> None:
        name = f"{event.step}/compensate" if event.compensates else event.step
        row = self.rows.setdefault(name, BoardRow(name))
        row.active[event.run] = at
        row.first = at if row.first is None else row.first
        row.words = ""
        self._step_of[event.run] = name
        if event.items is not None:
            row.total += len(event.items) + sum(count for count, _ in event.pieces)
        self._armed(row, event.run, event.armed)

    def _ended(self, event: e.StepEnded, at: float) -> None:
        name = self._step_of.get(event.run, event.step)
        row = self.rows.setdefault(name, BoardRow(name))
        self._over[event.run] = at - row.active.pop(event.run, at)
        row.took = at - row.first if row.ended and row.first is not None else self._over[event.run]
        row.tries = 1 + sum(1 for attempt in event.attempts if attempt.action == "retry")
        row.retry, row.wait, row.words = None, "", ""
        row.incident = False
        row.out.clear()
        if isinstance(event, e.StepFailed):
            row.failed += 1
            row.handled += event.handled
            row.words = event.error.message if event.error is not None else "failed"
        else:
            row.done += 1
        self._forget_items(event.run)

    def _withdrawn(self, run: str) -> None:
        if run in self._step_of:
            row = self._row_of(run)
            row.active.pop(run, None)
            row.withdrawn += 1
            row.retry, row.wait = None, ""
            row.out.clear()
            self._forget_items(run)

    @staticmethod
    def _iterated(row: BoardRow, event: e.IterationsEnded) -> None:
        row.iterated += len(event.ended)
        row.iterations_failed += sum(not iteration.ok for iteration in event.ended)
        if event.more:
            row.out[event.chunk] = max(0, row.out.get(event.chunk, 0) - len(event.ended))
        else:
            row.out.pop(event.chunk, None)

    def _armed(self, row: BoardRow, run: str, armed: e.Armed | None) -> None:
        if armed is None:
            return
        for item in armed.items:
            assignees = item.spec.get("assignees") or {}
            actions = item.spec.get("actions") or ["approve"]
            self.people[item.id] = Person(
                step=row.step,
                title=str(item.spec.get("title") or row.step),
                users=_names(assignees.get("users")),
                roles=_names(assignees.get("roles")),
                action=str(actions[0]),
                data=example(item.spec),
            )
            self._items_of.setdefault(run, []).append(item.id)
        waits = [wait.name for wait in armed.waits if wait.kind == "signal"]
        timers = [timer.due for timer in armed.timers if timer.kind == "wait"]
        if armed.child:
            row.wait = f"sub-playbook {armed.call.get('path', '')} {armed.child}"
        elif waits:
            row.wait = f"waiting for signal {', '.join(waits)}"
        elif timers and not armed.items:
            row.wait = f"waiting for {duration(max(0.0, min(timers) - self.now))}"

    def _item_changed(self, event: e.ItemChanged) -> None:
        person = self.people.get(event.item)
        if person is None:
            return
        person.holder = event.holder
        if event.state in ("done", "failed", "withdrawn", "expired"):
            del self.people[event.item]

    def _forget_items(self, run: str) -> None:
        for item in self._items_of.pop(run, ()):
            self.people.pop(item, None)


def duration(seconds: float) -> str:
    """Say how long something took, in few characters."""
    if seconds < 1:
        return f"{seconds * 1000:.0f}ms"
    if seconds < 60:
        return f"{seconds:.1f}s"
    if seconds < 3600:
        return f"{int(seconds // 60)}m{int(seconds % 60):02d}s"
    return f"{int(seconds // 3600)}h{int(seconds % 3600 // 60):02d}m"


def _names(names: Any) -> list[str]:
    if names is None:
        return []
    return [names] if isinstance(names, str) else [str(name) for name in names]
