"""Is every firing in a log a firing of the playbook's net (S2)?

An operator's override and live changes of a group are administrative and exempt; compensation comes
after the end of the net and is left out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from petra.kernel import events as e
from petra.kernel.crowds import whole
from petra.net.compile import Compiled


@dataclass(frozen=True, slots=True)
class Firing:
    """A recorded firing, by the places of steps. ``version`` is its position in the log, from 1."""

    version: int
    kind: str
    step: str
    consumed: Mapping[str, int]
    produced: Mapping[str, int]

    def __str__(self) -> str:
        taken, made = _shown(self.consumed), _shown(self.produced)
        return f"record {self.version}: {self.step}.{self.kind} takes {taken} and makes {made}"


def violations(compiled: Compiled, events: Iterable[e.AnyEvent]) -> list[Firing]:
    """Return the firings of a whole log that are no firings of the net."""
    return [
        one
        for one in firings(events)
        if not compiled.admits(one.kind, one.step, one.consumed, one.produced)
    ]


def firings(events: Iterable[e.AnyEvent]) -> Iterator[Firing]:
    """Yield what fired, in the order of the log."""
    log = _Log()
    for version, _, event in whole(
        (number, 0.0, one) for number, one in enumerate(events, start=1)
    ):
        yield from log.take(version, event)


@dataclass(slots=True)
class _Log:
    """Knows where each token and each run is."""

    tokens: dict[str, str] = field(default_factory=dict)
    runs: dict[str, str] = field(default_factory=dict)
    compensations: set[str] = field(default_factory=set)

    def take(self, version: int, event: e.AnyEvent) -> Iterator[Firing]:
        match event:
            case e.ExecutionStarted(entry=token) | e.FinalStarted(token=token):
                self._put([token])
            case e.GroupChanged(produced=token) if token is not None:
                self._put([token])
            case e.StepStarted(compensates=undone) if undone:
                self.compensations.add(event.run)
            case e.StepStarted(run=run, step=step, consumed=consumed):
                taken = self._waiting(consumed)
                self.runs[run] = step
                if event.administrative is not None:
                    return
                yield Firing(version, "start", step, taken, {f"{step}.running": 1})
            case e.StepDone() | e.StepFailed() | e.LoopDone():
                yield from self._ended(version, event)
            case e.TokenDiscarded(token=token_id):
                step = self.tokens[token_id]
                yield Firing(version, "discard", step, self._waiting([token_id]), {})
            case e.Withdrawn(tokens=tokens, runs=runs):
                yield from self._withdrawn(version, tokens, runs)
            case e.RunReturned(run=run, token=token):
                step = self.runs.pop(run)
                self._put([token])
                made = {f"{token.step}.ready": 1}
                yield Firing(version, "withdraw", step, {f"{step}.running": 1}, made)
            case _:
                return

    def _ended(
        self, version: int, event: e.StepDone | e.StepFailed | e.LoopDone
    ) -> Iterator[Firing]:
        if event.run in self.compensations:
            return
        taken = self._waiting(event.consumed)
        if self.runs.pop(event.run, None) is not None:
            taken[f"{event.step}.running"] += 1
        self._put(event.produced)
        if event.administrative is None:
            kind = "failed" if isinstance(event, e.StepFailed) else "done"
            made = Counter(f"{token.step}.ready" for token in event.produced)
            yield Firing(version, kind, event.step, taken, made)

    def _withdrawn(self, version: int, tokens: list[str], runs: list[str]) -> Iterator[Firing]:
        taken: dict[str, Counter[str]] = {}
        for token in tokens:
            step = self.tokens[token]
            taken.setdefault(step, Counter()).update(self._waiting([token]))
        for run in runs:
            if run not in self.compensations:
                step = self.runs.pop(run)
                taken.setdefault(step, Counter())[f"{step}.running"] += 1
        for step, places in taken.items():
            yield Firing(version, "withdraw", step, places, {})

    def _waiting(self, tokens: list[str]) -> Counter[str]:
        return Counter(f"{self.tokens.pop(token)}.ready" for token in tokens)

    def _put(self, tokens: list[e.Produced]) -> None:
        self.tokens.update((token.id, token.step) for token in tokens)


def _shown(places: Mapping[str, int]) -> str:
    return " + ".join(f"{n} {place}" for place, n in sorted(places.items())) or "nothing"
