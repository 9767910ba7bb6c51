"""Stubborn sets (Valmari): of many independent firings, follow only as many as matter.

A set of flows is stubborn in a marking when whatever the others do, they neither disable its
enabled flows nor are disabled by them, and cannot enable its disabled flows without it. Following
only the enabled flows of such a set

* reaches every dead marking, by equally many firings, and
* if every marking seen can still reach a dead one, misses no flow that can fire and no marking from
  which the net could not end. (A flow that stays enabled and is never followed would be enabled in
  the dead marking too.) A cycle without a way out is a defect in itself. So the usual proviso
  against ignoring a flow for ever is not needed when final markings are dead.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from petra.net.soundness.explore import Packing


class Stubborn:
    """Chooses, in a marking, the enabled flows of a small stubborn set."""

    def __init__(self, packing: Packing) -> None:
        self.packing = packing
        #: How many flows were looked at so far.
        self.work = 0
        flows = packing.net.flows
        takers: list[set[int]] = [set() for _ in packing.net.places]
        losers: list[set[int]] = [set() for _ in packing.net.places]
        feeders: list[set[int]] = [set() for _ in packing.net.places]
        for index, flow in enumerate(flows):
            for place, needed in flow.needs.items():
                takers[place].add(index)
                if flow.gives.get(place, 0) < needed:
                    losers[place].add(index)
            for place, count in flow.gives.items():
                if count > flow.needs.get(place, 0):
                    feeders[place].add(index)
        self.feeders = feeders
        #: With an enabled flow come those that could disable it and those that it could disable.
        self.rivals = [
            frozenset().union(
                *(losers[place] for place in flow.needs),
                *(takers[place] for place in flow.needs if index in losers[place]),
            )
            - {index}
            for index, flow in enumerate(flows)
        ]

    def __call__(self, marking: int, enabled: Sequence[int]) -> Sequence[int]:
        """Return the enabled flows to follow: those of the smallest set found."""
        if len(enabled) < 2:
            return enabled
        best = enabled
        ready = set(enabled)
        for start in enabled:
            chosen = self._close(start, marking, ready, len(best))
            if len(chosen) < len(best):
                best = [flow for flow in enabled if flow in chosen]
                if len(best) == 1:
                    break
        return best

    def _close(self, start: int, marking: int, ready: set[int], too_many: int) -> set[int]:
        """Return the enabled flows of the least closed set around ``start``, or too many of them."""
        members = {start}
        work = [start]
        chosen = {start}
        while work and len(chosen) < too_many:
            flow = work.pop()
            wanted = self.rivals[flow] if flow in ready else self._missing(flow, marking)
            for other in wanted:
                if other not in members:
                    members.add(other)
                    work.append(other)
                    if other in ready:
                        chosen.add(other)
        self.work += len(members)
        return chosen

    def _missing(self, flow: int, marking: int) -> set[int]:
        """Return the flows that feed a place of which a disabled flow lacks tokens."""
        width = self.packing.width
        mask = (1 << width) - 1
        lacking = (
            place
            for place, needed in self.packing.net.flows[flow].needs.items()
            if marking >> place * width & mask < needed
        )
        return min((self.feeders[place] for place in lacking), key=len)
