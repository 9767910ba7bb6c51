"""Decide whether a net is sound, by searches that grow: a short full one, a stubborn one, a long one.

What a stubborn search proves: when final places only collect tokens (``ends_in_sinks``), final
markings are dead and leftovers can never vanish. If then every marking can still end,

* no final marking covers another one: nothing was ever left over, and nothing can grow;
* any-of ending in a free-choice net: if no final marking is crowded, no marking is. (Let some place
  hold two tokens. From there always choose the way that is nearest to a final place. The net ends,
  so the place is left twice, and so is each place further on, and the final place is filled twice.)

In all other cases only a full search proves soundness.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from petra.net.soundness.explore import Space, explore, safe_packing, wide_packing
from petra.net.soundness.stubborn import Stubborn

if TYPE_CHECKING:
    from petra.net.budget import Budget
    from petra.net.soundness.flow import FlowNet
    from petra.net.soundness.verdict import Limits

#: Markings of the first full search: cheaper than choosing stubborn sets when the net is small.
SHORT = 2_000


class Conclusion(Struct, frozen=True):
    """The answer, the search that gave it, and the markings seen by all searches."""

    answer: Literal["sound", "unsound", "undecided"]
    space: Space
    states: int


def decide(net: FlowNet, limits: Limits) -> Conclusion:
    """Decide soundness within the limits."""
    space = search(
        net,
        limit=min(SHORT, limits.markings),
        stubborn=False,
        stop_early=True,
        budget=limits.budget,
    )
    states = len(space.markings)
    for stubborn in (True, False):
        answer = judge(space)
        if answer != "undecided" or limits.markings <= SHORT:
            return Conclusion(answer, space, states)
        if not stubborn or stubborn_proves(net):
            space = search(
                net, limit=limits.markings, stubborn=stubborn, stop_early=True, budget=limits.budget
            )
            states += len(space.markings)
    return Conclusion(judge(space), space, states)


def stubborn_proves(net: FlowNet) -> bool:
    """Tell whether a complete stubborn search without a defect proves the net sound."""
    if not net.ends_in_sinks:
        return False
    return net.is_free_choice if net.goal.any_of is not None else net.goal.is_antichain


def search(
    net: FlowNet,
    *,
    limit: int,
    stubborn: bool,
    stop_early: bool,
    budget: Budget | None = None,
) -> Space:
    """Search with the narrowest packing that suffices."""
    packing = safe_packing(net)
    choose = Stubborn(packing) if stubborn else None
    space = explore(packing, limit=limit, choose=choose, stop_early=stop_early, budget=budget)
    if not space.overflow:
        return space
    packing = wide_packing(net)
    choose = Stubborn(packing) if stubborn else None
    return explore(packing, limit=limit, choose=choose, stop_early=stop_early, budget=budget)


def judge(space: Space) -> Literal["sound", "unsound", "undecided"]:
    """Read the answer off a search."""
    if space.defects:
        return "unsound"
    if not space.complete:
        return "undecided"
    may_be_dead = space.packing.net.goal.any_of is not None
    return "sound" if may_be_dead or not space.dead_flows() else "unsound"
