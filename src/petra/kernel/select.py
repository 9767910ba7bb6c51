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
from collections.abc import Callable, Iterable
from typing import Any

from petra.kernel.program import Program
from petra.kernel.state import State, Token

Key = tuple[Any, ...]


class Agenda:
    """The tokens that may be enabled, least first."""

    def __init__(self, program: Program, state: State) -> None:
        self._state = state
        self._seed = str(program.seed)
        self._strategy = program.selection
        self._program = program
        self._fifo: dict[str, None] = {}
        self._sorted: list[tuple[Key, str]] = []
        self._members: set[str] = set()

    def add(self, token: Token) -> None:
        """Put a token up for consideration."""
        if self._strategy == "fifo":
            self._fifo[token.id] = None
        elif token.id not in self._members:
            self._members.add(token.id)
            insort(self._sorted, (self._key(token), token.id))

    def add_waiting(self, steps: Iterable[str]) -> None:
        """Put up every token that waits at some steps, those that became ready first in front."""
        state = self._state
        tokens = [
            state.ready[token_id] for step in steps for token_id in state.ready_at.get(step, ())
        ]
        for token in sorted(tokens, key=_age):
            self.add(token)

    def pop(self) -> Token | None:
        """Take the token that goes first; one that has left in the meantime is passed over."""
        while True:
            token_id = self._next()
            if token_id is None:
                return None
            token = self._state.ready.get(token_id)
            if token is not None:
                return token

    def _next(self) -> str | None:
        if self._strategy == "fifo":
            if not self._fifo:
                return None
            token_id = next(iter(self._fifo))
            del self._fifo[token_id]
            return token_id
        if not self._sorted:
            return None
        place = _PLACES.get(self._strategy, _first)(self._sorted, self._seed, self._state)
        _, token_id = self._sorted.pop(place)
        self._members.discard(token_id)
        return token_id

    def _key(self, token: Token) -> Key:
        name = unicodedata.normalize("NFC", token.step).encode()
        if self._strategy == "priority":
            return (self._program.steps[token.step].step.spec.priority, name, token.id)
        return (name, token.id)


def _age(token: Token) -> tuple[int, int, int]:
    arc = token.arrow[1] if token.arrow is not None else 0
    return (token.since, arc, token.stack[-1].branch if token.stack else 0)


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
