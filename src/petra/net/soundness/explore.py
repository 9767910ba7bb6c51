"""Explicit search: every marking is one integer, and every test on it a few operations on integers.

Each place owns a field of bits; the top bit of a field is a guard. ``(marking | guards) - needs``
keeps all guards exactly when every field holds enough, so one subtraction asks for all places at
once. In a safe net a field is two bits wide; a net that turns out not to be safe is searched again
with wider fields.

A marking is tested when it is first seen, and breadth-first search sees near markings first: hence
the first marking of each kind is one of the nearest.
"""

from __future__ import annotations

from collections import deque
from enum import Enum
from typing import TYPE_CHECKING

from msgspec import Struct, field

if TYPE_CHECKING:
    from collections.abc import Sequence

    from petra.net.budget import Budget
    from petra.net.soundness.flow import FlowNet
    from petra.net.soundness.stubborn import Stubborn

#: Tokens that a place may at least hold in the search of a net that is not safe.
WIDE = 127

#: The first so many markings are compared with all markings on the way to them, later ones with the
#: last few: comparing everything with everything would cost the square of the length of a way.
THOROUGH, LAST_FEW = 1_000, 50


class Defect(Enum):
    """What can be wrong with one reachable marking."""

    STUCK = "not final, and nothing can fire"
    LEFTOVER = "covers a final marking, with tokens left over"
    CROWDED = "two tokens in one place of a net that must be safe"
    GROWING = "more tokens than a marking on the way to it, so it can grow for ever"
    ENDLESS = "no final marking can be reached any more"


class Packing:
    """How markings of one net become integers."""

    def __init__(self, net: FlowNet, *, cap: int) -> None:
        self.net = net
        self.cap = cap
        gives = max((n for flow in net.flows for n in flow.gives.values()), default=0)
        needs = max((n for flow in net.flows for n in flow.needs.values()), default=0)
        final = max((n for marking in net.goal.markings for n in marking.values()), default=0)
        start = max(net.initial.values(), default=0)
        self.width = 1 + max(
            (cap + gives - 1).bit_length(), *map(int.bit_length, (needs, final, start, cap))
        )
        self.ones = sum(1 << place * self.width for place in range(len(net.places)))
        self.guards = self.ones << self.width - 1
        self.over = self.ones * ((1 << self.width) - 1 & ~cap)
        self.initial = self.pack(net.initial)
        self.needs = [self.pack(flow.needs) for flow in net.flows]
        self.gives = [self.pack(flow.gives) for flow in net.flows]
        self.resets = [self._fields(flow.resets) for flow in net.flows]
        self.finals = {self.pack(marking) for marking in net.goal.markings}
        self.beside = ~self._fields(net.goal.any_of) if net.goal.any_of is not None else 0
        self.affected = self._affected()
        self.touched = [frozenset(flows) for flows in self.affected]

    def pack(self, marking: dict[int, int]) -> int:
        """Return the marking as one integer."""
        return sum(count << place * self.width for place, count in marking.items())

    def unpack(self, packed: int) -> dict[str, int]:
        """Return the marked places by name, with their tokens."""
        field_bits = (1 << self.width) - 1
        counts = (
            (name, packed >> i * self.width & field_bits) for i, name in enumerate(self.net.places)
        )
        return {name: count for name, count in counts if count}

    def is_final(self, marking: int) -> bool:
        """Tell whether the net may end here."""
        if self.beside:
            return marking != 0 and not marking & self.beside
        return marking in self.finals

    def covers(self, large: int, small: int) -> bool:
        """Tell whether no place holds less in ``large`` than in ``small``."""
        return ((large | self.guards) - small) & self.guards == self.guards

    def has_leftover(self, marking: int) -> bool:
        """Tell whether a final marking is there, but not alone."""
        covers = any(self.covers(marking, final) for final in self.finals)
        return covers and marking not in self.finals

    def _fields(self, places: frozenset[int]) -> int:
        return sum(((1 << self.width) - 1) << place * self.width for place in places)

    def _affected(self) -> list[list[int]]:
        """List, for each flow, the flows that its firing may enable or disable."""
        takers: list[list[int]] = [[] for _ in self.net.places]
        for index, flow in enumerate(self.net.flows):
            for place in flow.needs:
                takers[place].append(index)
        return [
            sorted(
                {
                    taker
                    for place in {*flow.needs, *flow.gives, *flow.resets}
                    if flow.needs.get(place, 0) != flow.gives.get(place, 0) or place in flow.resets
                    for taker in takers[place]
                }
            )
            for flow in self.net.flows
        ]


def safe_packing(net: FlowNet) -> Packing:
    """Pack for a net that never has two tokens in a place."""
    return Packing(net, cap=1)


def wide_packing(net: FlowNet) -> Packing:
    """Pack for a net whose places may hold several tokens."""
    start = max(net.initial.values(), default=0)
    return Packing(net, cap=max(WIDE, (1 << (2 * start).bit_length()) - 1))


class Space(Struct):
    """The markings seen, how each was first reached, and the first of each kind of defect."""

    packing: Packing
    markings: list[int] = field(default_factory=list)
    reached: list[tuple[int, int]] = field(default_factory=list)
    came_from: list[list[int]] = field(default_factory=list)
    finals: list[int] = field(default_factory=list)
    defects: dict[Defect, int] = field(default_factory=dict)
    fired: set[int] = field(default_factory=set)
    complete: bool = False
    overflow: bool = False

    def firings(self, index: int) -> tuple[str, ...]:
        """Return the transitions, by name, that first led to a marking."""
        flows: list[int] = []
        while index:
            index, flow = self.reached[index]
            flows.append(flow)
        names = [name for flow in reversed(flows) for name in self.packing.net.flows[flow].path]
        return (*self.packing.net.prefix, *names)

    def dead_flows(self) -> list[int]:
        """Return the flows that never fired; meaningful when the search is complete."""
        return [index for index in range(len(self.packing.net.flows)) if index not in self.fired]


def explore(
    packing: Packing,
    *,
    limit: int,
    choose: Stubborn | None = None,
    stop_early: bool = False,
    budget: Budget | None = None,
) -> Space:
    """Search the reachable markings, at most ``limit`` of them, and as far as the budget goes.

    ``choose`` picks, of the enabled flows, those to follow; without it all are followed.
    ``stop_early`` ends the search at the first defect, and goes deep first where that is cheap; otherwise it is
    breadth-first and ends when all is seen, tokens can grow for ever, or a place holds more than the packing allows.
    """
    space = Space(packing)
    search = _Search(packing, space, limit=limit, stop_early=stop_early)
    search.see(packing.initial, search.enabled_at_start(), (0, -1))
    take = search.work.pop if stop_early and packing.cap == 1 else search.work.popleft
    needs, gives = packing.needs, packing.gives
    keeps = [~resets for resets in packing.resets]
    known = search.known
    while search.work and not search.ended:
        index = take()
        marking = space.markings[index]
        enabled = search.enabled[index]
        search.enabled[index] = ()
        if budget is not None and budget.ends_at(len(enabled), choose):
            search.ended = True
            break
        for flow in enabled if choose is None else choose(marking, enabled):
            space.fired.add(flow)
            after = ((marking - needs[flow]) & keeps[flow]) + gives[flow]
            target = known.get(after)
            if target is None:
                able = search.enabled_after(after, enabled, flow)
                target = search.see(after, able, (index, flow))
                if target < 0:
                    break
            space.came_from[target].append(index)
    space.complete = not search.ended
    if space.complete:
        _find_endless(space)
    return space


class _Search:
    """What one search remembers besides its result."""

    def __init__(self, packing: Packing, space: Space, *, limit: int, stop_early: bool) -> None:
        self.packing = packing
        self.space = space
        self.limit = limit
        self.stop_early = stop_early
        self.known: dict[int, int] = {}
        self.work: deque[int] = deque()
        self.enabled: list[Sequence[int]] = []
        self.ended = False
        self.must_be_safe = packing.net.goal.any_of is not None

    def enabled_at_start(self) -> list[int]:
        packing = self.packing
        start = packing.initial
        return [flow for flow, needs in enumerate(packing.needs) if packing.covers(start, needs)]

    def enabled_after(self, marking: int, before: Sequence[int], fired: int) -> list[int]:
        """Return the enabled flows, asking again only those that the firing touched."""
        needs, guards = self.packing.needs, self.packing.guards
        affected, touched = self.packing.affected[fired], self.packing.touched[fired]
        guarded = marking | guards
        enabled = [flow for flow in before if flow not in touched]
        enabled += [flow for flow in affected if (guarded - needs[flow]) & guards == guards]
        return enabled

    def see(self, marking: int, enabled: Sequence[int], reached: tuple[int, int]) -> int:
        """Record a new marking, test it, and return its index; below zero when the search is over."""
        space, packing = self.space, self.packing
        if len(space.markings) >= self.limit:
            self.ended = True
            return -1
        index = len(space.markings)
        self.known[marking] = index
        space.markings.append(marking)
        space.reached.append(reached)
        space.came_from.append([])
        self.enabled.append(enabled)
        self.work.append(index)
        if marking & packing.over:
            self._too_much(index)
            return -1
        if packing.is_final(marking):
            space.finals.append(index)
        elif not enabled:
            self._found(Defect.STUCK, index)
        if packing.finals and packing.has_leftover(marking):
            self._found(Defect.LEFTOVER, index)
        if packing.cap > 1 and self._grows(index):
            self._found(Defect.GROWING, index)
            self.ended = True
        return -1 if self.ended else index

    def _found(self, defect: Defect, index: int) -> None:
        self.space.defects.setdefault(defect, index)
        self.ended |= self.stop_early

    def _too_much(self, index: int) -> None:
        self.ended = True
        if self.must_be_safe:
            self._found(Defect.CROWDED, index)
        else:
            self.space.overflow = True

    def _grows(self, index: int) -> bool:
        """Tell whether the marking is larger than one on the way to it.

        What a reset on that way empties does not add up, so no growth may lie there.
        """
        space, packing = self.space, self.packing
        marking, emptied = space.markings[index], 0
        comparisons = THOROUGH if index < THOROUGH else LAST_FEW
        while index and comparisons:
            comparisons -= 1
            index, flow = space.reached[index]
            emptied |= packing.resets[flow]
            earlier = space.markings[index]
            if packing.covers(marking, earlier) and not (marking - earlier) & emptied:
                return True
        return False


def _find_endless(space: Space) -> None:
    """Find the nearest marking from which no final marking can be reached."""
    can_end = [False] * len(space.markings)
    work = list(space.finals)
    for index in work:
        can_end[index] = True
    while work:
        for source in space.came_from[work.pop()]:
            if not can_end[source]:
                can_end[source] = True
                work.append(source)
    for index, ends in enumerate(can_end):
        if not ends:
            space.defects[Defect.ENDLESS] = index
            return
