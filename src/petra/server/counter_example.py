"""A counter-example as frames: the firings that lead to a defect, to be shown like an execution."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Final

from petra.net.compile import Compiled
from petra.net.compile import compile as compiled_net
from petra.playbook import Reading
from petra.story.frames import Frames, ShownPlace

_FROM: Final = re.compile(r" from (.+)#(\d+)$")


def way_of(reading: Reading, firings: Sequence[str]) -> Frames:
    """Return the firings that lead to a defect as frames; they take no time."""
    way = _Way(compiled_net(reading.checked()))
    for name in firings:
        way.fire(name)
    return way.frames()


class _Way:
    """A walk on the net, in columns."""

    def __init__(self, compiled: Compiled) -> None:
        self._compiled = compiled
        self._places: dict[str, int] = {}
        self._shown: list[ShownPlace] = []
        self._types: dict[str, int] = {}
        self._steps: dict[str, int] = {}
        self._columns: list[tuple[int, int, tuple[int, ...]]] = []
        self._add("start", "", Counter(dict(compiled.net.initial)))

    def fire(self, name: str) -> None:
        """Go on with a transition."""
        transition, origin = self._compiled.net.transitions[name], self._compiled.origin[name]
        moved: Counter[str] = Counter(dict(transition.outputs))
        moved.subtract(dict(transition.inputs))
        self._add(origin.kind, origin.step, moved)

    def _add(self, kind: str, step: str, moved: Counter[str]) -> None:
        pairs = [(self._number(name), count) for name, count in moved.items() if count]
        delta = [part for place, count in pairs if place is not None for part in (place, count)]
        where = self._steps.setdefault(step, len(self._steps)) if step else -1
        self._columns.append((self._types.setdefault(kind, len(self._types)), where, tuple(delta)))

    def _number(self, name: str) -> int | None:
        """Return the number of a place of a step; others are the net's own affair."""
        origin = self._compiled.origin[name]
        kind = origin.kind.partition(" ")[0]
        if kind not in ("ready", "running"):
            return None
        if name not in self._places:
            came = _FROM.search(origin.kind)
            arc = (came[1], int(came[2])) if came is not None else None
            self._places[name] = len(self._shown)
            self._shown.append(ShownPlace(origin.step, kind, arc))
        return self._places[name]

    def frames(self) -> Frames:
        """Return what happened so far."""
        columns, count = self._columns, len(self._columns)
        return Frames(
            first=1, at0=0.0, version=count, places=self._shown, types=list(self._types), steps=list(self._steps),
            dt=[0.0] * count, type=[kind for kind, _, _ in columns], step=[step for _, step, _ in columns],
            run=[0] * count, flag=[0] * count, delta=[delta for _, _, delta in columns],
        )  # fmt: skip
