"""Loops in parts: what ends is taken as it comes, once; what is left, and only that, is handed out again."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from thoroughness import few

from petra.kernel import Decision, Program, State, assignment, decide
from petra.kernel import commands as c
from petra.kernel import effects as f
from petra.kernel import events as e
from petra.kernel.evolve import evolve
from petra.kernel.objects import DecisionObjects, PlainShelf
from petra.playbook import read
from petra.testing import Simulation
from petra.wire import Assignment, Error, IterationReport, Report

EVENT_MAX = 256 * 1024
HEAD = "apiVersion: petra/v1\nkind: Playbook\nmetadata: {name: p}\n"
STEP = "workflow:\n- step: s\n  tool: {kind: python, code: x}\n  loop: "
LOCAL = (
    "{in: '{{ range(workload.n) }}', iterator: i, spec: {mode: parallel, policy: {exec: local}}}\n"
)
SPREAD = "{in: '{{ range(workload.n) }}', iterator: i}\n"
BEST = "  spec: {policy: {failure: {mode: best_effort}}}\n"


class Loop:
    """One execution of a loop, and the worker's side of it by hand."""

    def __init__(
        self, loop: str, workload: dict[str, Any], *, more: str = "", window: int = 512
    ) -> None:
        self.program = Program(read(HEAD + STEP + loop + more, "p").checked(), window=window)
        self.state = State(id="e")
        self.shelf = PlainShelf()
        self.events: list[e.AnyEvent] = []
        self.effects: list[f.AnyEffect] = []
        self.send(c.Start(now=0.0, workload=workload))

    def send(self, command: c.AnyCommand) -> Decision:
        decision = decide(self.program, self.state, command, self.shelf)
        self.events += decision.events
        self.effects += decision.effects
        return decision

    @property
    def out(self) -> list[tuple[str, str]]:
        return [(run.id, chunk) for run in self.state.runs.values() for chunk in run.chunks]

    def given(self) -> Assignment:
        return assignment(self.program, self.state, *self.out[0])

    def report(
        self, paths: list[tuple[int, ...]], *, more: bool = True, delivery: int = 1, **result: Any
    ) -> Decision:
        run, chunk = self.out[0]
        reports = [
            IterationReport(path=path, report=Report(status="ok", **{"result": path[0], **result}))
            for path in paths
        ]
        return self.send(
            c.ChunkReport(
                now=1.0, run=run, chunk=chunk, reports=reports, delivery=delivery, more=more
            )
        )

    def gathered(self, result: Any, delivery: int = 1) -> None:
        run, chunk = self.out[0]
        self.send(
            c.ChunkReport(
                now=3.0,
                run=run,
                chunk=chunk,
                reports=[],
                delivery=delivery,
                gathered=Report(status="ok", result=result),
            )
        )

    def lose(self, delivery: int = 1) -> None:
        run, chunk = self.out[0]
        self.send(c.LeaseExpired(now=2.0, run=run, chunk=chunk, delivery=delivery))

    def largest(self) -> int:
        return max(len(msgspec.json.encode(event)) for event in self.events)


def paths(*indices: int) -> list[tuple[int, ...]]:
    return [(index,) for index in indices]


def indices(given: Assignment) -> list[int]:
    return [one.path[0] for one in given.iterations]


@pytest.mark.spec("S9")
def test_a_part_is_taken_once_and_the_rest_of_the_chunk_stays_out() -> None:
    loop = Loop(LOCAL, {"n": 5})
    loop.report(paths(0, 2))
    before = len(loop.events)
    assert loop.report(paths(2, 0)).refused == "these iterations were reported before"
    assert len(loop.events) == before
    assert indices(loop.given()) == [1, 3, 4]
    loop.report(paths(1, 2, 3))
    loop.report(paths(4), more=False)
    assert loop.state.terminal == "completed"
    assert loop.state.output == [0, 1, 2, 3, 4]


@pytest.mark.spec("S9")
def test_a_redelivery_hands_out_only_what_has_not_ended() -> None:
    loop = Loop(LOCAL, {"n": 6})
    loop.report(paths(0, 1, 4))
    loop.lose()
    given = loop.given()
    assert (given.delivery, indices(given)) == (2, [2, 3, 5])
    assert isinstance(loop.report(paths(2), delivery=1).events[0], e.ReportRejected)
    loop.report(paths(2, 3, 5), delivery=2, more=False)
    assert loop.state.output == [0, 1, 2, 3, 4, 5]


@pytest.mark.spec("S9")
def test_what_a_last_part_leaves_out_is_handed_out_again() -> None:
    loop = Loop(LOCAL, {"n": 3})
    loop.report(paths(1), more=False)
    assert loop.effects[-1] == f.Assign(run=loop.out[0][0], chunk=loop.out[0][1], delivery=2)
    assert indices(loop.given()) == [0, 2]


@pytest.mark.spec("S9")
def test_a_local_loop_is_one_chunk_whose_worker_has_a_window_of_it() -> None:
    loop = Loop(LOCAL, {"n": 1000}, window=100)
    first = loop.given()
    assert (indices(first), first.more, first.total) == (list(range(100)), True, 1000)
    chunk = loop.out[0]
    loop.report(paths(*range(49)))
    assert not any(isinstance(effect, f.Extend) for effect in loop.effects)
    loop.report(paths(49))
    extended = loop.effects[-1]
    assert isinstance(extended, f.Extend)
    assert extended.paths == paths(*range(100, 150))
    while not loop.state.terminal:
        assert loop.out == [chunk]
        loop.report([one.path for one in loop.given().iterations])
    assert loop.state.output == list(range(1000))
    assert sum(isinstance(effect, f.Assign) for effect in loop.effects) == 1


@pytest.mark.spec("S9")
def test_a_window_is_wide_enough_for_what_may_run_at_once() -> None:
    wide = LOCAL.replace("parallel,", "parallel, max_in_flight: 300,")
    assert len(Loop(wide, {"n": 5000}, window=100).given().iterations) == 600


@pytest.mark.spec("S9", "S18")
@pytest.mark.parametrize("loop", [LOCAL, SPREAD], ids=["local", "distributed"])
def test_a_chunk_is_bounded_in_bytes(loop: str) -> None:
    text = loop.replace("range(workload.n)", "workload.items")
    text = text.replace("parallel,", "parallel, max_in_flight: 2,")
    made = Loop(text, {"items": ["x" * 30_000] * 20})
    while not made.state.terminal:
        given = made.given()
        assert len(msgspec.json.encode(given.iterations)) < 200_000
        made.report([one.path for one in given.iterations], result=None, more=given.more)
    assert made.largest() < EVENT_MAX


@pytest.mark.spec("S18")
def test_a_list_that_is_too_long_for_an_event_is_in_objects_piece_by_piece() -> None:
    loop = Loop(LOCAL, {"n": 100_000})
    (added,) = [event for event in loop.events if isinstance(event, e.StepStarted)]
    assert len(added.pieces) >= 3
    assert all(reference["size"] <= 128 * 1024 + 2 for _, reference in added.pieces)
    assert loop.largest() < 4_000
    items = [item for _, reference in added.pieces for item in loop.shelf(reference)]
    assert items == list(range(100_000))


@pytest.mark.spec("S18")
def test_a_chunk_of_a_long_list_is_within_one_piece() -> None:
    loop = Loop(LOCAL.replace("range(workload.n)", "workload.items"), {"items": ["x" * 3000] * 200})
    seen = []
    while not loop.state.terminal:
        given = loop.given()
        parts = [one.iter["i"] for one in given.iterations]
        assert {loop.shelf(part) for part in parts} == {"x" * 3000}
        assert len({part["key"] for part in parts}) <= 2
        seen += [one.path[0] for one in given.iterations]
        loop.report([one.path for one in given.iterations], result=None, more=given.more)
    assert seen == list(range(200))


@pytest.mark.spec("S18")
def test_an_item_that_fits_into_no_event_is_a_reference() -> None:
    text = LOCAL.replace("range(workload.n)", "[workload.big, 7]")
    loop = Loop(text, {"big": "x" * 200_000})
    assert loop.largest() < EVENT_MAX
    given = loop.given().iterations
    assert [loop.shelf(one.iter["i"]) for one in given] == ["x" * 200_000, 7]


@pytest.mark.spec("S18")
def test_many_results_at_once_are_recorded_in_several_events() -> None:
    loop = Loop(LOCAL, {"n": 300})
    loop.report(paths(*range(300)), more=False, result="x" * 2_000)
    ended = [event for event in loop.events if isinstance(event, e.IterationsEnded)]
    assert [event.more for event in ended] == [True] * (len(ended) - 1) + [False]
    assert len(ended) >= 3
    assert loop.largest() < EVENT_MAX


@pytest.mark.spec("S9", "S18")
def test_results_that_are_too_large_for_an_event_are_gathered_by_a_worker() -> None:
    loop = Loop(LOCAL, {"n": 300})
    loop.report(paths(*range(300)), more=False, result="x" * 500)
    given = loop.given()
    assert given.gather == ["x" * 500] * 300
    assert not given.iterations
    run, chunk = loop.out[0]
    reference = {"store": "local", "key": "k", "checksum": "c", "size": 1}
    loop.send(
        c.ChunkReport(
            now=2.0,
            run=run,
            chunk=chunk,
            reports=[],
            gathered=Report(status="ok", result=reference),
        )
    )
    assert loop.state.terminal == "completed"
    assert loop.state.output == reference
    assert loop.largest() < EVENT_MAX


@pytest.mark.spec("S9", "S18")
def test_results_that_are_too_large_for_a_frame_are_stored_in_pieces_that_are_joined(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("petra.kernel.loops.GATHER_BYTES", 100_000)
    loop = Loop(SPREAD, {"n": 300})
    while not loop.given().gather:
        given = loop.given()
        loop.report([one.path for one in given.iterations], more=False, result="x" * 990)
    pieces: list[Any] = []
    while not loop.given().joins:
        given = loop.given()
        assert given.gather
        assert len(msgspec.json.encode(given.gather)) <= 100_000
        pieces.append({"piece": len(pieces), "count": len(given.gather)})
        if len(pieces) == 2:  # one that is lost is stored again
            loop.lose()
            assert (loop.given().gather, loop.given().delivery) == (given.gather, 2)
        loop.gathered(pieces[-1], delivery=loop.given().delivery)
    assert [one["count"] for one in pieces] == [100, 100, 100]
    assert loop.given().gather == pieces
    whole = {"store": "local", "key": f"e/{'0' * 64}.json", "checksum": "0" * 64, "size": 9}
    loop.gathered(whole)
    done = next(one for one in loop.events if isinstance(one, e.LoopDone))
    assert done.result == whole
    again = State(id="e")
    for seq, event in enumerate(loop.events, start=1):
        evolve(again, event, seq=seq, at=1.0)
    assert again.latest["s"].result == whole


@pytest.mark.spec("S18")
def test_a_gathering_worker_that_is_lost_is_replaced_and_one_that_cannot_store_fails_the_step() -> (
    None
):
    loop = Loop(LOCAL, {"n": 300})
    loop.report(paths(*range(300)), more=False, result="x" * 500)
    loop.lose()
    assert (loop.given().delivery, len(loop.given().gather or [])) == (2, 300)
    run, chunk = loop.out[0]
    failed = Report(status="error", error=Error(kind="limit", message="no object store"))
    loop.send(c.ChunkReport(now=2.0, run=run, chunk=chunk, reports=[], delivery=2, gathered=failed))
    assert loop.state.terminal == "failed"
    assert loop.state.error is not None
    assert loop.state.error.kind == "limit"


@pytest.mark.slow
@pytest.mark.spec("S9")
def test_in_a_test_file_a_long_local_loop_runs_to_its_end() -> None:
    book = read(HEAD + STEP + LOCAL, "p").checked()
    simulation = Simulation(book, tools={"s": {"run": "iter.i"}})
    simulation.start({"n": 20_000})
    simulation.run()
    assert simulation.output == list(range(20_000))


@pytest.mark.spec("S9")
@settings(max_examples=few(60), deadline=None)
@given(data=st.data(), local=st.booleans(), total=st.integers(1, 60), window=st.integers(1, 20))
def test_whatever_comes_twice_late_or_not_at_all_each_iteration_counts_once(
    data: st.DataObject,
    local: bool,  # noqa: FBT001
    total: int,
    window: int,
) -> None:
    loop = Loop(LOCAL if local else SPREAD, {"n": total}, more=BEST, window=window)
    sent: list[tuple[list[tuple[int, ...]], int]] = []
    lost = 0
    while not loop.state.terminal:
        given = loop.given()
        left = [one.path for one in given.iterations]
        match data.draw(st.sampled_from(["part", "part", "all", "again", "lose"])):
            case "lose" if lost < 3:
                lost += 1
                loop.lose(given.delivery)
            case "again" if sent:
                loop.report(sent[-1][0], delivery=sent[-1][1])
            case "part":
                part = data.draw(st.lists(st.sampled_from(left), min_size=1, unique=True))
                sent.append((part, given.delivery))
                loop.report(part, delivery=given.delivery)
            case _:
                sent.append((left, given.delivery))
                loop.report(left, delivery=given.delivery, more=given.more)
    assert loop.state.output == list(range(total))
    ended = [
        one.path
        for event in loop.events
        if isinstance(event, e.IterationsEnded)
        for one in event.ended
    ]
    assert sorted(ended) == paths(*range(total))


@pytest.mark.spec("S9", "S18")
def test_large_results_do_not_wait_in_memory_for_the_end_of_the_loop() -> None:
    loop = Loop(SPREAD.replace("parallel,", "parallel, max_in_flight: 4,"), {"n": 3000})
    most = 0
    while not loop.given().gather:
        given = loop.given()
        loop.report([one.path for one in given.iterations], result="x" * 2000, more=given.more)
        (run,) = loop.state.runs.values()
        assert run.loop is not None
        most = max(most, len(run.loop.held))
    assert most < 1200  # of 3,000: 2 MB of 6
    seen: list[Any] = []
    while not loop.state.terminal:
        given = loop.given()
        assert given.gather is not None
        found = [loop.shelf(one) for one in given.gather] if given.joins else given.gather
        seen = [one for piece in found for one in piece] if given.joins else seen
        (run,) = loop.state.runs.values()
        reference = DecisionObjects("e", loop.shelf).put(found)
        gathered = Report(status="ok", result=reference)
        loop.send(
            c.ChunkReport(now=1.0, run=run.id, chunk=given.chunk, reports=[], gathered=gathered)
        )
    assert loop.state.terminal == "completed"
    assert seen == ["x" * 2000] * 3000
    assert loop.largest() < EVENT_MAX


def most_held(rows: int) -> int:
    """Return how many rows the state of a loop has had something of at most, counted after each report."""
    loop, most = Loop(LOCAL, {"n": rows}, window=64), 0
    while not loop.given().gather:
        given = loop.given()
        loop.report([one.path for one in given.iterations], result="x" * 20_000, more=given.more)
        (run,) = loop.state.runs.values()
        assert run.loop is not None
        out = sum(len(chunk.paths) for chunk in run.chunks.values())
        most = max(most, len(run.loop.held) + len(run.loop.active) + out)
    return most


@pytest.mark.slow
@pytest.mark.spec("S9", "S18")
def test_what_is_held_of_a_loop_does_not_grow_with_its_rows() -> None:
    assert most_held(2_000) == most_held(10_000) < 400


def held_of(loop: Loop) -> int:
    """Return how many results the state of a loop has in memory."""
    (run,) = loop.state.runs.values()
    assert run.loop is not None
    return sum(one is not None for one in run.loop.held)


def joined(loop: Loop) -> list[Any]:
    """Gather what there is to gather, as a worker does; return the results of the loop."""
    seen: list[Any] = []
    while not loop.state.terminal:
        given = loop.given()
        assert given.gather, "no piece is empty"
        found = [loop.shelf(one) for one in given.gather] if given.joins else given.gather
        seen = [one for piece in found for one in piece] if given.joins else found
        reference = DecisionObjects("e", loop.shelf).put(seen)
        (run,) = loop.state.runs.values()
        gathered = Report(status="ok", result=reference)
        loop.send(
            c.ChunkReport(now=1.0, run=run.id, chunk=given.chunk, reports=[], gathered=gathered)
        )
    return seen


@pytest.mark.spec("S9", "S18")
def test_results_behind_an_iteration_that_does_not_end_do_not_wait_in_memory() -> None:
    loop, most, stuck = Loop(LOCAL, {"n": 2_500}, window=64), 0, {(0,), (1_234,)}
    while left := [one.path for one in loop.given().iterations if one.path not in stuck]:
        loop.report(left, result="x" * 2_000)
        most = max(most, held_of(loop))
    assert most < 1_200  # of 2,500, behind two that are still out: about 1 MB behind each
    loop.report(paths(1_234), result="late")
    loop.report(paths(0), result="last", more=False)
    assert joined(loop) == ["last", *["x" * 2_000] * 1_233, "late", *["x" * 2_000] * 1_265]
    assert loop.state.terminal == "completed"
    assert loop.largest() < EVENT_MAX
    again = State(id="e")
    for seq, event in enumerate(loop.events, start=1):
        evolve(again, event, seq=seq, at=1.0)
    assert again.latest["s"].result == loop.state.latest["s"].result


@pytest.mark.spec("S9", "S18")
@settings(max_examples=few(40), deadline=None)
@given(data=st.data(), total=st.integers(1, 120), window=st.integers(2, 40))
def test_results_stay_in_order_whatever_ends_first_and_is_put_aside(
    data: st.DataObject, total: int, window: int
) -> None:
    with pytest.MonkeyPatch.context() as small:
        small.setattr("petra.kernel.gathering.PUT_ASIDE_BYTES", 40)
        small.setattr("petra.kernel.gathering.SAMPLE", 2)
        loop = Loop(LOCAL, {"n": total}, window=window)
        while not loop.state.terminal and (given := loop.given()).iterations:
            left = [one.path for one in given.iterations]
            part = data.draw(st.lists(st.sampled_from(left), min_size=1, unique=True))
            run, chunk = loop.out[0]
            reports = [
                IterationReport(path=one, report=Report(status="ok", result=f"{one[0]:010}"))
                for one in part
            ]
            more = len(part) < len(left) or given.more
            loop.send(c.ChunkReport(now=1.0, run=run, chunk=chunk, reports=reports, more=more))
        results = joined(loop) or loop.state.output
    assert results == [f"{index:010}" for index in range(total)]
