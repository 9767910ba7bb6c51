"""Work items: what people may do with them, and what time does (S14).

Rule 1: only assignees act; an act that is refused is recorded and changes nothing.
Rule 2: claiming is compare and set: the second gets a refusal.
Rule 3: four eyes is checked at claim and at completion, for the actor and for whom they act: on whose behalf, and who
delegated it. It speaks of everybody who completed any activation or iteration of the other step, and for whom.
Rule 4: completion is idempotent: the same answer by the same person again is the same answer, also after the end.
Rule 5: nothing but resume and cancel touches a suspended item, and its time stands still; a delegated one that is
released goes back.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

from petra.kernel import events as e
from petra.kernel.commands import Act
from petra.kernel.ctx import schema_fault
from petra.kernel.effects import Notify
from petra.kernel.fold.tasks import completed_by, names_of
from petra.kernel.state import State
from petra.kernel.tasks import item_over
from petra.kernel.turn import TransformError, Turn
from petra.kernel.waiting import ITEM_TIMERS, TIMERS_APART, WorkItem, moment
from petra.values import canonical
from petra.wire import Error, Outcome

SYSTEM = "system"
ANY_ROLE = "*"


class _RefusedError(Exception):
    """The act is not allowed, or makes no sense now."""


def act(turn: Turn, command: Act) -> None:
    """Carry out an act, or record why it was refused."""
    try:
        item = _item(turn, command)
        if repeats(turn, command):
            return
        _handle(item, command)(turn, item, command)
    except (_RefusedError, TransformError) as refusal:
        turn.emit(
            e.ActRefused(
                act=command.act,
                actor=command.actor,
                by=command.by,
                item=command.item,
                reason=str(refusal),
            )
        )


def _handle(item: WorkItem, command: Act) -> Callable[[Turn, WorkItem, Act], None]:
    handle = _ACTS.get(command.act)
    if handle is None:
        raise _RefusedError(f"there is no act '{command.act}'; known: {', '.join(_ACTS)}")
    if not item.is_open:
        raise _RefusedError(f"the work item is {item.state}")
    if item.state == "suspended" and command.act not in ("suspend", "resume", "cancel"):
        raise _RefusedError("it is suspended; resume it first")
    return handle


def _item(turn: Turn, command: Act) -> WorkItem:
    item = turn.state.items.get(command.item)
    if item is None:
        raise _RefusedError(f"there is no work item '{command.item}'")
    return item


def repeats(turn: Turn, command: Act) -> bool:
    """Whether somebody says again what they have decided already."""
    item = turn.state.items.get(command.item)
    if item is None or command.act != "complete" or item.state != "done":
        return False
    data = turn.keep(command.data, "the data")
    decided = {"action": _action(item, command), "data": data, "actor": command.actor}
    return item.decision == decided


def _action(item: WorkItem, command: Act) -> str:
    """Return the action that is meant: the first, where none is said."""
    return command.action if command.action is not None else actions_of(item)[0]


def actions_of(item: WorkItem) -> list[str]:
    """Return what a person may choose."""
    return item.spec.get("actions") or ["approve", "reject"]


# Who may


def why_not(state: State, item: WorkItem, actor: str, roles: Collection[str]) -> str:
    """Say why somebody may not act on a work item; empty where they may."""
    if (why := excluded_from(state, item, actor)) or actor == item.holder:
        return why
    assignees = item.spec.get("assignees") or {}
    users, wanted = names_of(assignees.get("users")), names_of(assignees.get("roles"))
    in_role = bool(wanted) and (ANY_ROLE in roles or not set(wanted).isdisjoint(roles))
    if (users or wanted) and actor not in users and not in_role:
        return f"'{actor}' is not among the assignees"
    return ""


def excluded_from(state: State, item: WorkItem, who: str) -> str:
    """Say why somebody is excluded from a work item; empty where they are not."""
    if who in names_of((item.spec.get("exclude") or {}).get("users")):
        return f"'{who}' is excluded from this work item"
    for step in completed_by(item.spec):
        if who in state.completers.get(step, ()):
            return f"'{who}' completed '{step}' and may not act here (four eyes)"
    return ""


def excluded(state: State, item: WorkItem) -> list[str]:
    """Return everybody who is excluded from a work item."""
    named = names_of((item.spec.get("exclude") or {}).get("users"))
    others = [who for step in completed_by(item.spec) for who in state.completers.get(step, ())]
    return list(dict.fromkeys([*named, *others]))


def _may_act(turn: Turn, item: WorkItem, command: Act) -> None:
    for who in (command.actor, command.on_behalf_of, item.owner):
        if who is not None:
            _four_eyes(turn, item, who)
    if not command.admin and (why := why_not(turn.state, item, command.actor, command.roles)):
        raise _RefusedError(why)


def _four_eyes(turn: Turn, item: WorkItem, who: str) -> None:
    if why := excluded_from(turn.state, item, who):
        raise _RefusedError(why)


def _held_by_other(item: WorkItem, command: Act) -> None:
    if item.holder is not None and item.holder != command.actor and not command.admin:
        raise _RefusedError(f"'{item.holder}' holds the work item")


def _only_holder(item: WorkItem, command: Act) -> None:
    if item.holder != command.actor and not command.admin:
        raise _RefusedError(
            "only the holder may do this" if item.holder else "nobody has claimed the work item"
        )


# Acts


def _changed(turn: Turn, item: WorkItem, command: Act, state: str, **more: Any) -> None:
    more = {
        "holder": item.holder,
        "owner": item.owner,
        "reason": command.reason,
        "data": None,
        **more,
    }
    more["data"] = turn.keep(more["data"], "the data")
    turn.emit(
        e.ItemChanged(
            item=item.id,
            act=command.act,
            state=state,
            actor=command.actor,
            by=command.by,
            on_behalf_of=command.on_behalf_of,
            **more,
        )
    )


def _claim(turn: Turn, item: WorkItem, command: Act) -> None:
    _may_act(turn, item, command)
    if item.state != "offered":
        raise _RefusedError(
            f"'{item.holder}' has claimed it already" if item.holder else f"it is {item.state}"
        )
    _changed(turn, item, command, "allocated", holder=command.actor)


def _release(turn: Turn, item: WorkItem, command: Act) -> None:
    _only_holder(item, command)
    back = item.owner if item.owner != item.holder else None
    if back is not None and excluded_from(turn.state, item, back):
        back = None
    state = "allocated" if back is not None else "offered"
    _changed(turn, item, command, state, holder=back, owner=None)
    turn.effect(Notify(item=item.id, about="offered"))


def _start(turn: Turn, item: WorkItem, command: Act) -> None:
    _may_act(turn, item, command)
    _held_by_other(item, command)
    if item.state not in ("offered", "allocated"):
        raise _RefusedError(f"it is {item.state}")
    _changed(turn, item, command, "started", holder=command.actor)


def _save(turn: Turn, item: WorkItem, command: Act) -> None:
    _only_holder(item, command)
    _changed(turn, item, command, item.state, data=command.data)


def _complete(turn: Turn, item: WorkItem, command: Act) -> None:
    _may_act(turn, item, command)
    _held_by_other(item, command)
    actions, action = actions_of(item), _action(item, command)
    if action not in actions:
        raise _RefusedError(f"'{action}' is not one of: {', '.join(actions)}")
    form = turn.follow(item.spec.get("form"), "the form")
    if form is not None:
        problem = schema_fault(canonical(form), command.data if command.data is not None else {})
        if problem is not None:
            raise _RefusedError(f"the form is not filled in as it should be: {problem}")
    decide(turn, item, command, action)


def decide(turn: Turn, item: WorkItem, command: Act, action: str) -> None:
    """Record a decision and go on with it."""
    _changed(turn, item, command, "done", holder=command.actor, reason=action, data=command.data)
    result = {"action": action, "data": command.data, "actor": command.actor}
    item_over(turn, item.id, Outcome(status="ok", result=result), command.actor)


def _fail(turn: Turn, item: WorkItem, command: Act) -> None:
    _may_act(turn, item, command)
    _held_by_other(item, command)
    _changed(turn, item, command, "failed")
    error = Error(
        kind="unknown",
        code="failed",
        message=command.reason or f"'{command.actor}' could not do it",
        details=turn.keep(command.data, "the data"),
    )
    item_over(turn, item.id, Outcome(status="error", error=error), command.actor)


def _cancel(turn: Turn, item: WorkItem, command: Act) -> None:
    if not command.admin:
        _only_holder(item, command)
    _changed(turn, item, command, "withdrawn")
    error = Error(kind="cancelled", message=command.reason or f"cancelled by '{command.actor}'")
    item_over(turn, item.id, Outcome(status="error", error=error), command.actor)


def _delegate(turn: Turn, item: WorkItem, command: Act) -> None:
    _only_holder(item, command)
    target = _target(command)
    _four_eyes(turn, item, target)
    _changed(turn, item, command, "allocated", holder=target, owner=item.owner or item.holder)
    turn.effect(Notify(item=item.id, about="delegated"))


def _reassign(turn: Turn, item: WorkItem, command: Act) -> None:
    if item.holder is None:
        _may_act(turn, item, command)
    elif not command.admin:
        _only_holder(item, command)
    target = _target(command)
    _four_eyes(turn, item, target)
    assignees = {**(item.spec.get("assignees") or {}), "users": [target]}
    _changed(turn, item, command, "allocated", holder=target, owner=None, assignees=assignees)
    turn.effect(Notify(item=item.id, about="reassigned"))


def _target(command: Act) -> str:
    if not command.to:
        raise _RefusedError(f"'{command.act}' needs somebody to go to")
    return command.to


def _suspend(turn: Turn, item: WorkItem, command: Act) -> None:
    _only_holder(item, command)
    if item.state == "suspended":
        raise _RefusedError("it is suspended already")
    _changed(turn, item, command, "suspended", stopped=_timers_of(turn, item))


def _timers_of(turn: Turn, item: WorkItem) -> list[str]:
    """Return the timers of a work item, in the order they were set."""
    run = turn.state.runs[item.run]
    waits = (run.chunks[item.chunk] if item.chunk else run).waits
    place = next(index for index, wait in enumerate(waits) if wait.item == item.id)
    armed = (turn.state.timers[timer_id] for timer_id in turn.state.timers_of.get(run.id, ()))
    return [
        timer.id
        for timer in armed
        if timer.kind in ITEM_TIMERS
        and timer.group == item.chunk
        and timer.index // TIMERS_APART == place
    ]


def _resume(turn: Turn, item: WorkItem, command: Act) -> None:
    _only_holder(item, command)
    if item.state != "suspended":
        raise _RefusedError("it is not suspended")
    timers = [
        e.NewTimer(
            id=timer.id, due=moment(turn.now + timer.due), kind=timer.kind, run=timer.run, group=timer.group, index=timer.index
        )
        for timer in item.stopped
    ]  # fmt: skip
    _changed(turn, item, command, item.resumed_state, timers=timers)


def _comment(turn: Turn, item: WorkItem, command: Act) -> None:
    _changed(turn, item, command, item.state, data=command.data)


_ACTS: dict[str, Callable[[Turn, WorkItem, Act], None]] = {
    "claim": _claim, "release": _release, "start": _start, "save": _save, "complete": _complete, "fail": _fail,
    "cancel": _cancel, "delegate": _delegate, "reassign": _reassign, "suspend": _suspend, "resume": _resume,
    "comment": _comment,
}  # fmt: skip


# What time does


def expire(turn: Turn, item: WorkItem) -> None:
    """The time for a work item is up."""
    turn.emit(
        e.ItemChanged(
            item=item.id,
            act="expire",
            state="expired",
            holder=item.holder,
            owner=item.owner,
            actor=SYSTEM,
        )
    )
    error = Error(
        kind="timeout", message=f"nobody completed the work item of step '{item.step}' in time"
    )
    item_over(turn, item.id, Outcome(status="error", error=error))


def remind(turn: Turn, item: WorkItem) -> None:
    """Remind people of a work item."""
    turn.emit(
        e.ItemChanged(
            item=item.id,
            act="remind",
            state=item.state,
            holder=item.holder,
            owner=item.owner,
            actor=SYSTEM,
        )
    )
    turn.effect(Notify(item=item.id, about="reminder"))


def escalate(turn: Turn, item: WorkItem, step: dict[str, Any]) -> None:
    """Do what an escalation says: tell somebody, hand it on, let it expire, or decide."""
    do = step.get("do") or ("reassign" if step.get("to") is not None else "notify")
    if do == "expire":
        expire(turn, item)
    elif do in ("notify", "reassign"):
        assignees = _assignees(step.get("to")) if do == "reassign" else None
        state = "offered" if assignees is not None else item.state
        holder = None if assignees is not None else item.holder
        turn.emit(
            e.ItemChanged(
                item=item.id,
                act="escalate",
                state=state,
                holder=holder,
                owner=item.owner,
                actor=SYSTEM,
                reason=do,
                assignees=assignees,
            )
        )
        turn.effect(Notify(item=item.id, about="escalated"))
    else:
        decide(
            turn,
            item,
            Act(now=turn.now, item=item.id, act="complete", actor=SYSTEM, admin=True),
            do,
        )


def _assignees(to: Any) -> dict[str, Any] | None:
    if isinstance(to, dict):
        return to
    if isinstance(to, str):
        kind, colon, name = to.partition(":")
        return {"roles": [name]} if colon and kind == "role" else {"users": [to]}
    return None
