"""Executions in virtual time: the real kernel and the real pipeline, a clock that jumps, scripted tools.

Everything that happens is an entry of one queue, ordered by time and then by arrival. Nothing sleeps, and
the same inputs give the same log.
"""

from __future__ import annotations

import hashlib
import heapq
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from petra.expr.keys import cause_of_run
from petra.kernel import Ledger, Program, Record, State, assignment, decide
from petra.kernel import commands as c
from petra.kernel import effects as f
from petra.kernel.decide import Decision
from petra.kernel.fold.loops import level_at
from petra.kernel.objects import DecisionObjects, PlainShelf
from petra.kernel.rest import rest_of
from petra.kernel.state import LEASE_S
from petra.library import Gathered
from petra.pipeline import AskAgain, Finished, Load, Machine, Next, NextAttempt, Settings
from petra.playbook import Playbook
from petra.playbook.sinks import hands_on
from petra.policy import patch_ctx
from petra.testing.scripts import Scripted, ScriptError, Scripts, called
from petra.testing.wholes import Wholes
from petra.wire import Assignment, Error, Iteration, IterationReport, Outcome, Report

EPOCH = 1_767_225_600.0  # 2026-01-01T00:00:00Z, where virtual time begins
DECISIONS_MAX = 200_000
# At one moment: what the test says comes first, then work that is done, then timers.
WORLD, WORK, TIMER = 0, 1, 2


@dataclass(slots=True)
class Execution:
    """One execution in the simulation: its state and its log."""

    id: str
    program: Program
    state: State
    path: str
    ledger: Ledger
    parent: str = ""
    """The execution that started it, if one did."""
    names: frozenset[str] = frozenset({""})
    """What a test may call it by, before the colon of ``path:step``."""
    log: list[Record] = field(default_factory=list)
    refused: str = ""
    """Why the last command was refused."""
    settings: dict[tuple[str, str, bool], Settings] = field(default_factory=dict)
    wholes: Wholes = field(default_factory=Wholes)

    def definition(self, assigned: Assignment) -> Program:
        """Return the definition that an assignment goes by, as a worker would (S23)."""
        return self.program.versions.get(assigned.playbook, self.program)


@dataclass(slots=True)
class _Work:
    """A worker's assignment on its way: one machine, or iterations one after the other.

    A parallel loop that stays on one lease has several lanes, which share what is left and what is done.
    """

    execution: Execution
    given: Assignment
    chunk: str
    left: list[Iteration]
    reports: list[IterationReport] = field(default_factory=list)
    lanes: list[_Work] = field(default_factory=list)
    machine: Machine | None = None
    path: tuple[int, ...] = ()
    crashed: bool = False
    scope: dict[str, Any] | None = None
    """What the assignment shows, with everything that references in it lead to."""


class Simulation:
    """A world in virtual time with one root execution and its children: ``start``, then ``run``, then look.

    ``tools`` says by step what its tasks come to, as ``tools`` of a test file does, and ``library`` which playbooks may be
    called, by path. With the same ``seed`` everything comes in the same order; ``selection`` is the order in which enabled
    steps go, in place of the playbook's. A worker is sent ``chunk_max`` iterations of a loop at once.
    """

    def __init__(
        self,
        playbook: Playbook,
        *,
        library: Mapping[str, Playbook] | None = None,
        beside: Gathered | None = None,
        tools: Mapping[str, Any] | None = None,
        seed: int = 0,
        selection: str | None = None,
        chunk_max: int = 1,
        execution: str = "execution-1",
        watch: Callable[[Execution, Decision], None] | None = None,
    ) -> None:
        """Make one in which nothing has happened yet."""
        self.now = EPOCH
        self.chunk_max = chunk_max
        self.seed = seed
        self.selection = selection
        self.library = dict(library or {})
        self._company = beside.company() if beside is not None else None
        books = beside.playbooks if beside is not None else {}
        members = self._company.members if self._company is not None else ()
        self._kept = {member.digest: books[member.place] for member in members}
        self._places = {member.digest: member.place for member in members}
        self.scripts = Scripts(tools or {})
        self.watch = watch
        self.executions: dict[str, Execution] = {}
        self.shelf = PlainShelf()
        self.attempts: dict[tuple[str, str], int] = {}
        self._queue: list[tuple[float, int, int, Callable[[], None], Callable[[], bool]]] = []
        self._entries = 0
        self._decisions = 0
        self._work: dict[str, list[_Work]] = {}
        self._ticks: dict[str, float] = {}
        self._given: set[str] = set()
        self.root = self._make(playbook, execution, "")

    def _make(
        self, playbook: Playbook, execution_id: str, path: str, parent: str = ""
    ) -> Execution:
        program = Program(
            playbook, seed=self.seed, selection=self.selection, chunk_max=self.chunk_max
        )
        made = Execution(
            execution_id, program, State(id=execution_id), path, Ledger(execution_id), parent
        )
        self.executions[execution_id] = made
        return made

    # Time

    @property
    def elapsed_s(self) -> float:
        """Virtual seconds since the beginning."""
        return self.now - EPOCH

    def at(
        self,
        when: float,
        rank: int,
        do: Callable[[], None],
        matters: Callable[[], bool] = lambda: True,
    ) -> None:
        """Let something happen at a point in time, if it still ``matters`` then."""
        self._entries += 1
        heapq.heappush(self._queue, (max(when, self.now), rank, self._entries, do, matters))

    def run(self, until: float | None = None) -> None:
        """Let time pass until nothing is left to happen, the root is over, or ``until``."""
        while self._queue and not self.root.state.terminal and not self.root.refused:
            when, _, _, do, matters = self._queue[0]
            if until is not None and when > until:
                self.now = until
                return
            heapq.heappop(self._queue)
            if matters():
                self.now = when
                do()
        if until is not None and not self.root.state.terminal and not self.root.refused:
            self.now = max(self.now, until)

    # Commands

    def start(self, workload: dict[str, Any]) -> None:
        """Start the root execution."""
        decision = self.send(
            self.root, c.Start(now=self.now, workload=workload, company=self._company)
        )
        if decision.refused:
            self.root.refused = decision.refused

    def send(self, execution: Execution, command: c.AnyCommand) -> Decision:
        """Give an execution a command, record what came of it, and carry out the effects."""
        self._decisions += 1
        if self._decisions > DECISIONS_MAX:
            raise ScriptError(
                f"the case made more than {DECISIONS_MAX:,} decisions; does it loop for ever?"
            )
        decision = decide(execution.program, execution.state, command, self.shelf)
        for event, (before, after) in zip(decision.events, decision.markings, strict=True):
            execution.log.append(execution.ledger.record(event, self.now, before, after))
        execution.program = execution.program.versions.get(
            execution.state.digest, execution.program
        )
        if self.watch is not None:
            self.watch(execution, decision)
        for effect in decision.effects:
            self._carry_out(execution, effect)
        self._schedule_tick(execution)
        self._let_in(execution)
        return decision

    def _let_in(self, execution: Execution) -> None:
        """Give the permits that an execution asks for: in here nobody else holds any (S15)."""
        permits = execution.state.permits
        if permits is None or execution.state.terminal:
            return
        for permit in [waiting for waiting in permits.waiting() if waiting.id not in self._given]:
            self._given.add(permit.id)
            give = c.GivePermit(now=self.now, id=permit.id)
            self.at(self.now, WORLD, partial(self._give, execution, give))

    def _give(self, execution: Execution, command: c.GivePermit) -> None:
        self.send(execution, c.at(command, self.now))

    @property
    def output(self) -> Any:
        """What the root execution returned."""
        return self.whole(self.root, self.root.state.output)

    @property
    def ctx(self) -> dict[str, Any]:
        """The ctx of the root execution."""
        ctx: dict[str, Any] = self.whole(self.root, self.root.state.ctx)
        return ctx

    def named(self, name: str) -> tuple[list[Execution], str]:
        """Return the executions and the step that ``step`` or ``path:step`` names."""
        path, _, step = name.rpartition(":")
        return [one for one in self.executions.values() if path in one.names], step

    def whole(self, execution: Execution, value: Any) -> Any:
        """Return a value with what references inside it lead to."""
        if not self.shelf:
            return value
        return DecisionObjects(execution.id, self.shelf, self.executions).whole(value)

    def _schedule_tick(self, execution: Execution) -> None:
        due = execution.state.next_due()
        if due is None or execution.state.terminal or self._ticks.get(execution.id) == due:
            return
        self._ticks[execution.id] = due
        self.at(due, TIMER, partial(self._tick, execution), lambda: self._is_due(execution, due))

    def _is_due(self, execution: Execution, due: float) -> bool:
        """Whether a timer is due then; one that was disarmed must not move the clock."""
        if self._ticks.get(execution.id) == due:
            del self._ticks[execution.id]
        next_due = execution.state.next_due()
        return not execution.state.terminal and next_due is not None and next_due <= due

    def _tick(self, execution: Execution) -> None:
        self.send(execution, c.Tick(now=self.now))

    # Effects

    def _carry_out(self, execution: Execution, effect: f.AnyEffect) -> None:
        match effect:
            case f.Assign() | f.Extend():
                self._assign(execution, effect)
            case f.Stop():
                self._work.pop(f"{execution.id}/{effect.run}", None)
            case f.StartChild():
                self.at(self.now, WORK, lambda: self._start_child(execution, effect))
            case f.CancelChild():
                self.at(self.now, WORK, lambda: self._cancel_child(effect))
            case f.Finish():
                self._finished(execution)
            case f.Notify() | f.StartOther():
                pass  # a case runs one playbook: whoever keeps a schedule is not among what it tells

    def _start_child(self, parent: Execution, effect: f.StartChild) -> None:
        playbook = self.library.get(effect.path) or self._kept.get(effect.digest)
        if playbook is None:
            error = Error(kind="not_found", message=f"there is no playbook '{effect.path}'")
            self.send(
                parent, c.ChildEnded(now=self.now, child=effect.child, status="failed", error=error)
            )
            return
        child = self._make(playbook, effect.child, effect.path, parent.id)
        child.names = called(playbook, effect.path, self._places.get(effect.digest, ""))
        start = c.Start(
            now=self.now,
            workload=effect.workload,
            parent=parent.id,
            depth=effect.depth,
            inherits=effect.inherit_artifacts,
            company=effect.company,
        )
        decision = self.send(child, start)
        if decision.refused:
            error = Error(kind="schema", message=decision.refused)
            self.send(
                parent, c.ChildEnded(now=self.now, child=child.id, status="failed", error=error)
            )

    def _cancel_child(self, effect: f.CancelChild) -> None:
        child = self.executions.get(effect.child)
        if child is not None and not child.state.terminal:
            self.send(child, c.Cancel(now=self.now, reason=effect.reason))

    def _finished(self, execution: Execution) -> None:
        parent = self.executions.get(execution.parent)
        if parent is None or parent.state.terminal:
            return
        state = execution.state
        ended = c.ChildEnded(
            now=self.now,
            child=execution.id,
            status=state.terminal,
            output=state.output,
            error=state.error,
        )
        self.at(self.now, WORK, lambda: self._child_ended(parent, ended))

    def _child_ended(self, parent: Execution, ended: c.ChildEnded) -> None:
        if not parent.state.terminal:
            self.send(parent, ended)

    # The worker

    def _assign(self, execution: Execution, effect: f.Assign | f.Extend) -> None:
        assigned = assignment(
            execution.program, execution.state, effect.run, effect.chunk, everything=True
        )
        if assigned.gather is not None:
            self._gather(execution, assigned)
            return
        first = _Work(execution, assigned, effect.chunk, list(assigned.iterations))
        lanes = [first]
        lanes += [
            _Work(execution, assigned, effect.chunk, first.left, first.reports)
            for _ in range(1, self._lanes(execution, assigned))
        ]
        for work in lanes:
            work.lanes = lanes
            self._work.setdefault(f"{execution.id}/{effect.run}", []).append(work)
            self.at(self.now, WORK, partial(self._begin, work))

    def _gather(self, execution: Execution, assigned: Assignment) -> None:
        """Hand the results of a loop back as they are: there is no object store to put them into."""
        found: list[Any] = assigned.gather or []
        if assigned.joins:
            pieces = self.whole(execution, found)
            found = [report for piece in pieces for report in piece]
        gathered = Report(status="ok", result=found)
        command = c.ChunkReport(
            now=self.now, run=assigned.run, chunk=assigned.chunk, reports=[], delivery=assigned.delivery, gathered=gathered,
        )  # fmt: skip
        self.at(self.now, WORK, lambda: self._gathered(execution, command))

    def _gathered(self, execution: Execution, command: c.ChunkReport) -> None:
        if not execution.state.terminal:
            self.send(execution, command)

    def _lanes(self, execution: Execution, assigned: Assignment) -> int:
        """Return how many iterations of a chunk run side by side: several only where the loop is local."""
        run = execution.state.runs[assigned.run]
        loop = execution.definition(assigned).by_name[assigned.step].loop
        if not assigned.iterations or run.loop is None or loop is None:
            return 1
        if loop.spec.policy.exec != "local":
            return 1
        most = level_at(run.loop, assigned.iterations[0].path).max_in_flight
        return min(most, len(assigned.iterations))

    def _is_current(self, work: _Work) -> bool:
        return any(
            known is work for known in self._work.get(f"{work.execution.id}/{work.given.run}", ())
        )

    def _begin(self, work: _Work) -> None:
        """Begin with the run, or with the next iteration."""
        if not self._is_current(work):
            return
        if work.chunk and not work.left:
            self._lane_over(work)
            return
        step = work.execution.definition(work.given).by_name[work.given.step]
        iteration = work.left.pop(0) if work.left else None
        work.path = iteration.path if iteration is not None else ()
        compensate = step.spec.compensate
        tasks = compensate.tool if work.given.compensate and compensate is not None else step.tool
        settings = self._settings(work, tasks)
        written = [write for done in work.reports for write in done.report.writes]
        if work.scope is None:  # once for all iterations: there may be very many
            work.scope = work.execution.wholes.of(
                work.given.scope, partial(self.whole, work.execution)
            )
        scope = {**work.scope, "keychain": _Keychain.of(work.execution.program)}
        if written:  # iterations handed out together see what the ones before them wrote
            scope["ctx"] = patch_ctx(scope["ctx"], written, settings.reducers)
        work.machine = Machine(
            tasks,
            scope,
            settings=settings,
            jitter=self._jitter(work),
            iter=self.whole(work.execution, iteration.iter) if iteration is not None else None,
            cause=cause_of_run(
                work.execution.id, work.given.run, work.path, compensates=work.given.compensate
            ),
        )
        self._next(work, work.machine.start())

    def _settings(self, work: _Work, tasks: list[Any]) -> Settings:
        key = (work.given.playbook, work.given.step, work.given.compensate)
        known = work.execution.settings.get(key)
        if known is None:
            program = work.execution.definition(work.given)
            known = Settings.of(program.playbook, program.by_name[work.given.step], tasks)
            work.execution.settings[key] = known
        return known

    def _jitter(self, work: _Work) -> Callable[[], float]:
        drawn = 0

        def draw() -> float:
            nonlocal drawn
            drawn += 1
            seed = f"{self.seed}\0{work.given.run}\0{work.path}\0{drawn}".encode()
            return int.from_bytes(hashlib.sha256(seed).digest()[:8], "big") / 2**64

        return draw

    def _next(self, work: _Work, step: Next) -> None:
        while isinstance(step, AskAgain):  # nobody else waits
            assert work.machine is not None, "what asks is a machine"
            step = work.machine.resume()
        assert not isinstance(step, Load), "in a test everything can be had"
        if isinstance(step, Finished):
            self._report(work, step.report)
        else:
            self.at(
                self.now + step.after_s,
                WORK,
                lambda: self._try(work, step),
                lambda: self._is_current(work),
            )

    def _try(self, work: _Work, run: NextAttempt) -> None:
        if not self._is_current(work):
            return
        if hands_on(run.task):
            self._advance(work, Outcome(status="ok", result=run.args["value"]), 0.0)
            return
        key = (work.execution.id, work.given.step)
        self.attempts[key] = self.attempts.get(key, 0) + 1
        scripted = self.scripts.play(
            work.execution.names, work.given.step, run, compensates=work.given.compensate
        )
        if scripted.outcome is None:
            work.crashed = True
            lost = self.now + scripted.after_s + LEASE_S
            self.at(lost, TIMER, lambda: self._lease_expired(work), lambda: self._is_current(work))
            return
        outcome, after_s = _within_limit(scripted, scripted.outcome, run)
        self.at(
            self.now + after_s,
            WORK,
            lambda: self._advance(work, outcome, after_s),
            lambda: self._is_current(work),
        )

    def _advance(self, work: _Work, outcome: Outcome, after_s: float) -> None:
        if self._is_current(work):
            assert work.machine is not None
            self._next(work, work.machine.advance(outcome, after_s * 1000))

    def _report(self, work: _Work, report: Report) -> None:
        assigned = work.given
        if work.chunk:
            work.reports.append(IterationReport(path=work.path, report=report))
            stops = report.status != "ok" and not self._goes_on(work)
            if work.left and not stops:
                self._begin(work)
                return
            self._lane_over(work, stops=stops)
            return
        self._done(work)
        self.send(
            work.execution,
            c.StepReport(now=self.now, run=assigned.run, report=report, delivery=assigned.delivery),
        )

    def _lane_over(self, work: _Work, *, stops: bool = False) -> None:
        """A lane has nothing left; the last one, or one that stops the loop, reports the chunk."""
        work.lanes.remove(work)
        self._done(work)
        if work.lanes and not stops:
            return
        for lane in work.lanes:
            self._done(lane)
        assigned = work.given
        self.send(
            work.execution,
            c.ChunkReport(
                now=self.now,
                run=assigned.run,
                chunk=work.chunk,
                reports=work.reports,
                delivery=assigned.delivery,
            ),
        )

    def _goes_on(self, work: _Work) -> bool:
        return work.execution.program.steps[work.given.step].best_effort

    def _done(self, work: _Work) -> None:
        known = self._work.get(f"{work.execution.id}/{work.given.run}", [])
        known[:] = [other for other in known if other is not work]

    def _lease_expired(self, work: _Work) -> None:
        if not self._is_current(work):
            return
        for lane in work.lanes:
            self._done(lane)
        expired = c.LeaseExpired(
            now=self.now, run=work.given.run, delivery=work.given.delivery, chunk=work.chunk
        )
        self.send(work.execution, expired)

    # What came of it

    def status(self, execution: Execution | None = None) -> tuple[str, str]:
        """Return the status of an execution and, where it waits or is stuck, the reason."""
        execution = execution or self.root
        state = execution.state
        if execution.refused:
            return "refused", ""
        if state.terminal:
            return state.terminal, ""
        if state.paused:
            return "paused", ""
        rest = rest_of(execution.program, state)
        if rest is None:
            return {"compensating": "compensating"}.get(state.phase, "running"), ""
        return rest.status, rest.reason


def _within_limit(scripted: Scripted, outcome: Outcome, run: NextAttempt) -> tuple[Outcome, float]:
    """An attempt that takes longer than its ``timeout_s`` ends there, as a timeout."""
    limit = run.spec.get("timeout_s")
    if not isinstance(limit, int | float) or scripted.after_s <= limit:
        return outcome, scripted.after_s
    error = Error(
        kind="timeout",
        message=f"task '{run.task.name}' took longer than {limit:g} s",
        retryable=True,
    )
    return Outcome(status="error", error=error), float(limit)


class _Keychain:
    """Made-up secrets: whatever path a template of the playbook reads has a value."""

    @staticmethod
    def of(program: Program) -> dict[str, Any]:
        told: dict[str, Any] = {}
        for path in program.secret_paths:
            node = told
            for part in path[1:-1]:
                inner = node.get(part)
                node[part] = inner if isinstance(inner, dict) else {}
                node = node[part]
            if len(path) > 1:
                node.setdefault(path[-1], f"secret-{path[-1]}")
        return told
