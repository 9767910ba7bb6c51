"""An independent checker: reads only a log and says which invariants it breaks, each by its name (I1 to I25).

It shares no code with ``evolve``: it keeps books of its own over tokens, runs, groups, loops, timers, work
items, resources and ctx, and compares. What a log cannot say (limits of resources, which joins cancel the
rest) comes from the playbook.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from petra.kernel import events as e
from petra.kernel.replay import Record
from petra.kernel.state import DELIVERIES_MAX
from petra.playbook import Playbook
from petra.reduce import reduce_value
from petra.values import canonical
from petra.wire import Write

Stack = tuple[tuple[str, int], ...]


@dataclass(slots=True)
class _Group:
    size: int
    arrived: set[int] = field(default_factory=set)
    fired: bool = False
    around: Stack = ()
    made: int = 0


@dataclass(slots=True)
class _Loop:
    total: int
    most: int
    nested: bool = False
    started: set[tuple[int, ...]] = field(default_factory=set)
    ended: set[tuple[int, ...]] = field(default_factory=set)
    chunks: set[str] = field(default_factory=set)


class Checker:
    """Books over one log. ``faults`` lists what is wrong, each with the record that shows it."""

    def __init__(self, playbook: Playbook) -> None:
        self.steps = {step.step: step for step in playbook.workflow}
        self.limits = playbook.executor.spec.resources
        self.faults: list[str] = []
        self.ctx: dict[str, Any] = {}
        self._seq = 0
        self._at = 0.0
        self._over = False
        self._known: set[str] = set()
        self._ready: dict[str, Stack] = {}
        self._runs: dict[str, tuple[str, Stack]] = {}
        self._ended_runs: set[str] = set()
        self._groups: dict[str, _Group] = {}
        self._loops: dict[str, _Loop] = {}
        self._timers: dict[str, float] = {}
        self._items: dict[str, str] = {}
        self._held: dict[str, list[tuple[str, str, int]]] = {}
        self._deliveries: dict[tuple[str, str], int] = {}
        self._kept: Counter[tuple[str, str]] = Counter()
        self._undoing: set[str] = set()
        self._writers: dict[tuple[str, str], tuple[int, bytes]] = {}
        self._reducers: dict[str, Any] = {}
        self._finals = 0
        self._once: set[str] = set()
        self._unfinished = ""
        self._gathered: dict[str, list[Stack]] = {}

    def check(self, records: Iterable[Record]) -> list[str]:
        """Read a log, or the next part of it; the faults found so far come back."""
        for record in records:
            self.see(record)
        return self.faults

    def see(self, record: Record) -> None:
        """Take one record into the books."""
        self._seq += 1
        self._at = record.at
        if record.seq != self._seq:
            self._fault("I1", f"version {self._seq} was expected")
        if self._over:
            self._fault("I5", "something happened after the end")
        if self._unfinished and not isinstance(record.event, e.TokensAdded):
            self._fault("I16", f"group {self._unfinished} has not all of its tokens")
            self._unfinished = ""
        handler = _HANDLERS.get(type(record.event))
        if handler is not None:
            getattr(self, handler)(record.event)

    def _fault(self, invariant: str, said: str) -> None:
        self.faults.append(f"{invariant}: record {self._seq}: {said}")

    # Tokens

    def _produce(self, token: str, stack: Stack) -> None:
        if token in self._known:
            self._fault("I6", f"token {token} is produced twice")
        self._known.add(token)
        self._ready[token] = stack

    def _take(self, token: str) -> Stack:
        if token not in self._ready:
            self._fault("I6", f"token {token} leaves and is not there")
        return self._ready.pop(token, ())

    def _take_all(self, event: e.StepStarted | e.StepEnded) -> list[Stack]:
        return [*(self._take(one) for one in event.consumed), *self._gathered.pop(event.run, ())]

    def _take_run(self, run: str) -> tuple[str, Stack]:
        if run not in self._runs:
            self._fault("I11", f"run {run} ends and is not under way")
        self._held.pop(run, None)
        self._loops.pop(run, None)
        self._ended_runs.add(run)
        return self._runs.pop(run, ("", ()))

    def _made(self, made: e.Produced, stack: Stack) -> None:
        inside = stack
        if made.arrives is not None and _in(stack, made.arrives):
            inside = stack[: _depth(stack, made.arrives) + 1]  # it has left the groups inside that
        self._produce(made.id, inside)
        if made.arrives is None:
            return
        group = self._groups.get(made.arrives)
        index = next((branch for level, branch in stack if level == made.arrives), None)
        if made.empty and group is not None and not group.size:
            return
        if group is None or index is None:
            self._fault("I16", f"token {made.id} arrives for a group it is not in")
        elif group.fired or index in group.arrived:
            self._fault("I16", f"branch {index} of group {made.arrives} arrives again, or too late")
        else:
            group.arrived.add(index)

    def _arm(self, timers: Iterable[e.NewTimer]) -> None:
        for timer in timers:
            self._timers[timer.id] = timer.due

    def _armed(self, armed: e.Armed | None) -> None:
        if armed is not None:
            self._arm(armed.timers)
            for item in armed.items:
                self._items[item.id] = "open"

    # Events

    def _execution_started(self, event: e.ExecutionStarted) -> None:
        if self._seq != 1:
            self._fault("I9", "an execution starts once")
        self._reducers = dict(event.reducers)
        self._arm(event.timers)
        self._produce(event.entry.id, ())

    def _step_started(self, event: e.StepStarted) -> None:
        if event.run in self._runs or event.run in self._ended_runs:
            self._fault("I11", f"run {event.run} starts twice")
        stacks = self._take_all(event)
        if event.compensates:
            self._undoing.add(event.run)
        elif not event.consumed and event.group is None:
            self._fault("I10", "a run starts without a token")
        stack: Stack = tuple(event.stack) if event.stack is not None else (stacks or [()])[0]
        if event.group is not None:
            self._close(event.step, event.group, stacks)
        self._runs[event.run] = (event.step, stack)
        self._deliveries[event.run, ""] = 1
        self._hold(event)
        self._arm(event.timers)
        self._armed(event.armed)
        if event.items is not None:
            nested = self.steps[event.step].loop
            self._loops[event.run] = _Loop(
                len(event.items) + sum(count for count, _ in event.pieces),
                event.max_in_flight,
                nested is not None and nested.loop is not None,
            )
        if event.merge is not None and event.merge.key:
            self.ctx[event.merge.key] = event.merge.value
        self._check_once(event)

    def _check_once(self, event: e.StepStarted) -> None:
        admit = self.steps[event.step].spec.policy.admit
        if admit is not None and admit.once and event.step in self._once and not event.compensates:
            self._fault("I10", f"step '{event.step}' runs once and is started again")
        self._once.add(event.step)

    def _hold(self, event: e.StepStarted) -> None:
        self._held[event.run] = list(event.resources)
        for name, key, _ in event.resources:
            taken = sum(
                u for held in self._held.values() for n, k, u in held if (n, k) == (name, key)
            )
            limit = self.limits.get(name, 1)
            if limit == "server" or taken > limit:
                self._fault("I7", f"{taken} units of resource '{name}' are held")

    def _close(self, step: str, group_id: str, stacks: list[Stack]) -> None:
        group = self._groups.get(group_id)
        if group is None or group.fired:
            self._fault("I16", f"group {group_id} is closed a second time")
            return
        group.fired = True
        indices = [branch for stack in stacks for level, branch in stack if level == group_id]
        if len(set(indices)) != len(indices) or not set(indices) <= group.arrived:
            self._fault(
                "I16", f"a join consumes branches of group {group_id} that have not arrived"
            )
        join = self.steps[step].spec.join
        if join is not None and join.on_early_complete == "cancel":
            live = [*self._ready.values(), *(stack for _, stack in self._runs.values())]
            if any(level == group_id for stack in live for level, _ in stack):
                self._fault("I16", f"a branch of group {group_id} lives on after its join")

    def _step_ended(self, event: e.StepEnded) -> None:
        if event.run in self._runs:
            loop = self._loops.get(event.run)
            flat = isinstance(event, e.LoopDone) and loop is not None and not loop.nested
            if flat and loop and not len(loop.ended) == loop.total == len(loop.started):
                self._fault("I17", f"loop.done after {len(loop.ended)} of {loop.total} iterations")
            _, stack = self._take_run(event.run)
        else:
            stack = self._never_started(event)
        for write in event.writes:
            self._write(write, stack)
        undoes = event.run in self._undoing and not event.handled
        if isinstance(event, e.StepFailed) and event.error is not None and not undoes:
            code = event.error.code or event.error.kind
            said = {"step": event.step, "code": code, "message": event.error.message}
            self.ctx["_last_error"] = said
        self._route(event, stack)
        self._arm(event.timers)

    def _never_started(self, event: e.StepEnded) -> Stack:
        if event.run in self._ended_runs:
            self._fault("I11", f"run {event.run} ends twice")
        self._ended_runs.add(event.run)
        stacks = self._take_all(event)
        if event.closes is not None:
            self._close(event.step, event.closes, stacks)
            return tuple(stacks[0][: _depth(stacks[0], event.closes)]) if stacks else ()
        return stacks[0] if stacks else ()

    def _route(self, event: e.StepEnded, stack: Stack) -> None:
        step = self.steps[event.step]
        if not step.inclusive and len(event.arcs) > 1:
            self._fault("I7", f"exclusive step '{event.step}' takes {len(event.arcs)} arcs")
        if event.group is None and len(event.produced) > 1:
            self._fault("I7", "several tokens and no group")
        if event.group is not None:
            group = self._groups[event.group.id] = _Group(event.group.size, around=stack)
            self._branches(event.group.id, group, [x for x in event.produced if not x.empty])
        for made in event.produced:
            inside = made.index is not None and event.group is not None
            inner = ((event.group.id, made.index or 0),) if inside and event.group else ()
            self._made(made, (*stack, *inner))

    def _branches(self, group_id: str, group: _Group, made: list[e.Produced]) -> None:
        """Count the branches of a new group, which may come in several events."""
        indices = [token.index for token in made]
        begin, group.made = group.made, group.made + len(made)
        if indices != list(range(begin, group.made)) or group.made > group.size:
            self._fault("I16", f"group {group_id} has branches {indices}")
        self._unfinished = group_id if group.made < group.size else ""

    def _tokens_added(self, event: e.TokensAdded) -> None:
        if event.group != self._unfinished:
            self._fault("I16", f"tokens are added to group {event.group}, which has all of them")
            return
        group = self._groups[event.group]
        self._branches(event.group, group, event.produced)
        for made in event.produced:
            self._made(made, (*group.around, (event.group, made.index or 0)))
        self._arm(event.timers)

    def _tokens_gathered(self, event: e.TokensGathered) -> None:
        self._gathered.setdefault(event.run, []).extend(map(self._take, event.consumed))

    def _withdrawn(self, event: e.Withdrawn) -> None:
        for token in event.tokens:
            self._take(token)
        for run in event.runs:
            self._take_run(run)

    def _discarded(self, event: e.TokenDiscarded) -> None:
        self._take(event.token)
        if event.closes is not None and event.closes in self._groups:
            self._groups[event.closes].fired = True
        if event.merge is not None and event.merge.key:
            self.ctx[event.merge.key] = event.merge.value

    def _returned(self, event: e.RunReturned) -> None:
        _, stack = self._take_run(event.run)
        self._produce(event.token.id, stack)

    def _group_changed(self, event: e.GroupChanged) -> None:
        group = self._groups.get(event.group)
        if group is None or group.fired:
            self._fault("I16", f"group {event.group} changes and is not open")
        elif event.produced is not None:
            self._made_later(event.group, group, event.produced)

    def _made_later(self, group_id: str, group: _Group, made: e.Produced) -> None:
        index, group.size = group.size, group.size + 1
        outer = next(
            (
                stack[: _depth(stack, group_id)]
                for stack in self._ready.values()
                if _in(stack, group_id)
            ),
            next(
                (s[: _depth(s, group_id)] for _, s in self._runs.values() if _in(s, group_id)), ()
            ),
        )
        self._made(made, (*outer, (group_id, index)))

    def _redelivered(self, event: e.RunRedelivered) -> None:
        known = self._deliveries.get((event.run, event.chunk), 1)
        if event.run not in self._runs:
            self._fault("I12", f"run {event.run} is handed out again and is over")
        kept = self._kept[event.run, event.chunk]
        if event.delivery != known + 1 or event.delivery - kept > DELIVERIES_MAX:
            self._fault("I14", f"delivery {event.delivery} after {known}")
        self._deliveries[event.run, event.chunk] = event.delivery

    def _taken_back(self, event: e.RunTakenBack) -> None:
        self._kept[event.run, event.chunk] += 1
        self._redelivered(event)

    def _iterations_started(self, event: e.IterationsStarted) -> None:
        loop = self._loops.get(event.run)
        self._armed(event.armed)
        if loop is None:
            self._fault("I17", f"iterations of run {event.run}, which has no loop")
            return
        if loop.started & set(event.paths):
            self._fault("I11", "an iteration starts twice")
        if not loop.nested and event.paths and min(event.paths) != (len(loop.started),):
            self._fault("I17", "iterations start out of order")
        loop.started |= set(event.paths)
        if event.chunk:
            loop.chunks.add(event.chunk)
        if not loop.nested and len(loop.chunks) > loop.most:
            self._fault(
                "I17", f"{len(loop.chunks)} iterations in flight, at most {loop.most} may be"
            )

    def _iterations_ended(self, event: e.IterationsEnded) -> None:
        loop = self._loops.get(event.run)
        if loop is not None and event.upto and not event.chunk:
            return  # results were put aside
        if loop is None or event.chunk not in loop.chunks:
            self._fault("I17", "iterations end that were not handed out")
            return
        if not event.more:
            loop.chunks.discard(event.chunk)
        for ended in event.ended:
            if ended.path in loop.ended or ended.path not in loop.started:
                self._fault("I17", f"iteration {ended.path} ends twice, or never started")
            loop.ended.add(ended.path)
            for write in ended.writes:
                scope = (f"{event.run}/loop", ended.path[0])
                parallel = loop.most > 1 and not loop.nested
                stack = self._runs[event.run][1]
                self._write(write, (*stack, scope) if parallel else stack)

    def _timer_fired(self, event: e.TimerFired) -> None:
        due = self._timers.pop(event.timer, None)
        if due is None:
            self._fault("I18", f"timer {event.timer} fires and is not armed")
        elif due > self._at:
            self._fault("I18", f"timer {event.timer} fires {due - self._at:g} s early")

    def _item_changed(self, event: e.ItemChanged) -> None:
        known = self._items.get(event.item)
        if known != "open":
            self._fault("I19", f"work item {event.item} changes and is {known}")
        if event.state in ("done", "failed", "withdrawn", "expired"):
            self._items[event.item] = event.state

    def _ctx_patched(self, event: e.CtxPatched) -> None:
        self.ctx.update(event.values)

    def _attempt_ended(self, event: e.AttemptEnded) -> None:
        if event.run not in self._runs:
            self._fault("I11", f"an attempt of run {event.run} ends, and the run is over")
            return
        for write in event.writes:
            self._write(write, self._runs[event.run][1])
        self._arm(event.timers)

    def _attempt_started(self, event: e.AttemptStarted) -> None:
        if event.run not in self._runs:
            self._fault("I11", f"an attempt of run {event.run} starts, and the run is over")
        self._armed(event.armed)

    def _final_started(self, event: e.FinalStarted) -> None:
        self._finals += 1
        if self._finals > 1 or self._runs or self._ready:
            self._fault("I21", "the final step runs once, after everything else")
        self._produce(event.token.id, ())

    def _ended(self, _event: e.ExecutionEnded) -> None:
        self._over = True
        if self._ready or self._runs:
            self._fault(
                "I20", f"{len(self._ready)} tokens and {len(self._runs)} runs are left at the end"
            )

    # ctx

    def _write(self, write: Write, stack: Stack) -> None:
        reducer = self._reducers.get(write.key)
        if write.whole:
            self.ctx[write.key] = write.value
            return
        if reducer is not None:
            present = write.key in self.ctx
            self.ctx[write.key] = reduce_value(
                reducer, self.ctx.get(write.key), write.value, present=present
            )
            return
        for group, index in stack:
            known = self._writers.get((group, write.key))
            value = canonical(write.value)
            if known is not None and known[0] != index and known[1] != value:
                self._fault("I25", f"ctx.{write.key} is written differently by two branches")
            if known is None or known[0] == index:
                self._writers[group, write.key] = (index, value)
        self.ctx[write.key] = write.value


def _depth(stack: Stack, group: str) -> int:
    """Return how many levels lie outside of a group."""
    return next((depth for depth, (level, _) in enumerate(stack) if level == group), len(stack))


def _in(stack: Stack, group: str) -> bool:
    return any(level == group for level, _ in stack)


_HANDLERS: dict[type, str] = {
    e.ExecutionStarted: "_execution_started",
    e.StepStarted: "_step_started",
    e.StepDone: "_step_ended",
    e.StepFailed: "_step_ended",
    e.LoopDone: "_step_ended",
    e.Withdrawn: "_withdrawn",
    e.TokensAdded: "_tokens_added",
    e.TokensGathered: "_tokens_gathered",
    e.TokenDiscarded: "_discarded",
    e.RunReturned: "_returned",
    e.GroupChanged: "_group_changed",
    e.RunRedelivered: "_redelivered",
    e.RunTakenBack: "_taken_back",
    e.IterationsStarted: "_iterations_started",
    e.IterationsEnded: "_iterations_ended",
    e.TimerFired: "_timer_fired",
    e.ItemChanged: "_item_changed",
    e.CtxPatched: "_ctx_patched",
    e.AttemptEnded: "_attempt_ended",
    e.AttemptStarted: "_attempt_started",
    e.FinalStarted: "_final_started",
    e.ExecutionEnded: "_ended",
}
