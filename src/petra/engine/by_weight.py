"""A cache that is bounded by bytes: what nobody needed for longest leaves it first."""

from __future__ import annotations

from collections import OrderedDict
from typing import Generic, Protocol, TypeVar


class Weighed(Protocol):
    """Something that takes ``weight`` bytes, of which ``counted`` are; while it is busy it stays."""

    weight: int
    counted: int
    busy: int


T = TypeVar("T", bound=Weighed)


class ByWeight(Generic[T]):
    """Executions in memory, in the order in which they were needed last, with at most so many bytes."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.entries: OrderedDict[str, T] = OrderedDict()
        self._bytes = 0

    def put(self, execution: str, entry: T) -> None:
        """Keep an execution, and count what it takes by now; idle ones make room."""
        known = self.entries.get(execution)
        self._bytes += entry.weight - (known.counted if known is not None else 0)
        entry.counted = entry.weight
        self.entries[execution] = entry
        if self._bytes > self.most:
            self._make_room(execution)

    def grown(self, execution: str, entry: T) -> None:
        """Count what an execution that is kept takes by now."""
        self._bytes += entry.weight - entry.counted
        entry.counted = entry.weight
        if self._bytes > self.most:
            self._make_room(execution)

    def _make_room(self, execution: str) -> None:
        while self._bytes > self.most:
            idle = next((key for key, entry in self.entries.items() if not entry.busy), None)
            if idle is None or idle == execution:
                break
            self.pop(idle)

    def pop(self, execution: str) -> T | None:
        """Forget an execution."""
        entry = self.entries.pop(execution, None)
        if entry is not None:
            self._bytes -= entry.counted
        return entry
