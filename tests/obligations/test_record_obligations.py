"""Obligations on what is written down: the log, its rows, references in it, and what can be had back from it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from engine_support import local, playbook
from texts import model, workflow

from petra import net
from petra.clock import SystemClock
from petra.embedded import Home
from petra.engine.codec import execution_row
from petra.kernel import Program, Record, replay, verify
from petra.kernel import events as e
from petra.net.compile import compile as compile_net
from petra.objects import is_reference
from petra.playbook import Playbook
from petra.store.memory import MemoryStore
from petra.store.rows import ExecutionFilter
from petra.testing import Simulation

LOOP = """
  - step: a
    loop: {in: "{{ [1, 0, 2] }}", iterator: n, spec: {mode: sequential}}
    spec: {policy: {failure: {mode: best_effort}}}
    tool: {kind: python, code: "def main(n): return 6 / n", args: {n: "{{ iter.n }}"}}
"""


def logged(book: Playbook, then: Callable[[Home], Awaitable[None]] | None = None) -> list[Record]:
    """Run a playbook on the real engine with a worker; return its log."""

    async def running() -> list[Record]:
        async with local(MemoryStore(clock=SystemClock().now)) as petra:
            await petra.run(book, execution="e1")
            if then is not None:
                await then(petra)
            return await petra.records("e1")

    return asyncio.run(running())


def of(records: list[Record], kind: type[Any]) -> list[Any]:
    return [record.event for record in records if isinstance(record.event, kind)]


@pytest.mark.spec("000§1.1-1", "000§1.1-2")
def test_a_step_takes_its_token_when_it_starts_and_gives_on_when_it_ends() -> None:
    compiled = compile_net(
        model(
            workflow(
                "- {step: a, tool: {kind: noop}, next: {arcs: [{step: b}]}}\n- {step: b, tool: {kind: noop}}"
            )
        )
    )
    start, done = compiled.net.transitions["a.start"], compiled.net.transitions["a.done"]
    assert set(start.inputs) == {"a.ready"}
    assert set(start.outputs) == {"a.running"}
    assert set(done.inputs) == {"a.running"}


@pytest.mark.spec("000§1.2-4", "000§1.2-9", "002§1-1", "002§1-8")
def test_a_run_goes_to_a_worker_and_its_one_report_is_written_down_with_every_attempt() -> None:
    records = logged(
        playbook(
            """
  - step: a
    tool:
      - {name: one, kind: python, code: "result = 1"}
      - {name: two, kind: python, code: "result = 2"}
"""
        )
    )
    started, ended = of(records, e.StepStarted), of(records, e.StepEnded)
    assert [event.step for event in started] == ["a"]
    assert [(x.task, x.number, x.status) for x in ended[0].attempts] == [
        ("one", 1, "ok"),
        ("two", 1, "ok"),
    ]


@pytest.mark.spec("000§1.2-6", "002§1-3")
def test_the_log_is_kept_and_the_rows_that_show_it_follow_from_it() -> None:
    async def rows(petra: Home) -> None:
        page = await petra.engine.store.executions(ExecutionFilter())
        state = replay("e1", await petra.records("e1"))
        assert page.rows[0].row == execution_row(Program(book), state)

    book = playbook("  - {step: a, tool: {kind: python, code: 'result = 1'}}\n")
    records = logged(book, rows)
    assert verify("e1", records) is None


@pytest.mark.spec("002§8-2", "002§8-3")
def test_iterations_are_written_down_with_their_index_and_how_they_ended() -> None:
    records = logged(playbook(LOOP))
    started = [path for event in of(records, e.IterationsStarted) for path in event.paths]
    ended = [one for event in of(records, e.IterationsEnded) for one in event.ended]
    assert sorted(started) == [(0,), (1,), (2,)]
    assert {one.path: one.ok for one in ended} == {(0,): True, (1,): False, (2,): True}
    failed = next(one for one in ended if not one.ok)
    assert failed.error is not None
    assert "division" in failed.error.message


@pytest.mark.spec("003§7.4.3.6-1", "003§7.4.5-5")
def test_a_work_item_and_each_act_on_it_are_in_the_log() -> None:
    async def answer(petra: Home) -> None:
        await petra.complete("e1", "ask", "approve", actor="ada")

    records = logged(playbook("  - {step: ask, tool: {kind: human, title: Sure?}}\n"), answer)
    created = [
        item for event in of(records, e.StepStarted) if event.armed for item in event.armed.items
    ]
    acts = [(event.act, event.actor) for event in of(records, e.ItemChanged)]
    assert len(created) == 1
    assert ("complete", "ada") in acts


@pytest.mark.spec("003§7.4.5-1", "003§7.4.5-5")
def test_the_log_alone_gives_the_same_state_and_the_same_run_the_same_receipts() -> None:
    def run() -> Simulation:
        made = Simulation(
            model(
                workflow(
                    "- {step: a, tool: {kind: noop}, next: {arcs: [{step: b, copies: 3}]}}\n- {step: b, tool: {kind: noop}}"
                )
            )
        )
        made.start({})
        made.run()
        return made

    first, second = run(), run()
    assert [record.hash for record in first.root.log] == [record.hash for record in second.root.log]
    again = replay(first.root.id, first.root.log)
    assert (again.marking, again.ctx, again.terminal) == (
        first.root.state.marking,
        first.root.state.ctx,
        first.root.state.terminal,
    )


@pytest.mark.spec("003§7.3.4-3")
@pytest.mark.parametrize("strategy", [net.Fifo(), net.ByName(), net.ByHash(), net.Random(7)])
def test_which_of_many_tokens_are_taken_is_determined(strategy: net.Strategy) -> None:
    two_of_five = net.Net.of(
        "n",
        places="a b",
        transitions=[net.Transition.of("t", "2 a -> b", fire=lambda mode: {"b": [mode.all("a")]})],
    )

    def taken() -> list[Any]:
        return net.step(
            net.start(two_of_five, {"a": [1, 2, 3, 4, 5]}, strategy=strategy)
        ).marking.data("b")

    assert taken() == taken()
    if isinstance(strategy, net.Fifo):
        assert taken() == [[1, 2]]


BIG = """
  - step: a
    tool: {kind: python, code: "result = {'rows': ['x' * 1000] * 300}"}
    next: {arcs: [{step: b, args: {all: "{{ event.result }}"}}]}
  - step: b
    tool: {kind: noop}
"""


@pytest.mark.slow
@pytest.mark.spec("002§10-1", "002§10-2", "002§10-4", "002§1-5", "001§Loading-5", "000§4.4-3")
def test_what_is_large_lives_outside_the_log_and_is_known_there_by_its_reference(
    tmp_path: Path,
) -> None:
    async def running() -> tuple[list[Record], Any]:
        async with Home.open(tmp_path / "home") as petra:
            assert (await petra.run(playbook(BIG), execution="e1")).status == "completed"
            return await petra.records("e1"), (await petra.engine.cache.load("e1")).state

    records, state = asyncio.run(running())
    ended = of(records, e.StepEnded)
    assert is_reference(ended[0].result)
    assert ended[0].result["size"] > 300_000
    assert {"store", "key", "checksum", "size"} <= ended[0].result.keys()
    assert is_reference(ended[0].produced[0].args["all"])
    assert all(len(msgspec.json.encode(record.event)) <= 256 * 1024 for record in records)
    assert is_reference(state.latest["a"].result), "nor does the engine keep the content"
