"""Both sides in the same virtual time: the oracle, and the kernel behind a worker that answers as the plan says."""

from __future__ import annotations

import json
from collections import Counter
from functools import lru_cache
from typing import Any

from kernel.oracle.draw import Json, Path, Plan
from kernel.oracle.machine import Oracle
from kernel.oracle.steer import act, reason
from kernel.oracle.text import playbook

from petra.kernel import commands as c
from petra.kernel import effects as f
from petra.kernel import events as e
from petra.kernel.crowds import whole
from petra.kernel.decide import decide
from petra.kernel.program import Program
from petra.kernel.rest import rest_of
from petra.kernel.state import State
from petra.playbook import read
from petra.wire import Error, IterationReport, Report, Write

EVENTS_MAX = 400
"""A plan that goes on for longer is left alone."""


class TooLongError(Exception):
    """It went on for too long."""


class Asked:
    """The oracle, driven."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.oracle = Oracle(plan)

    def run(self) -> Json:
        """Let everything happen; what came of it."""
        oracle, world = self.oracle, list(self.plan.world)
        for _ in range(EVENTS_MAX):
            when = self.due()
            if oracle.status or (not when and not world):
                break
            if world and (not when or world[0]["at"] <= when[0][0]):
                one = world.pop(0)
                oracle.now = one["at"]
                act(oracle, one)
            else:
                self.happen(*when[0])
            oracle.settle()
        else:
            raise TooLongError
        return {
            "trace": oracle.trace, "status": reason(oracle), "ctx": oracle.ctx, "end": oracle.now,
        }  # fmt: skip

    def due(self) -> list[tuple[float, int, Json]]:
        """List what will happen by itself, soonest first."""
        oracle = self.oracle
        found = [(run["due"], run["id"], run) for run in oracle.runs if run["due"] is not None]
        for group in oracle.undecided():
            join = oracle.spec(group["join"])["join"]
            if join["timeout_s"] and not group["late"]:
                found.append(
                    (max(oracle.now, group["born"] + join["timeout_s"]), group["id"], group)
                )
        return sorted(found, key=lambda one: one[:2])

    def happen(self, at: float, _order: int, thing: Json) -> None:
        oracle = self.oracle
        oracle.now = at
        if thing["is"] == "group":
            thing["late"] = True
            return
        spec, path = oracle.spec(thing["step"]), oracle.path(thing["stack"])
        if spec["kind"] == "wait":
            oracle.end(thing, ok=True, result={"which": 0, "payload": None})
        elif spec["loop"]:
            thing["completed"] += 1
            oracle.iterate(thing)
        else:
            came = self.plan.outcome(thing["step"], path, thing["visit"])
            oracle.end(
                thing, ok=came["ok"], result=came["result"], branch=came.get("branch"), write=came.get("write", ""),
            )  # fmt: skip


@lru_cache(4)
def _program(text: str) -> Program:
    reading = read(text)
    assert reading.playbook is not None, reading.problems
    assert reading.ok, [str(problem) for problem in reading.problems]
    return Program(reading.playbook, chunk_max=1)


class Kernel:
    """The kernel, driven."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.program = _program(json.dumps(playbook(plan)))
        self.state = State(id="x")
        self.log: list[e.AnyEvent] = []
        self.now = 0.0
        self.work: list[tuple[float, int, c.AnyCommand]] = []
        self.told = _Told()
        self.handed = 0

    def run(self) -> Json:
        """Let everything happen; what came of it."""
        world = list(self.plan.world)
        self.send(c.Start(now=0.0))
        for _ in range(EVENTS_MAX):
            if self.state.terminal:
                break
            self.work = sorted(one for one in self.work if one[2].run in self.state.runs)  # type: ignore[union-attr]
            due = self.state.next_due()
            times = [world[0]["at"] if world else None, self.work[0][0] if self.work else None, due]
            soonest = min((one for one in times if one is not None), default=None)
            if soonest is None:
                break
            self.now = max(self.now, soonest)
            if world and soonest == world[0]["at"]:
                self.act(world.pop(0))
            elif self.work and soonest == self.work[0][0]:
                self.send(self.work.pop(0)[2])
            else:
                self.send(c.Tick(now=self.now))
        else:
            raise TooLongError
        rest = rest_of(self.program, self.state)
        status = self.state.terminal or (
            f"{rest.status} {rest.reason}" if rest is not None else "running"
        )
        ctx = dict(self.state.ctx)
        if "_last_error" in ctx:
            ctx["_last_error"] = ctx["_last_error"]["step"]
        return {"trace": self.told.trace, "status": status, "ctx": ctx, "end": self.now}

    def send(self, command: c.AnyCommand) -> None:
        decision = decide(self.program, self.state, command)
        self.log += decision.events
        for _, _, event in whole((0, self.now, one) for one in decision.events):
            self.told.take(event, self.now)
        for effect in decision.effects:
            if isinstance(effect, f.Assign):
                self.assign(effect)

    def assign(self, effect: f.Assign) -> None:
        """Work on a run, or on an iteration, as the plan says."""
        run = self.state.runs[effect.run]
        path, visit = self.told.runs[effect.run][1:]
        self.handed += 1
        if effect.chunk:
            index = run.chunks[effect.chunk].paths[0]
            came = self.plan.outcome(run.step, (*path, ("iteration", index[0])), visit)
            at = self.now + came["after"]
            report = Report(status="ok", result=came["result"])
            reports = [IterationReport(path=index, report=report)]
            done: c.AnyCommand = c.ChunkReport(
                now=at, run=run.id, chunk=effect.chunk, reports=reports
            )
        else:
            came = self.plan.outcome(run.step, path, visit)
            at = self.now + came["after"]
            done = c.StepReport(now=at, run=run.id, report=_report(came))
        self.work.append((at, self.handed, done))

    def act(self, one: Json) -> None:
        """Let an operator act."""
        if "patch" in one:
            self.send(c.PatchCtx(now=self.now, values=one["patch"]))
        elif "cancel" in one:
            self.send(c.Cancel(now=self.now))
        elif "override" in one:
            error = None if one["ok"] else Error(message="overridden")
            self.send(
                c.Override(now=self.now, step=one["override"], ok=one["ok"], result=7 if one["ok"] else None, error=error)
            )  # fmt: skip
        else:
            groups = [group.id for group in self.state.groups.values() if not group.fired]
            if groups:
                which = groups[one["which"] % len(groups)]
                self.send(c.ChangeGroup(now=self.now, group=which, change=one["group"], item=99))


def _report(came: Json) -> Report:
    writes = [Write(key=came["write"], value=True)] if "write" in came else []
    if not came["ok"]:
        return Report(status="error", error=Error(message="no"), writes=writes)
    if "branch" in came:
        return Report(status="ok", result=came["result"], writes=writes, branch=came["branch"])
    return Report(status="ok", result=came["result"], writes=writes)


class _Told:
    """A log as the oracle tells it."""

    def __init__(self) -> None:
        self.trace: list[Any] = []
        self.now = 0.0
        self.stacks: dict[str, Any] = {}
        self.steps: dict[str, str] = {}
        self.fans: dict[str, tuple[str, Any]] = {}
        self.runs: dict[str, tuple[str, Path, int]] = {}
        self.visits: Counter[tuple[str, Path]] = Counter()

    def say(self, *words: Any) -> None:
        self.trace.append((round(self.now, 6), *words))

    def path(self, stack: Any) -> Path:
        return tuple((self.fans[group][0], index) for group, index in stack)

    def put(self, made: e.Produced, stack: Any) -> None:
        groups = [group for group, _ in stack]
        if made.arrives in groups:
            stack = stack[: groups.index(made.arrives) + 1]
        self.stacks[made.id], self.steps[made.id] = tuple(stack), made.step

    def take(self, event: e.AnyEvent, now: float) -> None:
        self.now = now
        match event:
            case e.ExecutionStarted(entry=token):
                self.put(token, ())
            case e.StepStarted():
                self.started(event)
            case e.StepEnded():
                self.ended(event)
            case e.TokenDiscarded(token=token_id):
                self.say("drop", self.steps[token_id], self.path(self.stacks[token_id]))
            case e.Withdrawn():
                gone = [
                    (self.steps[one], self.path(self.stacks[one]))
                    for one in (*event.tokens, *event.runs)
                ]
                for step, path in sorted(gone):
                    self.say("gone", step, path)
            case e.RunReturned():
                stack = self.stacks[event.run]
                self.say("back", event.token.step, self.path(stack))
                self.put(event.token, stack)
            case e.GroupChanged(produced=token) if token is not None:
                self.put(token, (*self.fans[event.group][1], (event.group, token.index)))

    def started(self, event: e.StepStarted) -> None:
        stack = tuple(event.stack) if event.stack is not None else self.stacks[event.consumed[0]]
        path = self.path(stack)
        indices = [
            index
            for token in event.consumed
            for group, index in self.stacks[token]
            if group == event.group
        ]
        self.say(
            "start", event.step, path, sorted(indices), event.merge.value if event.merge else None
        )
        self.stacks[event.run], self.steps[event.run] = stack, event.step
        self.runs[event.run] = (event.step, path, self.visits[event.step, path])
        self.visits[event.step, path] += 1

    def ended(self, event: e.StepEnded) -> None:
        if event.run in self.runs:
            stack = self.stacks[event.run]
        elif event.closes is not None:
            stack = self.fans[event.closes][1]
        else:
            stack = (
                tuple(event.stack) if event.stack is not None else self.stacks[event.consumed[0]]
            )
        if event.group is not None:
            self.fans[event.group.id] = (event.step, stack)
        self.say(
            "failed" if isinstance(event, e.StepFailed) else "done", event.step, self.path(stack)
        )
        for made in event.produced:
            inside = made.index is not None and event.group is not None
            inner = ((event.group.id, made.index),) if inside and event.group is not None else ()
            self.put(made, (*stack, *inner))
