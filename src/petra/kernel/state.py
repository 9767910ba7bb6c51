"""The state of one execution: what folding its log gives (S2).

Rule 1: live tokens are a set of ids, never a counter. A token is in ``ready`` or, as a run, in ``runs``;
it enters once and leaves once.
Rule 2: only ``evolve`` changes the state, through the methods below, in place. They keep the indexes: tokens by
step, members by group and branch, timers by owner and by when they are due, waits by reason and by signal. What a
command costs follows from what it changes, not from how much waits.
Rule 3: values that are read by others are replaced, never changed: ctx, args, results.
Rule 4: nothing here refers to itself, however far around, so the collector of cycles need not look at it.
"""

from __future__ import annotations

from hashlib import sha256
from heapq import heapify, heappop, heappush
from typing import Any, Literal, NamedTuple

from msgspec import Struct, field

from petra.kernel.living import Living, enter, leave, living_in
from petra.kernel.permit_state import OwnPermits
from petra.kernel.timetable import Timetable
from petra.kernel.waiting import LIMITS, Awaited, Signal, Timer, WorkItem
from petra.namespaces import DEFAULT
from petra.playbook.company import Company
from petra.wire import Error

DELIVERIES_MAX, LEASE_S = 5, 30.0
DISARMED_KEPT = 64  # of timers in the heap that nobody waits for, beside as many as are armed


class Branch(NamedTuple):
    """One level of a token's stack: which fan-out it is inside of, and which branch of it."""

    group: str
    branch: int


Stack = tuple[Branch, ...]


class Began(NamedTuple):
    """A step of an earlier definition: the digest of its playbook, and its name there."""

    digest: str
    step: str


class Activation(Struct, gc=False):
    """A step run that is over: what templates and joins see of it."""

    step: str
    run: str
    ok: bool
    result: Any
    has_result: bool
    error: Error | None
    name: str
    args: dict[str, Any]
    started_at: float
    finished_at: float
    seq: int
    counts: dict[str, int] | None = None
    actor: str | None = None
    before: Activation | None = None
    """After a failure: the done activation of the step that came before it."""

    @property
    def done(self) -> Activation | None:
        """The done activation whose result templates see: this one, or after a failure the one before."""
        return self if self.ok else self.before


Seen = dict[str, Activation]
"""The latest activation of each step in a token's own causal history."""


class ReadyToken(Struct, gc=False):
    """A token in ``S.ready``."""

    id: str
    step: str
    args: dict[str, Any]
    stack: Stack
    seen: Seen
    source: Activation | None
    arrow: tuple[str, int] | None
    output: Any
    since: int
    arrival: int
    empty: bool = False
    joined: bool = False
    """Whether it has passed the join of its step: a run that was withdrawn and waits again."""
    merged: tuple[Any, ...] = ()
    group: str = ""
    """Of an empty token, the group of nobody that it stands for."""


class LoopState(Struct, gc=False):
    """How far one level of a loop has come. ``active`` holds the nested level of an outer iteration."""

    total: int
    items: list[Any]
    max_in_flight: int
    next: int = 0
    chunks: int = 0
    active: dict[int, LoopState | None] = {}
    held: list[Any] = []
    """Its results from index ``stored`` on: what is stored is not in memory, however many there are."""
    done: int = 0
    succeeded: int = 0
    failed: int = 0
    nests: bool = False
    """Whether its iterations are loops themselves."""
    stored: int = 0
    """How many of its results, from the first, are stored in pieces."""
    pieces: list[Any] = []
    aside: list[tuple[int, int, Any]] = []
    """Results that are stored behind an iteration that is still out: from which index on, up to which, and the object."""
    places: list[tuple[int, dict[str, Any]]] = []
    """Where the items of a long list are: from which index on, and the object."""

    @property
    def is_over(self) -> bool:
        """Whether every iteration has ended."""
        return self.next >= self.total and not self.active


def counts_of(loop: LoopState) -> dict[str, int]:
    """Return the counts of a loop, over the iterations of all its levels."""
    total, done, ok, failed = _sums(loop)
    return {"total": total, "completed": done, "succeeded": ok, "failed": failed}


def _sums(loop: LoopState) -> tuple[int, int, int, int]:
    done, ok, failed = loop.done, loop.succeeded, loop.failed
    nested = [inner for inner in loop.active.values() if inner is not None]
    total = (
        loop.total
        if not nested and not (loop.done != loop.total and loop.is_over)
        else done + sum(_sums(inner)[0] for inner in nested)
    )
    for inner in nested:
        _, more, good, bad = _sums(inner)
        done, ok, failed = done + more, ok + good, failed + bad
    return max(total, done), done, ok, failed


class Chunk(Struct, gc=False):
    """Iterations that are out under one lease, by their paths of indices; ``at`` is the outer iteration.

    With ``gather`` it has none: a worker stores the results of the loop, or those before ``upto``.
    """

    id: str
    paths: list[tuple[int, ...]]
    at: tuple[int, ...] = ()
    gather: bool = False
    upto: int = 0
    delivery: int = 1
    taken_back: int = 0
    waits: tuple[Awaited, ...] = ()
    child: str = ""
    call: dict[str, Any] | None = None
    attempt: int = 1
    incident: bool = False


class StepRun(Struct, gc=False):
    """A token in ``S.running``: a step run between start and boundary event."""

    id: str
    step: str
    args: dict[str, Any]
    stack: Stack
    seen: Seen
    source: Activation | None
    output: Any
    started_at: float
    seq: int
    token: str
    arrow: tuple[str, int] | None = None
    resources: list[tuple[str, str, int]] = []
    joined: bool = False
    merged: tuple[Any, ...] = ()
    """The merge of the join it passed, where that made one."""
    compensates: str = ""
    delivery: int = 1
    taken_back: int = 0
    """How many of the deliveries were taken back in order, and not lost."""
    attempt: int = 1
    loop: LoopState | None = None
    parallel: tuple[bool, ...] = ()
    chunks: dict[str, Chunk] = {}
    chunk_size: int = 1
    waits: tuple[Awaited, ...] = ()
    child: str = ""
    call: dict[str, Any] | None = None
    incident: bool = False
    retrying: bool = False
    errors: tuple[Error, ...] = ()
    failed: tuple[tuple[tuple[int, ...], Error], ...] = ()
    """The first iterations that failed, by their paths."""
    branch: Any = None
    branch_at: tuple[int, ...] | None = None
    """What iterations set as the output of the branch: the value of the last of them by index, and which it was."""
    began: Began | None = None
    """The definition it goes by, where that is not the execution's of today (S23)."""
    within: dict[str, Any] | None = None
    """What ``branch`` is to a compensation: what it was to the run that is undone."""


class Group(Struct, gc=False):
    """A fan-out: its branches, who has arrived, and how each of the others ended.

    ``living`` is what lives in each branch: tokens, runs, and groups inside it that have not decided.
    """

    id: str
    step: str
    size: int
    stack: Stack
    seen: Seen
    created_at: float
    join: str | None
    items: list[Any]
    arcs: list[int]
    source: Activation | None
    since: int = 0
    living: Living = {}
    arrived: dict[int, str] = {}
    outputs: dict[int, Any] = {}
    order: list[int] = []
    ended: dict[int, str] = {}
    overrides: dict[int, Any] = {}
    fired: bool = False
    closed: bool = False
    timed_out: bool = False
    forced: bool = False
    """Whether an operator completed it: its join goes on with what has arrived."""
    void: bool = False
    """Whether its join failed or was turned away: nothing is merged late."""
    empty: str = ""
    """The token that stands for a group of nobody."""
    missing: int = 0
    """How many of its tokens further events of the same firing are going to add."""

    @property
    def decides(self) -> bool:
        """Whether a join has this group and has not decided about it."""
        return not self.fired and self.join is not None

    @property
    def open(self) -> int:
        """How many branches may still arrive."""
        return self.size - len(self.arrived) - len(self.ended)


class KeyWriter(Struct, gc=False):
    """Who wrote a ctx key inside one group: enough to find a conflict, however many wrote."""

    index: int
    value: Any
    several: bool = False


class Undo(Struct, gc=False):
    """A done step that can be compensated."""

    step: str
    run: str
    args: dict[str, Any]
    seen: Seen
    stack: Stack
    began: Began | None = None
    branch: dict[str, Any] | None = None
    """What ``branch`` was to it; its groups may be over by the time it is undone."""


class State(Struct, gc=False):
    """Everything the log of one execution says."""

    id: str
    digest: str = ""
    playbook: str = ""
    workload: dict[str, Any] = {}
    started_at: float = 0.0
    now: float = 0.0
    seq: int = 0
    ctx: dict[str, Any] = {}
    ready: dict[str, ReadyToken] = {}
    runs: dict[str, StepRun] = {}
    ready_at: dict[str, dict[str, None]] = {}
    runs_at: dict[str, dict[str, None]] = {}
    groups: dict[str, Group] = {}
    items: dict[str, WorkItem] = {}
    timers: dict[str, Timer] = {}
    timers_of: dict[str, dict[str, None]] = {}
    due: list[tuple[float, int, str]] = []
    """A heap of timers by due time, then arrival. Some may be disarmed; the first is not."""
    limits: int = 0
    """How many timers are limits."""
    waiting: dict[str, dict[str, None]] = {}
    """By what is waited for (human, signal, child, timer): the places of the runs and chunks that wait."""
    listening: dict[str, dict[str, int]] = {}
    """By the address of a signal: the places that wait for it, with their arrival."""
    mailbox: dict[str, dict[int, Signal]] = {}
    """By address: the signals that are kept, by their arrival."""
    mail_of: dict[str, dict[int, str]] = {}
    """By name: the addresses of the signals that are kept, by their arrival."""
    arrivals: int = 0
    """How many tokens, timers, waits and signals have come: what ties are broken by, in every execution alike."""
    incidents: dict[str, str] = {}
    """The runs that nothing goes on with until a person has looked, and why."""
    trouble: str = ""
    """Why the execution as a whole cannot go on; gone with whatever happens next."""
    completers: dict[str, dict[str, None]] = {}
    """By step: who completed a work item of it, and on whose behalf."""
    excluding: dict[str, dict[str, None]] = {}
    """By step: the work items that exclude who completed that step (four eyes)."""
    carried: dict[str, None] = {}
    """The runs that go by an earlier definition (S23)."""
    latest: dict[str, Activation] = {}
    last_done: Activation | None = None
    held: dict[tuple[str, str], int] = {}
    once: set[str] = field(default_factory=set)
    writers: dict[str, dict[str, KeyWriter]] = {}
    """By group, or by the run of a loop: who wrote which key, in a loop of which outer iteration."""
    children: dict[str, str] = {}
    depth: int = 0
    parent: str = ""
    inherits: bool = False
    allow_unsound: bool = False
    company: Company | None = None
    """The playbooks that it may call because they lay beside it when it started."""
    labels: dict[str, str] = {}
    """Those that it was started with, beside those of its playbook."""
    namespace: str = DEFAULT
    tells: str = ""
    """The execution that keeps the schedule which started it, and waits for its end (S24)."""
    timetable: Timetable | None = None
    priority: int = 0
    permits: OwnPermits | None = None
    origins: list[str] = []
    """The executions whose past this one has, oldest first."""
    gathered: dict[str, Seen] = {}
    """By a run that the next events begin: the histories of the tokens that were taken for it already."""
    past_left: int = 0
    """How many records of a past are still to be taken over."""
    paused: bool = False
    stained: bool = False
    ending: str = ""
    """The status that waits for compensation or the final step: completed, partial, failed, aborted."""
    reason: str = ""
    phase: Literal["normal", "compensating", "final", "over"] = "normal"
    terminal: str = ""
    output: Any = None
    error: Error | None = None
    failures: list[dict[str, Any]] = []
    counts: dict[str, int] = {}
    undo: list[Undo] = []
    not_compensated: dict[str, None] = {}
    """The steps that were done and have no compensation."""
    compensates: bool = False
    halted: bool = False
    """Whether done steps were to be undone at the end, and whether somebody called a halt to that."""
    final_done: bool = False
    stuck: str = ""
    firings: int = 0
    marking: int = 0
    hashes: dict[str, int] | None = {}
    """The part of each live token in the hash of the marking; None while a replay leaves that out."""
    reducers: dict[str, str] = {}
    touched: dict[str, dict[int, str]] = {}
    """What the last event touched: branches of groups, by where."""
    touched_items: dict[str, None] = {}
    """The work items that the last event touched."""

    def add_token(self, token: ReadyToken) -> None:
        """Put a token into ``S.ready``."""
        assert token.id not in self.ready, "a token enters once"
        assert token.id not in self.runs, "a token enters once"
        self.ready[token.id] = token
        at = self.ready_at.get(token.step)
        if at is None:
            self.ready_at[token.step] = {token.id: None}
        else:
            at[token.id] = None
        if token.stack:
            self._join_groups(token.id, token.stack)
        if (hashes := self.hashes) is not None:
            hashes[token.id] = made = hash_of(token.id, token.step, "ready")
            self.marking = (self.marking + made) & MASK

    def take_token(self, token_id: str) -> ReadyToken:
        """Take a token out of ``S.ready``."""
        token = self.ready.pop(token_id)
        at = self.ready_at[token.step]
        del at[token_id]
        if not at:
            del self.ready_at[token.step]
        if self.permits is not None:
            self.permits.token_left(token_id)
        if token.stack:
            self._leave_groups(token_id, token.stack)
        if self.hashes is not None:
            self.marking = (self.marking - self.hashes.pop(token_id)) & MASK
        return token

    def add_run(self, run: StepRun) -> None:
        """Put a token into ``S.running``."""
        assert run.id not in self.runs, "a token enters once"
        self.runs[run.id] = run
        at = self.runs_at.get(run.step)
        if at is None:
            self.runs_at[run.step] = {run.id: None}
        else:
            at[run.id] = None
        if run.stack:
            self._join_groups(run.id, run.stack)
        if (hashes := self.hashes) is not None:
            hashes[run.id] = made = hash_of(run.id, run.step, "running")
            self.marking = (self.marking + made) & MASK

    def take_run(self, run_id: str) -> StepRun:
        """Take a token out of ``S.running``, with everything it holds."""
        run = self.runs.pop(run_id)
        if self.carried:
            self.carried.pop(run_id, None)
        del self.runs_at[run.step][run_id]
        if run.stack:
            self._leave_groups(run_id, run.stack)
        if self.hashes is not None:
            self.marking = (self.marking - self.hashes.pop(run_id)) & MASK
        if run.resources:
            self._free(run.resources)
        if self.permits is not None:
            self.permits.run_left(run_id)
        if self.timers_of:
            self.drop_timers(run_id)
        if run.incident:
            del self.incidents[run_id]
        return run

    def _free(self, held: list[tuple[str, str, int]]) -> None:
        for name, key, units in held:
            self.held[name, key] -= units
            if not self.held[name, key]:
                del self.held[name, key]

    def arrive(self) -> int:
        """Count something that comes; return its number."""
        self.arrivals += 1
        return self.arrivals

    def rehash(self) -> None:
        """Hash the marking anew, after a replay that left it out."""
        self.hashes = {one.id: hash_of(one.id, one.step, "ready") for one in self.ready.values()}
        for run in self.runs.values():
            self.hashes[run.id] = hash_of(run.id, run.step, "running")
        self.marking = sum(self.hashes.values()) & MASK

    def add_timer(self, timer: Timer) -> None:
        """Arm a timer; one of the same id is replaced."""
        if timer.id in self.timers:
            self.drop_timer(timer.id)
        self.arrivals = timer.arrival = self.arrivals + 1
        self.timers[timer.id] = timer
        owner = timer.run or timer.group
        owned = self.timers_of.get(owner)
        if owned is None:
            self.timers_of[owner] = {timer.id: None}
        else:
            owned[timer.id] = None
        self.limits += timer.kind in LIMITS
        heappush(self.due, (timer.due, timer.arrival, timer.id))

    def drop_timers(
        self, owner: str, kinds: frozenset[str] | None = None, group: str | None = None
    ) -> None:
        """Disarm the timers of a run or a group: all, those of some kinds, or those of one chunk."""
        owned = self.timers_of.get(owner)
        if owned is None:
            return
        if kinds is None and group is None:
            del self.timers_of[owner]
            for timer_id in owned:
                self.limits -= self.timers.pop(timer_id).kind in LIMITS
            self._forget_disarmed()
            return
        for timer_id in list(owned):
            timer = self.timers[timer_id]
            if (kinds is None or timer.kind in kinds) and (group is None or timer.group == group):
                self.drop_timer(timer_id)

    def drop_timer(self, timer_id: str) -> None:
        """Disarm one timer, if it is still armed."""
        timer = self.timers.pop(timer_id, None)
        if timer is not None:
            owner = timer.run or timer.group
            del self.timers_of[owner][timer_id]
            if not self.timers_of[owner]:
                del self.timers_of[owner]
            self.limits -= timer.kind in LIMITS
            self._forget_disarmed()

    def _forget_disarmed(self) -> None:
        """Let the first of the heap be one that is armed, and most of the others too."""
        due = self.due
        while due and not self._is_armed(due[0]):
            heappop(due)
        if len(due) > 2 * len(self.timers) + DISARMED_KEPT:
            self.due = [timer for timer in due if self._is_armed(timer)]
            heapify(self.due)

    def _is_armed(self, entry: tuple[float, int, str]) -> bool:
        timer = self.timers.get(entry[2])
        return timer is not None and timer.arrival == entry[1]

    def drop_all_timers(self) -> None:
        """Disarm every timer."""
        self.timers, self.timers_of, self.due, self.limits = {}, {}, [], 0

    def add_group(self, group: Group) -> None:
        """Open a group; until its join has decided, it lives in the branches around it."""
        self.groups[group.id] = group
        self._join_groups(group.id, group.stack)

    def decide_group(self, group: Group) -> None:
        """The join of a group has decided: it fired, failed, or was turned away."""
        group.fired = True
        self._leave_groups(group.id, group.stack)
        if self.timers_of:
            self.drop_timers(group.id)

    def detach(self, group: Group) -> None:
        """Detach what is left of a group whose join has decided from the branches around it."""
        for index in group.living:
            for member in living_in(group.living, index):
                self._leave_groups(member, group.stack)

    def forget_group(self, group: Group) -> None:
        """Forget a group that nobody is in any more, with its timers and what it wrote."""
        del self.groups[group.id]
        self._leave_groups(group.id, group.stack)
        self.writers.pop(group.id, None)
        self.drop_timers(group.id)

    def _join_groups(self, member: str, stack: Stack) -> None:
        for group_id, index in reversed(stack):
            group = self.groups.get(group_id)
            if group is not None:
                if group.living.setdefault(index, member) is not member:  # others live there
                    enter(group.living, index, member)
                if group.fired:
                    return  # its join went on without: it is detached from the branches around

    def _leave_groups(self, member: str, stack: Stack) -> None:
        for group_id, index in stack:
            group = self.groups.get(group_id)
            if group is not None:
                if group.living.get(index) == member:  # alone, as most do
                    del group.living[index]
                else:
                    leave(group.living, index, member)

    def arrived(self, member: str) -> tuple[int, int]:
        """Return what members of a group are ordered by: tokens by arrival, runs by start, groups by origin."""
        if (token := self.ready.get(member)) is not None:
            return (0, token.arrival)
        if (run := self.runs.get(member)) is not None:
            return (1, run.seq)
        source = self.groups[member].source
        return (2, source.seq if source is not None else 0)

    def active(self, step: str) -> bool:
        """Whether a run of the step is on its way."""
        return bool(self.runs_at.get(step))

    def next_due(self) -> float | None:
        """When the next timer is due."""
        return self.due[0][0] if self.due else None


MASK = 2**256 - 1  # the hash of a marking is the sum over its tokens, in any order


def hash_of(token: str, step: str, place: str) -> int:
    """Return the part of a token in the hash of the marking."""
    return int.from_bytes(sha256(f"{step}\0{place}\0{token}".encode()).digest(), "big")


def derive(*parts: str | int) -> str:
    """Derive a causal id: the same causes give the same id, in every run and on every machine."""
    return derived("\0".join(map(str, parts)))


def derived(parts: str) -> str:
    """Derive a causal id of parts that are joined by a NUL."""
    return sha256(parts.encode()).hexdigest()[:24]
