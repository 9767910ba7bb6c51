"""Where an execution stands in a net, and whether the net is sound from there (S19, S23).

A log has every branch of a list; the net has one that stands for all of them. So an execution may stand in
several markings at once: one for each of its branches that is in another place. The net must be sound from all.

Rule 1: a token that has no place in the net is named; nothing is guessed.
Rule 2: what was not searched to the end is undecided, never sound.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import combinations, islice, product
from types import MappingProxyType
from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from petra.net.compile import Compiled
from petra.net.contexts import Arrow, Context
from petra.net.net import Net
from petra.net.prove import MARKINGS_MAX, Searched, search
from petra.net.soundness.verdict import Answer

STANDS_MAX = 64
"""At most so many markings are proved from; more leave the question open."""

Level: TypeAlias = tuple[str, int]
"""A group by its id, and the index of the branch in it."""


class Standing(Struct, frozen=True):
    """A live token: at which step, waiting (``ready``) or ``running``, inside which branches."""

    id: str
    step: str
    part: str
    levels: tuple[Level, ...] = ()
    arrow: Arrow | None = None


class Fanned(Struct, frozen=True):
    """A group that an execution has: who made it, inside what, by which arc each branch; ``fired`` after its join."""

    id: str
    step: str
    levels: tuple[Level, ...]
    arcs: tuple[int, ...]
    fired: bool = False

    def arc(self, index: int) -> int:
        """Return the arc that made a branch; one that was added later came by the last."""
        return self.arcs[min(index, len(self.arcs) - 1)] if self.arcs else 0


class Position(Struct, frozen=True):
    """Everything of an execution that has a place: its tokens, its groups, the steps that started before."""

    tokens: tuple[Standing, ...]
    groups: tuple[Fanned, ...] = ()
    started: frozenset[str] = frozenset()


class Outlook(Struct, frozen=True):
    """Whether a net is sound from a position. ``certain``: no guard is needed for the defect."""

    answer: Answer
    states: int = 0
    firings: tuple[str, ...] = ()
    certain: bool = False
    stuck: tuple[str, ...] = ()
    homeless: tuple[Standing, ...] = ()


def outlook(compiled: Compiled, position: Position, limit: int = MARKINGS_MAX) -> Outlook:
    """Prove that from a position everything can come to its end, or show what cannot."""
    places = _Places(compiled, position)
    homeless = tuple(token for token in position.tokens if places.of(token) is None)
    if homeless:
        return Outlook("unsound", homeless=homeless, certain=True)
    stands = list(islice(places.markings(), STANDS_MAX + 1))
    states = 0
    answer: Answer = "sound" if len(stands) <= STANDS_MAX else "undecided"
    for marking in stands[:STANDS_MAX]:
        space = search(_from(compiled, marking), limit)
        states += len(space.markings)
        defect = _defect(compiled, space)
        if defect is not None:
            return replace(defect, states=states)
        if not space.complete:
            answer = "undecided"
    return Outlook(answer, states)


def _from(compiled: Compiled, marking: Mapping[str, int]) -> Compiled:
    net = compiled.net
    began = Net(net.name, net.places, net.transitions, MappingProxyType(dict(marking)), net.final)
    return replace(compiled, net=began)


def _defect(compiled: Compiled, space: Searched) -> Outlook | None:
    """Return the nearest way into something that cannot end, first one that needs no guard."""
    bad = set(space.stuck) | (space.doomed if space.complete else set())
    if not bad:
        return None
    way = space.way(0, bad.__contains__, lambda name: compiled.origin[name].certain)
    certain = way is not None
    if way is None:
        way = space.way(0, bad.__contains__, lambda _: True)
    assert way is not None, "what was found was reached"
    firings, index = way
    rest = space.way(index, set(space.stuck).__contains__, lambda _: True)
    if rest is not None:  # it is lost before; there it shows
        firings, index = [*firings, *rest[0]], rest[1]
    held = [place for place in space.marking(index) if place not in compiled.optional]
    shown = [
        place for place in held if compiled.origin[place].kind.startswith(("ready", "running"))
    ]
    left = tuple(shown or held)
    return Outlook("unsound", firings=tuple(firings), certain=certain, stuck=left)


class _Places(Struct):
    """The places of a net by step, part and context, and the markings in which an execution stands."""

    compiled: Compiled
    position: Position
    named: dict[tuple[str, str, Context], str] = {}
    fans: dict[str, Fanned] = {}

    def __post_init__(self) -> None:
        net, origin = self.compiled.net, self.compiled.origin
        self.named = {(o.step, o.kind, o.context): p for p in net.places if (o := origin[p])}
        self.fans = {group.id: group for group in self.position.groups}

    def of(self, token: Standing) -> str | None:
        """Return the place of a token, if the net has one."""
        step = self.compiled.contexts.steps.get(token.step)
        if step is None:
            return None
        part = token.part
        join = step.spec.join
        if part == "ready" and join is not None and join.mode == "arcs" and token.arrow is not None:
            part = f"ready from {token.arrow[0]}#{token.arrow[1]}"
        if all(group in self.fans for group, _ in token.levels):
            return self.named.get((token.step, part, self._context(token.levels)))
        # a group that is over is forgotten, and what it left behind may be in any context
        known = (p for (s, k, _), p in self.named.items() if (s, k) == (token.step, part))
        return next(known, None)

    def _context(self, levels: Iterable[Level]) -> Context:
        context: Context = ()
        for group, _ in levels:
            context = self.compiled.contexts.inside(self.fans[group].step, context)
        return context

    def markings(self) -> Iterator[Counter[str]]:
        """Yield the markings in which the execution stands."""
        for inside in self._within((), self.position.tokens, self.position.groups):
            yield inside + Counter(self._beside())

    def _beside(self) -> dict[str, int]:
        """Return what counts steps that are to run once: fresh ones, and those that ran."""
        counts = {}
        for (step, part, _), place in self.named.items():
            if part in ("fresh", "used") and (part == "used") == (step in self.position.started):
                counts[place] = 1
        return counts

    def _within(
        self, at: tuple[Level, ...], tokens: Iterable[Standing], groups: Iterable[Fanned]
    ) -> Iterator[Counter[str]]:
        """Yield the markings of what is inside one branch, or inside none."""
        here: Counter[str] = Counter()
        inner = [group for group in groups if group.levels == at]
        ids = {group.id for group in inner}
        deeper = []
        for token in tokens:
            if len(token.levels) > len(at) and token.levels[len(at)][0] in ids:
                deeper.append(token)
            else:
                place = self.of(token)
                assert place is not None, "who has no place was named before"
                here[place] += 1
        ways = [list(islice(self._group(g, at, deeper, groups), STANDS_MAX + 1)) for g in inner]
        for chosen in product(*ways):
            yield sum(chosen, Counter(here))

    def _group(
        self,
        group: Fanned,
        at: tuple[Level, ...],
        tokens: Iterable[Standing],
        groups: Iterable[Fanned],
    ) -> Iterator[Counter[str]]:
        """Yield the ways in which a group stands: of each arc as many branches as the net has of it."""
        members: dict[int, list[Standing]] = {index: [] for index in range(len(group.arcs))}
        for token in tokens:
            if token.levels[len(at)][0] == group.id:
                members.setdefault(token.levels[len(at)][1], []).append(token)
        by_arc: dict[int, list[list[Counter[str]]]] = {}
        for index, held in members.items():
            inside = (*at, (group.id, index))
            shapes = list(islice(self._within(inside, held, groups), STANDS_MAX))
            by_arc.setdefault(group.arc(index), []).append(shapes)
        ways = [self._standing_for(group, arc, shapes) for arc, shapes in by_arc.items()]
        context = self._context((*at, (group.id, 0)))
        known = self.compiled.contexts.groups.get(context)
        for chosen in product(*ways):
            branches = [shape for some in chosen for shape in some]
            marking = sum(branches, Counter[str]())
            if known is not None and not group.fired:
                live = sum(bool(shape) for shape in branches)
                marking.update(self._counted(group, context, known.slots - live))
            yield marking

    def _standing_for(
        self, group: Fanned, arc: int, branches: list[list[Counter[str]]]
    ) -> list[tuple[Counter[str], ...]]:
        """Return the ways to choose branches of one arc: all, or some that stand for the rest."""
        routing = self.compiled.contexts.on_success.get(group.step)
        options = [option for option in routing.options if option.arc == arc] if routing else []
        most = max((max(option.counts) for option in options), default=len(branches))
        if len(branches) <= most:
            return list(islice(product(*branches), STANDS_MAX + 1))
        distinct = {tuple(sorted(shape.items())): shape for shapes in branches for shape in shapes}
        return list(
            islice(combinations(distinct.values(), min(most, len(distinct))), STANDS_MAX + 1)
        )

    def _counted(self, group: Fanned, context: Context, missing: int) -> dict[str, int]:
        counts = {}
        opened = self.named.get((group.step, "open", context))
        absent = self.named.get((group.step, "absent", context))
        if opened is not None:
            counts[opened] = 1
        if absent is not None and missing > 0:
            counts[absent] = missing
        return counts
