"""What a step run leaves behind: one transition per choice of arcs (S7, S8)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from petra.net.origin import Origin

if TYPE_CHECKING:
    from collections.abc import Mapping

    from petra.net.build import Builder
    from petra.net.contexts import Context
    from petra.net.groups import Group
    from petra.net.routes import Choice, Option, Routing

END = "end"


def route(  # noqa: PLR0913, PLR0917 - a firing has many parts
    builder: Builder,
    routing: Routing,
    kind: str,
    context: Context,
    inputs: Mapping[str, int],
    resets: tuple[str, ...],
    *,
    priority: int = 0,
) -> None:
    """Add one transition per choice of arcs."""
    if routing.decides_arc_by_arc:
        _decide(builder, routing, kind, context, inputs, resets)
        return
    for choice in routing.choices():
        if _has_uneven_lists(builder, routing, choice, context):
            continue
        if not choice.taken and _is_fatal(builder, routing, kind):
            _abort(builder, routing.step, kind, context, inputs)
            continue
        outputs = _tokens(builder, routing, choice, context)
        taken = tuple(option.arc for option, _ in choice.taken)
        ends = not choice.taken
        origin = Origin(routing.step, kind, taken, context, choice.certain, ends=ends)
        name = f"{routing.step}.{kind}{_suffix(routing, choice)}"
        builder.add(name, origin, inputs, outputs, resets=resets, priority=priority)


def _has_uneven_lists(builder: Builder, routing: Routing, choice: Choice, context: Context) -> bool:
    """Tell whether of several lists that no join counts some are empty and some are not.

    Whether lists are equally long is a question about data that a net cannot answer; a Petri join
    that pairs their items is not to blame.
    """
    if builder.whole or not (routing.inclusive and choice.taken):
        return False
    group = builder.contexts.groups[builder.contexts.inside(routing.step, context)]
    counts = {count for option, count in choice.taken if len(option.counts) > 1}
    return not group.joins and len(counts) > 1


def _is_fatal(builder: Builder, routing: Routing, kind: str) -> bool:
    """Tell whether a failure without a matching arc ends the execution."""
    step = builder.contexts.steps[routing.step]
    mode = step.spec.policy.failure or builder.playbook.executor.spec.policy.failure
    return kind == "failed" and (mode is None or mode.mode == "fail_fast")


def _tokens(builder: Builder, routing: Routing, choice: Choice, context: Context) -> dict[str, int]:
    if not choice.taken:
        return builder.ended(context)
    grouped = routing.makes_group(choice)
    inside = builder.contexts.inside(routing.step, context) if grouped else context
    produced: dict[str, int] = {}
    for option, count in choice.taken:
        if count and option.target in builder.contexts.steps:
            place = builder.ready(option.target, inside, (routing.step, option.arc))
            produced[place] = produced.get(place, 0) + count
    if grouped:
        group = builder.contexts.groups[inside]
        if not choice.tokens and not group.joins and not group.is_tracked:
            return builder.ended(context)
        for place, count in group_tokens(builder, group, choice.tokens).items():
            produced[place] = produced.get(place, 0) + count
    return produced


def group_tokens(builder: Builder, group: Group, tokens: int) -> dict[str, int]:
    """Return what keeps count of a new group with so many branches."""
    produced = {builder.place(group.step, "open", group.inside): 1} if group.joins else {}
    absent = (group.step, "absent", group.inside)
    if absent in builder.named and group.slots > tokens:
        produced[builder.named[absent]] = group.slots - tokens
    return produced


def _decide(  # noqa: PLR0913, PLR0917 - a firing has many parts
    builder: Builder,
    routing: Routing,
    kind: str,
    context: Context,
    inputs: Mapping[str, int],
    resets: tuple[str, ...],
) -> None:
    """Decide arc by arc: first without an arc taken, then with at least one."""
    step = routing.step
    group = builder.contexts.groups[builder.contexts.inside(step, context)]
    none = builder.place(step, f"{kind} choosing 0", context)
    origin = Origin(step, kind, context=context)
    builder.add(f"{step}.{kind}", origin, inputs, {none: 1}, resets=resets)
    some: str | None = None
    skipped = 0
    for number, option in enumerate(routing.options, start=1):
        later = builder.place(step, f"{kind} choosing {number}", context)
        last = number == len(routing.options)
        chose = None if last else builder.place(step, f"{kind} chose {number}", context)
        for count in [*option.counts, *([] if option.sure else [None])]:
            produced = _one_arc(builder, group, option, count)
            after = {**produced, **({chose: 1} if chose else {})}
            origin = Origin(step, kind, (option.arc,), context, certain=False)
            label = f"{step}.{kind}:{'' if count else 'no '}{option.target}"
            if some is not None:
                builder.add(label, origin, {some: 1}, after)
            if count is None:
                builder.add(label, origin, {none: 1}, {later: 1})
            else:
                opened = _opened(builder, group, skipped, after)
                builder.add(label, origin, {none: 1}, opened)
        none, some, skipped = later, chose, skipped + max(option.counts)
    if routing.may_miss and _is_fatal(builder, routing, kind):
        _abort(builder, step, kind, context, {none: 1})
    elif routing.may_miss:
        origin = Origin(step, kind, (), context, certain=False, ends=True)
        builder.add(f"{step}.{kind}:end", origin, {none: 1}, builder.ended(context))


def _one_arc(builder: Builder, group: Group, option: Option, count: int | None) -> dict[str, int]:
    """Return the tokens of one arc, and those that stand for what it does not make."""
    produced: dict[str, int] = {}
    if count:
        produced[builder.ready(option.target, group.inside, (group.step, option.arc))] = count
    absent = builder.named.get((group.step, "absent", group.inside))
    missing = max(option.counts) - (count or 0)
    if absent is not None and missing:
        produced[absent] = missing
    return produced


def _opened(
    builder: Builder, group: Group, skipped: int, made: Mapping[str, int]
) -> dict[str, int]:
    """Return the tokens of the first arc that is taken: they open the group."""
    opened = dict(made)
    for place, count in group_tokens(builder, group, group.slots - skipped).items():
        opened[place] = opened.get(place, 0) + count
    return opened


def _abort(
    builder: Builder, step: str, kind: str, context: Context, inputs: Mapping[str, int]
) -> None:
    origin = Origin(step, kind, context=context, aborts=True)
    builder.add(f"{step}.{kind}:fails the execution", origin, inputs, {END: 1})


def _suffix(routing: Routing, choice: Choice) -> str:
    if len(routing.options) + routing.may_miss < 2 and all(
        len(option.counts) < 2 for option in routing.options
    ):
        return ""
    if not choice.taken:
        return ":end"
    words = [
        option.target if count == 1 else f"{count} {option.target}"
        for option, count in choice.taken
    ]
    return ":" + "+".join(words)
