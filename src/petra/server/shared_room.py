"""How several engines share the room that one worker has; pure.

Rule 1: every engine that has nothing at the worker has room for one assignment there, also if there is none: the worker lets it
wait. So no engine waits for what another one does not use.
Rule 2: whoever uses all it was given gets more, twice as much each time, of what nobody has; several take turns.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable


class SharedRoom:
    """The room of a worker, and which engine was given how much of it."""

    def __init__(self, engines: Iterable[str]) -> None:
        self._given = dict.fromkeys(engines, 0)
        """Room that an engine may use."""
        self._busy = dict.fromkeys(self._given, 0)
        self._wanted = dict.fromkeys(self._given, 0)
        self._spare = 0
        """Room that nobody was given; below nothing, by what was given beyond it."""

    def add(self, engine: str) -> None:
        """Another engine is there; with the next room it gets some."""
        self._given[engine] = self._busy[engine] = self._wanted[engine] = 0

    def more(self, count: int) -> Counter[str]:
        """The worker has more room; return what each engine gets of it."""
        self._spare += count
        return self._shared()

    def used(self, engine: str, count: int) -> Counter[str]:
        """An engine has sent assignments; return what each engine gets for that."""
        self._given[engine] -= count
        self._busy[engine] += count
        if self._given[engine] <= 0:
            self._wanted[engine] = 2 * count
        return self._shared()

    def had(self, engine: str, count: int) -> None:
        """An engine has assignments at the worker, from before."""
        self._busy[engine] += count

    def done(self, engine: str) -> Counter[str]:
        """An assignment of an engine is done; return what each engine gets for that."""
        self._busy[engine] -= 1
        return self._shared()

    def _shared(self) -> Counter[str]:
        gets = Counter[str]()
        for engine, room in self._given.items():
            if room <= 0 and self._busy[engine] <= 0:
                self._give(engine, gets)
        while self._spare > 0 and (wanting := [one for one, most in self._wanted.items() if most]):
            for engine in wanting[: self._spare]:
                self._give(engine, gets)
                self._wanted[engine] -= 1
                self._wanted[engine] = self._wanted.pop(
                    engine
                )  # and it is the last in the next turn
        return gets

    def _give(self, engine: str, gets: Counter[str]) -> None:
        self._spare -= 1
        self._given[engine] += 1
        gets[engine] += 1
