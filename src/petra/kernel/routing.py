"""Routing: which tokens a boundary event emits (S7, S8).

Rule 1: arcs are tried by priority, then as written. Exclusive takes the first match and does not evaluate
the rest; inclusive takes all.
Rule 2: after a failure under ``fail_fast`` only handlers are tried: arcs whose guard reads ``event``,
``ok()``, ``fail()`` or ``ctx._last_error``. A failure that a handler matched is handled.
Rule 3: inclusive arcs, ``foreach`` and ``copies`` make a group; indices count through the matching arcs in
order, then through their items. A group of nobody fires its join at once.
"""

from __future__ import annotations

from typing import Any

import msgspec

from petra.kernel import events as e
from petra.kernel.lists import branched, check_branches
from petra.kernel.objects import excess
from petra.kernel.program import ArcPlan, StepPlan
from petra.kernel.scope import View
from petra.kernel.state import Branch, Stack, StepRun, derive, derived
from petra.kernel.turn import TransformError, Turn
from petra.kernel.waiting import moment
from petra.references import is_reference, part_of
from petra.wire import Error

FANNED_BYTES = 64 * 1024
"""Bytes of arguments that the tokens of one firing have in its events; the items of ``foreach`` come on top."""
SHARED_BYTES = 128 * 1024
"""Bytes of arguments that are one object: whoever needs one of them reads no more than that."""
PART_BYTES = 512
"""A value that is no larger stays as it is: a reference would not be smaller."""


class Routed(msgspec.Struct, gc=False):
    """What routing chose."""

    arcs: list[int] = []
    produced: list[e.Produced] = []
    group: e.NewGroup | None = None
    timers: list[e.NewTimer] = []
    handled: bool = False
    counts_read: bool = False


def route(turn: Turn, plan: StepPlan, run: StepRun, view: View, *, ok: bool) -> Routed:
    """Choose the arcs after a boundary event and make their tokens.

    Raises:
        TransformError: a guard, an argument or a list could not be evaluated.
    """
    chosen = _matching(turn, plan, view, ok=ok)
    routed = Routed(arcs=[arc.number for arc in chosen])
    if not chosen:
        return routed
    tokens: list[tuple[ArcPlan, dict[str, Any], Any]] = []
    multiplies = plan.step.inclusive
    for arc in chosen:
        routed.handled = routed.handled or arc.is_handler
        routed.counts_read = routed.counts_read or arc.reads_counts
        multiplies = multiplies or arc.multiplies
        tokens += _tokens(turn, arc, view, len(tokens))
    if multiplies:
        _group(turn, plan, run, routed, tokens)
    else:
        first, args, _ = tokens[0]
        routed.produced.append(_token(turn, run, first, args, run.stack, None, None))
    if turn.program.has_timed_joins:
        routed.timers += _timers(turn, routed)
    return routed


def onward(turn: Turn, plan: StepPlan, run: StepRun) -> Routed:
    """Route a success of a step that goes one way: nothing needs to be evaluated."""
    if not plan.arcs:
        return Routed()
    arc = plan.arcs[0]
    routed = Routed(arcs=[arc.number], produced=[_token(turn, run, arc, {}, run.stack, None, None)])
    if turn.program.has_timed_joins:
        routed.timers += _timers(turn, routed)
    return routed


def _matching(turn: Turn, plan: StepPlan, view: View, *, ok: bool) -> list[ArcPlan]:
    arcs = []
    for arc in plan.arcs:
        if not ok and not plan.best_effort and not arc.is_handler:
            continue
        if turn.holds(arc.guard, view, exact=True):
            arcs.append(arc)
            if not plan.step.inclusive:
                break
    return arcs


def _tokens(
    turn: Turn, arc: ArcPlan, view: View, others: int
) -> list[tuple[ArcPlan, dict[str, Any], Any]]:
    """Return the tokens of one arc as (arc, args, item); the same firing makes so many others."""
    if arc.bare:
        return [(arc, {}, None)]
    what = f"the arc to '{arc.arc.step}'"
    if arc.foreach is not None:
        items = branched(turn, arc.foreach, view, f"foreach of {what}")
        check_branches(others + len(items), f"foreach of {what}")
        name = arc.arc.item
        tokens = []
        for item in items:
            args = _args(turn, arc, view, what, {name: item})
            renamed = name in arc.args.value
            tokens.append((arc, args, turn.keep(item, what) if renamed else args[name]))
        return tokens
    if arc.copies is not None:
        copies = turn.render(arc.copies, view, f"copies of {what}")
        if not isinstance(copies, int) or isinstance(copies, bool) or copies < 0:
            message = f"copies of {what} is not a whole number"
            raise TransformError(Error(kind="transform", message=message))
        check_branches(others + copies, f"copies of {what}")
        args = _same(turn, _args(turn, arc, view, what, {}), copies)
        return [(arc, args, None)] * copies
    return [(arc, _args(turn, arc, view, what, {}), None)]


def _same(turn: Turn, args: dict[str, Any], copies: int) -> dict[str, Any]:
    """Return the arguments of tokens that are all alike: what is heavy in them is stored once for all."""
    heavy = _heavy(args) if args and copies > 1 and turn.objects.can_store else []
    if not heavy or excess(args, 0) * copies <= FANNED_BYTES:
        return args
    whole = turn.objects.put(args)
    return {**args, **{name: part_of(whole, name) for name in heavy}}


def _args(turn: Turn, arc: ArcPlan, view: View, what: str, item: dict[str, Any]) -> dict[str, Any]:
    """Render the arguments of one token; the item of a ``foreach`` is one of them."""
    if arc.args.constant and not arc.args.value and not item:
        return {}
    args: dict[str, Any] = {**item, **turn.hand_on(arc.args, view, f"args of {what}", item)}
    return turn.keep_all(args, f"args of {what}")


def _group(
    turn: Turn,
    plan: StepPlan,
    run: StepRun,
    routed: Routed,
    tokens: list[tuple[ArcPlan, dict[str, Any], Any]],
) -> None:
    join = turn.program.joins.get(plan.name)
    tokens = _light(turn, tokens)
    if not tokens:
        if join is not None:
            arc = next((a.number for a in plan.arcs if a.number in routed.arcs), 0)
            nobody = derive("group", run.id)
            routed.group = e.NewGroup(id=nobody, size=0, join=join)
            routed.produced.append(
                e.Produced(
                    id=derive(run.id, "empty"), step=join, arc=arc, empty=True, arrives=nobody
                )
            )
        return
    routed.group = e.NewGroup(
        id=derive("group", run.id),
        size=len(tokens),
        join=join,
        items=[item for _, _, item in tokens],
        arcs=[arc.number for arc, _, _ in tokens],
    )
    claimed: set[str] = set()
    owner = join
    for index, (step, args, _) in enumerate(tokens):
        stack = (*run.stack, Branch(routed.group.id, index))
        token = _token(turn, run, step, args, stack, index, routed.group)
        if token.arrives == routed.group.id:
            owner = owner or token.step
        # the first join to receive a branch owns the group; and an outer branch arrives once
        if token.arrives in claimed or (token.arrives == routed.group.id and token.step != owner):
            token = msgspec.structs.replace(token, arrives=None)
        elif token.arrives is not None and token.arrives != routed.group.id:
            claimed.add(token.arrives)
        routed.produced.append(token)


_Made = tuple[ArcPlan, dict[str, Any], Any]


def _light(turn: Turn, tokens: list[_Made]) -> list[_Made]:
    """Make the arguments of many tokens light: the larger values become parts of objects they share."""
    if not turn.objects.can_store or not excess([args for _, args, _ in tokens], FANNED_BYTES):
        return tokens
    light: list[_Made] = []
    shared: list[_Made] = []
    size = 0
    for token in tokens:
        size += excess(token[1], 0)
        shared.append(token)
        if size > SHARED_BYTES:
            light += _shared(turn, shared)
            shared, size = [], 0
    return light + (_shared(turn, shared) if shared else [])


def _shared(turn: Turn, tokens: list[_Made]) -> list[_Made]:
    heavy = [_heavy(args) for _, args, _ in tokens]
    if not any(heavy):
        return tokens
    whole = turn.objects.put([args for _, args, _ in tokens])
    lighter: list[_Made] = []
    for index, (arc, args, item) in enumerate(tokens):
        large = {name: part_of(whole, index, name) for name in heavy[index]}
        name = arc.arc.item if arc.foreach is not None else ""
        same = name in large and args[name] is item
        lighter.append((arc, {**args, **large}, large[name] if same else item))
    return lighter


def _heavy(args: dict[str, Any]) -> list[str]:
    """Return the arguments that are better parts of an object."""
    return [
        name
        for name, value in args.items()
        if excess(value, PART_BYTES) and not is_reference(value)
    ]


def _timers(turn: Turn, routed: Routed) -> list[e.NewTimer]:
    """Make the timers of joins: for a group whose join is certain, or that got one by an arrival."""
    joins: dict[str, tuple[str, float]] = {}
    if routed.group is not None and routed.group.join is not None:
        joins[routed.group.id] = (routed.group.join, turn.now)
    for token in routed.produced:
        known = turn.state.groups.get(token.arrives or "")
        if known is not None and known.join is None:
            joins[known.id] = (token.step, known.created_at)
        elif token.arrives is not None and known is None:
            joins[token.arrives] = (token.step, turn.now)
    timers = []
    for group, (step, since) in joins.items():
        join = turn.plan(step).join
        if join is not None and join.timeout_s is not None:
            due = moment(since + join.timeout_s)
            timers.append(e.NewTimer(id=derive("join", group), due=due, kind="join", group=group))
    return timers


def _token(
    turn: Turn,
    run: StepRun,
    arc: ArcPlan,
    args: dict[str, Any],
    stack: Stack,
    index: int | None,
    group: e.NewGroup | None,
) -> e.Produced:
    return e.Produced(
        id=derived(f"{run.id}\0{arc.number}\0{index or 0}"),
        step=arc.arc.step,
        arc=arc.number,
        args=args,
        index=index,
        arrives=arrival(turn, arc.arc.step, stack, group, run.step),
    )


def closed_level(
    turn: Turn, step: str, stack: Stack, new: tuple[str, str] | None = None
) -> Branch | None:
    """Return the level of a stack that the join of a step closes: the innermost, or the one ``of`` names."""
    plan = turn.program.steps[step]
    join = plan.join
    if join is None or plan.pairs_arcs:
        return None
    for level in reversed(stack):
        group = turn.state.groups.get(level.group)
        origin = (
            group.step if group is not None else new[1] if new and new[0] == level.group else None
        )
        detached = group is not None and group.fired  # it cannot feed a join further out
        if origin is not None and (join.of in (None, origin) or detached):
            return level
    return None


def arrival(
    turn: Turn, step: str, stack: Stack, group: e.NewGroup | None, origin: str
) -> str | None:
    """Return the group that a token closes by arriving at a step, if it may still do so."""
    if turn.program.steps[step].join is None:
        return None
    new = (group.id, origin) if group is not None else None
    level = closed_level(turn, step, stack, new)
    if level is None:
        return None
    known = turn.state.groups.get(level.group)
    if known is None:
        assert group is not None
        return level.group if group.join in (None, step) else None
    if known.fired or known.join not in (None, step) or level.branch in known.arrived:
        return None
    return level.group
