"""Selection: which of several enabled firings goes first (S17).

| strategy | order |
|---|---|
| fifo | the position in the log at which the token became ready, then arc, then index |
| priority | ``step.spec.priority`` (lower first), then name, then token |
| name | UTF-8 bytes of the NFC name, then token |
| hash | SHA-256 of seed, execution, number of the firing, name and token |
| random | an index drawn by SHA-256 of seed and number, without bias |

Every order is total and computed from stored data, so the same log gives the same order everywhere.
"""

from __future__ import annotations

import hashlib
import unicodedata
from bisect import insort
from collections.abc import Callable, Iterable, Mapping
from heapq import heappop, heappush
from itertools import islice
from typing import Any

from petra.kernel.program import Program
from petra.kernel.state import State, Token

Key = tuple[Any, ...]


class Agenda:
    """The tokens that may be enabled, least first."""

    __slots__ = ("_fifo", "_is_fifo", "_members", "_program", "_sorted", "_state")

    def __init__(self, program: Program, state: State) -> None:
        self._state = state
        self._program = program
        self._is_fifo = program.selection == "fifo"
        self._fifo: list[tuple[int, str]] = []
        self._sorted: list[tuple[Key, str]] = []
        self._members: set[str] = set()

    def add(self, token: Token) -> None:
        """Put a token up for consideration."""
        if token.id in self._members:
            return
        self._members.add(token.id)
        if self._is_fifo:
            heappush(self._fifo, (token.arrival, token.id))  # one that waited longer goes first
        else:
            insort(self._sorted, (self._key(token), token.id))

    def add_waiting(
        self, steps: Iterable[str], most: Mapping[str, int | None] | None = None
    ) -> None:
        """Put up the tokens that wait at some steps, in order of arrival.

        ``most`` says of how many of a step the others need not be looked at, where the first come first.
        """
        state = self._state
        limits = most if most is not None and self._is_fifo else {}
        tokens = [
            state.ready[token_id]
            for step in steps
            for token_id in islice(state.ready_at.get(step, ()), limits.get(step))
        ]
        for token in sorted(tokens, key=_arrival):
            self.add(token)

    def pop(self) -> Token | None:
        """Take the token that goes first; one that has left in the meantime is passed over."""
        ready = self._state.ready
        while self._members:
            token_id = heappop(self._fifo)[1] if self._is_fifo else self._next()
            self._members.discard(token_id)
            if token_id in ready:
                return ready[token_id]
        return None

    def _next(self) -> str:
        choose = _PLACES.get(self._program.selection, _first)
        place = choose(self._sorted, str(self._program.seed), self._state)
        return self._sorted.pop(place)[1]

    def _key(self, token: Token) -> Key:
        name = unicodedata.normalize("NFC", token.step).encode()
        if self._program.selection == "priority":
            return (self._program.steps[token.step].step.spec.priority, name, token.id)
        return (name, token.id)


def _arrival(token: Token) -> int:
    return token.arrival


def _first(_waiting: list[tuple[Key, str]], _seed: str, _state: State) -> int:
    return 0


def _by_hash(waiting: list[tuple[Key, str]], seed: str, state: State) -> int:
    def key(index: int) -> bytes:
        name, token_id = waiting[index][0][0], waiting[index][1]
        parts = (
            seed.encode(),
            state.id.encode(),
            str(state.firings).encode(),
            name,
            token_id.encode(),
        )
        return hashlib.sha256(b"\0".join(parts)).digest()

    return min(range(len(waiting)), key=key)


def _by_draw(waiting: list[tuple[Key, str]], seed: str, state: State) -> int:
    return draw(len(waiting), seed, state.firings)


def draw(size: int, seed: str, number: int) -> int:
    """Draw an index without bias: a value beyond the last full multiple of ``size`` is drawn again."""
    limit = (2**64 // size) * size
    attempt = 0
    while True:
        raw = hashlib.sha256(f"{seed}\0{number}\0{attempt}".encode()).digest()[:8]
        value = int.from_bytes(raw, "big")
        if value < limit:
            return value % size
        attempt += 1


_PLACES: dict[str, Callable[[list[tuple[Key, str]], str, State], int]] = {
    "hash": _by_hash,
    "random": _by_draw,
}
