"""The transitions that start a join (S8).

Rule 1: a group fires its join once: ``S.open`` of the fan-out is taken.
Rule 2: ``all`` takes as many tokens as the group has slots; a slot that nothing fills is an absent one.
Rule 3: an early join empties what is left of the group, or lets it come in late and be dropped.
Rule 4: ``or``, and leftovers of ``arcs``, are judged at rest: these transitions have a priority.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from petra.expr import paths
from petra.net.closing import pairs_arcs
from petra.net.contexts import Context, common
from petra.net.origin import Origin
from petra.playbook.model import JoinWhen

if TYPE_CHECKING:
    from collections.abc import Mapping

    from petra.net.build import Builder
    from petra.net.groups import Group
    from petra.playbook.model import Join, Step


#: The parts of a step that hold no token of the playbook, but count them.
_COUNTERS = frozenset({"open", "absent", "lost", "owed", "fresh", "used"})


def join_transitions(builder: Builder, step: Step) -> None:
    """Add every way in which the join of a step can start, or fail to."""
    join = step.spec.join
    assert join is not None
    if join.mode == "arcs":
        _pair_arcs(builder, step)
    elif join.mode == "or":
        waiting = {
            builder.ready(step.step, context, None): context
            for context in builder.contexts.ready(step.step)
        }
        _uncounted_arcs(builder, step, waiting)
        _take_what_is_there(builder, step, waiting)
    else:
        for context in builder.contexts.ready(step.step):
            level = builder.contexts.closes(step.step, context)
            if level is None:
                _pass(builder, step, context)
            else:
                group = builder.contexts.groups[context[: level + 1]]
                _close(builder, step, join, group, context)
    _turn_away(builder, step)


def _turn_away(builder: Builder, step: Step) -> None:
    """Let the gate of a join turn away whoever waits there (S4), and whole groups with them."""
    admit, contexts, name = step.spec.policy.admit, builder.contexts, step.step
    if admit is None or not (admit.rules or admit.once):
        return
    known = len(builder.transitions)
    for context, arrow in contexts.arrivals.get(name, ()):
        ready = builder.ready(name, context, arrow)
        if admit.once or admit.on_deny == "discard":
            gone = Origin(name, "discard", context=context, certain=False, ends=True)
            builder.add(f"{name}.discard", gone, {ready: 1}, builder.ended(context))
        if contexts.closes(name, context) is None and not pairs_arcs(step.spec.join):
            builder.fail(step, context, {ready: 1})
        if admit.withdraw:
            for inside in contexts.runs.get(name, ()):
                back = Origin(name, "withdraw", context=inside)
                builder.add(
                    f"{name}.withdraw", back, {builder.running(name, inside): 1}, {ready: 1}
                )
    builder.leave_aside(known)


def needed(join: Join, group: Group) -> int | None:
    """Return how many arrivals fire the join; None for all of them."""
    if join.mode == "all":
        return None
    m = getattr(join.mode, "m_of_n", 1)
    return m if isinstance(m, int) and not group.has_representatives else 1


def _needs_nobody(join: Join) -> bool:
    """Whether the condition of a join does not ask who has arrived: it may hold before anybody has."""
    if not isinstance(join.mode, JoinWhen):
        return False
    read = {use.path[0] for use in paths(str(join.mode.when))}
    return not read & {"arrived", "outputs"}


def _start(builder: Builder, step: Step, context: Context) -> tuple[str, tuple[str, ...]]:
    return builder.running(step.step, context), builder.cancels(step, "start")


def _pass(builder: Builder, step: Step, context: Context) -> None:
    """A token in no group passes as a group of one."""
    running, resets = _start(builder, step, context)
    ready = builder.ready(step.step, context, None)
    origin = Origin(step.step, "start", context=context)
    builder.add(f"{step.step}.start", origin, {ready: 1}, {running: 1}, resets=resets)


# Groups


def _close(builder: Builder, step: Step, join: Join, group: Group, context: Context) -> None:
    ready = builder.ready(step.step, context, None)
    opened = builder.place(group.step, "open", group.inside)
    _uncounted(builder, step, group, ready, opened)
    if group.is_loose:
        _close_loosely(builder, step, group, ready, opened)
        return
    absent = builder.named.get((group.step, "absent", group.inside))
    enough = needed(join, group)
    full = group.slots if enough is None else enough
    cleared = builder.within(group.inside) if enough is not None else ()
    late: dict[str, int] = {}
    if enough is not None and (join.on_early_complete != "cancel" or group.is_crowded):
        cleared = ()
        if group.slots > full:
            late = {_late(builder, step, group, ready, absent): group.slots - full}
    _add(builder, step, group, {opened: 1, ready: full}, more=late, cleared=cleared)
    if _needs_nobody(join) and not group.is_crowded:
        owed = [*late] or ([] if cleared else [_late(builder, step, group, ready, absent)])
        nobody = dict.fromkeys(owed, group.slots)
        _add(builder, step, group, {opened: 1}, more=nobody, cleared=cleared)
    _hopeless(builder, step, group, opened, ready)
    if absent is None:
        return
    goes_on = join.on_unreachable == "proceed"
    if goes_on and enough is None and join.on_early_complete == "cancel" and not group.is_crowded:
        # the first branch that cannot arrive decides; those still alive are withdrawn
        early = {opened: 1, absent: 1}
        _add(builder, step, group, early, cleared=builder.within(group.inside))
    for arrived in reversed(range(full)):
        missing = {absent: group.slots - arrived}
        inputs = {opened: 1, **({ready: arrived} if arrived else {}), **missing}
        # where groups are crowded, the tokens of one may have gone with those of another
        some = arrived or group.can_be_empty or group.is_crowded
        filled = enough is None and group.can_be_short and some
        empty = not arrived and group.can_be_empty
        if goes_on or filled or empty:
            _add(builder, step, group, inputs)
        if group.is_tracked and join.on_unreachable == "fail":
            builder.fail(step, group.outside, inputs)


def _uncounted(builder: Builder, step: Step, group: Group, ready: str, opened: str) -> None:
    """Add what the counting does not see: time that is up, and branches given up while others live."""
    join, known = step.spec.join, len(builder.transitions)
    assert join is not None
    everything = builder.within(group.inside)
    if join.timeout_s is not None or join.on_unreachable == "proceed":
        _add(builder, step, group, {opened: 1}, cleared=everything)
    elif any(
        option.multiplies
        for routing in builder.contexts.routings(group.step)
        for option in routing.options
    ):
        _add(builder, step, group, {opened: 1})  # a list of nobody, also one that is written out
    builder.fail(step, group.outside, {opened: 1}, resets=everything)  # also where a merge fails
    if join.on_early_complete != "cancel":
        late = Origin(step.step, "discard", context=group.inside)
        builder.add(f"{step.step}.discard", late, {ready: 1}, {})
    builder.leave_aside(known)


def _hopeless(builder: Builder, step: Step, group: Group, opened: str, ready: str) -> None:
    """Lose what is needed as soon as it is sure never to come: too few branches, or two joins."""
    join = step.spec.join
    assert join is not None
    if join.on_unreachable != "fail" or not builder.contexts.is_strict(step):
        return
    enough = needed(join, group)
    if enough is not None and enough > group.slots and len(group.joins) == 1:
        origin = Origin(step.step, "unreachable", context=group.outside)
        lost = {builder.lost(group): 1}
        builder.add(f"{step.step}.unreachable", origin, {opened: 1, ready: 1}, lost)
    for other in group.joins:
        if other != step.step and builder.needs_every_branch(group):
            there = builder.place(other, "ready", group.inside)
            origin = Origin(step.step, "discard", context=group.inside, ends=True)
            lost = {there: 1, builder.lost(group): 1}
            builder.add(f"{step.step}.discard", origin, {ready: 1, there: 1}, lost)


def _add(  # noqa: PLR0913 - a firing has many parts
    builder: Builder,
    step: Step,
    group: Group,
    inputs: dict[str, int],
    *,
    more: Mapping[str, int] | None = None,
    cleared: tuple[str, ...] = (),
) -> None:
    """Start the join outside of the group that it closes."""
    running, resets = _start(builder, step, group.outside)
    origin = Origin(step.step, "start", context=group.outside)
    name = f"{step.step}.start"
    builder.add(name, origin, inputs, {running: 1, **(more or {})}, resets=(*resets, *cleared))


def _late(builder: Builder, step: Step, group: Group, ready: str, absent: str | None) -> str:
    """Let branches come in late and be dropped; each is owed until it has come or ended."""
    owed = builder.place(step.step, "owed", group.inside)
    origin = Origin(step.step, "discard", context=group.inside)
    builder.add(f"{step.step}.discard", origin, {ready: 1, owed: 1}, {})
    if absent is not None:
        builder.add(f"{group.step}.over", Origin(group.step, "over"), {absent: 1, owed: 1}, {})
    return owed


def _close_loosely(builder: Builder, step: Step, group: Group, ready: str, opened: str) -> None:
    cleared = builder.within(group.inside)
    _add(builder, step, group, {opened: 1, ready: 1}, cleared=cleared)
    if group.is_tracked or group.can_be_empty:
        _add(builder, step, group, {opened: 1}, cleared=cleared)


# Arcs


def _pair_arcs(builder: Builder, step: Step) -> None:
    """Take one token per incoming arc; at rest, judge what is left over."""
    contexts, name = builder.contexts, step.step
    for pairing in contexts.pairings(name):
        inside = common([context for _, context in pairing])
        running, resets = _start(builder, step, inside)
        inputs: dict[str, int] = {}
        for arrow, context in pairing:
            inputs[builder.ready(name, context, arrow)] = 1
        origin = Origin(name, "start", context=inside)
        if inputs:
            builder.add(f"{name}.start", origin, inputs, {running: 1}, resets=resets)
    waiting = {
        builder.ready(name, context, arrow): context
        for arrow, brought in contexts.lanes(name).items()
        for context in brought
    }
    _uncounted_arcs(builder, step, waiting)
    if contexts.is_strict(step):
        return
    join = step.spec.join
    if join is not None and join.on_unreachable == "proceed":
        _take_what_is_there(builder, step, waiting)
    else:
        for place, context in waiting.items():
            builder.fail(step, context, {place: 1}, resets=tuple(waiting), priority=1)


def _uncounted_arcs(builder: Builder, step: Step, waiting: dict[str, Context]) -> None:
    """Let what waits fail: a merge that cannot be made, tokens that will find no partner."""
    known = len(builder.transitions)
    fatal = not builder.contexts.on_failure[step.step].options
    for place, context in waiting.items():
        for inside in [context] if fatal else builder.contexts.runs.get(step.step, ()):
            builder.fail(step, inside, {place: 1}, resets=tuple(waiting))
    builder.leave_aside(known)


def _take_what_is_there(builder: Builder, step: Step, waiting: dict[str, Context]) -> None:
    """At rest: everything that waits becomes one token."""
    name = step.step
    for place, context in waiting.items():
        inside = builder.contexts.gathered(name, context)
        running, resets = _start(builder, step, inside)
        origin = Origin(name, "start", context=inside)
        emptied = (*resets, *waiting)
        builder.add(f"{name}.start", origin, {place: 1}, {running: 1}, resets=emptied, priority=1)


def let_or_joins_wait(builder: Builder) -> None:
    """An ``or`` join waits while something upstream could still come (WCP-38)."""
    for name, transition in builder.transitions.items():
        origin = builder.origin[name]
        join = builder.contexts.steps[origin.step].spec.join
        if transition.priority and join is not None and join.mode == "or":
            upstream = builder.contexts.upstream(origin.step)
            places = tuple(
                name
                for (step, part, _), name in builder.named.items()
                if step in upstream and part not in _COUNTERS
            )
            # a group of nobody has no token, but its join will fire
            places += tuple(
                builder.place(group.step, "open", group.inside)
                for group in builder.contexts.groups.values()
                if upstream.intersection(group.joins)
            )
            builder.origin[name] = replace(origin, unless=places)
