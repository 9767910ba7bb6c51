"""Receipts: the record of everything that ever changed a marking, each sealed to the one before.

Rule 1: the first receipt (k = 0) records the start; from then on every firing and every act from
outside leaves exactly one.
Rule 2: the seal covers everything except the time. The time is whatever the caller says it is.
Rule 3: ids are causal. A firing is named by its transition and the tokens it took and read, a token
by the firing that made it, its place and its index; no clock, no counter of the whole run. So runs
that differ only in the order of independent firings give the same tokens the same ids.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Literal, TypeAlias

import msgspec

from petra.errors import NetError
from petra.values import digest

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

#: What a receipt records: the start, a firing, or one of the acts from outside.
Kind: TypeAlias = Literal["start", "fire", "inject", "withdraw", "exchange", "cancel"]

#: A moment, in whatever way the caller counts time.
Timestamp: TypeAlias = str | int | float | None

#: What stands where the hash of an earlier receipt would: there is none.
GENESIS = "0" * 64


class Produced(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A token that was put into a place."""

    place: str
    id: str
    payload: str


class Receipt(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The record of one change of the marking."""

    k: int
    run: str
    net: str
    kind: Kind
    strategy: str
    #: The name of the transition; for an act from outside the reason given, if any.
    transition: str
    #: How many firings were tried before and aborted.
    attempt: int = 0
    consumed: dict[str, list[str]]
    read: dict[str, str]
    #: The tokens a reset or a cancellation removed, with an entry for every place it emptied.
    reset: dict[str, list[str]]
    produced: list[Produced]
    before: str
    after: str
    previous: str
    hash: str = ""
    ts: Timestamp = None

    def seal(self) -> str:
        """Return the hash that this receipt must have."""
        return digest(
            [
                *(self.k, self.run, self.net, self.kind, self.strategy),
                *(self.transition, self.attempt, self.consumed, self.read, self.reset),
                [[token.place, token.id, token.payload] for token in self.produced],
                *(self.before, self.after, self.previous),
            ]
        )


def sealed(receipt: Receipt) -> Receipt:
    """Return the receipt with its hash in it."""
    return msgspec.structs.replace(receipt, hash=receipt.seal())


def firing_id(
    transition: str,
    consumed: Mapping[str, Iterable[str]],
    read: Mapping[str, str],
    *,
    ordinal: int,
) -> str:
    """Name a firing by its causes.

    ``ordinal`` counts the earlier firings of a transition that takes nothing: only their
    number tells them apart. For all others it is 0.
    """
    taken = {place: sorted(ids) for place, ids in consumed.items()}
    return digest(["fire", transition, taken, dict(read), ordinal])


def act_id(kind: Kind, ordinal: int) -> str:
    """Name the start (ordinal 0) or the n-th act from outside."""
    return digest(["start" if kind == "start" else "outside", ordinal])


def token_id(origin: str, place: str, index: int) -> str:
    """Name the index-th token that a firing or act puts into a place."""
    return hashlib.sha256(f"{origin}{index}:{place}".encode()).hexdigest()


def write_receipts(receipts: Iterable[Receipt]) -> bytes:
    """Encode receipts as JSON Lines; equal receipts give equal bytes."""
    return b"".join(_encoder.encode(receipt) + b"\n" for receipt in receipts)


def read_receipts(lines: bytes) -> list[Receipt]:
    """Decode what ``write_receipts`` wrote.

    Raises:
        NetError: a line is not a receipt; says which.
    """
    receipts = []
    for number, line in enumerate(lines.splitlines(), start=1):
        try:
            receipts.append(_decoder.decode(line))
        except msgspec.DecodeError as error:
            raise NetError(f"line {number} is not a receipt: {error}") from error
    return receipts


_encoder = msgspec.json.Encoder(order="deterministic")
_decoder = msgspec.json.Decoder(Receipt)
