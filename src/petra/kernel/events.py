"""Events: what happened, in the past tense. The log of an execution is a list of these.

Rule 1: an event holds everything ``evolve`` needs; replay evaluates no expression and asks no clock.
Rule 2: a plain step leaves two: ``step.started`` and ``step.done`` or ``step.failed``.
Rule 3: ``actor`` is as whom something was asked; ``by`` is who asked it where that was somebody else.
Rule 4: an event is never changed once a release has written it; a new meaning is a new type.
"""

from __future__ import annotations

from typing import Any

import msgspec

from petra.kernel.permit_events import AnyPermitEvent
from petra.kernel.schedule_events import AnyScheduleEvent
from petra.namespaces import DEFAULT
from petra.playbook.company import Company
from petra.wire import Attempt, Error, LeftOut, Write

Pair = tuple[str, int]


class Produced(msgspec.Struct, frozen=True, kw_only=True, gc=False, omit_defaults=True):
    """A token that a firing put into ``step.ready``.

    ``index`` is its branch of the group the same event makes; ``arrives`` the group it closes by waiting
    at a join; ``empty`` marks the token that stands for a group without branches, which is the one it
    ``arrives`` for; ``joined`` one that has passed the join of its step before.
    """

    id: str
    step: str
    arc: int = 0
    args: dict[str, Any] = {}
    index: int | None = None
    arrives: str | None = None
    empty: bool = False
    joined: bool = False


class NewGroup(msgspec.Struct, frozen=True, kw_only=True, gc=False, omit_defaults=True):
    """A fan-out that a firing made."""

    id: str
    size: int
    join: str | None = None
    items: list[Any] = []
    arcs: list[int] = []


class NewTimer(msgspec.Struct, frozen=True, kw_only=True, gc=False, omit_defaults=True):
    """A point in time at which something happens by itself."""

    id: str
    due: float
    kind: str
    run: str = ""
    group: str = ""
    index: int = 0


class NewWait(msgspec.Struct, frozen=True, kw_only=True, gc=False, omit_defaults=True):
    """One thing that a run waits for."""

    which: str | int
    kind: str
    name: str = ""
    key: Any = None
    delivery: str = "persistent"
    item: str = ""


class NewItem(msgspec.Struct, frozen=True, kw_only=True, gc=False, omit_defaults=True):
    """A work item that is offered."""

    id: str
    spec: dict[str, Any]
    attempt: int = 1


class Armed(msgspec.Struct, frozen=True, kw_only=True, gc=False, omit_defaults=True):
    """What a server task set up: waits, timers, a work item, a child."""

    waits: list[NewWait] = []
    timers: list[NewTimer] = []
    items: list[NewItem] = []
    child: str = ""
    call: dict[str, Any] = {}
    attempt: int = 1


class Iterated(msgspec.Struct, frozen=True, kw_only=True, gc=False, omit_defaults=True):
    """How one iteration ended."""

    path: tuple[int, ...]
    ok: bool
    result: Any = None
    error: Error | None = None
    attempts: list[Attempt] = []
    writes: list[Write] = []
    left_out: LeftOut | None = None
    branch: Any = None
    has_branch: bool = False


class Event(msgspec.Struct, frozen=True, kw_only=True, gc=False, omit_defaults=True):
    """Something that happened."""


class ExecutionStarted(Event, frozen=True, tag="execution.started"):
    """The workload is fixed and the first token exists (S3)."""

    playbook: str
    digest: str
    workload: dict[str, Any]
    entry: Produced
    reducers: dict[str, str] = {}
    parent: str = ""
    depth: int = 0
    timers: list[NewTimer] = []
    inherits: bool = False
    allow_unsound: bool = False
    actor: str = ""
    by: str = ""
    company: Company | None = None
    labels: dict[str, str] = {}
    namespace: str = DEFAULT
    tells: str = ""
    priority: int = 0


class StepStarted(Event, frozen=True, tag="step.started"):
    """``S.start`` fired: tokens became a run. For a join: ``group`` closed, outputs merged.

    A ``merge`` without a key is written nowhere: it is the result of the join alone. ``parallel`` says of each level
    of a loop, from the outermost, whether its iterations run side by side.
    """

    run: str
    step: str
    consumed: list[str]
    args: dict[str, Any] | None = None
    stack: list[Pair] | None = None
    group: str | None = None
    merge: Write | None = None
    delivery: int = 1
    resources: list[tuple[str, str, int]] = []
    items: list[Any] | None = None
    pieces: list[tuple[int, dict[str, Any]]] = []
    max_in_flight: int = 1
    parallel: list[bool] = []
    armed: Armed | None = None
    timers: list[NewTimer] = []
    compensates: str = ""
    administrative: str | None = None
    reads: list[str] = []


class StepEnded(Event, frozen=True):
    """``S.done`` or ``S.failed`` fired: the boundary event with everything it decided (S5, S7)."""

    run: str
    step: str
    result: Any = None
    has_result: bool = True
    error: Error | None = None
    attempts: list[Attempt] = []
    writes: list[Write] = []
    branch: Any = None
    has_branch: bool = False
    counts: dict[str, int] | None = None
    actor: str | None = None
    arcs: list[int] = []
    produced: list[Produced] = []
    group: NewGroup | None = None
    timers: list[NewTimer] = []
    consumed: list[str] = []
    closes: str | None = None
    stack: list[Pair] | None = None
    handled: bool = False
    stains: bool = False
    undoable: bool = False
    administrative: str | None = None
    left_out: LeftOut | None = None
    reads: list[str] = []


class StepDone(StepEnded, frozen=True, tag="step.done"):
    """A step run succeeded."""


class StepFailed(StepEnded, frozen=True, tag="step.failed"):
    """A step run failed; ``consumed`` names waiting tokens where it never started."""


class LoopDone(StepEnded, frozen=True, tag="loop.done"):
    """A loop is through, perhaps with failures where the step goes on after them."""


class LoopStarted(Event, frozen=True, tag="loop.started"):
    """A loop begins: over how many items, and how many of them at a time."""

    run: str
    step: str
    total: int
    max_in_flight: int = 1


class IterationsStarted(Event, frozen=True, tag="loop.iterations.started"):
    """Iterations were handed out: a new chunk, or more for one that is out.

    ``opened`` holds inner lists that became known, ``pieces`` where the items of the last of them are. With
    ``gather`` the chunk has no iterations: a worker is to store the results of the loop, which are too large for an event; with ``upto``, those of them before that index
    that were not stored yet.
    """

    run: str
    chunk: str
    paths: list[tuple[int, ...]]
    opened: list[tuple[tuple[int, ...], list[Any], int]] = []
    pieces: list[tuple[int, dict[str, Any]]] = []
    armed: Armed | None = None
    gather: bool = False
    upto: int = 0


class ItemsAdded(Event, frozen=True, tag="loop.items.added"):
    """Further items of a list that is too long for one event; ``path`` is the outer iteration.

    Those of a long list are in objects: ``pieces`` says how many are in each, and where it is.
    """

    run: str
    path: tuple[int, ...]
    items: list[Any]
    pieces: list[tuple[int, dict[str, Any]]] = []


class IterationsEnded(Event, frozen=True, tag="loop.iterations.ended"):
    """Iterations ended; with ``more``, the rest of the chunk stays out.

    Of a chunk that gathers, none ended: ``piece`` refers to the results before ``upto`` that it stored. The same without
    a chunk: those were put aside, since they are large and the loop is not through; with ``since`` they are those from
    that index on, behind an iteration that is still out.
    """

    run: str
    chunk: str
    ended: list[Iterated]
    more: bool = False
    upto: int = 0
    piece: Any = None
    since: int = 0


class TokenDiscarded(Event, frozen=True, tag="token.discarded"):
    """``S.discard`` fired: a token left without effect. A late branch may still change a merge."""

    token: str
    reason: str
    group: str | None = None
    index: int | None = None
    merge: Write | None = None
    closes: str | None = None


class Withdrawn(Event, frozen=True, tag="tokens.withdrawn"):
    """``S.withdraw`` fired: tokens and runs were taken away, with everything inside them.

    ``closes`` is a group of which nobody had arrived when its join was turned away. With ``more`` the same firing
    goes on in the next event.
    """

    tokens: list[str] = []
    runs: list[str] = []
    groups: list[str] = []
    reason: str = ""
    by: str = ""
    closes: str | None = None
    more: bool = False


class TokensAdded(Event, frozen=True, tag="tokens.added"):
    """Further tokens of a fan-out that has too many for the boundary event, which says how many there are.

    ``items`` and ``arcs`` are those of the same branches, as in the group. ``timers`` come after the last of them.
    """

    group: str
    step: str
    produced: list[Produced]
    items: list[Any]
    arcs: list[int]
    timers: list[NewTimer] = []


class TokensGathered(Event, frozen=True, tag="tokens.gathered"):
    """Tokens that a join takes, of so many that the event of its firing, which follows, cannot name them all."""

    run: str
    step: str
    consumed: list[str]
    group: str | None = None


class RunReturned(Event, frozen=True, tag="run.returned"):
    """A run that nobody had started went back to waiting, since its gate turned false (WCP-18)."""

    run: str
    token: Produced


class RunRedelivered(Event, frozen=True, tag="run.redelivered"):
    """A lease ran out and the run was handed out again; of an incident, because an ``actor`` wants it."""

    run: str
    delivery: int
    chunk: str = ""
    actor: str = ""
    by: str = ""
    reason: str = ""


class RunTakenBack(RunRedelivered, frozen=True, tag="run.taken_back"):
    """The run is handed out again and no delivery was lost: an engine that closed took it back, or one that died had not given it."""


class ReportRejected(Event, frozen=True, tag="report.rejected"):
    """A report came too late, or for something that is over; it changes nothing."""

    run: str
    reason: str


class IncidentRaised(Event, frozen=True, tag="incident.raised"):
    """Something cannot go on by itself; a person must look. It is a run, or without one the whole execution."""

    run: str
    step: str
    message: str
    chunk: str = ""


class AttemptEnded(Event, frozen=True, tag="attempt.ended"):
    """A task of the server ended one try and its policy wants another."""

    run: str
    attempt: Attempt
    chunk: str = ""
    writes: list[Write] = []
    timers: list[NewTimer] = []


class AttemptStarted(Event, frozen=True, tag="attempt.started"):
    """A task of the server is tried again."""

    run: str
    armed: Armed
    chunk: str = ""


class GroupChanged(Event, frozen=True, tag="group.changed"):
    """Somebody changed a live group (S8): add, close, cancel or complete; administrative."""

    group: str
    change: str
    produced: Produced | None = None
    item: Any = None
    actor: str = ""
    by: str = ""


class GroupTimedOut(Event, frozen=True, tag="group.timed_out"):
    """The time for a join is up."""

    group: str


class CtxPatched(Event, frozen=True, tag="ctx.patched"):
    """An operator changed ctx."""

    values: dict[str, Any]
    actor: str = ""
    by: str = ""
    reason: str = ""


class SignalReceived(Event, frozen=True, tag="signal.received"):
    """A signal came in: for a run that waited, for the mailbox, or for nobody."""

    name: str
    payload: Any = None
    key: Any = None
    kept: bool = False
    run: str | None = None
    actor: str = ""
    by: str = ""


class ItemChanged(Event, frozen=True, tag="workitem.changed"):
    """An act on a work item, or something that time did to it."""

    item: str
    act: str
    state: str
    holder: str | None = None
    owner: str | None = None
    actor: str = ""
    by: str = ""
    on_behalf_of: str | None = None
    reason: str = ""
    data: Any = None
    assignees: dict[str, Any] | None = None
    stopped: list[str] = []
    timers: list[NewTimer] = []


class ActRefused(Event, frozen=True, tag="act.refused"):
    """An act was refused and changed nothing."""

    act: str
    actor: str = ""
    by: str = ""
    item: str = ""
    reason: str = ""


class TimerFired(Event, frozen=True, tag="timer.fired"):
    """A timer was used up."""

    timer: str


class ExecutionPaused(Event, frozen=True, tag="execution.paused"):
    """New firings stop."""

    actor: str = ""
    by: str = ""
    reason: str = ""


class ExecutionResumed(Event, frozen=True, tag="execution.resumed"):
    """Firings go on."""

    actor: str = ""
    by: str = ""


class ExecutionEnding(Event, frozen=True, tag="execution.ending"):
    """The end is decided; compensation or the final step come before it. With ``halts`` no more is compensated."""

    status: str
    phase: str
    reason: str = ""
    error: Error | None = None
    actor: str = ""
    by: str = ""
    halts: bool = False


class FinalStarted(Event, frozen=True, tag="final.started"):
    """The final step got its token (S12)."""

    token: Produced


class ExecutionStuck(Event, frozen=True, tag="execution.stuck"):
    """Nothing can happen any more and nobody is expected to act."""

    reason: str
    message: str


class ExecutionEnded(Event, frozen=True, tag="execution.ended"):
    """The execution is over."""

    status: str
    output: Any = None
    error: Error | None = None
    reason: str = ""


class ExecutionForked(Event, frozen=True, tag="execution.forked"):
    """A new execution continues from a prefix of another one's log; ``past`` holds its events and times.

    With ``size`` there are more of them than that: so many, and the rest follows. ``parts`` say whose they were, where
    the origin had taken over some itself: execution, how many of its log come before them, how many there are.
    """

    origin: str
    at: int
    past: list[tuple[float, AnyEvent]]
    reason: str = ""
    size: int = 0
    parts: list[tuple[str, int, int]] = []
    actor: str = ""
    by: str = ""


class PastTaken(Event, frozen=True, tag="execution.past"):
    """Further events of a past that is too long for one event."""

    past: list[tuple[float, AnyEvent]]


class ExecutionMigrated(Event, frozen=True, tag="execution.migrated"):
    """The execution goes on with another definition; what runs ends by the one it began with (S23).

    A fork that begins with another workload has it here (S13). ``company`` is that of the new definition, if it has one.
    """

    digest: str
    playbook: str
    renamed: dict[str, str] = {}
    reducers: dict[str, str] = {}
    actor: str = ""
    by: str = ""
    reason: str = ""
    workload: Any = None
    company: Company | None = None


AnyEvent = (
    ExecutionStarted
    | StepStarted
    | StepDone
    | StepFailed
    | LoopDone
    | LoopStarted
    | IterationsStarted
    | ItemsAdded
    | IterationsEnded
    | TokenDiscarded
    | Withdrawn
    | TokensAdded
    | TokensGathered
    | RunReturned
    | RunRedelivered
    | RunTakenBack
    | ReportRejected
    | IncidentRaised
    | AttemptEnded
    | AttemptStarted
    | GroupChanged
    | GroupTimedOut
    | CtxPatched
    | SignalReceived
    | ItemChanged
    | ActRefused
    | TimerFired
    | ExecutionPaused
    | ExecutionResumed
    | ExecutionEnding
    | FinalStarted
    | ExecutionStuck
    | ExecutionEnded
    | ExecutionForked
    | PastTaken
    | ExecutionMigrated
    | AnyScheduleEvent
    | AnyPermitEvent
)
