"""Confluence: does the order of firing matter?

A net is confluent when no two firings that are possible together stand in each other's way. Then all
complete runs are equal in the sense of E1, whatever the strategy. ``confluence`` looks at every
reachable marking (guards left open) for a clash:

Rule 1: two transitions want the same token. Only a ``Question`` by the data of that token settles it:
it gives the token to one of them, whenever it is asked.
Rule 2: a transition that binds several tokens has a choice of them; who goes with whom depends
on who was first.
Rule 3: a function sees several tokens of one place in their order of arrival.
Rule 4: one empties a place that the other uses.

Nothing has to be said about concurrent writes: a firing writes only tokens of its own, and no order of
arrival is observed where rules 2 and 3 hold. The lint is careful: what it calls confluent is;
what it does not may still be. It trusts guards and fire functions to look at their mode only.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import combinations
from typing import Any

from msgspec import Struct

from petra.net.compare import Equivalence, compare
from petra.net.fire import drain, start
from petra.net.modes import Mode
from petra.net.net import Net, Transition
from petra.net.receipt import Receipt
from petra.net.select import ByHash, ByName, Fifo, Priority, Random, Strategy

Counts = tuple[int, ...]


class Question(Struct, frozen=True, eq=False):
    """A question about the data of one token, whose answer says which transition takes it."""

    place: str
    ask: Callable[[Any], object]

    def case(self, *answers: object) -> AnswerIn:
        """Return the guard of the transition that takes the token on one of these answers."""
        return AnswerIn(self, answers)


class AnswerIn(Struct, frozen=True):
    """A guard: the decision gave one of these answers."""

    decision: Question
    answers: tuple[object, ...]

    def __call__(self, mode: Mode) -> bool:
        """Say whether the decision gives the token of this mode to the owner of this guard."""
        return self.decision.ask(mode[self.decision.place]) in self.answers


class Clash(Struct, frozen=True):
    """Why the order of firing may matter, and a marking in which it does."""

    transitions: tuple[str, ...]
    place: str
    marking: Mapping[str, int]
    why: str

    def __str__(self) -> str:
        return f"{' and '.join(map(repr, self.transitions))} at place {self.place!r}: {self.why}"


class Confluence(Struct, frozen=True):
    """The verdict of the lint. Without a clash and not confluent: too many markings to tell."""

    confluent: bool
    clash: Clash | None
    markings: int


class Divergence(Struct, frozen=True):
    """Two complete runs of one net that are not equal in the sense of E1."""

    left: tuple[Receipt, ...]
    right: tuple[Receipt, ...]
    equivalence: Equivalence


def confluence(
    net: Net, tokens: Mapping[str, Iterable[object]] | None = None, *, limit: int = 10_000
) -> Confluence:
    """Say whether the order of firing can matter, looking at no more than ``limit`` markings.

    ``tokens`` are those with data that the net would be started with.
    """
    order = {place: index for index, place in enumerate(net.places)}
    counts = dict(net.initial)
    for place, some in (tokens or {}).items():
        counts[place] = counts.get(place, 0) + len(list(some))
    first = tuple(counts.get(place, 0) for place in order)
    seen = {first}
    queue = deque([first])
    while queue:
        marking = dict(zip(order, queue.popleft(), strict=True))
        able = [one for one in net.transitions.values() if _is_able(one, marking)]
        for transitions, place, why in _clashes(able, marking):
            held = {name: count for name, count in marking.items() if count}
            return Confluence(
                confluent=False, clash=Clash(transitions, place, held, why), markings=len(seen)
            )
        for transition in able:
            after = _after(transition, marking)
            if after not in seen:
                if len(seen) >= limit:
                    return Confluence(confluent=False, clash=None, markings=len(seen))
                seen.add(after)
                queue.append(after)
    return Confluence(confluent=True, clash=None, markings=len(seen))


def explore(
    net: Net,
    tokens: Mapping[str, Iterable[object]] | None = None,
    *,
    seeds: int = 20,
    max_steps: int = 10_000,
) -> Divergence | None:
    """Run the net under every strategy and seed; return two complete runs that differ, if any do."""
    start_tokens = {place: list(some) for place, some in (tokens or {}).items()}
    first: tuple[Receipt, ...] | None = None
    for strategy in _strategies(seeds):
        drained = drain(start(net, start_tokens, strategy=strategy), max_steps)
        if drained.limited:
            continue
        receipts = drained.configuration.receipts
        first = first or receipts
        equivalence = compare(first, receipts)
        if equivalence not in (Equivalence.IDENTITY, Equivalence.CAUSAL):
            return Divergence(first, receipts, equivalence)
    return None


def _strategies(seeds: int) -> Iterator[Strategy]:
    yield from (Fifo(), Priority(), ByName())
    for seed in range(seeds):
        yield from (ByHash(seed), Random(seed))


def _is_able(transition: Transition, marking: Mapping[str, int]) -> bool:
    return all(marking[place] >= weight for place, weight in transition.inputs.items()) and all(
        marking[place] for place in transition.reads
    )


def _after(transition: Transition, marking: Mapping[str, int]) -> Counts:
    left = dict(marking)
    for place, weight in transition.inputs.items():
        left[place] -= weight
    for place in transition.resets:
        left[place] = 0
    for place, weight in transition.outputs.items():
        left[place] += weight
    return tuple(left.values())


def _clashes(
    able: list[Transition], marking: Mapping[str, int]
) -> Iterator[tuple[tuple[str, ...], str, str]]:
    for transition in able:
        for place, why in _choices(transition, marking):
            yield (transition.name,), place, why
    for first, second in combinations(able, 2):
        for place, why in (*_contested(first, second), *_emptied(first, second)):
            yield (first.name, second.name), place, why


def _choices(transition: Transition, marking: Mapping[str, int]) -> Iterator[tuple[str, str]]:
    bound = [*transition.inputs.items(), *((place, 1) for place in transition.reads)]
    if sum(weight for _, weight in bound) > 1 or transition.resets:
        for place, weight in bound:
            if marking[place] > weight:
                yield place, f"it binds {weight} of {marking[place]} tokens, together with others"
    if transition.fire is not None or transition.guard is not None:
        for place, weight in transition.inputs.items():
            if weight > 1:
                yield place, f"its function sees {weight} tokens in their order of arrival"


def _contested(first: Transition, second: Transition) -> Iterator[tuple[str, str]]:
    contested = first.inputs.keys() & second.inputs.keys()
    # Where more than the decided place is contested, rule 2 has seen to it that one token is there.
    if _decided(first, second) in contested:
        contested = set()
    for place in sorted(contested):
        yield place, "both want its token, and no decision by its data gives it to one of them"
    for reader, taker in ((first, second), (second, first)):
        for place in reader.reads:
            if place in taker.inputs:
                yield place, f"{taker.name!r} takes the token that {reader.name!r} reads"


def _emptied(first: Transition, second: Transition) -> Iterator[tuple[str, str]]:
    for emptier, user in ((first, second), (second, first)):
        used = {*user.inputs, *user.outputs, *user.reads, *user.resets}
        for place in emptier.resets:
            if place in used:
                yield place, f"{emptier.name!r} empties it while {user.name!r} uses it"


def _decided(one: Transition, two: Transition) -> str:
    """Return the place whose token's data opens one of the two and closes the other, or ''."""
    first, second = one.guard, two.guard
    if not isinstance(first, AnswerIn) or not isinstance(second, AnswerIn):
        return ""
    if first.decision is not second.decision:
        return ""
    if any(answer in second.answers for answer in first.answers):
        return ""
    place = first.decision.place
    return place if one.inputs.get(place) == two.inputs.get(place) == 1 else ""
