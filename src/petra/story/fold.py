"""Folding a log into its story: one record after the other, each read once.

Rule 1: a token is in one place, and is taken from where it lies. So the sum of all deltas is the marking.
Rule 2: indices of places, types, steps and runs never change once they are given: whoever has read half a story goes on with it.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Final, NamedTuple

from petra.story.bins import Bins
from petra.story.marks import flag_of, keys_written
from petra.story.runs import RunHistory
from petra.story.slim import SlimEvent, SlimToken, slim

NOTHING: Final = -1
"""In the column of steps: the record is about none."""
Delta = tuple[int, ...]
_STILL: Final[Delta] = ()


class Place(NamedTuple):
    """Where tokens are: before a step, by the arc they came, or in it."""

    step: str
    kind: str
    arc: tuple[str, int] | None = None


class Story:
    """What a log tells, in columns; entry n is about record n + 1."""

    def __init__(self, bins: Bins | None = None) -> None:
        self.bins = bins or Bins()
        self.places: dict[Place, int] = {}
        self.types: dict[str, int] = {}
        self.steps: dict[str, int] = {}
        self.at: array[float] = array("d")
        self.type: array[int] = array("H")
        self.step: array[int] = array("l")
        self.run: array[int] = array("L")
        self.flag: array[int] = array("B")
        self.delta: list[Delta] = []
        self.runs: list[RunHistory] = []
        self.written: dict[str, list[int]] = {}
        """By key of ctx: the records that wrote it."""
        self.taken: Counter[tuple[str, int]] = Counter()
        """How often each arc was taken, by its step and position."""
        self._numbers: dict[str, int] = {}
        self._live: dict[str, int] = {}
        self._came: dict[str, int] = {}
        self._groups: dict[str, str] = {}
        self._asked: dict[bytes, str] = {}
        """By work item: the run that asks for it."""
        self._moved: dict[int, int] = {}
        self._by_arc: dict[tuple[str, str, int], int] = {}
        """Places before steps, by step, origin and arc: looked up for every token, so without making a place of it."""
        self._inside: dict[str, int] = {}

    def __len__(self) -> int:
        """Return how many records it tells of."""
        return len(self.delta)

    def take(self, at: float, body: bytes) -> None:
        """Go on with the next record: its time, and the bytes of its event and receipt."""
        event = slim(body)
        moved: dict[int, int] = {}
        self._moved = moved
        self._apply(event, len(self.delta) + 1, at)
        self.at.append(at)
        self.type.append(self.types.setdefault(event.type, len(self.types)))
        run = self._numbers.get(event.run or self._asking(event), 0)
        step = event.step or (self.runs[run - 1].step if run else "")
        self.step.append(self.steps.setdefault(step, len(self.steps)) if step else NOTHING)
        self.run.append(run)
        self.flag.append(flag_of(event))
        self.delta.append(
            tuple([part for pair in moved.items() if pair[1] for part in pair]) if moved else _STILL
        )
        self.bins.follow(self)

    def marking(self, seq: int | None = None) -> dict[Place, int]:
        """Return how many tokens were in each place after a record."""
        sums: Counter[int] = Counter()
        for delta in self.delta[:seq]:
            for place, count in zip(delta[::2], delta[1::2], strict=True):
                sums[place] += count
        names = list(self.places)
        return {names[place]: count for place, count in sums.items() if count}

    def run_of(self, identity: str) -> RunHistory | None:
        """Return a run by its id."""
        number = self._numbers.get(identity, 0)
        return self.runs[number - 1] if number else None

    # What records do

    def _apply(self, event: SlimEvent, seq: int, at: float) -> None:
        apply = _APPLY.get(event.type)
        if apply is not None:
            apply(self, event, seq, at)
        if event.armed is not None and event.run:
            for item in event.armed.items:
                self._asked[bytes(item.id)] = event.run
        if event.writes or event.ended or event.merge or event.values or event.error:
            self._note_writes(event, seq)

    def _asking(self, event: SlimEvent) -> str:
        """Return the run that a record of a work item is about; nothing, of other records."""
        return self._asked.get(bytes(event.item), "") if event.type in _ABOUT_ITEMS else ""

    def _note_writes(self, event: SlimEvent, seq: int) -> None:
        for key in keys_written(event):
            seqs = self.written.setdefault(key, [])
            if not seqs or seqs[-1] != seq:
                seqs.append(seq)

    def _put(self, token: str, number: int) -> None:
        self._live[token] = number
        self._moved[number] = self._moved.get(number, 0) + 1

    def _take(self, tokens: Iterable[str]) -> None:
        live, moved = self._live, self._moved
        for token in tokens:
            number = live.pop(token)
            moved[number] = moved.get(number, 0) - 1

    def _number(self, place: Place) -> int:
        return self.places.setdefault(place, len(self.places))

    def _ready(self, token: SlimToken, origin: str) -> None:
        key = (token.step, origin, token.arc)
        number = self._by_arc.get(key)
        if number is None:
            arc = (origin, token.arc) if origin else None
            number = self._by_arc[key] = self._number(Place(token.step, "ready", arc))
        self._put(token.id, number)

    def _running(self, step: str) -> int:
        number = self._inside.get(step)
        if number is None:
            number = self._inside[step] = self._number(Place(step, "running"))
        return number

    def begun(self, event: SlimEvent, _seq: int, _at: float) -> None:
        """The first token, or that of the final step."""
        for token in (event.entry, event.token):
            if isinstance(token, SlimToken):
                self._ready(token, "")

    def started(self, event: SlimEvent, seq: int, at: float) -> None:
        """Tokens became a run."""
        run = event.run or ""
        if event.consumed:
            self._came[run] = self._live[event.consumed[0]]
        self._take(event.consumed)
        self._put(run, self._running(event.step))
        history = RunHistory(len(self.runs) + 1, event, seq, at)
        self.runs.append(history)
        self._numbers[run] = history.number

    def ended(self, event: SlimEvent, seq: int, at: float) -> None:
        """A run ended, or tokens did that never became one."""
        run = event.run or ""
        is_live = run in self._live
        self._take([run] if is_live else event.consumed)
        if is_live:
            self.runs[self._numbers[run] - 1].finish(event, seq, at)
        for arc in event.arcs:
            self.taken[event.step, arc] += 1
        if event.group is not None and not isinstance(event.group, str):
            self._groups[event.group.id] = event.step
        self.produced(event, seq, at)

    def produced(self, event: SlimEvent, _seq: int, _at: float) -> None:
        """Tokens were made by a step; of a group that somebody changed, by the step that fanned out."""
        produced = event.produced
        if produced is None:
            return
        origin = event.step or self._groups.get(str(event.group), "")
        for token in (produced,) if isinstance(produced, SlimToken) else produced:
            self._ready(token, origin)

    def left(self, event: SlimEvent, seq: int, at: float) -> None:
        """Tokens and runs went away."""
        gone = [event.token] if isinstance(event.token, str) and event.token else []
        self._take([*gone, *event.tokens, *event.consumed, *event.runs])
        for run in event.runs:
            self.runs[self._numbers[run] - 1].over("withdrawn", seq, at)

    def returned(self, event: SlimEvent, seq: int, at: float) -> None:
        """A run went back to waiting, by the arc it had come."""
        run = event.run or ""
        self._take([run])
        self.runs[self._numbers[run] - 1].over("returned", seq, at)
        if isinstance(event.token, SlimToken):
            came = list(self.places)[self._came[run]]
            self._put(event.token.id, self._number(Place(event.token.step, "ready", came.arc)))

    def handed(self, event: SlimEvent, seq: int, at: float) -> None:
        """Something about a run or its iterations happened that moves no token."""
        run = self.run_of(event.run or "")
        if run is None:
            return
        run.delivery = max(run.delivery, event.delivery)
        if event.armed is not None and event.armed.child:
            run.child = event.armed.child
        if event.type == "attempt.ended":
            run.tries += 1
            run.retries += 1
        loop = run.loop
        if loop is None:
            return
        if event.type == "loop.iterations.started":
            loop.start(event, seq, at)
        elif event.type == "loop.iterations.ended":
            loop.end(event, seq, at)
        elif event.type == "loop.items.added":
            more = len(event.items or ()) + sum(count for count, _ in event.pieces)
            loop.grow(event.path, more)

    def lived(self, event: SlimEvent, seq: int, _at: float) -> None:
        """A past was taken over: all of it happens in this record."""
        for at, one in event.past:
            self._apply(one, seq, at)

    def migrated(self, event: SlimEvent, _seq: int, _at: float) -> None:
        """Tokens are where their steps are called otherwise."""
        new = event.renamed
        if not new:
            return
        names = list(self.places)
        for token, number in list(self._live.items()):
            was = names[number]
            arc = (new.get(was.arc[0], was.arc[0]), was.arc[1]) if was.arc is not None else None
            now = Place(new.get(was.step, was.step), was.kind, arc)
            if now != was:
                self._take([token])
                self._put(token, self._number(now))
        for run, number in self._came.items():
            was = names[number]
            if was.arc is not None and was.arc[0] in new:
                moved = Place(was.step, was.kind, (new[was.arc[0]], was.arc[1]))
                self._came[run] = self._number(moved)
        self._groups = {group: new.get(step, step) for group, step in self._groups.items()}


_ABOUT_ITEMS: Final = frozenset({"workitem.changed", "act.refused"})

Apply = Callable[[Story, SlimEvent, int, float], None]
_APPLY: Final[dict[str, Apply]] = {
    "execution.started": Story.begun,
    "final.started": Story.begun,
    "step.started": Story.started,
    "step.done": Story.ended,
    "step.failed": Story.ended,
    "loop.done": Story.ended,
    "tokens.added": Story.produced,
    "group.changed": Story.produced,
    "token.discarded": Story.left,
    "tokens.withdrawn": Story.left,
    "tokens.gathered": Story.left,
    "run.returned": Story.returned,
    "loop.iterations.started": Story.handed,
    "loop.iterations.ended": Story.handed,
    "loop.items.added": Story.handed,
    "run.redelivered": Story.handed,
    "run.taken_back": Story.handed,
    "attempt.ended": Story.handed,
    "attempt.started": Story.handed,
    "execution.forked": Story.lived,
    "execution.past": Story.lived,
    "execution.migrated": Story.migrated,
}
