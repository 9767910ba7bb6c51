"""Modes: the ways in which a transition can take its tokens.

Rule 1: modes come lazily, in lexicographic order of token position: places in the order of the
transition's arcs, inputs before reads, and within a place "choose k of n" in order of insertion.
Rule 2: a guard sees one mode, nothing else. Whether a mode is enabled never changes while its
tokens stay.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations, islice
from math import comb, prod
from typing import TYPE_CHECKING, Any, TypeAlias

from msgspec import Struct

from petra.net.marking import Token
from petra.net.suggest import unknown

if TYPE_CHECKING:
    from petra.net.net import Transition

#: The tokens of each place by id, oldest first.
Places: TypeAlias = Mapping[str, Mapping[str, Token]]

Production: TypeAlias = Mapping[str, Sequence[object]]
"""What a firing produces: for each output place the data of its tokens, as many as the arc weighs."""


class Abort(Struct, frozen=True):
    """A fire function returns this to say: not with these tokens; nothing has happened."""

    reason: str = ""


class Mode(Struct, frozen=True):
    """The tokens of one possible firing: those to take and those to read, by place."""

    taken: Mapping[str, tuple[Token, ...]]
    read: Mapping[str, Token]

    def __getitem__(self, place: str) -> Any:
        """Return the data of the first token bound in that place, taken or read.

        Raises:
            NetError: the transition neither takes from that place nor reads it.
        """
        tokens = self.taken.get(place)
        if tokens:
            return tokens[0].data
        if place not in self.read:
            raise unknown("place", place, [*self.taken, *self.read], where="mode")
        return self.read[place].data

    @property
    def born(self) -> int:
        """The log position at which the mode became possible: the birth of its youngest token."""
        ages = [token.born for tokens in self.taken.values() for token in tokens]
        return max(ages + [token.born for token in self.read.values()], default=0)

    def all(self, place: str) -> list[Any]:
        """Return the data of every token taken from that place, in order of position.

        Raises:
            NetError: the transition does not take from that place.
        """
        if place not in self.taken:
            raise unknown("place", place, self.taken, where="mode")
        return [token.data for token in self.taken[place]]


def modes(transition: Transition, places: Places) -> Iterator[Mode]:
    """Yield the enabled modes of a transition in order of position."""
    slots = _slots(transition)
    if any(len(places[place]) < weight for place, weight in slots):
        return
    for chosen in _choose(slots, places):
        mode = _bind(transition, chosen)
        if transition.guard is None or transition.guard(mode):
            yield mode


def modes_by_age(transition: Transition, places: Places) -> Iterator[Mode]:
    """Yield the enabled modes in the order in which they became possible, then of position."""
    slots = _slots(transition)
    if any(len(places[place]) < weight for place, weight in slots):
        return
    if not slots:
        yield from modes(transition, places)
        return
    for age in sorted({token.born for place, _ in slots for token in places[place].values()}):
        for chosen in _choose_of_age(slots, places, age):
            mode = _bind(transition, chosen)
            if transition.guard is None or transition.guard(mode):
                yield mode


def first_mode(transition: Transition, places: Places) -> Mode | None:
    """Return the first mode of a transition without a guard, at no more cost than its tokens."""
    slots = _slots(transition)
    if any(len(places[place]) < weight for place, weight in slots):
        return None
    return _bind(
        transition,
        tuple(tuple(islice(places[place].values(), weight)) for place, weight in slots),
    )


def count_modes(transition: Transition, places: Places) -> int:
    """Return how many modes a transition without a guard has, without making them."""
    return prod(comb(len(places[place]), weight) for place, weight in _slots(transition))


def nth_mode(transition: Transition, places: Places, index: int) -> Mode:
    """Return the mode of a transition without a guard that ``modes`` would yield as the n-th."""
    chosen = []
    for place, weight in reversed(_slots(transition)):
        tokens = list(places[place].values())
        index, within = divmod(index, comb(len(tokens), weight))
        chosen.append(_nth_combination(tokens, weight, within))
    return _bind(transition, tuple(reversed(chosen)))


def _nth_combination(tokens: list[Token], weight: int, index: int) -> tuple[Token, ...]:
    if weight == 1:
        return (tokens[index],)
    chosen: list[Token] = []
    start = 0
    while len(chosen) < weight:
        # So many choices begin with the token at ``start``; pass over them if there are too few.
        beginning = comb(len(tokens) - start - 1, weight - len(chosen) - 1)
        if index < beginning:
            chosen.append(tokens[start])
        else:
            index -= beginning
        start += 1
    return tuple(chosen)


def _slots(transition: Transition) -> list[tuple[str, int]]:
    return [*transition.inputs.items(), *((place, 1) for place in transition.reads)]


def _bind(transition: Transition, chosen: tuple[tuple[Token, ...], ...]) -> Mode:
    count = len(transition.inputs)
    return Mode(
        taken=dict(zip(transition.inputs, chosen[:count], strict=True)),
        read={
            place: tokens[0] for place, tokens in zip(transition.reads, chosen[count:], strict=True)
        },
    )


def _choose(
    slots: Sequence[tuple[str, int]], places: Places
) -> Iterator[tuple[tuple[Token, ...], ...]]:
    if not slots:
        yield ()
        return
    place, weight = slots[0]
    for first in _pick(places[place].values(), weight):
        for rest in _choose(slots[1:], places):
            yield (first, *rest)


def _choose_of_age(
    slots: Sequence[tuple[str, int]], places: Places, age: int
) -> Iterator[tuple[tuple[Token, ...], ...]]:
    """Yield the choices whose youngest token was born at ``age``."""
    pools = [[token for token in places[place].values() if token.born <= age] for place, _ in slots]
    young = [any(token.born == age for token in pool) for pool in pools]

    def walk(slot: int, *, found: bool) -> Iterator[tuple[tuple[Token, ...], ...]]:
        if slot == len(slots):
            yield ()
            return
        for first in _pick(pools[slot], slots[slot][1]):
            has = found or any(token.born == age for token in first)
            if has or any(young[slot + 1 :]):
                for rest in walk(slot + 1, found=has):
                    yield (first, *rest)

    return walk(0, found=False)


def _pick(tokens: Iterable[Token], weight: int) -> Iterator[tuple[Token, ...]]:
    # combinations() reads all tokens before it yields; one token is the common case and need not.
    return ((token,) for token in tokens) if weight == 1 else combinations(tokens, weight)
