"""Running a case: the world acts, time passes, and the expectations are checked one by one (S21)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal

from msgspec import UNSET

from petra.errors import PetraError
from petra.kernel import commands as c
from petra.kernel import events as e
from petra.kernel.decide import Decision
from petra.kernel.explain import explain
from petra.kernel.human import ANY_ROLE
from petra.testing.simulation import EPOCH, WORLD, Execution, Simulation
from petra.testing.story import told
from petra.testing.suite import ACTS, Case
from petra.testing.words import Expect
from petra.values import canonical
from petra.wire import Error

ArcName = tuple[str, str, int]
"""An arc: the playbook it belongs to, its step and its position."""
STORY = "  what happened:"
"""The line of a message after which the story begins."""


@dataclass(slots=True)
class CaseResult:
    """What came of a case."""

    case: Case
    result: Literal["passed", "failed", "error"]
    message: str = ""
    simulation: Simulation | None = None
    arcs: set[ArcName] = field(default_factory=set)


def run_case(case: Case, *, seed: int | None = None, selection: str | None = None) -> CaseResult:
    """Run one case; a failed expectation is a failure, a wrong test an error."""
    assert case.playbook.playbook is not None
    simulation = Simulation(
        case.playbook.playbook,
        library=case.library,
        beside=case.beside,
        tools=case.tools,
        seed=case.seed if seed is None else seed,
        selection=selection,
    )
    world = _World(simulation, case.world)
    try:
        simulation.start(case.workload)
        simulation.run(until=EPOCH + case.stop_at_s if case.stop_at_s is not None else None)
    except PetraError as error:
        return CaseResult(case, "error", str(error), simulation)
    faults = list(_faults(simulation, case.expect))
    faults += [f"the world: {refusal}" for refusal in world.refusals] if faults else []
    arcs = taken_arcs(simulation)
    if not faults:
        return CaseResult(case, "passed", "", simulation, arcs)
    return CaseResult(case, "failed", "\n".join([*faults, _story(simulation)]), simulation, arcs)


def taken_arcs(simulation: Simulation) -> set[ArcName]:
    """Return the arcs that carried a token."""
    return {
        (execution.program.playbook.metadata.name, record.event.step, number)
        for execution in simulation.executions.values()
        for record in execution.log
        if isinstance(record.event, e.StepEnded)
        for number in record.event.arcs
    }


# The world


class _World:
    """What happens from outside: independent triggers, each pulled once."""

    def __init__(self, simulation: Simulation, items: list[dict[str, Any]]) -> None:
        self.simulation = simulation
        self.waiting: list[dict[str, Any]] = []
        self.refusals: list[str] = []
        simulation.watch = self._look
        for item in items:
            if "at_s" in item:
                at = EPOCH + float(item["at_s"])
                simulation.at(at, WORLD, partial(self._act_at, item))
            else:
                self.waiting.append(item)

    def _act_at(self, item: dict[str, Any]) -> None:
        self._act(item, self._target(item))

    def _look(self, _execution: Execution, _decision: Decision) -> None:
        """See whether a trigger is pulled; what it does comes next, at the same moment."""
        for item in list(self.waiting):
            if self._pulled(item) is not None:
                self.waiting.remove(item)
                self.simulation.at(self.simulation.now, WORLD, partial(self._act_when, item))

    def _act_when(self, item: dict[str, Any]) -> None:
        """Act, unless an act before this one took the work item: then wait for the next one."""
        found = self._pulled(item)
        if found is not None:
            self._act(item, found)
        elif "when_open" in item:
            self.waiting.append(item)
        else:
            self._act(item, self._target(item))

    def _pulled(self, item: dict[str, Any]) -> tuple[Execution, str] | None:
        if "when_open" in item:
            return self._open_item(str(item["when_open"]), item.get("as"))
        execution, step = self._step(str(item["when_waiting"]))
        waits = bool(execution is not None and execution.state.ready_at.get(step))
        return (execution, "") if waits and execution is not None else None

    def _step(self, name: str) -> tuple[Execution | None, str]:
        """Find the execution and step that ``step`` or ``path:step`` names."""
        path, colon, step = name.rpartition(":")
        if not colon:
            return self.simulation.root, name
        found = [x for x in self.simulation.executions.values() if x.path == path]
        return (found[-1] if found else None), step

    def _open_item(self, name: str, actor: Any = None) -> tuple[Execution, str] | None:
        """Find an open work item of a step: one the actor holds, else one nobody holds, else any."""
        path, _, step = name.rpartition(":")
        found = [
            (execution, item)
            for execution in self.simulation.executions.values()
            if execution.path == path
            for item in execution.state.items.values()
            if item.step == step and item.is_open
        ]
        if not found:
            return None
        execution, item = min(
            found, key=lambda one: (one[1].holder != actor, one[1].holder is not None)
        )
        return execution, item.id

    def _target(self, item: dict[str, Any]) -> tuple[Execution, str]:
        """Find what an act at a point in time is about: the named step's open item, or the only one."""
        name = item.get("item") or item.get("step")
        if name is None and _word(item) in _ON_EXECUTION:
            return self._addressee(item), ""
        if name is not None:
            found = self._open_item(str(name), item.get("as"))
            if found is not None:
                return found
            execution, _ = self._step(str(name))
            return execution or self.simulation.root, ""
        steps = {
            f"{execution.path}:{one.step}" if execution.path else one.step: None
            for execution in self.simulation.executions.values()
            for one in execution.state.items.values()
            if one.is_open
        }
        for open_step in steps:
            if (found := self._open_item(open_step, item.get("as"))) is not None:
                return found
        closed = [one.id for one in self.simulation.root.state.items.values()]
        return self.simulation.root, closed[-1] if closed else ""

    def _addressee(self, item: dict[str, Any]) -> Execution:
        """Find the execution an act is about: the root, or the child that waits for such a signal."""
        root = self.simulation.root
        given = item.get("signal")
        if given is None:
            return root
        name = given.get("name") if isinstance(given, dict) else given
        waiting = [
            execution
            for execution in self.simulation.executions.values()
            if not execution.state.terminal
            and any(found in (name, None) for found, _ in execution.program.signals)
        ]
        return waiting[0] if waiting else root

    def _act(self, item: dict[str, Any], target: tuple[Execution, str]) -> None:
        execution, item_id = target
        if execution.state.terminal:
            self.refusals.append(f"{_word(item)} came after the end")
            return
        word = _word(item)
        command = _COMMANDS[word](self.simulation, execution, item, item_id, item[word])
        if command is None:
            self.refusals.append(f"{word}: nothing to act on")
            return
        decision = self.simulation.send(execution, command)
        if decision.refused:
            self.refusals.append(f"{word}: {decision.refused}")
        self.refusals += [
            f"{word}: {event.reason}"
            for event in decision.events
            if isinstance(event, e.ActRefused)
        ]


_ON_EXECUTION = frozenset({"signal", "patch_ctx", "cancel", "pause", "resume", "group", "override"})


def _word(item: dict[str, Any]) -> str:
    return next(word for word in ACTS if word in item)


Maker = Callable[[Simulation, Execution, dict[str, Any], str, Any], "c.AnyCommand | None"]


def _act_on_item(act: str) -> Maker:
    def make(
        simulation: Simulation,
        _execution: Execution,
        item: dict[str, Any],
        item_id: str,
        given: Any,
    ) -> c.AnyCommand | None:
        if not item_id:
            return None
        body = given if isinstance(given, dict) else {}
        actor = item.get("as")
        return c.Act(
            now=simulation.now,
            item=item_id,
            act=act,
            actor=str(actor) if actor is not None else "admin",
            roles=item.get("roles", [ANY_ROLE]),
            admin=actor is None,
            action=body.get("action") if act == "complete" else None,
            data=body.get("data")
            if act == "complete"
            else body.get("data", given if act in ("save", "comment") else None),
            to=body.get("to")
            if isinstance(given, dict)
            else given
            if act in ("delegate", "reassign")
            else None,
            reason=str(body.get("reason", given if isinstance(given, str) else "")),
            on_behalf_of=body.get("on_behalf_of"),
        )

    return make


def _signal(
    simulation: Simulation, _x: Execution, _i: dict[str, Any], _id: str, given: Any
) -> c.AnyCommand:
    body = given if isinstance(given, dict) else {"name": given}
    return c.SendSignal(
        now=simulation.now,
        name=str(body.get("name")),
        key=body.get("key"),
        payload=body.get("payload"),
    )


def _patch(
    simulation: Simulation, _x: Execution, item: dict[str, Any], _id: str, given: Any
) -> c.AnyCommand:
    return c.PatchCtx(now=simulation.now, values=given, actor=str(item.get("as", "operator")))


def _cancel(
    simulation: Simulation, _x: Execution, _i: dict[str, Any], _id: str, given: Any
) -> c.AnyCommand:
    reason = (
        given.get("reason", "")
        if isinstance(given, dict)
        else given
        if isinstance(given, str)
        else ""
    )
    return c.Cancel(now=simulation.now, reason=str(reason))


def _pause(
    simulation: Simulation, _x: Execution, _i: dict[str, Any], _id: str, _g: Any
) -> c.AnyCommand:
    return c.Pause(now=simulation.now)


def _resume(
    simulation: Simulation, _x: Execution, _i: dict[str, Any], _id: str, _g: Any
) -> c.AnyCommand:
    return c.Resume(now=simulation.now)


def _group(
    simulation: Simulation, execution: Execution, _i: dict[str, Any], _id: str, given: Any
) -> c.AnyCommand | None:
    step = given.get("step")
    found = [
        g.id
        for g in execution.state.groups.values()
        if not g.fired and step in (None, g.step, g.join)
    ]
    change = next((word for word in ("add", "close", "cancel", "complete") if word in given), "")
    if not found or not change:
        return None
    return c.ChangeGroup(now=simulation.now, group=found[0], change=change, item=given.get("add"))


def _override(
    simulation: Simulation, _x: Execution, item: dict[str, Any], _id: str, given: Any
) -> c.AnyCommand:
    error = given.get("error")
    made = (
        Error(**error) if isinstance(error, dict) else Error(message=str(error)) if error else None
    )
    return c.Override(
        now=simulation.now, step=str(given["step"]), ok=made is None, result=given.get("ok", given.get("result")),
        error=made, actor=str(item.get("as", "operator")), reason=str(given.get("reason", "")),
    )  # fmt: skip


_COMMANDS: dict[str, Maker] = {
    "signal": _signal,
    "patch_ctx": _patch,
    "cancel": _cancel,
    "pause": _pause,
    "resume": _resume,
    "group": _group,
    "override": _override,
    "cancel_item": _act_on_item("cancel"),
    "resume_item": _act_on_item("resume"),
    **{
        act: _act_on_item(act)
        for act in (
            "complete",
            "claim",
            "release",
            "start",
            "save",
            "fail",
            "delegate",
            "reassign",
            "suspend",
            "comment",
        )
    },
}


# Expectations


def _faults(simulation: Simulation, expect: Expect) -> Iterable[str]:
    """Yield what is not as expected."""
    root = simulation.root
    status, reason = simulation.status()
    yield from _same("status", expect.status, status)
    yield from _same("waiting_on", expect.waiting_on, reason)
    if not _is_unset(expect.output):
        yield from _same("output", expect.output, simulation.output, given=True)
    ctx = simulation.ctx
    for key, value in (expect.ctx or {}).items():
        if key not in ctx:
            yield f"ctx.{key}: expected {_shown(value)}, and it was never written"
        else:
            yield from _same(f"ctx.{key}", value, ctx[key], given=True)
    yield from _same("done", expect.done, done_steps(root))
    started = started_steps(root)
    for step, number in (expect.runs or {}).items():
        yield from _same(f"runs of '{step}'", number, started.count(step))
    for step, number in (expect.attempts or {}).items():
        yield from _same(f"attempts of '{step}'", number, attempts(simulation, root, step))
    for step in expect.never or ():
        if step in started:
            yield f"step '{step}' was started and never should be"
    if expect.cancelled is not None:
        yield from _same("cancelled", sorted(set(expect.cancelled)), sorted(cancelled_steps(root)))
    yield from _error(simulation, expect)
    if expect.elapsed_s is not None and abs(simulation.elapsed_s - expect.elapsed_s) > 1:
        yield f"elapsed_s: expected {expect.elapsed_s:g}, got {simulation.elapsed_s:g}"


def _is_unset(value: Any) -> bool:
    return value is UNSET


def _same(what: str, expected: Any, got: Any, *, given: bool = False) -> Iterable[str]:
    if expected is None and not given:
        return
    if canonical(_floats(expected)) != canonical(_floats(got)):
        yield f"{what}: expected {_shown(expected)}, got {_shown(got)}"


def _floats(value: Any) -> Any:
    """Let 3 and 3.0 be the same number, as in JSON."""
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return int(value)
    if isinstance(value, dict):
        return {key: _floats(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_floats(item) for item in value]
    return value


def _shown(value: Any) -> str:
    text = canonical(value).decode()
    return text if len(text) <= 300 else text[:299] + "…"


def done_steps(execution: Execution) -> list[str]:
    """Return every done activation in order of completion; compensations do not count."""
    return [
        record.event.step
        for record in execution.log
        if isinstance(record.event, e.StepDone | e.LoopDone)
        and not _is_undo(execution, record.event.run)
    ]


def started_steps(execution: Execution) -> list[str]:
    """Return the step of every activation that was started; compensations do not count."""
    return [
        record.event.step
        for record in execution.log
        if isinstance(record.event, e.StepStarted) and not record.event.compensates
    ]


def _is_undo(execution: Execution, run: str) -> bool:
    return any(
        isinstance(record.event, e.StepStarted)
        and record.event.run == run
        and bool(record.event.compensates)
        for record in execution.log
    )


def cancelled_steps(execution: Execution) -> set[str]:
    """Return the steps with a started activation that was withdrawn or stopped."""
    steps = {
        record.event.run: record.event.step
        for record in execution.log
        if isinstance(record.event, e.StepStarted)
    }
    withdrawn = [
        run
        for record in execution.log
        if isinstance(record.event, e.Withdrawn)
        for run in record.event.runs
    ]
    withdrawn += [
        record.event.run for record in execution.log if isinstance(record.event, e.RunReturned)
    ]
    return {steps[run] for run in withdrawn}


def attempts(simulation: Simulation, execution: Execution, step: str) -> int:
    """Count the tries of a step's tasks but noop; an offer to a person is one."""
    on_workers = simulation.attempts.get((execution.id, step), 0)
    runs = {
        r.event.run
        for r in execution.log
        if isinstance(r.event, e.StepStarted) and r.event.step == step
    }
    on_server = sum(
        1
        for record in execution.log
        if isinstance(record.event, e.StepStarted | e.AttemptStarted | e.IterationsStarted)
        and record.event.run in runs
        and record.event.armed is not None
    )
    return on_workers + on_server


def _error(simulation: Simulation, expect: Expect) -> Iterable[str]:
    if expect.error is None:
        return
    root = simulation.root
    texts = [root.refused, root.state.stuck, root.state.reason]
    for error in [
        root.state.error,
        *(r.event.error for r in root.log if isinstance(r.event, e.StepEnded)),
    ]:
        if error is not None:
            texts += [error.message, error.kind, str(error.code or "")]
    texts += [str(failure) for failure in root.state.failures]
    if not any(expect.error.lower() in text.lower() for text in texts):
        shown = next((text for text in texts if text), "nothing failed")
        yield f"error: expected a text with {expect.error!r}, got: {shown}"


def _story(simulation: Simulation) -> str:
    """Tell what happened, for somebody who must find out why."""
    lines = [
        f"  {record.at - EPOCH:>8.1f} s  {told(record.event)}"
        for record in simulation.root.log[-25:]
    ]
    if not simulation.root.state.terminal and not simulation.root.refused:
        lines += [
            f"  {line.sentence}"
            for line in explain(simulation.root.program, simulation.root.state).waiting[:5]
        ]
    return "\n".join([STORY, *lines])
