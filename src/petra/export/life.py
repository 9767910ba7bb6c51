"""What an execution lived through, and the step runs in it.

Rule 1: an execution with a past has lived through it: an export of a fork begins where its origin began.
Rule 2: a step run has three moments: its token was there, it started, it ended. Some never come.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from petra.kernel import Record
from petra.kernel import events as e
from petra.kernel.fork import lived
from petra.playbook import Playbook

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class ExportedLog:
    """One execution to export: its playbook and its records."""

    execution: str
    playbook: Playbook
    records: Sequence[Record]
    status: str = ""


@dataclass(frozen=True, slots=True)
class Moment:
    """One event of a life. ``seq`` is its version; what lies in the past of a fork has 0 and less."""

    seq: int
    at: float
    event: e.AnyEvent


@dataclass(slots=True)
class ExportedRun:
    """One passage of a token through a step."""

    run: str
    step: str
    kind: str
    enabled: float | None
    started: float
    seq: int
    ended: float | None = None
    status: str = "running"
    resource: str | None = None
    tries: int = 0
    deliveries: int = 1
    branch: tuple[int, ...] = ()
    iterations: int | None = None
    iterations_failed: int | None = None
    error: str = ""
    message: str = ""
    result: Any = None
    tokens: list[str] = field(default_factory=list)


def life(records: Iterable[Record]) -> Iterator[Moment]:
    """Yield everything that happened, oldest first; forks of forks are unfolded."""
    for number, at, event in lived(records):
        yield Moment(number, at, event)


def produced(event: e.AnyEvent) -> list[e.Produced]:
    """Return the tokens that an event put into places."""
    match event:
        case e.ExecutionStarted():
            return [event.entry]
        case e.StepEnded():
            return event.produced
        case e.RunReturned() | e.FinalStarted():
            return [event.token]
        case e.GroupChanged(produced=token) if token is not None:
            return [token]
        case _:
            return []


def offered(event: e.AnyEvent) -> list[e.NewItem]:
    """Return the work items that an event offers: of a step, of an iteration, or once more after a failed try."""
    match event:
        case e.StepStarted() | e.IterationsStarted() | e.AttemptStarted():
            return event.armed.items if event.armed is not None else []
        case _:
            return []


class Branches:
    """Which branches each token and each run is inside of, from the outermost fan-out in."""

    def __init__(self) -> None:
        self._of: dict[str, tuple[int, ...]] = {}
        self._group: dict[str, tuple[int, ...]] = {}

    def take(self, event: e.AnyEvent) -> None:
        """Follow one event."""
        match event:
            case e.StepStarted():
                first = self._of.get(event.consumed[0], ()) if event.consumed else ()
                stack = event.stack
                self._of[event.run] = first if stack is None else tuple(i for _, i in stack)
            case e.StepEnded():
                around = self.of(event.run or (event.consumed[0] if event.consumed else ""))
                if event.group is not None:
                    self._group[event.group.id] = around
                for token in event.produced:
                    self._of[token.id] = around if token.index is None else (*around, token.index)
            case e.RunReturned():
                self._of[event.token.id] = self.of(event.run)
            case e.GroupChanged(produced=token) if token is not None:
                self._of[token.id] = (*self._group.get(event.group, ()), token.index or 0)
            case _:
                pass

    def of(self, holder: str) -> tuple[int, ...]:
        """Return the branches around a token or a run."""
        return self._of.get(holder, ())


class Tries:
    """How often the tasks of each run were tried, noop apart: in iterations and on the server too."""

    def __init__(self) -> None:
        self._of: Counter[str] = Counter()

    def take(self, event: e.AnyEvent) -> None:
        """Follow one event."""
        match event:
            case e.StepEnded():
                self._count(event.run, event)
            case e.IterationsEnded():
                for iteration in event.ended:
                    self._count(event.run, iteration)
            case e.AttemptEnded():
                self._of[event.run] += not event.attempt.noop
            case _:
                pass

    def _count(self, run: str, ended: e.StepEnded | e.Iterated) -> None:
        self._of[run] += sum(1 for attempt in ended.attempts if not attempt.noop)
        if ended.left_out is not None:
            self._of[run] += ended.left_out.count

    def of(self, run: str) -> int:
        """Return the tries of a run so far."""
        return self._of[run]


def step_runs(log: ExportedLog) -> list[ExportedRun]:
    """Return the step runs of an execution, in the order in which they started."""
    kinds = {step.step: _kind(step.tool) for step in log.playbook.workflow}
    runs: dict[str, ExportedRun] = {}
    since: dict[str, float] = {}
    branches, tries = Branches(), Tries()
    people: dict[str, str] = {}
    for moment in life(log.records):
        event = moment.event
        branches.take(event)
        tries.take(event)
        people.update((item.id, getattr(event, "run", "")) for item in offered(event))
        for token in produced(event):
            since[token.id] = moment.at
        match event:
            case e.StepStarted():
                enabled = [since[token] for token in event.consumed if token in since]
                runs[event.run] = ExportedRun(
                    run=event.run, step=f"{event.step}/compensate" if event.compensates else event.step,
                    kind=kinds.get(event.step, ""), enabled=max(enabled, default=None),
                    started=moment.at, seq=moment.seq, tokens=list(event.consumed),
                    branch=branches.of(event.run),
                    iterations=_iterations(event),
                )  # fmt: skip
            case e.StepEnded():
                _end(runs, event, moment)
                runs[event.run or f"failed-{moment.seq}"].tries = tries.of(event.run)
            case e.ItemChanged(act="complete") if people.get(event.item) in runs:
                _answered(runs[people[event.item]], event.actor)
            case e.Withdrawn():
                _withdraw(runs, event.runs, moment.at)
            case e.RunReturned():
                _withdraw(runs, [event.run], moment.at)
            case e.RunRedelivered() if event.run in runs:
                runs[event.run].deliveries += 1
            case _:
                pass
    return list(runs.values())


def _end(runs: dict[str, ExportedRun], event: e.StepEnded, moment: Moment) -> None:
    run = runs.get(event.run)
    if run is None:  # it failed before it started: a gate that denied, a join that cannot fire
        run = runs[event.run or f"failed-{moment.seq}"] = ExportedRun(
            event.run or f"failed-{moment.seq}", event.step, "", None, moment.at, moment.seq
        )
    run.ended = moment.at
    run.status = "failed" if isinstance(event, e.StepFailed) else "done"
    run.resource = event.actor or run.resource
    if event.counts is not None:
        run.iterations = event.counts.get("total")
        run.iterations_failed = event.counts.get("failed")
    if event.error is not None:
        run.error, run.message = event.error.kind, event.error.message
    run.result = event.result


def _withdraw(runs: dict[str, ExportedRun], withdrawn: Iterable[str], at: float) -> None:
    for run in withdrawn:
        if run in runs:
            runs[run].ended, runs[run].status = at, "withdrawn"


def _answered(run: ExportedRun, actor: str) -> None:
    """Add somebody to those who did it; of a loop over people there are several."""
    known = run.resource.split(", ") if run.resource else []
    run.resource = ", ".join(dict.fromkeys([*known, actor]))


def _kind(tool: Iterable[Any]) -> str:
    kinds = dict.fromkeys(task.kind for task in tool)
    return "+".join(kinds) or "router"


def timestamp(at: float) -> str:
    """Say a time as ISO 8601 in UTC, to the microsecond."""
    return moment(round(at * 1e6))


def moment(microseconds: int) -> str:
    """Say a time, given in microseconds since 1970, as ISO 8601 in UTC."""
    return (_EPOCH + timedelta(microseconds=microseconds)).isoformat(timespec="microseconds")


def _iterations(event: e.StepStarted) -> int | None:
    if event.items is None:
        return None
    return len(event.items) + sum(count for count, _ in event.pieces)
