"""Which records are wanted, as the columns of a story tell: by what they are about, never by what mentions it."""

from __future__ import annotations

from typing import Final, Literal, NamedTuple

from petra.story.fold import Story

Level = Literal["marked", "important", "all"]
IMPORTANT: Final = frozenset({
    "execution.started", "execution.forked", "step.done", "step.failed", "loop.done", "incident.raised", "group.changed",
    "group.timed_out", "ctx.patched", "signal.received", "workitem.changed", "act.refused", "execution.paused",
    "execution.resumed", "execution.ending", "execution.stuck", "execution.ended", "execution.migrated",
})  # fmt: skip
_NOWHERE: Final = -2


class Wanted(NamedTuple):
    """The records of a step, a run, a type, an arc, a level; of all that is asked for, together."""

    step: str | None = None
    run: int | None = None
    kind: str | None = None
    arc: tuple[str, int] | None = None
    level: Level = "all"


class Fit:
    """Which records of a story are wanted."""

    def __init__(self, story: Story, wanted: Wanted) -> None:
        self._story = story
        self._step = None if wanted.step is None else story.steps.get(wanted.step, _NOWHERE)
        self._run = wanted.run
        self._type = None if wanted.kind is None else story.types.get(wanted.kind, _NOWHERE)
        self._places: set[int] | None = None
        if wanted.arc is not None:
            self._places = {n for place, n in story.places.items() if place.arc == wanted.arc}
        self._level = wanted.level
        self._types = {n for name, n in story.types.items() if name in IMPORTANT}

    def has(self, seq: int) -> bool:
        """Tell whether a record is wanted."""
        story, n = self._story, seq - 1
        return (
            (self._step is None or story.step[n] == self._step)
            and (self._run is None or story.run[n] == self._run)
            and (self._type is None or story.type[n] == self._type)
            and (self._places is None or self._is_taken(n))
            and (self._level == "all" or bool(story.flag[n]) or self._is_important(n))
        )

    def counts(self, begin: int, end: int, size: int) -> list[int]:
        """Count the records that are wanted behind ``begin`` up to ``end``, in stretches of a size."""
        stops = [min(start + size, end) for start in range(begin, end, size)]
        starts = range(begin, end, size)
        return [
            sum(map(self.has, range(start + 1, stop + 1)))
            for start, stop in zip(starts, stops, strict=True)
        ]

    def _is_important(self, n: int) -> bool:
        return self._level == "important" and self._story.type[n] in self._types

    def _is_taken(self, n: int) -> bool:
        delta = self._story.delta[n]
        return any(
            count > 0 and place in (self._places or ())
            for place, count in zip(delta[::2], delta[1::2], strict=True)
        )
