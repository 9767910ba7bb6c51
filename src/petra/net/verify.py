"""Verification: recompute a chain of receipts from its start, and name the first bad record.

Everything is recomputed that can be without the data and the functions: the seals and the chain,
every marking hash, the legality of every firing under the net's arcs, and every causal id. Only the
time may be changed unnoticed, because no seal covers it.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from msgspec import Struct

from petra.net.marking import PLAIN_HASH, hash_of_sum, weigh
from petra.net.receipt import GENESIS, act_id, firing_id, token_id

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from petra.net.marking import Marking
    from petra.net.net import Net, Transition
    from petra.net.receipt import Receipt


class Flaw(Struct, frozen=True):
    """The first bad record of a chain: where it stands, and what is wrong with it."""

    index: int
    field: str
    message: str

    def __str__(self) -> str:
        return f"receipt {self.index}: {self.field}: {self.message}"


def verify(receipts: Iterable[Receipt], net: Net, initial: Marking | None = None) -> Flaw | None:
    """Return the first flaw of the chain, or None when every record is as it was made.

    ``initial`` is the marking the run started from; without it, that of the net's plain
    tokens is expected.
    """
    ledger = _Ledger(net, _expected_start(net, initial))
    index = -1
    for index, receipt in enumerate(receipts):
        for field, message in ledger.flaws(index, receipt):
            return Flaw(index, field, message)
    return Flaw(0, "k", "there is no receipt at all, not even of the start") if index < 0 else None


def _expected_start(net: Net, initial: Marking | None) -> int:
    if initial is not None:
        return sum(weigh(place, token.id, token.payload_hash) for place, token in initial)
    origin = act_id("start", 0)
    return sum(
        weigh(place, token_id(origin, place, index), PLAIN_HASH)
        for place, count in net.initial.items()
        for index in range(count)
    )


class _Ledger:
    """The state of the net as the receipts so far say it is."""

    def __init__(self, net: Net, start: int) -> None:
        self._net = net
        self._net_hash = net.digest()
        self._start = start
        self._tokens: dict[str, dict[str, str]] = {place: {} for place in net.places}
        self._sum = 0
        self._last = GENESIS
        self._first: Receipt | None = None
        self._acts = 0
        self._springs: Counter[str] = Counter()

    def flaws(self, index: int, receipt: Receipt) -> Iterator[tuple[str, str]]:
        """Yield what is wrong with the next receipt; if nothing is, its effect is taken over."""
        yield from self._heading(index, receipt)
        if receipt.before != hash_of_sum(self._sum):
            yield "before", "is not the marking that the receipts before it lead to"
        yield from self._taking(receipt)
        yield from self._putting(receipt)
        if receipt.after != hash_of_sum(self._sum):
            yield "after", "is not the marking that this receipt leads to"
        if index == 0 and hash_of_sum(self._sum) != hash_of_sum(self._start):
            yield "produced", "is not the initial marking"
        self._last = receipt.hash

    def _heading(self, index: int, receipt: Receipt) -> Iterator[tuple[str, str]]:
        first = self._first = self._first or receipt
        if receipt.k != index:
            yield "k", f"is {receipt.k}, but this is record {index} of the chain"
        if receipt.run != first.run:
            yield "run", f"is {receipt.run!r}, but the chain began as {first.run!r}"
        if receipt.net != self._net_hash:
            yield "net", "is the hash of another net"
        if receipt.strategy != first.strategy:
            yield "strategy", f"is {receipt.strategy!r}, but the chain began as {first.strategy!r}"
        if (receipt.kind == "start") != (index == 0):
            yield "kind", f"{receipt.kind!r} cannot be record {index}"
        if receipt.attempt < 0:
            yield "attempt", "cannot be negative"
        if receipt.previous != self._last:
            yield "previous", "is not the hash of the record before"
        if receipt.hash != receipt.seal():
            yield "hash", "does not match the record: something in it was changed"

    def _taking(self, receipt: Receipt) -> Iterator[tuple[str, str]]:
        if receipt.kind == "fire":
            transition = self._net.transitions.get(receipt.transition)
            if transition is None:
                yield "transition", f"the net has no transition {receipt.transition!r}"
                return
            yield from _arcs(transition, receipt)
        for place, token in receipt.read.items():
            if token not in self._tokens.get(place, {}):
                yield "read", f"token {token[:12]!r} is not in place {place!r}"
        yield from self._remove("consumed", receipt.consumed)
        for place, ids in receipt.reset.items():
            if set(ids) != set(self._tokens.get(place, {})):
                yield "reset", f"place {place!r} held other tokens than these"
        yield from self._remove("reset", receipt.reset)

    def _putting(self, receipt: Receipt) -> Iterator[tuple[str, str]]:
        origin = self._origin(receipt)
        indices: Counter[str] = Counter()
        for token in receipt.produced:
            if token.place not in self._tokens:
                yield "produced", f"the net has no place {token.place!r}"
                continue
            if token.id != token_id(origin, token.place, indices[token.place]):
                yield "produced", f"the id of a token in place {token.place!r} has other causes"
            indices[token.place] += 1
            self._tokens[token.place][token.id] = token.payload
            self._sum += weigh(token.place, token.id, token.payload)

    def _origin(self, receipt: Receipt) -> str:
        if receipt.kind == "start":
            return act_id("start", 0)
        if receipt.kind != "fire":
            self._acts += 1
            return act_id(receipt.kind, self._acts)
        ordinal = 0
        if not receipt.consumed:
            ordinal = self._springs[receipt.transition]
            self._springs[receipt.transition] += 1
        return firing_id(receipt.transition, receipt.consumed, receipt.read, ordinal=ordinal)

    def _remove(self, field: str, lost: Mapping[str, list[str]]) -> Iterator[tuple[str, str]]:
        for place, ids in lost.items():
            for token in ids:
                payload = self._tokens.get(place, {}).pop(token, None)
                if payload is None:
                    yield field, f"token {token[:12]!r} is not in place {place!r}"
                    continue
                self._sum -= weigh(place, token, payload)


def _arcs(transition: Transition, receipt: Receipt) -> Iterator[tuple[str, str]]:
    consumed = {place: len(ids) for place, ids in receipt.consumed.items()}
    if consumed != dict(transition.inputs):
        yield "consumed", f"is not what {transition.name!r} takes"
    if receipt.read.keys() != set(transition.reads):
        yield "read", f"is not what {transition.name!r} reads"
    if receipt.reset.keys() != set(transition.resets):
        yield "reset", f"is not what {transition.name!r} empties"
    if Counter(token.place for token in receipt.produced) != Counter(transition.outputs):
        yield "produced", f"is not what {transition.name!r} produces"
