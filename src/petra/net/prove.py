"""Is a playbook sound? A search of its net, at rest as the kernel means it (S11, S19).

The net is done when nothing is left: not one marked place, those apart that may keep a token. Transitions
with a priority wait until no other can fire. Of independent firings only as many are followed as matter
(stubborn sets, also around resets): from every marking seen, the same markings at rest can be reached
as in the whole net. That is argued for nets without ``or`` joins; with them it is tested against the
search of every order (``every_order``), not proved. Hence:

* a marking at rest that is not done is a defect, and the nearest one is the shortest counterexample;
* a marking from which no marking is seen that is done is doomed, in the whole net as well;
* if nothing is doomed and nothing is reset, every transition that can fire has fired in the search.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from msgspec import Struct, field

from petra.net.budget import Budget
from petra.net.soundness.explore import Packing, safe_packing, wide_packing
from petra.net.soundness.final import FinalMarkings
from petra.net.soundness.flow import number
from petra.net.soundness.stubborn import Stubborn

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from petra.net.compile import Compiled

#: How many markings are looked at before the search gives up.
MARKINGS_MAX = 20_000

#: As good as no limit to the work: that of the markings holds.
UNBOUNDED_S = 1e9

#: How many markings are looked at to make sure that a step is dead.
DEAD_MAX = 5_000

#: How many more are looked at once a place holds too many tokens to go on counting.
GROWING_MORE = 2_000


class Searched(Struct):
    """The markings seen, how each was reached, and what was found."""

    names: list[str]
    packing: Packing
    markings: list[int] = field(default_factory=list)
    reached: list[tuple[int, int]] = field(default_factory=list)
    follows: list[list[tuple[int, int]]] = field(default_factory=list)
    done: list[int] = field(default_factory=list)
    stuck: list[int] = field(default_factory=list)
    fired: set[int] = field(default_factory=set)
    complete: bool = False
    doomed: set[int] = field(default_factory=set)

    def firings(self, index: int) -> list[str]:
        """Return the transitions that first led to a marking."""
        way: list[str] = []
        while index:
            index, flow = self.reached[index]
            way.append(self.names[flow])
        return way[::-1]

    def marking(self, index: int) -> dict[str, int]:
        """Return the tokens by place."""
        return self.packing.unpack(self.markings[index])

    def way(
        self, start: int, goal: Callable[[int], bool], allowed: Callable[[str], bool]
    ) -> tuple[list[str], int] | None:
        """Return the shortest way, by allowed firings, to a marking that meets the goal."""
        came: dict[int, tuple[int, int]] = {start: (start, -1)}
        work = deque([start])
        while work:
            index = work.popleft()
            if goal(index):
                end, way = index, list[str]()
                while index != start:
                    index, flow = came[index]
                    way.append(self.names[flow])
                return way[::-1], end
            for flow, target in self.follows[index]:
                if target not in came and allowed(self.names[flow]):
                    came[target] = (index, flow)
                    work.append(target)
        return None


class Resting(Stubborn):
    """Stubborn sets of the transitions without a priority, resets included.

    A reset commutes neither with what fills the place nor with what takes from it.
    """

    def __init__(self, packing: Packing, at_rest: frozenset[int]) -> None:
        super().__init__(packing)
        flows = packing.net.flows
        touching: list[set[int]] = [set() for _ in packing.net.places]
        emptying: list[set[int]] = [set() for _ in packing.net.places]
        for index, flow in enumerate(flows):
            for place in {*flow.needs, *flow.gives}:
                touching[place].add(index)
            for place in flow.resets:
                emptying[place].add(index)
        if any(emptying):
            self.rivals = [
                rivals
                | frozenset().union(
                    *(touching[place] for place in flows[index].resets),
                    *(emptying[place] for place in {*flows[index].needs, *flows[index].gives}),
                )
                - {index}
                for index, rivals in enumerate(self.rivals)
            ]
        if at_rest:
            self.rivals = [rivals - at_rest for rivals in self.rivals]
            self.feeders = [feeders - at_rest for feeders in self.feeders]


def search(
    compiled: Compiled,
    limit: int = MARKINGS_MAX,
    *,
    every_order: bool = False,
    budget: Budget | None = None,
) -> Searched:
    """Search the net of a playbook, failures of the execution and the final step left out.

    ``every_order`` follows every firing, not only as many as matter. The search ends when the budget is spent.
    """
    net = compiled.sound_question
    budget = budget or Budget(UNBOUNDED_S)
    whole = number(net, dict(net.initial), FinalMarkings(net.final))
    narrow = _Search(compiled, safe_packing(whole), budget, every_order=every_order)
    searched = narrow.explore(limit)
    if searched is None:
        wide = _Search(compiled, wide_packing(whole), budget, every_order=every_order)
        searched = wide.explore(limit)
    assert searched is not None, "a wide search always ends"
    return searched


class _Search:
    """One search: the net as integers, and which firings wait for what."""

    def __init__(
        self, compiled: Compiled, packing: Packing, budget: Budget, *, every_order: bool
    ) -> None:
        self.budget = budget
        net = compiled.sound_question
        self.packing = packing
        self.space = Searched(list(net.transitions), packing)
        self.ranks = [transition.priority for transition in net.transitions.values()]
        at_rest = frozenset(index for index, rank in enumerate(self.ranks) if rank)
        self.stubborn = None if every_order else Resting(packing, at_rest)
        self.remains = ~_fields(packing, compiled.optional)
        self.waits = {
            index: _fields(packing, frozenset(compiled.origin[name].unless))
            for index, name in enumerate(net.transitions)
            if compiled.origin[name].unless
        }

    def explore(self, limit: int) -> Searched | None:
        """Search breadth-first; None when a place holds more than a narrow packing allows."""
        packing, space = self.packing, self.space
        known: dict[int, int] = {}
        first = packing.initial
        start = [i for i, needs in enumerate(packing.needs) if packing.covers(first, needs)]
        enabled = deque([start])
        known[first] = self.see(first, start, (0, -1))
        index, cut = 0, False
        while index < len(space.markings):
            marking, able = space.markings[index], enabled.popleft()
            if self.budget.ends_at(len(able), self.stubborn):
                return space
            for flow in self.followed(marking, able):
                space.fired.add(flow)
                left = (marking - packing.needs[flow]) & ~packing.resets[flow]
                after = left + packing.gives[flow]
                if after not in known:
                    if after & packing.over:
                        if packing.cap == 1:
                            return None
                        limit, cut = min(limit, len(space.markings) + GROWING_MORE), True
                        continue
                    if len(space.markings) >= limit:
                        return space
                    enabled.append(_enabled_after(packing, after, able, flow))
                    known[after] = self.see(after, enabled[-1], (index, flow))
                space.follows[index].append((flow, known[after]))
            index += 1
        if not cut:
            space.complete = True
            space.doomed = set(range(len(space.markings))) - _saved(space)
        return space

    def see(self, marking: int, enabled: list[int], reached: tuple[int, int]) -> int:
        """Record a marking and return its number."""
        space, index = self.space, len(self.space.markings)
        space.markings.append(marking)
        space.reached.append(reached)
        space.follows.append([])
        if not marking & self.remains:
            space.done.append(index)
        elif not enabled:
            space.stuck.append(index)
        return index

    def followed(self, marking: int, able: list[int]) -> Sequence[int]:
        """Return the firings to follow.

        What nothing upstream can reach any more need not wait for rest.
        """
        moving = [flow for flow in able if not self.ranks[flow]]
        freed = [flow for flow in able if flow in self.waits and not marking & self.waits[flow]]
        if moving or freed:
            chosen = moving if self.stubborn is None else self.stubborn(marking, moving)
            return [*chosen, *freed]
        first = min((self.ranks[flow] for flow in able), default=0)
        return [flow for flow in able if self.ranks[flow] == first]


def _enabled_after(packing: Packing, marking: int, before: list[int], fired: int) -> list[int]:
    affected, touched = packing.affected[fired], packing.touched[fired]
    guards = packing.guards
    guarded = marking | guards
    return [flow for flow in before if flow not in touched] + [
        flow for flow in affected if (guarded - packing.needs[flow]) & guards == guards
    ]


def _fields(packing: Packing, places: frozenset[str]) -> int:
    field_bits = (1 << packing.width) - 1
    return sum(
        field_bits << index * packing.width
        for index, name in enumerate(packing.net.places)
        if name in places
    )


def _saved(space: Searched) -> set[int]:
    """Return the markings from which the end can be reached."""
    came_from: list[list[int]] = [[] for _ in space.markings]
    for index, edges in enumerate(space.follows):
        for _, target in edges:
            came_from[target].append(index)
    saved, work = set(space.done), list(space.done)
    while work:
        for source in came_from[work.pop()]:
            if source not in saved:
                saved.add(source)
                work.append(source)
    return saved


def dead_steps(compiled: Compiled, space: Searched, budget: Budget | None = None) -> Iterator[str]:
    """Yield the steps that no run ever starts; meaningful when the search is complete.

    A reset may take away what the search put off, so there every order is looked at before a step is
    called dead; where that is too much, or an ``or`` join makes order matter even more, none is.
    """
    known = [step.step for step in compiled.playbook.workflow]
    final = compiled.playbook.executor.spec.final_step
    dead = set(known) - _started(compiled, space) - {final}
    may_err = any(
        transition.resets or transition.priority
        for transition in compiled.sound_question.transitions.values()
    )
    if may_err and dead & compiled.contexts.runs.keys():
        whole = search(compiled, DEAD_MAX, every_order=True, budget=budget)
        dead -= _started(compiled, whole)
        has_or = any(origin.unless for origin in compiled.origin.values())
        if has_or or not whole.complete:
            dead -= compiled.contexts.runs.keys()
    yield from (name for name in known if name in dead)


def _started(compiled: Compiled, space: Searched) -> set[str]:
    origins = (compiled.origin[space.names[flow]] for flow in space.fired)
    return {origin.step for origin in origins if origin.kind in ("start", "failed")}
