"""A configuration in play: the board it is changed on, and the receipts the changes leave.

Rule 1: whoever plays owns the play. Until ``freeze`` nobody sees it, so what fails leaves no trace.
Rule 2: every change ends with one ``record``; the log position moves on there and nowhere else.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

from petra.net.configuration import Configuration
from petra.net.marking import Board, Token, encode_data
from petra.net.net import Net
from petra.net.receipt import Kind, Produced, Receipt, Timestamp, sealed, token_id

Payloads: TypeAlias = Mapping[str, Sequence[bytes]]
Lost: TypeAlias = dict[str, list[str]]


class Play:
    """A configuration being changed: the board, and the receipts it has left so far."""

    def __init__(self, configuration: Configuration, ts: Timestamp) -> None:
        self.configuration = configuration
        self.board = Board(configuration.marking)
        self.receipts: list[Receipt] = []
        self.springs = dict(configuration.springs)
        self.k = configuration.k
        self._ts = ts
        self._last = configuration.last
        self._acts = configuration.acts
        self._hash = configuration.marking.hash

    def take(self, ids: Mapping[str, Iterable[str]]) -> None:
        """Take tokens out of their places."""
        for place, wanted in ids.items():
            for token in wanted:
                self.board.take(place, token)

    def empty(self, place: str) -> list[str]:
        """Take every token out of a place and return their ids."""
        self.configuration.net.require(place, where="cancel")
        ids = list(self.board.places[place])
        self.take({place: ids})
        return ids

    def put(self, origin: str, payloads: Payloads) -> dict[str, list[Token]]:
        """Make tokens, named by their origin, and put them into their places."""
        tokens_by_place = {
            place: [
                Token(token_id(origin, place, index), payload, self.k)
                for index, payload in enumerate(some)
            ]
            for place, some in payloads.items()
        }
        for place, tokens in tokens_by_place.items():
            for token in tokens:
                self.board.put(place, token)
        return tokens_by_place

    def record(  # noqa: PLR0913  every part of the receipt has a name
        self,
        kind: Kind,
        transition: str,
        *,
        attempt: int = 0,
        consumed: Lost | None = None,
        read: dict[str, str] | None = None,
        reset: Lost | None = None,
        produced: Mapping[str, list[Token]] | None = None,
    ) -> None:
        """Leave the receipt of a change that has been made to the board."""
        before, self._hash = self._hash, self.board.hash
        receipt = sealed(
            Receipt(
                k=self.k,
                run=self.configuration.run,
                net=self.configuration.net_hash,
                kind=kind,
                strategy=self.configuration.strategy.name,
                transition=transition,
                attempt=attempt,
                consumed=consumed or {},
                read=read or {},
                reset=reset or {},
                produced=[
                    Produced(place, token.id, token.payload_hash)
                    for place, tokens in (produced or {}).items()
                    for token in tokens
                ],
                before=before,
                after=self._hash,
                previous=self._last,
                ts=self._ts,
            )
        )
        self.receipts.append(receipt)
        self.k += 1
        self._last = receipt.hash
        self._acts += kind not in ("start", "fire")

    def freeze(self) -> Configuration:
        """Return the configuration as it is now."""
        return replace(
            self.configuration,
            marking=self.board.freeze(),
            k=self.k,
            last=self._last,
            acts=self._acts,
            springs=self.springs,
            log=self.configuration.log.extended(self.receipts),
        )


def encode_tokens(
    net: Net, tokens: Mapping[str, Iterable[object]], *, where: str
) -> dict[str, list[bytes]]:
    """Encode what shall be put into places.

    Raises:
        NetError: a place is unknown, or data is not a JSON value.
    """
    for place in tokens:
        net.require(place, where=where)
    return {
        place: [encode_data(data, where=f"{where} into {place!r}") for data in some]
        for place, some in tokens.items()
    }
