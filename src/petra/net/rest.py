"""What a proof does not ask about and a log may show: the rest of the net, all of it aside (S2, S4, S8).

Rule 1: a group may be closed by its join whatever has arrived: by a time limit, by an operator, because nobody can come.
Rule 2: whatever waits may fail or be turned away: a gate that cannot be rendered, a merge that cannot be made.
Rule 3: the arcs of a failure may fail themselves; then the branch ends there.
Rule 4: a joined run that is withdrawn waits again, outside of the group that it closed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from petra.net.closing import pairs_arcs
from petra.net.origin import Origin

if TYPE_CHECKING:
    from collections.abc import Mapping

    from petra.net.build import Builder
    from petra.net.contexts import Context
    from petra.playbook.model import Step


def add_the_rest(builder: Builder) -> None:
    """Add what the proof leaves out."""
    known = len(builder.transitions)
    for step in builder.playbook.workflow:
        if pairs_arcs(step.spec.join):
            _arcs(builder, step)
        elif step.spec.join is not None:
            _groups(builder, step)
        _waiting(builder, step)
    builder.leave_aside(known)


def _groups(builder: Builder, step: Step) -> None:
    """Close a group with whatever has arrived, or fail with it."""
    for group in builder.contexts.groups.values():
        if step.step not in group.joins:
            continue
        opened = {builder.place(group.step, "open", group.inside): 1}
        inside = builder.within(group.inside)
        resets = (*inside, *builder.cancels(step, "start"))
        for context in builder.contexts.around(group.inside):
            origin = Origin(step.step, "start", context=context)
            running = {builder.running(step.step, context): 1}
            builder.add(f"{step.step}.start", origin, opened, running, resets=resets)
            _fail(builder, step, context, opened, inside)


def _arcs(builder: Builder, step: Step) -> None:
    """Take whatever waits at a join over arcs, or fail with it."""
    name, contexts = step.step, builder.contexts
    waiting = [builder.ready(name, *arrival) for arrival in contexts.arrivals.get(name, ())]
    for context in contexts.runs.get(name, ()):
        running = {builder.running(name, context): 1}
        origin = Origin(name, "start", context=context)
        resets = (*waiting, *builder.cancels(step, "start"))
        for place in waiting:
            builder.add(f"{name}.start", origin, {place: 1}, running, resets=resets)
            _fail(builder, step, context, {place: 1}, tuple(waiting))


def _waiting(builder: Builder, step: Step) -> None:
    """Let what waits start, fail, be turned away, or come back to wait."""
    name, contexts, join = step.step, builder.contexts, step.spec.join
    runs = dict.fromkeys(contexts.runs.get(name, ()))
    for context in runs:
        _end(builder, step, context, {builder.running(name, context): 1})
    arrived = list(contexts.arrivals.get(name, ()))
    arrived += [(context, None) for context in runs if (context, None) not in arrived]
    for context, arrow in arrived:
        ready = builder.ready(name, context, arrow)
        gone = Origin(name, "discard", context=context, ends=True)
        builder.add(f"{name}.discard", gone, {ready: 1}, {})
        if context in runs:
            _fail(builder, step, context, {ready: 1})
        if context in runs and join is not None:
            running = builder.running(name, context)
            origin = Origin(name, "start", context=context)
            resets = builder.cancels(step, "start")
            builder.add(f"{name}.start", origin, {ready: 1}, {running: 1}, resets=resets)
            back = Origin(name, "withdraw", context=context)
            builder.add(f"{name}.withdraw", back, {running: 1}, {ready: 1})


def _fail(
    builder: Builder,
    step: Step,
    context: Context,
    inputs: Mapping[str, int],
    resets: tuple[str, ...] = (),
) -> None:
    builder.fail(step, context, inputs, resets=resets)
    _end(builder, step, context, inputs, resets)


def _end(
    builder: Builder,
    step: Step,
    context: Context,
    inputs: Mapping[str, int],
    resets: tuple[str, ...] = (),
) -> None:
    """Fail, and go nowhere from there."""
    origin = Origin(step.step, "failed", context=context, ends=True)
    builder.add(f"{step.step}.failed", origin, inputs, {}, resets=resets)
