"""The world of a case: what happens from outside, when its trigger is pulled (S21)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

from msgspec import UNSET

from petra.kernel import commands as c
from petra.kernel import events as e
from petra.kernel.decide import Decision
from petra.kernel.human import ANY_ROLE
from petra.testing.scripts import failure
from petra.testing.simulation import EPOCH, WORLD, Execution, Simulation
from petra.testing.words import (
    ON_EXECUTION,
    Completion,
    Decided,
    GivingUp,
    GroupChange,
    HandedOn,
    Happening,
    OnItem,
    Reason,
    Sent,
    WithReason,
)


@dataclass(frozen=True, slots=True)
class _Moment:
    """An act that comes now, and what it is about."""

    now: float
    happening: Happening
    execution: Execution
    item: str

    @property
    def actor(self) -> str:
        return self.happening.who or ""


class World:
    """What happens from outside: independent triggers, each pulled once."""

    def __init__(self, simulation: Simulation, happenings: Iterable[Happening]) -> None:
        self.simulation = simulation
        self.waiting: list[Happening] = []
        self.refusals: list[str] = []
        simulation.watch = self._look
        for one in happenings:
            if one.at_s is not None:
                simulation.at(EPOCH + one.at_s, WORLD, partial(self._act_at, one))
            else:
                self.waiting.append(one)

    # Triggers

    def _act_at(self, one: Happening) -> None:
        self._act(one, self._target(one))

    def _look(self, _execution: Execution, _decision: Decision) -> None:
        """See whether a trigger is pulled; what it does comes next, at the same moment."""
        for one in list(self.waiting):
            if self._pulled(one) is not None:
                self.waiting.remove(one)
                self.simulation.at(self.simulation.now, WORLD, partial(self._act_when, one))

    def _act_when(self, one: Happening) -> None:
        """Act, unless an act before this one took the work item: then wait for the next one."""
        pulled = self._pulled(one)
        if pulled is None and one.when_open is not None:
            self.waiting.append(one)
        elif pulled is None or (one.when_open is None and one.act not in ON_EXECUTION):
            self._act(one, self._target(one))
        else:
            self._act(one, pulled)

    def _pulled(self, one: Happening) -> tuple[Execution, str] | None:
        if one.when_open is not None:
            return self._open_item(one.when_open, one.who)
        assert one.when_waiting is not None
        executions, step = self.simulation.named(one.when_waiting)
        waiting = [execution for execution in executions if execution.state.ready_at.get(step)]
        return (waiting[-1], "") if waiting else None

    # What an act is about

    def _open_item(self, name: str, actor: str | None) -> tuple[Execution, str] | None:
        """Find an open work item of a step: one the actor holds, else one nobody holds, else any."""
        executions, step = self.simulation.named(name)
        items = [
            (execution, item)
            for execution in executions
            for item in execution.state.items.values()
            if item.step == step and item.is_open
        ]
        if not items:
            return None
        execution, item = min(
            items, key=lambda pair: (pair[1].holder != actor, pair[1].holder is not None)
        )
        return execution, item.id

    def _target(self, one: Happening) -> tuple[Execution, str]:
        """Find what an act at a point in time is about: the named step's open item, or the only one."""
        if one.act in ON_EXECUTION:
            return self._addressee(one), ""
        if one.about is not None:
            return self._open_item(one.about, one.who) or (self._execution(one.about), "")
        steps = {
            f"{execution.path}:{item.step}" if execution.path else item.step: None
            for execution in self.simulation.executions.values()
            for item in execution.state.items.values()
            if item.is_open
        }
        for open_step in steps:
            if (found := self._open_item(open_step, one.who)) is not None:
                return found
        closed = [item.id for item in self.simulation.root.state.items.values()]
        return self.simulation.root, closed[-1] if closed else ""

    def _execution(self, name: str | None) -> Execution:
        """Find the execution that a step belongs to: of several, the last that was started."""
        executions, _ = self.simulation.named(name or "")
        return executions[-1] if executions else self.simulation.root

    def _addressee(self, one: Happening) -> Execution:
        """Find the execution an act is about: the root, the step's, or a child that waits for such a signal."""
        given = one.given
        if isinstance(given, GroupChange | Decided):
            return self._execution(given.step)
        if one.signal is None:
            return self.simulation.root
        name = given.name if isinstance(given, Sent) else given
        waiting = [
            execution
            for execution in self.simulation.executions.values()
            if not execution.state.terminal
            and any(signal in (name, None) for signal, _ in execution.program.signals)
        ]
        return waiting[0] if waiting else self.simulation.root

    # Acts

    def _act(self, one: Happening, target: tuple[Execution, str]) -> None:
        execution, item = target
        if execution.state.terminal:
            self.refusals.append(f"{one.act} came after the end")
            return
        command = _COMMANDS.get(one.act, _on_item)(
            _Moment(self.simulation.now, one, execution, item)
        )
        if command is None:
            self.refusals.append(f"{one.act}: nothing to act on")
            return
        decision = self.simulation.send(execution, command)
        if decision.refused:
            self.refusals.append(f"{one.act}: {decision.refused}")
        self.refusals += [
            f"{one.act}: {event.reason}"
            for event in decision.events
            if isinstance(event, e.ActRefused)
        ]


_NAMES = {"cancel_item": "cancel", "resume_item": "resume"}


def _on_item(moment: _Moment) -> c.AnyCommand | None:
    if not moment.item:
        return None
    one, given = moment.happening, moment.happening.given
    return c.Act(
        now=moment.now,
        item=moment.item,
        act=_NAMES.get(one.act, one.act),
        actor=one.who if one.who is not None else "admin",
        roles=one.roles if one.roles is not None else [ANY_ROLE],
        admin=one.who is None,
        action=given.action if isinstance(given, Completion) else None,
        data=_data(one.act, given),
        to=_to(one.act, given),
        reason=_reason(given),
        on_behalf_of=given.on_behalf_of if isinstance(given, OnItem) else None,
    )


def _data(act: str, given: Any) -> Any:
    if act in ("save", "comment"):
        return given
    return given.data if isinstance(given, Completion | GivingUp) else None


def _to(act: str, given: Any) -> str | None:
    if act not in ("delegate", "reassign"):
        return None
    return given.to if isinstance(given, HandedOn) else given


def _reason(given: Any) -> str:
    if isinstance(given, str):
        return given
    return given.reason if isinstance(given, Reason | WithReason) else ""


def _signal(moment: _Moment) -> c.AnyCommand:
    given = moment.happening.given
    sent = given if isinstance(given, Sent) else Sent(name=given)
    return c.SendSignal(
        now=moment.now, name=sent.name, key=sent.key, payload=sent.payload, actor=moment.actor
    )


def _patch(moment: _Moment) -> c.AnyCommand:
    return c.PatchCtx(
        now=moment.now, values=moment.happening.given, actor=moment.actor or "operator"
    )


def _cancel(moment: _Moment) -> c.AnyCommand:
    return c.Cancel(now=moment.now, reason=_reason(moment.happening.given), actor=moment.actor)


def _pause(moment: _Moment) -> c.AnyCommand:
    return c.Pause(now=moment.now, reason=_reason(moment.happening.given), actor=moment.actor)


def _resume(moment: _Moment) -> c.AnyCommand:
    return c.Resume(now=moment.now, actor=moment.actor)


def _group(moment: _Moment) -> c.AnyCommand | None:
    given: GroupChange = moment.happening.given
    step = _bare(given.step)
    items = [
        group.id
        for group in moment.execution.state.groups.values()
        if not group.fired and step in (None, group.step, group.join)
    ]
    if not items:
        return None
    adds = given.add is not UNSET
    change = "add" if adds else "close" if given.close else "cancel" if given.cancel else "complete"
    item = given.add if adds else None
    return c.ChangeGroup(
        now=moment.now, group=items[0], change=change, item=item, actor=moment.actor
    )


def _override(moment: _Moment) -> c.AnyCommand:
    given: Decided = moment.happening.given
    error = failure(given.error) if given.error is not None else None
    return c.Override(
        now=moment.now,
        step=_bare(given.step) or "",
        ok=error is None,
        result=given.ok if given.ok is not UNSET else None,
        error=error,
        actor=moment.actor or "operator",
        reason=given.reason,
    )


def _bare(name: str | None) -> str | None:
    """Return the step of ``path:step``."""
    return name.rpartition(":")[2] if name is not None else None


_COMMANDS: dict[str, Callable[[_Moment], c.AnyCommand | None]] = {
    "signal": _signal,
    "patch_ctx": _patch,
    "cancel": _cancel,
    "pause": _pause,
    "resume": _resume,
    "group": _group,
    "override": _override,
}
