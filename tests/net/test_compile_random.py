"""Playbooks whose soundness is known by construction, and what planted defects become."""

from __future__ import annotations

import pytest
from support.structured import DEFECTS, planted, structured

from petra.net import compile, prove  # noqa: A004
from petra.net.prove import search
from petra.playbook import read
from petra.playbook.problems import headline

pytestmark = pytest.mark.slow

SEEDS = range(100)


@pytest.mark.spec("S19")
@pytest.mark.parametrize("seed", SEEDS)
def test_a_structured_playbook_has_no_defect(seed: int) -> None:
    reading = read(structured(seed))
    assert reading.ok
    assert [headline(problem, str(seed)) for problem in prove(reading).problems] == []


@pytest.mark.spec("S19")
@pytest.mark.parametrize("seed", SEEDS)
def test_a_planted_defect_is_found(seed: int) -> None:
    made = planted(seed)
    reading = read(made.text)
    assert reading.ok
    assert made.code in {problem.code for problem in prove(reading).problems}, made.defect


@pytest.mark.parametrize("seed", range(0, 60, 3))
def test_leaving_out_orders_changes_no_verdict(seed: int) -> None:
    for text in (structured(seed, size=6), planted(seed, size=6).text):
        compiled = compile(read(text).checked())
        few, every = search(compiled), search(compiled, 4_000, every_order=True)
        if few.complete and every.complete:
            assert bool(few.stuck) == bool(every.stuck)
            assert bool(few.doomed) == bool(every.doomed)


def test_every_defect_is_planted() -> None:
    assert {planted(seed).defect for seed in SEEDS} == set(DEFECTS)


def test_the_same_seed_gives_the_same_playbook() -> None:
    assert structured(7) == structured(7)
    assert structured(7) != structured(8)
