"""Random playbooks × outcomes × outside events: the kernel never breaks, and its log is the whole truth."""

from __future__ import annotations

import os

import pytest
from kernel.paths import walk
from support.net_conformance import violations
from thoroughness import few, seeds

from petra.net import compile as compile_net

PATHS = int(os.environ.get("PETRA_PATHS", "200"))
SHARDS = 10
BEYOND = 400
"""``test_on_net`` walks the first ones, and checks them as it is done here."""


@pytest.mark.slow
@pytest.mark.spec("S2", "S8", "S9", "S10", "S11", "S17")
@pytest.mark.parametrize("shard", range(SHARDS))
def test_every_prefix_of_a_random_log_replays_and_keeps_the_invariants(shard: int) -> None:
    for seed in seeds(PATHS, shard, SHARDS):
        _, _, faults = walk(BEYOND + seed)
        assert not faults, (seed, faults[:5])


@pytest.mark.spec("S17")
def test_the_same_seed_gives_the_same_log() -> None:
    for seed in range(few(20)):
        first, second = (walk(seed)[1].root.log for _ in range(2))
        assert [record.hash for record in first] == [record.hash for record in second]


@pytest.mark.slow
@pytest.mark.spec("S2", "S19")
def test_every_firing_of_a_random_log_is_a_firing_of_the_analysed_net() -> None:
    for seed in range(50):
        _, simulation, _ = walk(seed)
        for execution in simulation.executions.values():
            compiled = compile_net(execution.program.playbook)
            found = violations(compiled, (record.event for record in execution.log))
            assert not found, (seed, str(found[0]))
