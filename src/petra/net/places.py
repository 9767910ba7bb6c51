"""The places of a compiled net by step, part and context, and whether a firing between them is one of the net.

Of a transition only what holds tokens of the playbook is compared, and the places that say that a group is open; its
other counters follow from these. Of a list, whose branches the net has one of, the places count and not the number.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias

from petra.net.contexts import Arrow, Context

if TYPE_CHECKING:
    from petra.net.compile import Compiled

Stack: TypeAlias = tuple[tuple[str, int], ...]
"""Groups by their ids, from the outermost in, with the index of the branch in each."""

__all__ = ["Arrow", "FiringOfPlaces", "Places", "Stack"]


@dataclass(frozen=True, slots=True)
class FiringOfPlaces:
    """A recorded firing, by places. ``closes`` is the place of the group that it closes."""

    kind: str
    step: str
    taken: Mapping[str, int]
    made: Mapping[str, int]
    closes: str | None = None
    arcs: tuple[int, ...] | None = None
    nobody: bool = False
    used: bool = False
    final: bool = False


@dataclass(frozen=True, slots=True)
class _Shape:
    """A transition, as far as a log shows it."""

    takes: frozenset[str]
    makes: frozenset[str]
    empties: frozenset[str]
    opened: str | None
    arcs: tuple[int, ...]
    fresh: bool
    open_ended: bool


class Places:
    """A compiled net, asked where a token lies and what may fire."""

    def __init__(self, compiled: Compiled) -> None:
        self.compiled = compiled
        origin = compiled.origin
        self._named = {
            (o.step, o.kind, o.context): place
            for place in compiled.net.places
            if (o := origin[place])
        }
        self._holds = {place for (_, part, _), place in self._named.items() if _is_held(part)}
        self._shapes: dict[tuple[str, str], list[_Shape]] = {}
        self._emptied: set[str] = set()
        self._read()

    def _read(self) -> None:
        origin = self.compiled.origin
        opens = {place for (_, part, _), place in self._named.items() if part == "open"}
        fresh = {place for (_, part, _), place in self._named.items() if part == "fresh"}
        later = self._later()
        for name, transition in self.compiled.net.transitions.items():
            own = origin[name]
            self._emptied.update(transition.resets)
            if any(" choos" in place or " chose " in place for place in transition.inputs):
                continue
            chosen = [place for place in transition.outputs if " choosing " in place]
            makes = set(transition.outputs) | later.get((own.step, own.kind, own.context), set())
            shape = _Shape(
                takes=frozenset(self._holds.intersection(transition.inputs)),
                makes=frozenset(self._holds.intersection(makes if chosen else transition.outputs)),
                empties=frozenset(self._holds.intersection(transition.resets)),
                opened=next((place for place in transition.inputs if place in opens), None),
                arcs=tuple(sorted(own.arcs)),
                fresh=not fresh.isdisjoint(transition.inputs),
                open_ended=bool(chosen),
            )
            self._shapes.setdefault((own.step, own.kind), []).append(shape)

    def _later(self) -> dict[tuple[str, str, Context], set[str]]:
        """Return what a router that decides arc by arc can make in all."""
        outputs: dict[tuple[str, str, Context], set[str]] = {}
        for name, transition in self.compiled.net.transitions.items():
            own = self.compiled.origin[name]
            if any(" choos" in place or " chose " in place for place in transition.inputs):
                outputs.setdefault((own.step, own.kind, own.context), set()).update(
                    transition.outputs
                )
        return outputs

    def context(self, fan_outs: Iterable[str]) -> Context:
        """Return the context of a token inside the groups of these steps, from the outermost in."""
        context: Context = ()
        for step in fan_outs:
            context = self.compiled.contexts.inside(step, context)
        return context

    def of(self, step: str, part: str, context: Context, arrow: Arrow | None) -> str | None:
        """Return the place of a token, if the net has one."""
        authored = self.compiled.contexts.steps.get(step)
        join = authored.spec.join if authored is not None else None
        if part == "ready" and join is not None and join.mode == "arcs" and arrow is not None:
            part = f"ready from {arrow[0]}#{arrow[1]}"
        return self._named.get((step, part, context))

    def open_of(self, step: str, context: Context) -> str | None:
        """Return the place that says that a group is open, if a join takes it."""
        return self._named.get((step, "open", context))

    def misfit(self, firing: FiringOfPlaces) -> str:
        """Say why a firing is none of the net; nothing where it is one."""
        if firing.kind == "withdraw" and not firing.made:
            left = [place for place in firing.taken if place not in self._emptied]
            return f"nothing empties {_shown(left)}" if left else ""
        shapes = self._shapes.get((firing.step, firing.kind), [])
        authored = self.compiled.contexts.steps.get(firing.step)
        if firing.kind == "done" and authored is not None and authored.spec.terminate:
            # what its arcs make is withdrawn in the same decision
            shapes = [replace(shape, makes=frozenset(firing.made)) for shape in shapes]
        fits = [shape for shape in shapes if _fits(shape, firing)]
        if not fits:
            words = f"takes {_shown(firing.taken)} and makes {_shown(firing.made)}"
            return f"no transition {firing.step}.{firing.kind} {words}"
        if firing.used and all(shape.fresh for shape in fits):
            return f"'{firing.step}' is to run once, and has run"
        if firing.final or self._admits(firing):
            return ""
        words = f"{_shown(firing.taken, firing.taken)} becomes {_shown(firing.made, firing.made)}"
        return f"{firing.step}.{firing.kind} fires with other numbers of tokens: {words}"

    def _admits(self, firing: FiringOfPlaces) -> bool:
        """Tell whether the numbers of tokens are what the playbook says, contexts apart."""
        taken, made = self._by_step(firing.taken), self._by_step(firing.made)
        if firing.nobody or (firing.kind == "start" and firing.closes and not taken):
            return True  # a group of nobody
        return self.compiled.admits(firing.kind, firing.step, taken, made)

    def _by_step(self, places: Mapping[str, int]) -> Counter[str]:
        tokens: Counter[str] = Counter()
        for place, count in places.items():
            own = self.compiled.origin[place]
            tokens[f"{own.step}.{'running' if own.kind == 'running' else 'ready'}"] += count
        return tokens


def _is_held(part: str) -> bool:
    return part == "running" or part.startswith("ready")


def _fits(shape: _Shape, firing: FiringOfPlaces) -> bool:
    taken, made = set(firing.taken), set(firing.made)
    if not (shape.takes <= taken <= shape.takes | shape.empties):
        return False
    if shape.opened != firing.closes:
        return False
    if shape.open_ended:
        return made <= shape.makes
    return made == shape.makes


def _shown(places: Iterable[str], counts: Mapping[str, int] | None = None) -> str:
    words = (f"{counts[place]} {place}" if counts else place for place in sorted(places))
    return " + ".join(words) or "nothing"
