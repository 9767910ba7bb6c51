"""Loops in a story: how far every iteration has come, in the order of their indices."""

from __future__ import annotations

import base64
import math
import struct
from collections.abc import Iterator
from typing import Any, Final

from petra.story.slim import SlimEvent, SlimTurn

TO_GO, IN_FLIGHT, OK, FAILED, CANCELLED = range(5)
STATES: Final = ("to_go", "in_flight", "ok", "failed", "cancelled")
"""The states of an iteration, by the numbers that a map has for them."""
SHADE: Final = 2048
"""A duration in a map is ``SHADE * log2(1 + ms)``: 2 bytes hold up to 49 days."""
_MAX: Final = 0xFFFF

Path = tuple[int, ...]


class IterationHistory:
    """One iteration: its state, how long it took, the records in which it began and ended."""

    __slots__ = ("error", "first", "last", "ms", "since", "state", "tries")

    def __init__(self, first: int, since: float) -> None:
        self.state = IN_FLIGHT
        self.ms = 0.0
        self.first = first
        self.last = 0
        self.tries = 0
        self.error = ""
        self.since = since

    def end(self, seq: int, at: float, ended: SlimTurn) -> None:
        """Note how it ended; what ran nowhere took as long as it was waited for."""
        tried = [attempt for attempt in ended.attempts if not attempt.noop]
        self.state, self.last, self.tries = OK if ended.ok else FAILED, seq, len(tried)
        took = sum(attempt.duration_ms for attempt in tried)
        self.ms = took if tried else max(0.0, at - self.since) * 1000
        if ended.error is not None:
            self.error = f"{ended.error.kind}: {ended.error.message}"


_NOT_BEGUN: Final = IterationHistory(0, 0.0)
_NOT_BEGUN.state = TO_GO


class LoopHistory:
    """The iterations of one run. ``sizes`` has the length of every list: of the outermost under the empty path."""

    __slots__ = ("counted", "sizes", "turns")

    def __init__(self, total: int) -> None:
        self.sizes: dict[Path, int] = {(): total}
        self.turns: dict[Path, IterationHistory] = {}
        self.counted = [0] * len(STATES)

    def grow(self, path: Path, more: int) -> None:
        """Note further items of a list."""
        self.sizes[path] = self.sizes.get(path, 0) + more

    def start(self, event: SlimEvent, seq: int, at: float) -> None:
        """Note iterations that were handed out, and inner lists that became known."""
        for path, items, _ in event.opened:
            self.sizes[path] = len(items)
        if event.opened and event.pieces:
            self.grow(event.opened[-1][0], sum(count for count, _ in event.pieces))
        for path in event.paths:
            self.turns[path] = IterationHistory(seq, at)
            self.counted[IN_FLIGHT] += 1

    def end(self, event: SlimEvent, seq: int, at: float) -> None:
        """Note iterations that ended."""
        for ended in event.ended:
            turn = self.turns.setdefault(ended.path, IterationHistory(seq, at))
            self.counted[IN_FLIGHT] -= 1
            turn.end(seq, at, ended)
            self.counted[turn.state] += 1

    def stop(self, seq: int) -> None:
        """Note that the run is over: what is out will not come back."""
        if not self.counted[IN_FLIGHT]:
            return
        for turn in self.turns.values():
            if turn.state == IN_FLIGHT:
                turn.state, turn.last = CANCELLED, seq
        self.counted[CANCELLED] += self.counted[IN_FLIGHT]
        self.counted[IN_FLIGHT] = 0

    @property
    def is_nested(self) -> bool:
        """Whether its iterations are loops themselves."""
        return len(self.sizes) > 1

    def paths(self, at: Path = ()) -> Iterator[Path]:
        """Yield the paths of all iterations in order; an outer one whose list is not known counts once."""
        for index in range(self.sizes[at]):
            path = (*at, index)
            if path in self.sizes:
                yield from self.paths(path)
            else:
                yield path

    def all(self) -> Iterator[tuple[Path, IterationHistory]]:
        """Yield every iteration in order."""
        for path in self.paths():
            yield path, self.turns.get(path, _NOT_BEGUN)

    def counts(self) -> dict[str, int]:
        """Count iterations by state; those of inner lists that are not known yet count once each."""
        total = self.sizes[()]
        if self.is_nested:
            total = sum(size for path, size in self.sizes.items() if path)
            total += self.sizes[()] - sum(len(path) == 1 for path in self.sizes)
        begun = dict(zip(STATES[1:], self.counted[1:], strict=True))
        return {"total": total, "to_go": total - sum(begun.values()), **begun}

    def map(self) -> dict[str, Any]:
        """Return all iterations as columns of bytes: little-endian, in base64."""
        rows = [turn for _, turn in self.all()]
        shown: dict[str, Any] = {
            "count": len(rows),
            "state": _packed("B", [turn.state for turn in rows]),
            "ms": _packed("H", [shade(turn.ms) for turn in rows]),
            "first": _packed("I", [turn.first for turn in rows]),
            "last": _packed("I", [turn.last for turn in rows]),
        }
        if self.is_nested:  # how many iterations each of the outer ones has
            shown["rows"] = [self.sizes.get((index,), 1) for index in range(self.sizes[()])]
        return shown


def shade(ms: float) -> int:
    """Return a duration as a map has it."""
    return min(_MAX, round(SHADE * math.log2(1 + max(0.0, ms))))


def _packed(code: str, values: list[int]) -> str:
    raw = struct.pack(f"<{len(values)}{code}", *values)
    return base64.b64encode(raw).decode()
