"""XES for token replay: the firings of the playbook's net, under the names that ``petra graph -f pnml`` gives them.

Rule 1: of the branches of a list, whose number only the data know, the net has one that stands for all of them;
so has this profile: one that reached the join, where there is one. ``petra:stands_for`` says for how many.
Rule 2: the net keeps count of groups with transitions of its own; they are put in where they fire.
Rule 3: tokens that are withdrawn leave with the firing that resets their places: no event of their own.
Rule 4: what is no firing of the net (an operator's override, a live change of a group, a compensation) has no name in
it. From there on events have the plain names of their transitions, and ``petra:off_net`` says so.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from petra.export.align import Firing, align
from petra.export.life import ExportedLog, Moment, life
from petra.export.xes import Attribute, XesEvent, write
from petra.kernel import events as e
from petra.net.compile import Compiled, compile  # noqa: A004 - the word of the trade


def firings_xes(log: ExportedLog) -> str:
    """Return the firings of an execution; replayed on the exported net, they fit it."""
    compiled = compile(log.playbook)
    wanted = list(firings(log, compiled))
    names = align(compiled, wanted, ended=log.status in ("completed", "partial", "failed"))
    return write(log, list(_events(compiled, wanted, names)), "firings")


def _events(
    compiled: Compiled, wanted: list[Firing], names: list[list[str]] | None
) -> Iterator[XesEvent]:
    for number, firing in enumerate(wanted):
        if names is None:
            name = f"{firing.step}.{firing.kind}"
            yield XesEvent(name, "complete", firing.at, firing.seq, {"petra:off_net": True})
            continue
        for name in names[number]:
            origin = compiled.origin[name]
            own = origin.step == firing.step and origin.kind == firing.kind
            more: dict[str, Attribute | None] = {
                "petra:step": origin.step,
                "petra:bookkeeping": None if own else True,
                "petra:stands_for": firing.stands_for if firing.stands_for > 1 else None,
            }
            yield XesEvent(name, "complete", firing.at, firing.seq, more)
    for name in names[-1] if names else ():
        last = wanted[-1]
        yield XesEvent(name, "complete", last.at, last.seq, {"petra:bookkeeping": True})


# From records to firings


@dataclass(slots=True)
class _Tokens:
    """Where the live tokens are: those of the log, and which of them the net has."""

    stacks: dict[str, tuple[tuple[str, int], ...]] = field(default_factory=dict)
    steps: dict[str, str] = field(default_factory=dict)
    shown: set[str] = field(default_factory=set)
    crowds: dict[str, int] = field(default_factory=dict)


def firings(log: ExportedLog, compiled: Compiled) -> Iterator[Firing]:
    """Yield the firings that the net can show, in the order of the log."""
    moments = list(life(log.records))
    closed = _closed(moments)
    tokens = _Tokens()
    for moment in moments:
        firing = _firing(moment, tokens, compiled, closed)
        if firing is not None:
            yield firing


def _firing(
    moment: Moment, tokens: _Tokens, compiled: Compiled, closed: dict[str, set[int]]
) -> Firing | None:
    event, shown = moment.event, tokens.shown
    match event:
        case e.ExecutionStarted():
            _put(tokens, event.entry, ())
            shown.add(event.entry.id)
        case e.StepStarted() if not event.compensates:
            here = [token for token in event.consumed if token in shown]
            _start(tokens, event, here)
            if here:
                crowd = max((tokens.crowds.get(token, 1) for token in here), default=1)
                return Firing("start", event.step, moment.seq, moment.at, stands_for=crowd)
        case e.StepEnded():
            return _end(moment, event, tokens, compiled, closed)
        case e.TokenDiscarded() if event.token in shown:
            shown.discard(event.token)
            step = tokens.steps.get(event.token, "")
            return Firing("discard", step, moment.seq, moment.at)
        case e.RunReturned() if event.run in shown:
            _put(tokens, event.token, tokens.stacks.get(event.run, ()))
            shown.add(event.token.id)
            shown.discard(event.run)
            return Firing("withdraw", event.token.step, moment.seq, moment.at)
        case e.Withdrawn():
            shown.difference_update(event.tokens, event.runs)
        case e.FinalStarted():
            _put(tokens, event.token, ())
            shown.add(event.token.id)
            return Firing("finally", event.token.step, moment.seq, moment.at)
        case _:
            pass
    return None


def _put(tokens: _Tokens, token: e.Produced, stack: tuple[tuple[str, int], ...]) -> None:
    tokens.stacks[token.id] = stack
    tokens.steps[token.id] = token.step


def _start(tokens: _Tokens, event: e.StepStarted, here: list[str]) -> None:
    first = tokens.stacks.get(event.consumed[0], ()) if event.consumed else ()
    stack = first if event.stack is None else tuple((group, index) for group, index in event.stack)
    tokens.stacks[event.run] = stack
    tokens.shown.difference_update(event.consumed)
    if here:
        tokens.shown.add(event.run)
        tokens.crowds[event.run] = 1 if event.group is not None else tokens.crowds.get(here[0], 1)


def _end(
    moment: Moment,
    event: e.StepEnded,
    tokens: _Tokens,
    compiled: Compiled,
    closed: dict[str, set[int]],
) -> Firing | None:
    sources = [event.run, *event.consumed]
    if not any(source in tokens.shown for source in sources):
        return None
    stack = next((tokens.stacks[one] for one in sources if one in tokens.stacks), ())
    tokens.shown.difference_update(sources)
    crowd = tokens.crowds.get(event.run, 1)
    chosen = _chosen(event, compiled, closed)
    for token in event.produced:
        group = event.group.id if event.group is not None else ""
        inside = (*stack, (group, token.index)) if token.index is not None else stack
        _put(tokens, token, inside)
        if token.id in chosen:
            tokens.shown.add(token.id)
            tokens.crowds[token.id] = crowd * chosen[token.id]
    kind = "failed" if isinstance(event, e.StepFailed) else "done"
    makes = Counter(made.step for made in event.produced if made.id in chosen and not made.empty)
    return Firing(
        kind, event.step, moment.seq, moment.at,
        arcs=tuple(sorted(event.arcs)), makes=tuple(sorted(makes.items())), stands_for=crowd,
    )  # fmt: skip


def _chosen(event: e.StepEnded, compiled: Compiled, closed: dict[str, set[int]]) -> dict[str, int]:
    """Choose the produced tokens that the net has, with how many each stands for."""
    if event.group is None:
        return {token.id: 1 for token in event.produced}
    contexts = compiled.contexts
    routings = contexts.on_failure if isinstance(event, e.StepFailed) else contexts.on_success
    counted = {
        option.arc: max(option.counts)
        for option in routings[event.step].options
        if option.multiplies
    }
    arrived = closed.get(event.group.id, set())
    counts: dict[str, int] = {}
    for arc in dict.fromkeys(token.arc for token in event.produced):
        branches = [token for token in event.produced if token.arc == arc]
        if arc not in counted or counted[arc] >= len(branches):
            counts.update({token.id: 1 for token in branches})
            continue
        first = next((token for token in branches if token.index in arrived), branches[0])
        counts[first.id] = len(branches)
    return counts


def _closed(moments: list[Moment]) -> dict[str, set[int]]:
    """Return which branches of each group its join took."""
    stacks: dict[str, tuple[tuple[str, int], ...]] = {}
    seqs: dict[str, set[int]] = {}
    for moment in moments:
        match moment.event:
            case e.StepStarted() as event:
                own = stacks.get(event.consumed[0], ()) if event.consumed else ()
                if event.stack is not None:
                    own = tuple((group, index) for group, index in event.stack)
                stacks[event.run] = own
                for token in event.consumed if event.group is not None else ():
                    for group, index in stacks.get(token, ()):
                        if group == event.group:
                            seqs.setdefault(group, set()).add(index)
            case e.StepEnded() as event:
                own = stacks.get(event.run, ())
                group = event.group.id if event.group is not None else ""
                for made in event.produced:
                    inside = made.index is not None
                    stacks[made.id] = (*own, (group, made.index or 0)) if inside else own
            case _:
                pass
    return seqs
