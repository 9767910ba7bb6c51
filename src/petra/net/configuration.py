"""Configurations: a net in some marking, with all that decides how it goes on.

A ``Configuration`` is a value. It can be kept, compared, and gone on from in two ways at once.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from petra.net.marking import Marking
    from petra.net.net import Net
    from petra.net.receipt import Receipt
    from petra.net.select import Strategy


class ReceiptLog:
    """An append-only list of receipts that its older owners see as it was."""

    __slots__ = ("_receipts", "_size")

    def __init__(self, receipts: list[Receipt] | None = None) -> None:
        self._receipts = receipts or []
        self._size = len(self._receipts)

    def extended(self, receipts: Iterable[Receipt]) -> ReceiptLog:
        """Return the log with these receipts at its end; costs no more than their number."""
        # Whoever holds the newest log may write behind it; anyone older starts a list of their own.
        newest = self._size == len(self._receipts)
        shared = self._receipts if newest else self._receipts[: self._size]
        shared.extend(receipts)
        return ReceiptLog(shared)

    def __iter__(self) -> Iterator[Receipt]:
        return islice(self._receipts, self._size)


@dataclass(frozen=True, slots=True, kw_only=True)
class Configuration:
    """A net in some marking, with all that decides how it goes on."""

    net: Net
    marking: Marking
    strategy: Strategy
    run: str
    #: The log position of the next receipt.
    k: int
    #: The hash of the last receipt.
    last: str
    net_hash: str
    #: How many acts have come from outside: their ids are made of it.
    acts: int = 0
    #: How often each transition has fired that takes nothing: their ids are made of it.
    springs: Mapping[str, int] = field(default_factory=dict)
    log: ReceiptLog = field(default_factory=ReceiptLog, repr=False, compare=False)

    @property
    def receipts(self) -> tuple[Receipt, ...]:
        """Everything that has happened, from the start on."""
        return tuple(self.log)
