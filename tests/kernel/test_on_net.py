"""A log is walked on the net of its playbook: every record is a firing of it, or the first that is none is named."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import msgspec
import pytest
from export.logs import example_logs
from kernel.oracle.draw import draw
from kernel.oracle.world import Kernel
from kernel.paths import walk as random_walk
from ordeal import Ordeal
from texts import model, workflow
from thoroughness import seeds

from petra.kernel import Program
from petra.kernel import commands as c
from petra.kernel import events as e
from petra.kernel.on_net import Walked, walk
from petra.kernel.redecide import redecide
from petra.kernel.replay import Ledger, Record
from petra.playbook import Playbook
from petra.testing import Simulation

pytestmark = pytest.mark.spec("S2")

JOINED = """
- step: fan
  next: {arcs: [{step: work, foreach: "{{ [1, 2, 3] }}"}]}
- step: work
  next: {arcs: [{step: join}]}
- step: join
  spec: {join: {of: fan, timeout_s: 5}}
  next: {arcs: [{step: last}]}
- step: last
  tool: {kind: wait, signal: {name: go}}
- step: nowhere
  tool: {kind: noop}
"""


def walked(playbook: Playbook, events: Sequence[e.AnyEvent]) -> Walked:
    ledger = Ledger("x")
    return walk([ledger.record(event, 0.0, 0, 0) for event in events], lambda _: playbook)


def simulated(text: str) -> Simulation:
    made = Simulation(model(workflow(text)))
    made.start({})
    made.run()
    return made


def records(world: Simulation) -> list[Record]:
    return list(world.root.log)


@pytest.mark.slow
def test_every_record_of_every_example_is_a_firing_of_its_net() -> None:
    seen = 0
    for name, log in example_logs():
        found = walk(log.records, lambda _, book=log.playbook: book)  # type: ignore[misc]
        assert found.bad is None, (name, found.bad)
        seen += found.firings
    assert seen > 1000


@pytest.mark.parametrize("pattern", ["fan_out", "wcp-25", "wcp-34", "wcp-36"])
def test_examples_of_cancellation_lists_and_conditions_walk_on_their_net(pattern: str) -> None:
    for name, log in example_logs(pattern):
        assert walk(log.records, lambda _, book=log.playbook: book).bad is None, name  # type: ignore[misc]


@pytest.mark.parametrize(
    "seeds", [range(30), pytest.param(range(30, 300), marks=pytest.mark.slow)], ids=["few", "many"]
)
def test_every_record_of_a_nested_fan_out_is_a_firing_of_its_net(seeds: range) -> None:
    for seed in seeds:
        kernel = Kernel(draw(seed))
        kernel.run()
        found = walked(kernel.program.playbook, kernel.log)
        assert found.bad is None, (seed, found.bad)


def planted(change: Any) -> Walked:
    world = simulated(JOINED)
    events = [record.event for record in records(world)]
    return walked(world.root.program.playbook, change(events))


def number(events: list[e.AnyEvent], kind: type, step: str) -> int:
    found = (at for at, one in enumerate(events) if isinstance(one, kind))
    return next(at for at in found if getattr(events[at], "step", "") == step)


def test_a_log_as_it_was_written_walks() -> None:
    found = planted(lambda events: events)
    assert found.bad is None
    assert not found.exempt


def test_a_step_that_no_arc_reaches_is_named() -> None:
    def change(events: list[e.AnyEvent]) -> list[e.AnyEvent]:
        at = number(events, e.StepDone, "join")
        done = events[at]
        assert isinstance(done, e.StepDone)
        made = msgspec.structs.replace(done.produced[0], step="nowhere")
        return [*events[:at], msgspec.structs.replace(done, produced=[made])]

    found = planted(change)
    assert found.bad is not None
    assert "'nowhere'" in found.bad.reason


def test_a_join_that_fires_twice_is_named() -> None:
    def change(events: list[e.AnyEvent]) -> list[e.AnyEvent]:
        at = number(events, e.StepStarted, "join")
        start = events[at]
        assert isinstance(start, e.StepStarted)
        again = msgspec.structs.replace(start, run="second", consumed=[])
        return [*events[: at + 1], again]

    found = planted(change)
    assert found.bad is not None
    assert "was closed before" in found.bad.reason


@pytest.mark.parametrize(
    ("step", "reason"),
    [("work", "takes the token"), ("last", "takes the token")],
)
def test_a_firing_that_is_left_out_is_missed(step: str, reason: str) -> None:
    def change(events: list[e.AnyEvent]) -> list[e.AnyEvent]:
        at = number(events, e.StepStarted, step)
        again = events[at]
        return [*events[: at + 1], again]

    found = planted(change)
    assert found.bad is not None
    assert reason in found.bad.reason


def test_an_end_that_leaves_tokens_behind_is_named() -> None:
    def change(events: list[e.AnyEvent]) -> list[e.AnyEvent]:
        return [*events, e.ExecutionEnded(status="completed")]

    found = planted(change)
    assert found.bad is not None
    assert found.bad.reason == "it ends while last.running is left"


def test_an_override_is_exempt_and_counted() -> None:
    world = simulated(JOINED)
    world.send(world.root, c.Override(now=world.now, step="last", actor="ada"))
    found = walk(records(world), lambda _: world.root.program.playbook)
    assert found.bad is None
    assert found.exempt["override"] == 1


def test_after_a_migration_the_walk_goes_on_in_the_other_net() -> None:
    world = simulated(JOINED)
    before = world.root.program
    after = Program(model(workflow(JOINED.replace("last", "ending"))))
    before.versions[after.digest] = after
    moved = c.Migrate(now=world.now, digest=after.digest, renamed={"last": "ending"})
    assert not world.send(world.root, moved).refused
    world.root.program = after
    world.send(world.root, c.SendSignal(now=world.now, name="go"))
    books = {before.digest: before.playbook, after.digest: after.playbook}
    found = walk(records(world), books.get)
    assert found.bad is None
    assert found.exempt == {"migration": 1}
    stayed = walk(records(world), lambda _: before.playbook)
    assert stayed.bad is not None


@pytest.mark.slow
def test_every_log_of_an_ordeal_is_a_run_of_its_net_and_is_decided_again() -> None:
    for seed in range(4):
        evidence = Ordeal(seed).run()
        assert evidence.streams
        for execution, stream in evidence.streams.items():
            programs = {**stream.program.versions, stream.program.digest: stream.program}
            books = {digest: program.playbook for digest, program in programs.items()}
            assert walk(stream.records, books.get).bad is None, (seed, execution)
            made = redecide(execution, stream.records, programs.__getitem__)
            assert made.bad is None, (seed, execution)


PATHS = int(os.environ.get("PETRA_PATHS", "250"))
SHARDS = 20
ODD = (
    16,  # a join that no arc can reach closes a group of which every branch has ended
    131,  # an or-join takes what it made itself, and branches of its own fan-out, at once
    190,  # of several lists one is empty
    356,  # a join fails because all branches have ended elsewhere
    362,  # a branch waits at a join when another one has closed its group
    439,  # a join over arcs takes the branches of one fan-out, and leaves its group
    531,  # a join over arcs fails with the token of one arc, outside of the group that this came from
    620,  # a fan-out inside its own group
    954,  # the merge of a join in no group fails
    pytest.param(1580, marks=pytest.mark.slow),  # the guard of an arc fails after a success
)


def of_random_path(seed: int) -> None:
    _, world, faults = random_walk(seed)
    assert not faults, (seed, faults[:5])
    for execution in world.executions.values():
        book = execution.program.playbook
        found = walk(execution.log, lambda _, book=book: book)  # type: ignore[misc]
        assert found.bad is None, (seed, execution.id, found.bad)


@pytest.mark.parametrize("seed", ODD)
def test_what_a_proof_does_not_ask_about_is_part_of_the_net_all_the_same(seed: int) -> None:
    of_random_path(seed)


@pytest.mark.slow
@pytest.mark.parametrize("shard", range(SHARDS))
def test_every_record_of_a_random_playbook_is_a_firing_of_its_net(shard: int) -> None:
    for seed in seeds(PATHS, shard, SHARDS):
        of_random_path(seed)
