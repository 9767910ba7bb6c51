"""Proofs are bounded work, and say how far they came; tokens that never meet need no search."""

from __future__ import annotations

import pytest
from support.dice import Dice

from petra.net import Net, Transition, compile, prove  # noqa: A004
from petra.net.budget import Budget, SpentError
from petra.net.independent import is_plainly_sound
from petra.net.prove import dead_steps, search
from petra.net.soundness import Limits, check
from petra.playbook import read

HEAD = "apiVersion: petra/v1\nkind: Playbook\nmetadata: {name: dense}\nworkflow:\n"


def dense(size: int, *, join: bool, reach: int = 8) -> str:
    """Return a playbook in which every step may go on to each of the next few, all at once."""
    text = HEAD
    for number in range(size):
        last = number == size - 1
        spec = "\n    spec: {join: {mode: or}}" if join and last else ""
        text += f"  - step: s{number}\n    tool: {{kind: noop}}{spec}\n"
        targets = range(number + 1, min(size, number + 1 + reach))
        arcs = ", ".join(f"{{step: s{n}, when: '{{{{ workload.x == {n} }}}}'}}" for n in targets)
        if not last:
            text += f"    next: {{spec: {{mode: inclusive}}, arcs: [{arcs}]}}\n"
    return text


@pytest.mark.slow
@pytest.mark.spec("S19")
@pytest.mark.parametrize("join", [False, True])
def test_a_dense_playbook_is_judged_with_bounded_work(join: bool) -> None:  # noqa: FBT001
    budget = Budget(1.0)
    proof = prove(read(dense(60, join=join)), budget=budget)
    assert proof.verdict == ("undecided" if join else "sound")
    assert budget.left > -100_000, "the last piece of work is small"
    if join:
        assert "--effort" in proof.note


@pytest.mark.spec("S19")
def test_a_search_that_is_given_up_says_how_far_it_came() -> None:
    reading = read(dense(7, join=True))
    found = [prove(reading, budget=Budget(effort)) for effort in (0.05, 0.1, 0.2)]
    assert [one.verdict for one in found] == ["undecided"] * 3
    assert 0 < found[0].states < found[1].states < found[2].states
    assert f"no violation up to {found[0].states} markings" in found[0].note
    again = prove(reading, budget=Budget(0.05))
    assert again.states == found[0].states, "work is counted, not timed"


def test_a_clock_may_stop_it_earlier() -> None:
    asked: list[int] = []

    def over() -> bool:
        asked.append(1)
        return len(asked) > 2

    proof = prove(read(dense(9, join=True)), budget=Budget(1e6, over))
    assert proof.verdict == "undecided"
    assert len(asked) == 3


def test_a_net_that_is_too_large_is_not_built() -> None:
    with pytest.raises(SpentError):
        compile(read(dense(40, join=True)).checked(), Budget(0.1))


def test_the_check_of_a_bare_net_has_a_budget_too() -> None:
    pairs = range(11)
    net = Net.of(
        "pairs",
        places=[f"{side}{number}" for number in pairs for side in "ab"],
        transitions=[
            Transition.of(f"{x}to{y}{number}", f"{x}{number} -> {y}{number}")
            for number in pairs
            for x, y in ("ab", "ba")
        ],
        initial={f"a{number}": 1 for number in pairs},
    )
    end = [{f"b{number}": 1 for number in pairs}]
    found = [check(net, final=end, limits=Limits(budget=Budget(s))) for s in (0.0, 5.0)]
    assert [one.verdict for one in found] == ["undecided", "sound"]
    assert "no violation up to" in found[0].notes[0]


def joinless(seed: int) -> str:
    """Return a small playbook without joins: guards, fan-outs, circles, whatever comes."""
    dice = Dice(seed, "joinless")
    size = 2 + dice.below(4)
    text = HEAD
    for number in range(size):
        text += f"  - step: s{number}\n    tool: {{kind: noop}}\n"
        arcs = []
        for _ in range(dice.below(4)):
            target = f"step: s{dice.below(size)}"
            guard = ("", ", when: '{{ workload.x }}'", ", when: \"{{ event.status == 'error' }}\"")
            many = ("", "", "", ", foreach: '{{ workload.list }}'")
            arcs.append(f"{{{target}{guard[dice.below(3)]}{many[dice.below(4)]}}}")
        if arcs:
            mode = ("exclusive", "inclusive")[dice.below(2)]
            text += f"    next: {{spec: {{mode: {mode}}}, arcs: [{', '.join(arcs)}]}}\n"
    return text


@pytest.mark.slow
@pytest.mark.spec("S19")
def test_what_is_plainly_sound_is_sound_by_search_too() -> None:
    plain = searched = 0
    for seed in range(1_500):
        playbook = read(joinless(seed)).playbook
        if playbook is None or not is_plainly_sound(playbook):
            continue
        plain += 1
        compiled = compile(playbook)
        space = search(compiled, 3_000)
        assert not space.stuck, seed
        assert not compiled.contexts.recursive, seed
        if space.complete:
            searched += 1
            assert not space.doomed, seed
            assert list(dead_steps(compiled, space)) == [], seed
    assert plain > 50
    assert searched > 45
