"""Small nets by number, and a plain explorer that judges them by the definitions alone."""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

import pytest

from petra.net.fire import enabled, start, step
from petra.net.net import Net, Place, Transition
from petra.net.soundness import FinalAnyOf, FinalMarkings, Limits, check

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from petra.net.soundness import Finding, Verdict

Arcs: TypeAlias = tuple[dict[str, int], dict[str, int]]


class Dice:
    """A fixed stream of numbers for each seed."""

    def __init__(self, seed: int) -> None:
        self.value = seed * 2654435761 + 12345

    def below(self, limit: int) -> int:
        self.value = (self.value * 6364136223846793005 + 1442695040888963407) % 2**64
        return (self.value >> 33) % limit

    def pick(self, items: Sequence[str]) -> str:
        return items[self.below(len(items))]


def workflow_net(seed: int, *, growth: int = 7, noise: int = 2, extras: bool = False) -> Net:
    """Grow a sound net from one transition, then spoil it with some random arcs.

    ``extras`` spoils it with weights, read arcs and reset arcs as well.
    """
    dice = Dice(seed)
    arcs: dict[str, Arcs] = {"t0": ({"i": 1}, {"o": 1})}
    places = ["i", "o"]
    for _ in range(dice.below(growth + 1)):
        _grow(dice, arcs, places)
    reads: dict[str, tuple[str, ...]] = {}
    resets: dict[str, tuple[str, ...]] = {}
    for _ in range(dice.below(noise + 1)):
        name, place, kind = dice.pick(list(arcs)), dice.pick(places), dice.below(7 if extras else 3)
        side = arcs[name][dice.below(2)]
        if kind == 2 and len(side) > 1:
            del side[dice.pick(sorted(side))]
        elif kind < 2 and place != ("o" if side is arcs[name][0] else "i"):
            side[place] = side.get(place, 0) + 1 if extras else 1
        elif kind in {3, 4} and place != "o":
            reads[name] = (place,)
        elif kind > 4 and place not in {"i", "o"}:
            resets[name] = (place,)
    return _net(f"w{seed}", places, arcs, reads, resets)


def _grow(dice: Dice, arcs: dict[str, Arcs], places: list[str]) -> None:
    """Refine a random transition into a sequence, a choice, parallel branches or a loop."""
    name = dice.pick(list(arcs))
    needs, gives = arcs[name]
    fresh, place = f"t{len(arcs)}", f"p{len(places)}"
    match dice.below(5):
        case 0:
            arcs[name], arcs[fresh] = (needs, {place: 1}), ({place: 1}, gives)
            places.append(place)
        case 1:
            arcs[fresh] = (dict(needs), dict(gives))
        case 2:
            other = f"p{len(places) + 1}"
            arcs[name] = (needs, {place: 1, other: 1})
            arcs[fresh] = ({place: 1, other: 1}, gives)
            places += [place, other]
        case 3:
            arcs[name], arcs[fresh] = (needs, {place: 1}), ({place: 1}, gives)
            arcs[f"t{len(arcs)}"] = ({place: 1}, {place: 1})
            places.append(place)
        case _:
            other = f"p{len(places) + 1}"
            arcs[name], arcs[fresh] = (needs, {place: 1}), ({place: 1}, {other: 1})
            arcs[f"t{len(arcs)}"] = ({other: 1}, gives)
            arcs[f"t{len(arcs)}"] = ({other: 1}, {place: 1})
            places += [place, other]


def free_net(seed: int, *, size: int = 6, free_choice: bool = False) -> Net:
    """Throw arcs together, some of them heavier, some transitions without outputs."""
    dice = Dice(seed)
    odd = seed % 3 == 0
    places = [f"p{index}" for index in range(2 + dice.below(size))]
    clusters = [_side(dice, places, odd=odd and not free_choice) for _ in range(size)]
    if free_choice:
        clusters = [
            one
            for index, one in enumerate(clusters)
            if not any(one.keys() & other.keys() for other in clusters[:index])
        ]
    arcs: dict[str, Arcs] = {}
    for index in range(1 + dice.below(size + 2)):
        needs = dict(clusters[dice.below(len(clusters))])
        gives = {} if odd and dice.below(8) == 0 else _side(dice, places, odd=odd)
        arcs[f"t{index}"] = (needs, gives)
    return _net(f"f{seed}", places, arcs, {}, {}, start=dice.pick(places))


def _side(dice: Dice, places: list[str], *, odd: bool) -> dict[str, int]:
    chosen = (dice.pick(places) for _ in range(1 + dice.below(3) // 2))
    return {place: 2 if odd and dice.below(5) == 0 else 1 for place in chosen}


def endings(net: Net, seed: int) -> Iterator[FinalAnyOf | FinalMarkings]:
    """Yield endings of several kinds: all sinks, any places, one marking, two markings."""
    dice = Dice(seed)
    places = list(net.places)
    used = {place for one in net.transitions.values() for place in one.inputs}
    sinks = [place for place in places if place not in used]
    if sinks:
        yield FinalAnyOf(frozenset(sinks))
        yield FinalMarkings(tuple({place: 1} for place in sinks))
    yield FinalAnyOf(frozenset({dice.pick(places), dice.pick(places)}))
    yield FinalMarkings(({dice.pick(places): 1 + dice.below(2), dice.pick(places): 1},))
    yield FinalMarkings(({dice.pick(places): 1}, {dice.pick(places): 1, dice.pick(places): 1}))


def _net(  # noqa: PLR0913  the parts of a net
    name: str,
    places: list[str],
    arcs: dict[str, Arcs],
    reads: dict[str, tuple[str, ...]],
    resets: dict[str, tuple[str, ...]],
    *,
    start: str = "i",
) -> Net:
    return Net(
        name=name,
        places={place: Place(place) for place in places},
        transitions={
            one: Transition(one, *sides, reads=reads.get(one, ()), resets=resets.get(one, ()))
            for one, sides in arcs.items()
        },
        initial={start: 1},
    )


Marking: TypeAlias = tuple[int, ...]


@dataclass
class Truth:
    """All reachable markings, their distances, and what the definitions say about them."""

    complete: bool
    distance: dict[Marking, int]
    stuck: int | None = None
    leftover: int | None = None
    crowded: int | None = None
    endless: int | None = None
    grows: bool = False
    dead: set[str] = field(default_factory=set)
    lost: set[Marking] = field(default_factory=set)


def fire(net: Net, marking: dict[str, int], name: str) -> dict[str, int] | None:
    """Fire one transition by the definition; None when it is not enabled."""
    one = net.transitions[name]
    after = dict(marking)
    if any(after.get(place, 0) < 1 for place in one.reads):
        return None
    for place, weight in one.inputs.items():
        after[place] = after.get(place, 0) - weight
    if any(count < 0 for count in after.values()):
        return None
    for place in one.resets:
        after[place] = 0
    for place, weight in one.outputs.items():
        after[place] = after.get(place, 0) + weight
    return after


class Explorer:
    """Searches breadth-first, with tuples, keeping every edge."""

    def __init__(self, net: Net, final: FinalAnyOf | FinalMarkings) -> None:
        self.net = net
        self.order = sorted(net.places)
        self.any_of = final.places if isinstance(final, FinalAnyOf) else frozenset()
        listed = final.markings if isinstance(final, FinalMarkings) else ()
        self.finals = [self.freeze(one) for one in listed]

    def freeze(self, marking: Mapping[str, int]) -> Marking:
        return tuple(marking.get(place, 0) for place in self.order)

    def is_final(self, marking: Marking) -> bool:
        if self.any_of:
            marked = {place for place, n in zip(self.order, marking, strict=True) if n}
            return bool(marked) and marked <= self.any_of
        return marking in self.finals

    def moves(self, marking: Marking) -> list[tuple[str, Marking]]:
        named = dict(zip(self.order, marking, strict=True))
        after = [(name, fire(self.net, named, name)) for name in self.net.transitions]
        return [(name, self.freeze(new)) for name, new in after if new is not None]

    def explore(self, limit: int) -> Truth:
        start = self.freeze(self.net.initial)
        truth = Truth(complete=True, distance={start: 0}, dead=set(self.net.transitions))
        parent: dict[Marking, Marking] = {}
        back: dict[Marking, list[Marking]] = {start: []}
        work = deque([start])
        while work:
            here = work.popleft()
            moves = self.moves(here)
            self.test(truth, here, parent, may_move=bool(moves))
            for name, new in moves:
                truth.dead.discard(name)
                if new not in back:
                    if len(back) >= limit:
                        truth.complete = False
                        continue
                    truth.distance[new] = truth.distance[here] + 1
                    parent[new] = here
                    back[new] = []
                    work.append(new)
                back[new].append(here)
        if truth.complete:
            self.find_endless(truth, back)
        return truth

    def test(
        self, truth: Truth, here: Marking, parent: dict[Marking, Marking], *, may_move: bool
    ) -> None:
        depth = truth.distance[here]
        if not may_move and not self.is_final(here) and truth.stuck is None:
            truth.stuck = depth
        leftover = here not in self.finals and any(covers(here, one) for one in self.finals)
        if leftover and truth.leftover is None:
            truth.leftover = depth
        if max(here) > 1 and truth.crowded is None:
            truth.crowded = depth
        ancestor = here
        while ancestor in parent and not truth.grows:
            ancestor = parent[ancestor]
            truth.grows = covers(here, ancestor)

    def find_endless(self, truth: Truth, back: dict[Marking, list[Marking]]) -> None:
        ending = {one for one in back if self.is_final(one)}
        work = list(ending)
        while work:
            new = set(back[work.pop()]) - ending
            ending |= new
            work += new
        truth.lost = truth.distance.keys() - ending
        truth.endless = min((truth.distance[one] for one in truth.lost), default=None)


def covers(large: Marking, small: Marking) -> bool:
    return all(a >= b for a, b in zip(large, small, strict=True))


def explore(net: Net, final: FinalAnyOf | FinalMarkings) -> Truth:
    return Explorer(net, final).explore(limit=400)


def is_sound(net: Net, truth: Truth, *, any_of: bool) -> bool | None:
    """Say what the definitions say; None when the explorer cannot know."""
    if truth.complete:
        broken = truth.crowded if any_of else truth.leftover
        return truth.endless is None and broken is None and (any_of or not truth.dead)
    if any_of and truth.crowded is not None:
        return False
    if truth.grows and not any(one.resets for one in net.transitions.values()):
        return False
    return None


def confirm(net: Net, verdict: Verdict, truth: Truth, *, any_of: bool = False) -> bool | None:
    """Hold a verdict, and every counterexample in it, against the truth."""
    sound = is_sound(net, truth, any_of=any_of)
    if sound is not None:
        assert verdict.verdict == ("sound" if sound else "unsound"), net
        for finding in verdict.findings:
            confirm_finding(net, finding, truth)
    return sound


def confirm_finding(net: Net, finding: Finding, truth: Truth) -> None:
    lengths = {
        "stuck": truth.stuck,
        "leftover": truth.leftover,
        "crowded": truth.crowded,
        "endless": truth.endless,
    }
    found = finding.counterexample
    if found is not None:
        assert replay(net, found.firings) == found.marking, net
        if found.kind in lengths and truth.complete:
            assert found.shortest, net
            assert len(found.firings) == lengths[found.kind], net
        if found.kind == "dead" and truth.complete:
            assert set(finding.transitions) == truth.dead, net
    if finding.status == "holds" and truth.complete:
        assert {
            "option-to-complete": truth.endless is None,
            "proper-completion": truth.leftover is None,
            "no-dead-transitions": not truth.dead,
            "bounded": True,
            "safe": truth.crowded is None,
        }[finding.property], net


def replay(net: Net, firings: Sequence[str]) -> dict[str, int]:
    marking: dict[str, int] | None = dict(net.initial)
    for name in firings:
        assert marking is not None
        marking = fire(net, marking, name)
    assert marking is not None, "every firing was enabled"
    return {place: count for place, count in marking.items() if count}


@pytest.fixture(params=["as it is", "stubborn at once", "stubborn at once, not reduced"])
def _plan(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Small nets need neither reduction nor stubborn sets; here they get each part all the same."""
    if "stubborn" in request.param:
        monkeypatch.setattr("petra.net.soundness.decide.SHORT", 0)
    if "not reduced" in request.param:
        monkeypatch.setattr("petra.net.soundness.attack.reduced", lambda net: net)


pytestmark = [
    pytest.mark.slow,
    pytest.mark.spec("S19"),
    pytest.mark.usefixtures("_plan"),
]
SINK = FinalMarkings(({"o": 1},))


@pytest.mark.parametrize("growth", [4, 8, 11])
def test_every_verdict_on_a_workflow_net_is_the_one_of_the_definition(growth: int) -> None:
    answers: Counter[bool | None] = Counter()
    for seed in range(200):
        net = workflow_net(seed, growth=growth, noise=2)
        verdict = check(net)
        if verdict.verdict != "not-a-workflow-net":
            answers[confirm(net, verdict, explore(net, SINK))] += 1
    assert answers[True] > 30
    assert answers[False] > 30


def test_weights_read_arcs_and_reset_arcs_change_nothing_about_that() -> None:
    answers: Counter[bool | None] = Counter()
    for seed in range(500):
        net = workflow_net(seed, noise=3, extras=True)
        verdict = check(net)
        if verdict.verdict != "not-a-workflow-net":
            answers[confirm(net, verdict, explore(net, SINK))] += 1
    assert answers[True] > 100
    assert answers[False] > 100


@pytest.mark.parametrize("free_choice", [True, False])
def test_nets_without_structure_are_judged_by_the_final_markings_given(
    *, free_choice: bool
) -> None:
    answers: Counter[bool | None] = Counter()
    for seed in range(300):
        net = free_net(seed, free_choice=free_choice)
        for final in endings(net, seed):
            verdict = check(net, final=final, limits=Limits(markings=800, explain=800))
            any_of = isinstance(final, FinalAnyOf)
            answers[confirm(net, verdict, explore(net, final), any_of=any_of)] += 1
    assert answers[True] > 100
    assert answers[False] > 100


def test_the_trail_of_the_reduction_leads_to_a_real_defect() -> None:
    kinds: Counter[str] = Counter()
    for seed in range(400):
        net = workflow_net(seed, growth=9, noise=3, extras=seed % 2 == 0)
        found = check(net, limits=Limits(explain=1)).counterexample
        truth = explore(net, SINK)
        if found is None or not truth.complete:
            continue
        marking = replay(net, found.firings)
        assert marking == found.marking, net
        kinds[found.kind] += 1
        if found.kind in {"stuck", "endless"}:
            assert tuple(marking.get(place, 0) for place in sorted(net.places)) in truth.lost, net
        elif found.kind == "leftover":
            assert marking.get("o", 0) >= 1, net
            assert sum(marking.values()) > 1, net
    assert min(kinds["endless"], kinds["leftover"]) > 10


def test_the_library_itself_fires_what_the_check_believes_it_can() -> None:
    for seed in range(100):
        net = workflow_net(seed, noise=5, extras=True)
        configuration = start(net)
        for _ in range(12):
            marking = {place: len(some) for place, some in configuration.marking.tokens.items()}
            possible = {name: fire(net, marking, name) for name in net.transitions}
            firings = {firing.transition.name for firing in enabled(configuration)}
            assert firings == {name for name, after in possible.items() if after is not None}
            stepped = step(configuration)
            if stepped.receipt is None:
                break
            configuration = stepped.configuration
            new = {place: len(some) for place, some in configuration.marking.tokens.items()}
            assert new == {**dict.fromkeys(new, 0), **(possible[stepped.receipt.transition] or {})}
