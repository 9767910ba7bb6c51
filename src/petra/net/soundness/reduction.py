"""Make a net smaller without changing whether it is sound.

The rules follow Murata (1989) and Desel and Esparza (1995), restated for final markings. Every rule
keeps the answer to "sound?", not every detail of an unsound net: a defect is explained on the
original net. A place that some final marking marks is never removed, except beside a twin.

Rule 1, eager: a place whose takers need nothing else. They can fire at once, so firing into the
place and firing out of it become one flow.
Rule 2, lazy: a place fed by one flow that only feeds it, and whose own tokens nobody else wants.
That flow can wait until its token is wanted, so it becomes one with each taker.
Rule 3, twins: of two flows that need and give the same one is enough; of two places that are always
equally marked one is enough.
Rule 4, idle: a flow that changes nothing goes, once it is sure that it could fire or that nobody
asks; a place that every flow leaves as it was, with tokens enough for all, goes too.
Rule 5, any-of endings only: flows that nothing can enable go, and of two alternatives that differ
only in the final place that they alone feed one is enough (if the choice came twice, both times the
same could be chosen).

A reset must find a token wherever it waits: rules 1 and 2 move a token only between places that are
emptied by exactly the same flows, and a flow that empties places itself is never fired early or late.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from petra.net.soundness.flow import Flow, FlowNet, Goal

if TYPE_CHECKING:
    from collections.abc import Iterable

#: A flow that stands for more firings than this is not made longer.
LONGEST_PATH = 10_000


def reduced(net: FlowNet) -> FlowNet:
    """Return a net with the same answer to "sound?", as small as the rules can make it.

    When one final marking covers another the rules do not keep proper completion: such a net comes
    back as it is.
    """
    if net.goal.any_of is None and not net.goal.is_antichain:
        return net
    return _Reduction(net).run()


class _Reduction:
    """The net while it shrinks, with an index from places to the flows around them."""

    def __init__(self, net: FlowNet) -> None:
        self.net = net
        self.any_of = net.goal.any_of is not None
        self.final = net.goal.places
        self.initial = dict(net.initial)
        self.prefix = net.prefix
        self.flows: dict[int, Flow] = {}
        self.next_key = 0
        self.places = set(range(len(net.places)))
        self.feeders: list[set[int]] = [set() for _ in net.places]
        self.takers: list[set[int]] = [set() for _ in net.places]
        self.emptiers: list[set[int]] = [set() for _ in net.places]
        for flow in net.flows:
            self.add(replace(flow, needs=dict(flow.needs), gives=dict(flow.gives)))

    def run(self) -> FlowNet:
        changed = True
        while changed:
            changed = self.merge_eagerly()
            changed |= self.merge_lazily()
            changed |= self.drop_twin_flows()
            changed |= self.drop_twin_places()
            changed |= self.drop_idle()
            if self.any_of:
                changed |= self.drop_unmarkable()
                changed |= self.drop_equal_endings()
        return self.compact()

    # -- the net as it stands

    def add(self, flow: Flow) -> None:
        key = self.next_key
        self.next_key += 1
        self.flows[key] = flow
        for place in flow.needs:
            self.takers[place].add(key)
        for place in flow.gives:
            self.feeders[place].add(key)
        for place in flow.resets:
            self.emptiers[place].add(key)

    def drop(self, keys: Iterable[int]) -> None:
        for key in list(keys):
            flow = self.flows.pop(key)
            for place in flow.needs:
                self.takers[place].discard(key)
            for place in flow.gives:
                self.feeders[place].discard(key)
            for place in flow.resets:
                self.emptiers[place].discard(key)

    def drop_place(self, place: int) -> None:
        for key in self.takers[place]:
            del self.flows[key].needs[place]
        for key in self.feeders[place]:
            del self.flows[key].gives[place]
        for key in self.emptiers[place]:
            self.flows[key].resets -= {place}
        for around in (self.takers, self.feeders, self.emptiers):
            around[place].clear()
        self.places.discard(place)
        self.initial.pop(place, None)

    def inner_places(self) -> list[int]:
        return [place for place in sorted(self.places) if place not in self.final]

    # -- rule 1 and rule 2

    def merge_eagerly(self) -> bool:
        changed = False
        for place in self.inner_places():
            feeders, takers = self.feeders[place], self.takers[place]
            if not takers or (self.initial.get(place) and len(takers) > 1):
                continue
            if len(feeders) * len(takers) > len(feeders) + len(takers):
                continue
            if not (feeders or self.initial.get(place)) or not self._takers_are_free(place):
                continue
            if any(self.flows[key].gives[place] != 1 for key in feeders):
                continue
            if self._start_eagerly(place):
                changed |= self._merge(place)
        return changed

    def _takers_are_free(self, place: int) -> bool:
        return all(
            flow.needs == {place: 1}
            and flow.gives
            and place not in flow.gives
            and not flow.resets
            and self._emptied_alike(place, flow.gives)
            for flow in (self.flows[key] for key in self.takers[place])
        )

    def _emptied_alike(self, place: int, others: Iterable[int]) -> bool:
        return all(self.emptiers[other] == self.emptiers[place] for other in others)

    def _start_eagerly(self, place: int) -> bool:
        """Fire what can fire at once; not when that would take too many firings."""
        count = self.initial.get(place, 0)
        if count:
            (key,) = self.takers[place]
            flow = self.flows[key]
            if len(flow.path) * count > LONGEST_PATH:
                return False
            del self.initial[place]
            for target, weight in flow.gives.items():
                self.initial[target] = self.initial.get(target, 0) + weight * count
            self.prefix += flow.path * count
        return True

    def merge_lazily(self) -> bool:
        changed = False
        for place in self.inner_places():
            feeders = self.feeders[place]
            if len(feeders) != 1 or not self.takers[place] or self.initial.get(place):
                continue
            (key,) = feeders
            if self._may_wait(key, place):
                changed |= self._merge(place)
        return changed

    def _may_wait(self, key: int, place: int) -> bool:
        flow = self.flows[key]
        return (
            flow.gives == {place: 1}
            and bool(flow.needs)
            and place not in flow.needs
            and not flow.resets
            and self._emptied_alike(place, flow.needs)
            and self.final.isdisjoint(flow.needs)
            and all(weight == 1 for weight in flow.needs.values())
            and all(self.takers[need] == {key} for need in flow.needs)
            and all(self.flows[taker].needs[place] == 1 for taker in self.takers[place])
            and all(place not in self.flows[taker].gives for taker in self.takers[place])
        )

    def _merge(self, place: int) -> bool:
        """Replace the flows around a place by all their pairs, and take the place out."""
        first = [self.flows[key] for key in sorted(self.feeders[place])]
        second = [self.flows[key] for key in sorted(self.takers[place])]
        if any(len(a.path) + len(b.path) > LONGEST_PATH for a in first for b in second):
            return False
        self.drop(self.feeders[place] | self.takers[place])
        for a in first:
            for b in second:
                needs, gives = dict(a.needs), dict(a.gives)
                del gives[place]
                for need, weight in b.needs.items():
                    if need != place:
                        needs[need] = needs.get(need, 0) + weight
                for give, weight in b.gives.items():
                    gives[give] = gives.get(give, 0) + weight
                resets = (a.resets | b.resets) - {place}
                self.add(Flow(needs=needs, gives=gives, path=a.path + b.path, resets=resets))
        self.drop_place(place)
        return True

    # -- rule 3

    def drop_twin_flows(self) -> bool:
        seen: set[object] = set()
        twins = []
        for key, flow in self.flows.items():
            shape = (frozenset(flow.needs.items()), frozenset(flow.gives.items()), flow.resets)
            if shape in seen:
                twins.append(key)
            seen.add(shape)
        self.drop(twins)
        return bool(twins)

    def drop_twin_places(self) -> bool:
        seen: set[object] = set()
        twins = []
        for place in sorted(self.places):
            shape = (
                frozenset((key, self.flows[key].needs[place]) for key in self.takers[place]),
                frozenset((key, self.flows[key].gives[place]) for key in self.feeders[place]),
                frozenset(self.emptiers[place]),
                self.initial.get(place, 0),
                self._endings(place),
            )
            if shape in seen:
                twins.append(place)
            seen.add(shape)
        for place in twins:
            self.drop_place(place)
        return bool(twins)

    def _endings(self, place: int) -> object:
        if self.any_of:
            return place in self.final
        return tuple(marking.get(place, 0) for marking in self.net.goal.markings)

    # -- rule 4

    def drop_idle(self) -> bool:
        idle = [
            key for key, flow in self.flows.items() if flow.needs == flow.gives and not flow.resets
        ]
        gone = False
        for key in idle:
            if self.any_of or self._can_surely_fire(key):
                self.drop([key])
                gone = True
        for place in sorted(self.places):
            if self._never_matters(place):
                self.drop_place(place)
                gone = True
        return gone

    def _never_matters(self, place: int) -> bool:
        if self.emptiers[place]:
            return False
        around = [self.flows[key] for key in self.takers[place] | self.feeders[place]]
        count = self.initial.get(place, 0)
        if self.any_of:
            return not around and not count and place not in self.final
        return all(
            count >= flow.needs.get(place, 0) == flow.gives.get(place, 0) for flow in around
        ) and all(marking.get(place, 0) == count for marking in self.net.goal.markings)

    def _can_surely_fire(self, key: int) -> bool:
        """Tell whether a dead idle flow would leave another flow dead as well."""
        needs = self.flows[key].needs
        if all(self.initial.get(place, 0) >= weight for place, weight in needs.items()):
            return True
        return any(
            other != key
            and (_contains(flow.needs, needs) or _contains(flow.gives, needs))
            and flow.needs != flow.gives
            for other, flow in self.flows.items()
        )

    # -- rule 5

    def drop_unmarkable(self) -> bool:
        dead: set[int] = set()
        for place in self.places:
            if not self.feeders[place] and not self.initial.get(place):
                dead |= self.takers[place]
        self.drop(dead)
        return bool(dead)

    def drop_equal_endings(self) -> bool:
        seen: set[object] = set()
        twins = []
        for place in sorted(self.final & self.places):
            if len(self.feeders[place]) != 1 or self.takers[place] or self.emptiers[place]:
                continue
            if self.initial.get(place):
                continue
            (key,) = self.feeders[place]
            flow = self.flows[key]
            others = frozenset(
                (give, weight) for give, weight in flow.gives.items() if give != place
            )
            shape = (frozenset(flow.needs.items()), others, flow.gives[place], flow.resets)
            if shape in seen:
                twins.append((place, key))
            seen.add(shape)
        dropped = False
        for place, key in twins:
            if key in self.flows:
                self.drop([key])
                self.drop_place(place)
                dropped = True
        return dropped

    def compact(self) -> FlowNet:
        order = sorted(self.places)
        position = {place: index for index, place in enumerate(order)}

        def moved(counts: dict[int, int]) -> dict[int, int]:
            return {position[place]: count for place, count in counts.items()}

        goal = self.net.goal
        return FlowNet(
            places=[self.net.places[place] for place in order],
            flows=[
                Flow(
                    needs=moved(flow.needs),
                    gives=moved(flow.gives),
                    path=flow.path,
                    resets=frozenset(position[place] for place in flow.resets),
                )
                for flow in self.flows.values()
            ],
            initial=moved(self.initial),
            goal=Goal(any_of=frozenset(position[place] for place in goal.any_of & self.places))
            if goal.any_of is not None
            else Goal(markings=tuple(_kept(marking, position) for marking in goal.markings)),
            prefix=self.prefix,
        )


def _kept(marking: dict[int, int], position: dict[int, int]) -> dict[int, int]:
    return {position[place]: count for place, count in marking.items() if place in position}


def _contains(large: dict[int, int], small: dict[int, int]) -> bool:
    return all(large.get(place, 0) >= weight for place, weight in small.items())
