"""Comparison: in what sense two runs of a net are the same, from fine to coarse.

| level      | two runs are equal when |
|------------|-------------------------|
| `IDENTITY` | E0: their receipts are equal, the time apart |
| `CAUSAL`   | E1: they differ only in the order of independent firings |
| `OUTCOME`  | E2: they fired the same transitions equally often and left equal data in equal places |
| `MARKING`  | E3: they left equal data in equal places |

Two firings are independent when neither uses a token that the other made, and neither empties
a place that the other uses. E1 is decided on the causal graph: each event is named by a hash
over what it is and the names of the events it depends on; equal sets of names are equal graphs.
Tokens are individuals here: who took which of two equal tokens is a difference.
"""

from __future__ import annotations

from collections import Counter
from enum import Enum
from typing import TYPE_CHECKING

import msgspec

from petra.values import digest

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from petra.net.receipt import Receipt


class Equivalence(Enum):
    """The finest sense in which two runs are the same."""

    IDENTITY = "E0"
    CAUSAL = "E1"
    OUTCOME = "E2"
    MARKING = "E3"
    NONE = "different"


def compare(left: Iterable[Receipt], right: Iterable[Receipt]) -> Equivalence:
    """Return the finest level at which two complete runs are equal."""
    first, second = list(left), list(right)
    if first_difference(first, second) is None:
        return Equivalence.IDENTITY
    if causal_form(first) == causal_form(second):
        return Equivalence.CAUSAL
    if final_data(first) != final_data(second):
        return Equivalence.NONE
    return Equivalence.OUTCOME if fired(first) == fired(second) else Equivalence.MARKING


def first_difference(left: Sequence[Receipt], right: Sequence[Receipt]) -> int | None:
    """Return the log position at which two runs part, the time apart; None if they never do."""
    for k, (first, second) in enumerate(zip(left, right, strict=False)):
        if first is not second and _timeless(first) != _timeless(second):
            return k
    return None if len(left) == len(right) else min(len(left), len(right))


def fired(receipts: Iterable[Receipt]) -> Counter[str]:
    """Return how often each transition fired."""
    return Counter(receipt.transition for receipt in receipts if receipt.kind == "fire")


def final_data(receipts: Iterable[Receipt]) -> Counter[tuple[str, str]]:
    """Return what is left at the end: how often each payload (by hash) lies in each place."""
    left: dict[tuple[str, str], str] = {}
    for receipt in receipts:
        for lost in (receipt.consumed, receipt.reset):
            for place, ids in lost.items():
                for token in ids:
                    del left[place, token]
        for produced in receipt.produced:
            left[produced.place, produced.id] = produced.payload
    return Counter((place, payload) for (place, _), payload in left.items())


def causal_form(receipts: Iterable[Receipt]) -> frozenset[str]:
    """Return the canonical form of the causal graph: the set of the names of its events."""
    graph = _CausalGraph()
    return frozenset(graph.name(receipt) for receipt in receipts)


class _CausalGraph:
    """Names each event by what it is and by the events it depends on."""

    def __init__(self) -> None:
        self._token_names: dict[tuple[str, str], list[object]] = {}
        self._emptied: dict[str, str] = {}
        self._uncaused: Counter[str] = Counter()

    def name(self, receipt: Receipt) -> str:
        # Whoever comes after the emptying of a place knows of it; so whoever does not came before.
        places = {*receipt.consumed, *receipt.read, *(token.place for token in receipt.produced)}
        places |= receipt.reset.keys()
        earlier = {self._emptied[place] for place in places & self._emptied.keys()}
        name = digest(
            [
                *(receipt.kind, receipt.transition, self._ordinal(receipt)),
                {place: self._tokens(place, ids) for place, ids in receipt.consumed.items()},
                {place: self._tokens(place, [token]) for place, token in receipt.read.items()},
                {place: self._tokens(place, ids) for place, ids in receipt.reset.items()},
                [[token.place, token.payload] for token in receipt.produced],
                sorted(earlier),
            ]
        )
        for index, token in enumerate(receipt.produced):
            self._token_names[token.place, token.id] = [name, index]
        for place in receipt.reset:
            self._emptied[place] = name
        return name

    def _ordinal(self, receipt: Receipt) -> int:
        """Number what no token causes: acts from outside in their order, then each spring."""
        if receipt.kind == "fire" and receipt.consumed:
            return 0
        source = receipt.transition if receipt.kind == "fire" else ""
        self._uncaused[source] += 1
        return self._uncaused[source]

    def _tokens(self, place: str, ids: Iterable[str]) -> list[list[object]]:
        return sorted((self._token_names[place, token] for token in ids), key=str)


def _timeless(receipt: Receipt) -> Receipt:
    return msgspec.structs.replace(receipt, ts=None)
