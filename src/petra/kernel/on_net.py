"""Walk a log on the net of its playbook: every firing has to be one of the net; the first that is not is named (S2).

The net counts branches of unknown number by one that stands for all; a log has them all. So the walk has as many
tokens in a place as the log says, and a firing fits a transition of the net when it takes from the same places and
puts into the same places; how many is held against what the playbook says.

Rule 1: a token is taken where it lies, and once. A join takes the group that it closes, and once.
Rule 2: what is no firing by nature is exempt and counted: an override, a change of a live group, an operator's cancel,
a migration, a compensation.
Rule 3: after a migration the walk goes on in the net of the new definition.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from petra.kernel import events as e
from petra.kernel.fork import lived
from petra.kernel.laid_on_net import Definition, Fan, Laid, Live, MisfitError
from petra.kernel.replay import BadRecord, Record
from petra.net.places import FiringOfPlaces


@dataclass(frozen=True, slots=True)
class Walked:
    """What came of a walk: how many records were firings, how many were exempt and why, and the first bad one."""

    firings: int
    exempt: Mapping[str, int]
    bad: BadRecord | None = None


def walk(records: Iterable[Record], definition: Definition) -> Walked:
    """Replay every record as a firing of the net, up to the first that is none."""
    here = _Walk(definition)
    for seq, _, event in lived(records):
        try:
            here.take(event)
        except MisfitError as misfit:
            return Walked(here.firings, here.exempt, BadRecord(seq=seq, reason=str(misfit)))
    return Walked(here.firings, here.exempt)


@dataclass
class _Walk(Laid):
    """A walk: the marking, and what fired so far."""

    compensations: set[str] = field(default_factory=set)
    exempt: Counter[str] = field(default_factory=Counter)
    firings: int = 0

    def take(self, event: e.AnyEvent) -> None:  # noqa: C901 - a table
        """Go on with one event.

        Raises:
            MisfitError: it is no firing of the net.
        """
        match event:
            case e.ExecutionStarted():
                self._begin(event)
            case e.ExecutionMigrated():
                self.exempt["migration"] += 1
                self.move(event)
            case e.StepStarted():
                self._start(event)
            case e.StepDone() | e.StepFailed() | e.LoopDone():
                self._end(event)
            case e.TokenDiscarded():
                self._discard(event)
            case e.Withdrawn():
                self._withdraw(event)
            case e.RunReturned():
                self._return(event)
            case e.GroupChanged():
                self._change(event)
            case e.FinalStarted():
                self._finally(event)
            case e.ExecutionEnded() if event.status in ("completed", "partial"):
                if self.live:
                    raise MisfitError(f"it ends while {self.shown(self.live)} is left")
            case _:
                pass

    def _begin(self, event: e.ExecutionStarted) -> None:
        self.enter(event.digest)
        self.put(event.entry, ())
        entry = self.places.compiled.playbook.entry
        if event.entry.step != entry:
            raise MisfitError(f"the net begins at '{entry}'")

    # Firings

    def _fire(self, firing: FiringOfPlaces) -> None:
        self.firings += 1
        fault = self.places.misfit(firing)
        if fault:
            raise MisfitError(fault)

    def _start(self, event: e.StepStarted) -> None:
        taken = self.taken(event.consumed)
        if event.compensates:
            self.exempt["compensation"] += 1
            self.compensations.add(event.run)
            return
        wrong = [token.step for token in taken.values() if token.step != event.step]
        if wrong or any(token.part != "ready" for token in taken.values()):
            raise MisfitError(f"'{event.step}' starts with {self.shown(taken)}")
        first = next(iter(taken.values()), None)
        stack = (
            tuple(event.stack or ()) if event.stack is not None or first is None else first.stack
        )
        final = first is not None and first.final
        arrow = first.arrow if first is not None else None
        places = self.counted(taken)
        closed = self.close(event.group)
        for key in taken:
            del self.live[key]
        if event.run in self.live:
            raise MisfitError(f"it starts the run {event.run:.16} a second time")
        self.live[event.run] = Live(event.step, "running", stack, arrow, final=final)
        if event.administrative is not None:
            self.exempt["override"] += 1
            return
        produced = Counter([self.place(event.run)])
        self._fire(
            FiringOfPlaces(
                "start", event.step, places, produced, closed, used=event.step in self.used
            )
        )
        self.used.add(event.step)

    def _end(self, event: e.StepDone | e.StepFailed | e.LoopDone) -> None:
        if event.run in self.compensations:
            self.compensations.discard(event.run)
            self.exempt["compensation"] += 1
            return
        run = self.live.get(event.run)
        taken = self.taken([event.run] if run is not None else event.consumed)
        if any(token.step != event.step for token in taken.values()):
            raise MisfitError(f"'{event.step}' ends with {self.shown(taken)}")
        if run is None and not event.consumed and event.closes is None:
            raise MisfitError(f"'{event.step}' ends, which was not started")
        places = self.counted(taken)
        first = next(iter(taken.values()), None)
        fan = self.fans.get(event.closes or "")
        stack = fan.stack if fan is not None else first.stack if first is not None else ()
        stack = stack if event.stack is None else tuple(event.stack)
        closed = self.close(event.closes)
        for key in taken:
            del self.live[key]
        if event.group is not None:
            self.fans[event.group.id] = Fan(event.step, stack)
        for token in event.produced:
            inside = token.index is not None and event.group is not None
            level = ((event.group.id, token.index),) if inside else ()  # type: ignore[union-attr]
            self.put(token, (*stack, *level), event.step)
        if event.administrative is not None:
            self.exempt["override"] += 1
            return
        kind = "failed" if isinstance(event, e.StepFailed) else "done"
        shown = [token.id for token in event.produced if not token.empty]
        produced = Counter(self.place(key) for key in shown)
        empty = any(token.empty for token in event.produced)
        firing = FiringOfPlaces(
            kind, event.step, places, produced, closed, arcs=tuple(sorted(event.arcs))
        )
        self._fire(replace(firing, nobody=empty, final=first is not None and first.final))

    def _discard(self, event: e.TokenDiscarded) -> None:
        taken = self.taken([event.token])
        token = taken[event.token]
        if token.part != "ready":
            raise MisfitError(f"it discards a run of '{token.step}'")
        places = self.counted(taken)
        fan = self.fans.get(event.closes or "")
        if fan is not None:
            fan.fired = True
        del self.live[event.token]
        if places:
            self._fire(FiringOfPlaces("discard", token.step, places, Counter()))

    def _withdraw(self, event: e.Withdrawn) -> None:
        runs = [run for run in event.runs if run not in self.compensations]
        self.compensations.difference_update(event.runs)
        taken = self.taken([*event.tokens, *runs])
        places = self.counted(taken)
        for key in taken:
            del self.live[key]
        for group in (*event.groups, *([event.closes] if event.closes else ())):
            if group in self.fans:
                self.fans[group].fired = True
        if event.by == "execution":
            self.exempt["end of the execution"] += 1
        elif event.by == "join" and event.reason.startswith("the group was "):
            self.exempt["change of a group"] += 1
        elif places:
            self._fire(FiringOfPlaces("withdraw", "", places, Counter()))

    def _return(self, event: e.RunReturned) -> None:
        run = self.taken([event.run])[event.run]
        places = Counter([self.place(event.run)])
        del self.live[event.run]
        self.put(event.token, run.stack)
        self.live[event.token.id] = replace(self.live[event.token.id], arrow=run.arrow)
        self.used.discard(run.step)
        produced = Counter([self.place(event.token.id)])
        self._fire(FiringOfPlaces("withdraw", run.step, places, produced))

    def _change(self, event: e.GroupChanged) -> None:
        self.exempt["change of a group"] += 1
        fan = self.fans.get(event.group)
        if fan is None:
            raise MisfitError(f"it changes the group {event.group:.16}, which is not there")
        if event.produced is not None:
            level = (event.group, event.produced.index or 0)
            self.put(event.produced, (*fan.stack, level), fan.step)

    def _finally(self, event: e.FinalStarted) -> None:
        if self.live:
            raise MisfitError(f"the final step comes while {self.shown(self.live)} is left")
        self.put(event.token, (), final=True)
        self.firings += 1
        self.place(event.token.id)
