"""The agenda: the first enabled mode of every transition, kept as tokens come and go.

A firing touches few places, so few transitions have to be looked at again:

Rule 1: losing tokens matters to a transition only if its first mode held one of them.
Rule 2: gaining tokens matters if it had no mode; or if it has a guard that joins several tokens and
modes are ordered by position alone, for then a new token may complete an earlier mode.
Rule 3: a guard over a single token is asked once per token.
"""

from __future__ import annotations

from collections import deque
from heapq import heappop, heappush
from typing import TYPE_CHECKING

from petra.net.modes import Mode, first_mode, modes, modes_by_age
from petra.net.select import Firing

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from petra.net.marking import Token
    from petra.net.modes import Places
    from petra.net.net import Net, Transition
    from petra.net.select import Rank, Ranked


class Agenda:
    """The first firing of a ranked strategy, found without looking at everything again."""

    def __init__(self, net: Net, strategy: Ranked, places: Places) -> None:
        self._net = net
        self._strategy = strategy
        self._places = places
        self._heads: dict[str, Mode | None] = {}
        self._heap: list[tuple[Rank, int, str]] = []
        self._entries: dict[str, int] = {}
        self._serial = 0
        self._users: dict[str, list[Transition]] = {place: [] for place in net.places}
        self._unasked: dict[str, deque[Token]] = {}
        for transition in net.transitions.values():
            for place in dict.fromkeys((*transition.inputs, *transition.reads)):
                self._users[place].append(transition)
            if _asks_single_tokens(transition):
                (place,) = transition.inputs
                self._unasked[transition.name] = deque(places[place].values())
            self._renew(transition)

    def first(self) -> Firing | None:
        """Return the least enabled firing, or None when the net is quiescent."""
        while self._heap:
            _, serial, name = self._heap[0]
            head = self._heads[name]
            if head is not None and self._entries[name] == serial:
                return Firing(self._net.transitions[name], head)
            heappop(self._heap)
        return None

    def update(self, lost: Mapping[str, Iterable[str]], gained: Mapping[str, list[Token]]) -> None:
        """Take note of a change that has been made to the places."""
        stale: dict[str, Transition] = {}
        for place, lost_ids in lost.items():
            gone = set(lost_ids)
            for transition in self._users[place]:
                head = self._heads[transition.name]
                if head is not None and _holds(head, place, gone):
                    stale[transition.name] = transition
        for place, tokens in gained.items():
            for transition in self._users[place]:
                if transition.name in self._unasked:
                    self._unasked[transition.name].extend(tokens)
                if self._heads[transition.name] is None or self._may_come_earlier(transition):
                    stale[transition.name] = transition
        for transition in stale.values():
            self._renew(transition)

    def _may_come_earlier(self, transition: Transition) -> bool:
        return (
            transition.guard is not None
            and not self._strategy.by_age
            and transition.name not in self._unasked
        )

    def _renew(self, transition: Transition) -> None:
        head = self._find(transition)
        self._heads[transition.name] = head
        if head is not None:
            self._serial += 1
            self._entries[transition.name] = self._serial
            rank = self._strategy.rank(transition, head)
            heappush(self._heap, (rank, self._serial, transition.name))

    def _find(self, transition: Transition) -> Mode | None:
        if transition.guard is None:
            return first_mode(transition, self._places)
        unasked = self._unasked.get(transition.name)
        if unasked is None:
            enumerate_modes = modes_by_age if self._strategy.by_age else modes
            return next(enumerate_modes(transition, self._places), None)
        (place,) = transition.inputs
        while unasked:
            token = unasked.popleft()
            mode = Mode(taken={place: (token,)}, read={})
            if token.id in self._places[place] and transition.guard(mode):
                return mode
        return None


def _asks_single_tokens(transition: Transition) -> bool:
    single = sum(transition.inputs.values()) == 1 and not transition.reads
    return single and transition.guard is not None


def _holds(mode: Mode, place: str, gone: set[str]) -> bool:
    read = mode.read.get(place)
    if read is not None and read.id in gone:
        return True
    return any(token.id in gone for token in mode.taken.get(place, ()))
