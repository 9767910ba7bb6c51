"""Say what is wrong with a net, in the names of the net as it was written.

A full breadth-first search gives the shortest way to each kind of defect. Where that is too much, a
stubborn one still gives the shortest way to a marking where nothing can fire. Where that is too much
as well, the trail of the reduction leads back from the small net, by a way that may be longer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from petra.net.soundness.decide import search, stubborn_proves
from petra.net.soundness.explore import Defect, wide_packing
from petra.net.soundness.verdict import Counterexample, Finding, Kind, Property

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from petra.net.soundness.decide import Conclusion
    from petra.net.soundness.explore import Space
    from petra.net.soundness.flow import FlowNet
    from petra.net.soundness.verdict import Limits, Status

_BROKEN: Mapping[Defect, tuple[Property, Kind]] = {
    Defect.STUCK: ("option-to-complete", "stuck"),
    Defect.ENDLESS: ("option-to-complete", "endless"),
    Defect.LEFTOVER: ("proper-completion", "leftover"),
    Defect.CROWDED: ("safe", "crowded"),
    Defect.GROWING: ("bounded", "growing"),
}


def explain(
    whole: FlowNet, decision: Conclusion, limits: Limits
) -> tuple[tuple[Finding, ...], int]:
    """Return the findings about an unsound net, and how many markings the search for them saw."""
    full = search(
        whole, limit=limits.explain, stubborn=False, stop_early=False, budget=limits.budget
    )
    seen = len(full.markings)
    if full.defects or full.complete:
        return _findings(whole, full, full=True, dead_known=full.complete), seen
    if not whole.has_resets:
        part = search(
            whole, limit=limits.explain, stubborn=True, stop_early=False, budget=limits.budget
        )
        seen += len(part.markings)
        dead_known = part.complete and stubborn_proves(whole) and not part.defects
        if part.defects or dead_known:
            return _findings(whole, part, full=False, dead_known=dead_known), seen
    return _findings_by_trail(whole, decision.space), seen


def _findings(net: FlowNet, space: Space, *, full: bool, dead_known: bool) -> tuple[Finding, ...]:
    examples: dict[Property, Counterexample] = {}
    for defect, index in space.defects.items():
        shortest = defect is Defect.STUCK or (full and defect is not Defect.GROWING)
        example = _example(net, defect, space.firings(index), shortest=shortest)
        if defect is not Defect.ENDLESS or example.breaks not in examples:
            examples[example.breaks] = example
    dead: tuple[str, ...] = ()
    if dead_known and net.goal.any_of is None:
        dead = tuple(name for flow in space.dead_flows() for name in net.flows[flow].path)
        if dead:
            examples["no-dead-transitions"] = _dead_example(net, dead)
    return statuses(
        net, examples, otherwise="holds" if full and space.complete else "unknown", dead=dead
    )


def _findings_by_trail(net: FlowNet, space: Space) -> tuple[Finding, ...]:
    examples: dict[Property, Counterexample] = {}
    for defect, index in space.defects.items():
        # Where the small net is stuck, the whole one may still move, but never to an end.
        seen = Defect.ENDLESS if defect is Defect.STUCK else defect
        example = _example(net, seen, space.firings(index), shortest=False)
        examples.setdefault(example.breaks, example)
    if not space.defects:
        flow = space.packing.net.flows[space.dead_flows()[0]]
        examples["no-dead-transitions"] = _dead_example(net, flow.path, among=True)
    return statuses(net, examples, otherwise="unknown")


def statuses(
    net: FlowNet,
    examples: Mapping[Property, Counterexample],
    *,
    otherwise: Status,
    dead: tuple[str, ...] = (),
) -> tuple[Finding, ...]:
    """Return a finding for each property; those not found violated are ``otherwise``."""
    asked: tuple[Property, ...] = ("option-to-complete", "proper-completion", "no-dead-transitions")
    if net.goal.any_of is None:
        asked = (*asked, "bounded")
        required = set(asked)
    else:
        asked = (*asked, "safe")
        required = {"option-to-complete", "safe"}
    return tuple(
        Finding(
            property=name,
            status="violated"
            if name in examples
            else otherwise
            if name in required
            else "not-required",
            counterexample=examples.get(name),
            transitions=dead if name == "no-dead-transitions" else (),
        )
        for name in asked
    )


def _example(
    net: FlowNet, defect: Defect, firings: tuple[str, ...], *, shortest: bool
) -> Counterexample:
    markings = list(_replay(net, firings))
    last = markings[-1]
    breaks, kind = _BROKEN[defect]
    return Counterexample(
        breaks=breaks,
        kind=kind,
        firings=firings,
        marking=_named(net, last),
        sentence=f"{_after(firings)} {_what(net, defect, markings)}",
        shortest=shortest,
    )


def _dead_example(net: FlowNet, dead: tuple[str, ...], *, among: bool = False) -> Counterexample:
    """Name transitions that can never fire; ``among``: at least one of these."""
    shown = ", ".join(repr(name) for name in dead[:5]) + (" and more" if len(dead) > 5 else "")
    if among and len(dead) > 1:
        sentence = f"at least one of the transitions {shown} can never fire"
    else:
        sentence = f"transition{'s' if len(dead) > 1 else ''} {shown} can never fire"
    return Counterexample(
        breaks="no-dead-transitions",
        kind="dead",
        firings=(),
        marking=_named(net, net.initial),
        sentence=sentence,
    )


def _replay(net: FlowNet, firings: tuple[str, ...]) -> Iterator[dict[int, int]]:
    flows = {flow.path[0]: flow for flow in net.flows}
    marking = dict(net.initial)
    yield marking
    for name in firings:
        flow = flows[name]
        after = {place: count - flow.needs.get(place, 0) for place, count in marking.items()}
        after = {place: 0 if place in flow.resets else count for place, count in after.items()}
        for place, count in flow.gives.items():
            after[place] = after.get(place, 0) + count
        marking = {place: count for place, count in after.items() if count}
        yield marking


def _what(net: FlowNet, defect: Defect, markings: list[dict[int, int]]) -> str:
    last = markings[-1]
    match defect:
        case Defect.STUCK:
            return f"nothing can fire, with {_tokens(net, last)}{_waiting(net, last)}"
        case Defect.ENDLESS:
            return f"the net can go on, but can never end, with {_tokens(net, last)}"
        case Defect.LEFTOVER:
            return f"the end is reached, but not alone: {_tokens(net, last)}"
        case Defect.CROWDED:
            crowded = {place: count for place, count in last.items() if count > 1}
            return f"a place holds more than one token: {_tokens(net, crowded)}"
        case Defect.GROWING:
            return f"tokens can pile up for ever: {_tokens(net, _growth(net, markings))} more each time"


def _growth(net: FlowNet, markings: list[dict[int, int]]) -> dict[int, int]:
    """Return by how much the last marking exceeds the latest earlier one that it covers."""
    last, packing = markings[-1], wide_packing(net)
    packed = packing.pack(last)
    for earlier in reversed(markings[:-1]):
        if packing.covers(packed, packing.pack(earlier)):
            return {
                place: count - earlier.get(place, 0)
                for place, count in last.items()
                if count > earlier.get(place, 0)
            }
    return last


def _waiting(net: FlowNet, marking: dict[int, int]) -> str:
    """Name one transition that has some of its tokens, and what it lacks."""
    for flow in net.flows:
        lacking = [place for place, count in flow.needs.items() if marking.get(place, 0) < count]
        if 0 < len(lacking) < len(flow.needs):
            missing = ", ".join(repr(net.places[place]) for place in lacking)
            return f"; {flow.path[0]!r} waits for ever for {missing}"
    return ""


def _tokens(net: FlowNet, marking: Mapping[int, int]) -> str:
    if not marking:
        return "no token anywhere"
    named = sorted(_named(net, marking).items())
    shown = ", ".join(
        repr(place) if count == 1 else f"{count} tokens in {place!r}" for place, count in named[:6]
    )
    plain = all(count == 1 for _, count in named)
    more = f" and {len(named) - 6} more places" if len(named) > 6 else ""
    return ("a token in " if plain else "") + shown + more


def _after(firings: tuple[str, ...]) -> str:
    if not firings:
        return "at the start"
    if len(firings) <= 12:
        return f"after {' → '.join(firings)}"
    return f"after {' → '.join(firings[:3])} → … → {' → '.join(firings[-6:])}"


def _named(net: FlowNet, marking: Mapping[int, int]) -> dict[str, int]:
    return {net.places[place]: count for place, count in marking.items() if count}
