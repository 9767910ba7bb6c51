"""Which transitions of the compiled net recorded firings are: a run of the net that has them in order.

A log knows the step and the arcs of a firing; the net has a transition per choice and per context, and some of its
own that keep count of groups. The marking decides, and where it leaves a choice, a search does.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from petra.net.compile import Compiled
from petra.net.net import Transition

TRIES_MAX = 200_000
"""The most firings that a search tries before it gives up, and ten more for each that is wanted."""
Marking = dict[str, int]


@dataclass(frozen=True, slots=True)
class Firing:
    """A recorded firing: what is known about the transition of the net that it is."""

    kind: str
    step: str
    seq: int
    at: float
    arcs: tuple[int, ...] | None = None
    makes: tuple[tuple[str, int], ...] | None = None
    stands_for: int = 1


class _Net:
    """The compiled net, asked which transitions a firing may be."""

    def __init__(self, compiled: Compiled) -> None:
        self.compiled = compiled
        self.transitions = compiled.net.transitions
        self.by_place: dict[tuple[str, str], list[str]] = {}
        self.silent: list[str] = []
        for name, transition in self.transitions.items():
            origin = compiled.origin[name]
            if origin.kind in ("over", "unreachable") or any(map(_is_choice, transition.inputs)):
                self.silent.append(name)
            else:
                self.by_place.setdefault((origin.step, origin.kind), []).append(name)

    def candidates(self, firing: Firing) -> list[str]:
        """Return the transitions that a firing may be, those that say the same arcs first."""
        transitions = self.by_place.get((firing.step, firing.kind), [])
        if firing.arcs is None:
            return transitions
        exact = [
            name
            for name in transitions
            if tuple(sorted(self.compiled.origin[name].arcs)) == firing.arcs
            and self._makes(name) == firing.makes
        ]
        return exact or transitions

    def _makes(self, name: str) -> tuple[tuple[str, int], ...]:
        counts: Counter[str] = Counter()
        for place, count in self.transitions[name].outputs.items():
            origin = self.compiled.origin.get(place)
            if origin is not None and origin.kind.startswith("ready"):
                counts[origin.step] += count
        return tuple(sorted(counts.items()))


def _is_choice(place: str) -> bool:
    return " choosing " in place or " chose " in place


def align(compiled: Compiled, wanted: list[Firing], *, ended: bool) -> list[list[str]] | None:
    """Name the transitions of each firing, those of the net's own counting before them; None: it does not fit.

    The last list holds what fires after the last one, where that leads to the end of the net.
    """
    net = _Net(compiled)
    finals = [dict(final) for final in compiled.ends] if ended else []
    aligned = _search(net, wanted, finals)
    return aligned if aligned is not None or not finals else _search(net, wanted, [])


def _search(net: _Net, wanted: list[Firing], finals: list[Marking]) -> list[list[str]] | None:
    """Search depth first for a run of the net with the wanted firings in order."""
    start: Marking = {place: n for place, n in net.compiled.net.initial.items() if n}
    path: list[tuple[int, str]] = []
    frames = [(start, 0, _moves(net, wanted, 0))]
    for _ in range(TRIES_MAX + 10 * len(wanted)):
        if not frames:
            return None
        marking, number, left = frames[-1]
        if number == len(wanted) and _is_final(net, marking, finals):
            return _grouped(path, len(wanted))
        step = next(left, None)
        if step is None:
            frames.pop()
            path[-1:] = []
            continue
        after = _fired(net.transitions[step[1]], marking)
        if after is not None:
            path.append((number, step[1]))
            frames.append((after, step[0], _moves(net, wanted, step[0])))
    return None


def _moves(net: _Net, wanted: list[Firing], number: int) -> Iterator[tuple[int, str]]:
    """Yield what may fire next, with how many of the wanted firings are then behind."""
    if number < len(wanted):
        for name in net.candidates(wanted[number]):
            yield number + 1, name
    for name in net.silent:
        yield number, name


def _is_final(net: _Net, marking: Marking, finals: list[Marking]) -> bool:
    optional = net.compiled.optional

    def left(final: Marking) -> Marking:
        return {p: n for p, n in marking.items() if p not in optional or p in final}

    return not finals or any(left(final) == final for final in finals)


def _grouped(path: list[tuple[int, str]], count: int) -> list[list[str]]:
    groups: list[list[str]] = [[] for _ in range(count + 1)]
    for number, name in path:
        groups[number].append(name)
    return groups


def _fired(transition: Transition, marking: Mapping[str, int]) -> Marking | None:
    after = dict(marking)
    for place, count in transition.inputs.items():
        left = after.get(place, 0) - count
        if left < 0:
            return None
        after[place] = left
    if any(not marking.get(place) for place in transition.reads):
        return None
    for place in transition.resets:
        after[place] = 0
    for place, count in transition.outputs.items():
        after[place] = after.get(place, 0) + count
    return {place: count for place, count in after.items() if count}
