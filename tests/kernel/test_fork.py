from __future__ import annotations

import msgspec
import pytest
from kernel.paths import walk
from thoroughness import few

from petra.kernel import Ledger, Record, State, decide, evolve, replay, verify
from petra.kernel import commands as c
from petra.kernel import events as e
from petra.kernel.fork import fork, lived, rerun
from petra.kernel.snapshot import SHAPE, SnapshotError, restore, snapshot
from petra.playbook import read
from petra.testing import Simulation

TWO_STEPS = """
apiVersion: petra/v1
kind: Playbook
metadata: {name: two}
workflow:
  - {step: a, tool: {kind: python, code: x}, next: {arcs: [{step: b}]}}
  - {step: b, tool: {kind: python, code: x}}
"""


@pytest.mark.slow
@pytest.mark.spec("S17")
def test_a_snapshot_of_any_prefix_goes_on_as_if_nothing_had_happened() -> None:
    for seed in range(few(60)):
        _, simulation, _ = walk(seed)
        root = simulation.root
        state = State(id=root.id)
        for record in root.log:
            state = restore(snapshot(state))
            evolve(state, record.event, seq=record.seq, at=record.at)
        assert state == replay(root.id, root.log), seed


def test_what_tokens_share_is_written_once() -> None:
    def size(copies: int) -> int:
        text = TWO_STEPS.replace("{step: b}", f"{{step: b, copies: {copies}}}")
        book = read(text, "x").playbook
        assert book is not None
        simulation = Simulation(book, tools={"a": {"ok": "y" * 5000}, "b": {"ok": 1, "after_s": 5}})
        simulation.start({})
        simulation.run(until=simulation.now + 1)
        state = simulation.root.state
        assert len(state.runs) == copies
        again = restore(snapshot(state))
        assert len({id(run.seen["a"]) for run in again.runs.values()}) == 1
        return len(snapshot(state))

    assert size(101) - size(1) < 100 * 1000


def test_a_snapshot_of_another_shape_or_of_something_else_is_refused() -> None:
    good = snapshot(State(id="x"))
    for bad in (b"", b"x" * 40, SHAPE + b"junk", SHAPE + b"cos\nsystem\n(S'true'\ntR.", good[:-5]):
        with pytest.raises(SnapshotError):
            restore(bad)


def _book_run() -> Simulation:
    book = read(TWO_STEPS, "two").playbook
    assert book is not None
    simulation = Simulation(book, tools={"a": {"ok": 1}, "b": {"ok": 2}})
    simulation.start({})
    simulation.run()
    return simulation


def _begin(simulation: Simulation, command: c.Fork) -> tuple[State, list[Record], list[str]]:
    state, ledger = State(id="fork"), Ledger("fork")
    decision = decide(simulation.root.program, state, command)
    log = [
        ledger.record(event, command.now, before, after)
        for event, (before, after) in zip(decision.events, decision.markings, strict=True)
    ]
    return state, log, [type(effect).__name__ for effect in decision.effects]


@pytest.mark.spec("S13")
def test_a_fork_hands_out_again_what_was_in_flight() -> None:
    simulation = _book_run()
    origin = simulation.root
    state, log, effects = _begin(simulation, fork(origin.id, origin.log, 2, now=simulation.now))
    assert [run.step for run in state.runs.values()] == ["a"]
    assert effects == ["Assign"]
    assert verify("fork", log) is None
    stored = msgspec.json.decode(msgspec.json.encode(log), type=list[Record])
    assert replay("fork", stored) == state


@pytest.mark.spec("S13")
def test_a_rerun_begins_before_the_latest_start_of_the_step() -> None:
    simulation = _book_run()
    origin = simulation.root
    state, log, _ = _begin(simulation, rerun(origin.id, origin.log, "b", now=simulation.now))
    assert [run.step for run in state.runs.values()] == ["b"]
    assert state.latest["a"].result == 1
    first = log[0].event
    assert (first.origin, first.at) == (origin.id, 3)  # type: ignore[union-attr]


@pytest.mark.spec("S13")
def test_a_past_does_not_end_with_an_answer_that_nothing_was_made_of() -> None:
    text = TWO_STEPS.replace("{kind: python, code: x}", "{kind: wait, signal: {name: go}}", 1)
    book = read(text, "two").playbook
    assert book is not None
    simulation = Simulation(book, tools={"b": {"ok": 2}})
    simulation.start({})
    simulation.send(simulation.root, c.SendSignal(now=simulation.now, name="go"))
    simulation.run()
    log = simulation.root.log
    came = next(r.seq for r in log if isinstance(r.event, e.SignalReceived))
    made = fork("x", log, came, now=simulation.now)
    assert made.at == came - 1
    state, _, _ = _begin(simulation, made)
    assert [run.step for run in state.runs.values()] == ["a"]
    assert [wait.kind for run in state.runs.values() for wait in run.waits] == ["signal"]


@pytest.mark.spec("S13")
def test_what_cannot_be_forked_says_why() -> None:
    simulation = _book_run()
    log = simulation.root.log
    for at in (0, len(log), len(log) + 1):
        with pytest.raises(ValueError, match="record"):
            fork("x", log, at, now=0)
    with pytest.raises(ValueError, match="never started"):
        rerun("x", log, "z", now=0)
    begun = [record.event.step for record in log if isinstance(record.event, e.StepStarted)]
    with pytest.raises(ValueError, match=f"did you mean '{begun[0]}'\\?"):
        rerun("x", log, f"{begun[0]}{begun[0][-1]}", now=0)


@pytest.mark.spec("S13")
def test_any_prefix_of_a_random_log_can_be_forked() -> None:
    for seed in range(few(40)):
        _, simulation, _ = walk(seed)
        origin = simulation.root
        for at in range(1, len(origin.log), 7):
            state, log, _ = _begin(simulation, fork(origin.id, origin.log, at, now=simulation.now))
            assert verify("fork", log) is None
            stored = msgspec.json.decode(msgspec.json.encode(log), type=list[Record])
            assert replay("fork", stored) == state, (seed, at)


LONG = """
apiVersion: petra/v1
kind: Playbook
metadata: {name: long}
workflow:
  - {step: a, next: {arcs: [{step: b, copies: 40}]}}
  - {step: b, tool: {kind: python, code: x}, next: {arcs: [{step: j}]}}
  - {step: j, spec: {join: {}}, tool: {kind: noop}, next: {arcs: [{step: w}]}}
  - {step: w, tool: {kind: wait, signal: {name: go}}, next: {arcs: [{step: z}]}}
  - {step: z, tool: {kind: python, code: x}}
"""


def _long_run() -> Simulation:
    """Run until it waits; its log has more than a megabyte."""
    simulation = Simulation(read(LONG, "long").checked(), tools={"b": {"ok": "y" * 30_000}})
    simulation.start({})
    simulation.run()
    assert sum(len(msgspec.json.encode(r)) for r in simulation.root.log) > 1_000_000
    return simulation


@pytest.mark.spec("S13")
@pytest.mark.spec("S18")
def test_a_long_past_is_taken_over_in_pieces_that_fit_into_an_event_each() -> None:
    simulation = _long_run()
    origin = simulation.root
    state, log, _ = _begin(simulation, fork(origin.id, origin.log, len(origin.log), now=1.0))
    assert len(log) > 5
    assert max(len(msgspec.json.encode(record.event)) for record in log) < 256 * 1024
    assert verify("fork", log) is None
    stored = msgspec.json.decode(msgspec.json.encode(log), type=list[Record])
    assert replay("fork", stored) == state
    assert [event for _, _, event in lived(log)] == [record.event for record in origin.log]
    assert [number for number, _, _ in lived(log)] == list(range(1 - len(origin.log), 1))
    half = State(id="fork")
    for record in stored:
        evolve(half, record.event, seq=record.seq, at=record.at)
        half = restore(snapshot(half))
    assert half == state


@pytest.mark.spec("S13")
def test_a_fork_of_a_fork_has_one_past_and_knows_whose_it_was() -> None:
    simulation = _long_run()
    origin = simulation.root
    program, now = origin.program, 1.0

    def child(name: str, command: c.Fork) -> list[Record]:
        state, ledger, log = State(id=name), Ledger(name), []
        for one in (command, c.SendSignal(now=now, name="go")):
            decision = decide(program, state, one)
            for event, (before, after) in zip(decision.events, decision.markings, strict=True):
                log.append(ledger.record(event, now, before, after))
        return log

    one = child("one", fork(origin.id, origin.log, len(origin.log), now=now))
    two = child("two", fork("one", one, len(one), now=now))
    state = replay("two", two)
    assert state.origins == [origin.id, "one"]
    assert verify("two", two) is None
    first = two[0].event
    assert isinstance(first, e.ExecutionForked)
    assert [name for name, _, _ in first.parts] == [origin.id, "one"]
    assert not any(isinstance(event, e.ExecutionForked) for _, _, event in lived(two))
    assert state.latest["w"].seq > state.latest["j"].seq > state.latest["b"].seq
    again = rerun("two", two, "z", now=now)
    assert (again.origin, again.at) == ("one", len(one) - 1)
    before = rerun("two", two, "j", now=now)
    joined = [
        r.seq for r in origin.log if isinstance(r.event, e.StepStarted) and r.event.step == "j"
    ]
    assert (before.origin, before.at, before.parts) == (origin.id, joined[0] - 1, [])
