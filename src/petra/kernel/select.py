"""Selection: which of several enabled firings goes first (S17).

| strategy | order |
|---|---|
| fifo | arrival: the order in which tokens came, those of one firing by arc, then index |
| priority | ``step.spec.priority`` (lower first), then name, then arrival |
| name | UTF-8 bytes of the NFC name, then arrival |
| hash | SHA-256 of seed, arrival and name |
| random | an index drawn by SHA-256 of seed and number of the firing, without bias |

Every order is total and computed from stored data, by the rules of ``petra.net.order``: the id of the execution has
no part in it, so the same inputs give the same order in every execution.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterable, Mapping
from heapq import heappop, heappush
from itertools import islice
from typing import Any

from petra.kernel.program import Program
from petra.kernel.state import ReadyToken, State
from petra.net.order import draw, name_key, scatter, urgency

Key = tuple[Any, ...]


class Agenda:
    """The tokens that may be enabled, least first."""

    __slots__ = ("_fifo", "_first", "_is_fifo", "_members", "_program", "_sorted", "_state")

    def __init__(self, program: Program, state: State) -> None:
        self._state = state
        self._program = program
        self._is_fifo = program.selection == "fifo"
        self._first: ReadyToken | None = None
        """The only one, while there is no other: mostly there is none, and nothing to be ordered."""
        self._fifo: list[tuple[int, str]] = []
        self._sorted: list[tuple[Key, str]] = []
        self._members: set[str] | None = None

    def add(self, token: ReadyToken) -> None:
        """Put a token up for consideration."""
        if self._members:
            self._put(self._members, token)
        elif (first := self._first) is None:
            self._first = token
        elif first.id != token.id:
            self._first, self._members = None, set()
            self._put(self._members, first)
            self._put(self._members, token)

    def _put(self, members: set[str], token: ReadyToken) -> None:
        if token.id in members:
            return
        members.add(token.id)
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

    def pop(self) -> ReadyToken | None:
        """Take the token that goes first; one that has left in the meantime is passed over."""
        ready, members = self._state.ready, self._members
        if not members:
            first, self._first = self._first, None
            return ready.get(first.id) if first is not None else None
        while members:
            token_id = heappop(self._fifo)[1] if self._is_fifo else self._next()
            members.discard(token_id)
            if token_id in ready:
                return ready[token_id]
        return None

    def _next(self) -> str:
        place = 0
        if self._program.selection == "random":
            place = draw(self._program.seed, self._state.firings, 0, len(self._sorted))
        return self._sorted.pop(place)[1]

    def _key(self, token: ReadyToken) -> Key:
        match self._program.selection:
            case "priority":
                priority = self._program.steps[token.step].step.spec.priority
                return (*urgency(priority, token.step), token.arrival)
            case "hash":
                return (scatter(self._program.seed, token.arrival, token.step), token.arrival)
            case _:
                return (name_key(token.step), token.arrival)


def _arrival(token: ReadyToken) -> int:
    return token.arrival
