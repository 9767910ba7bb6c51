"""A net as numbers: what the searches and the reduction rules work on.

A place is its position. A read arc has become "take one and put it back", which is the same when one
transition fires at a time; of a place that the transition also takes from, a token taken is a token
read. A flow remembers the transitions of the original net that it stands for, in firing order: that
is the trail back from a reduced net.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from petra.net.soundness.final import FinalAnyOf

if TYPE_CHECKING:
    from petra.net.net import Net, Transition
    from petra.net.soundness.final import Final


class Flow(Struct):
    """One transition: how many tokens it needs and gives by place, and which places it empties."""

    needs: dict[int, int]
    gives: dict[int, int]
    path: tuple[str, ...]
    resets: frozenset[int] = frozenset()


class Goal(Struct, frozen=True):
    """The final markings: a list of markings, or the places of an any-of ending."""

    markings: tuple[dict[int, int], ...] = ()
    any_of: frozenset[int] | None = None

    @property
    def places(self) -> frozenset[int]:
        """Return every place that some final marking marks."""
        if self.any_of is not None:
            return self.any_of
        return frozenset(place for marking in self.markings for place in marking)

    @property
    def is_antichain(self) -> bool:
        """Tell whether no final marking covers another one."""
        ordered = sorted(self.markings, key=lambda marking: sum(marking.values()))
        if len(ordered) > 50:  # quadratic; a list this long loses its shortcuts, not its verdict
            return False
        return all(
            a == b or not _covers(b, a) for i, a in enumerate(ordered) for b in ordered[i + 1 :]
        )


class FlowNet(Struct):
    """Places by number, flows, the initial marking and the goal.

    ``prefix`` are firings that a reduction has already made before the initial marking.
    """

    places: list[str]
    flows: list[Flow]
    initial: dict[int, int]
    goal: Goal
    prefix: tuple[str, ...] = ()

    @property
    def has_resets(self) -> bool:
        """Tell whether some flow empties a place."""
        return any(flow.resets for flow in self.flows)

    @property
    def is_free_choice(self) -> bool:
        """Tell whether flows that share a place need exactly the same single tokens."""
        cluster: dict[int, dict[int, int]] = {}
        for flow in self.flows:
            if any(weight != 1 for weight in flow.needs.values()):
                return False
            for place in flow.needs:
                if cluster.setdefault(place, flow.needs) != flow.needs:
                    return False
        return True

    @property
    def ends_in_sinks(self) -> bool:
        """Tell whether final places only collect tokens and no flow makes or loses all of them.

        Then a final marking is dead, and whatever lies beside it can never vanish.
        """
        final = self.goal.places
        return all(
            flow.needs and flow.gives and not flow.resets and final.isdisjoint(flow.needs)
            for flow in self.flows
        )


def number(net: Net, initial: dict[str, int], final: Final) -> FlowNet:
    """Return the net as numbers, with that initial marking and those final markings."""
    position = {place: index for index, place in enumerate(net.places)}
    if isinstance(final, FinalAnyOf):
        goal = Goal(any_of=frozenset(position[place] for place in final.places))
    else:
        goal = Goal(
            markings=tuple(
                {position[place]: count for place, count in marking.items() if count}
                for marking in final.markings
            )
        )
    return FlowNet(
        places=list(net.places),
        flows=[_flow(transition, position) for transition in net.transitions.values()],
        initial={position[place]: count for place, count in initial.items() if count},
        goal=goal,
    )


def _flow(transition: Transition, position: dict[str, int]) -> Flow:
    needs = {position[place]: weight for place, weight in transition.inputs.items()}
    gives = {position[place]: weight for place, weight in transition.outputs.items()}
    resets = frozenset(position[place] for place in transition.resets)
    for place in {position[place] for place in transition.reads if place not in transition.inputs}:
        needs[place] = 1
        if place not in resets:
            gives[place] = gives.get(place, 0) + 1
    return Flow(needs=needs, gives=gives, path=(transition.name,), resets=resets)


def _covers(large: dict[int, int], small: dict[int, int]) -> bool:
    return all(large.get(place, 0) >= count for place, count in small.items())
