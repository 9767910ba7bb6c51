"""Strides: several iterations in one go of a thread come to the same as each by itself."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import Any

import pytest
from support.clocks import FakeClock, settle
from worker.desk import Desk, playbook, scenario

from petra.tools.python import PythonTool
from petra.tools.registry import Registry
from petra.wire import Iteration, Report
from petra.wire import frames as f
from petra.worker import Worker, runner
from petra.worker.items import with_items
from petra.worker.results import TINY
from petra.worker.short_iterations import Stride, Strider


class CountingPython(PythonTool):
    """Counts how often a thread is asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.goes = 0

    async def in_thread(self, function: Callable[[], Any]) -> Any:
        self.goes += 1
        return await super().in_thread(function)


def tools() -> tuple[Registry, CountingPython]:
    registry, python = Registry(plug_ins=False), CountingPython()
    registry._made["python"] = python
    return registry, python


def loop(task: str, spec: str = "") -> str:
    return f"- step: s\n{spec}  loop: {{in: [], iterator: item}}\n  tool: {task}\n"


def results(chunk: f.RunReport) -> list[Any]:
    return [one.report.result for one in chunk.iterations]


@pytest.mark.spec("S9")
def test_short_iterations_share_a_go() -> None:
    registry, python = tools()

    async def play(desk: Desk, _worker: Worker, _clock: FakeClock) -> None:
        book = playbook(
            loop("{kind: python, args: {n: '{{ iter.item }}'}, code: 'result = n * 2'}")
        )
        desk.assign(book, items=list(range(200)))
        assert results(await desk.chunk()) == [2 * n for n in range(200)]

    scenario(play, registry)
    assert python.goes < 100


@pytest.mark.spec("S9", "S10")
def test_an_iteration_sees_what_the_one_before_it_wrote() -> None:
    registry, _ = tools()
    task = (
        "{name: t, kind: python, args: {seen: '{{ ctx.last | default(0) }}'}, code: 'result = seen + 1',"
        " spec: {policy: {rules: [{else: {then: {do: continue, set_ctx: {last: '{{ outcome.result }}'}}}}]}}}"
    )

    async def play(desk: Desk, _worker: Worker, _clock: FakeClock) -> None:
        desk.assign(playbook(loop(task)), items=list("abc"))
        assert results(await desk.chunk()) == [1, 2, 3]

    scenario(play, registry)


@pytest.mark.spec("S5", "S9")
def test_a_try_that_has_to_wait_is_left_to_the_loop_and_the_rest_goes_on() -> None:
    registry, _ = tools()
    code = "result = n if n != 1 or attempt > 1 else 1 / 0"
    task = (
        "{name: t, kind: python, args: {n: '{{ iter.item }}', attempt: '{{ _attempt }}'},"
        f" code: '{code}',"
        " spec: {policy: {rules: [{when: \"{{ outcome.status == 'error' }}\","
        " then: {do: retry, attempts: 3, delay: 30}}]}}}"
    )

    async def play(desk: Desk, _worker: Worker, clock: FakeClock) -> None:
        desk.assign(playbook(loop(task)), items=[0, 1, 2, 3])
        await desk.until(lambda: desk.all(f.Retrying))
        await clock.advance(30)
        chunk = await desk.chunk()
        assert results(chunk) == [0, 1, 2, 3]
        assert [len(one.report.attempts) for one in chunk.iterations] == [1, 2, 1, 1]

    scenario(play, registry)


@pytest.mark.spec("S5", "S13")
def test_a_cancel_ends_tries_that_follow_each_other_without_a_pause() -> None:
    registry, python = tools()
    task = (
        "{name: t, kind: python, code: 'result = 1 / 0',"
        " spec: {policy: {rules: [{when: \"{{ outcome.status == 'error' }}\","
        " then: {do: retry, attempts: 9000, delay: 0}}]}}}"
    )

    async def play(desk: Desk, _worker: Worker, _clock: FakeClock) -> None:
        given = desk.assign(playbook(loop(task)), items=[1])
        while not python.goes:
            await settle()
        desk.send(f.CancelRuns(leases=[given.lease], reason="enough"))
        (only,) = (await desk.chunk()).iterations
        assert _kind(only.report) == "cancelled"

    scenario(play, registry)


@pytest.mark.spec("S18")
def test_a_result_without_room_is_left_to_the_loop() -> None:
    registry, _ = tools()
    size = 200_000

    async def play(desk: Desk, _worker: Worker, _clock: FakeClock) -> None:
        code = f'result = "x" * ({size} if n == 1 else {TINY // 8})'
        task = "{kind: python, args: {n: '{{ iter.item }}'}, code: '" + code + "'}"
        desk.assign(
            playbook(loop(task, "  spec: {policy: {failure: {mode: best_effort}}}\n")),
            items=[0, 1, 2],
        )
        chunk = await desk.chunk()
        kinds = [one.report.error.kind if one.report.error else "" for one in chunk.iterations]
        assert kinds == ["", "limit", ""]  # there is no object store here

    scenario(play, registry)


def test_what_iterations_print_is_told_with_their_place() -> None:
    registry, _ = tools()

    async def play(desk: Desk, _worker: Worker, _clock: FakeClock) -> None:
        task = "{name: t, kind: python, args: {n: '{{ iter.item }}'}, code: 'print(n); result = n'}"
        desk.assign(playbook(loop(task)), items=["a", "b"])
        await desk.chunk()

        def lines() -> list[f.LogLine]:
            return [line for frame in desk.all(f.Log) for line in frame.lines]

        await desk.until(lambda: len(lines()) >= 2)
        assert [(line.path, line.text.strip()) for line in lines()] == [((0,), "a"), ((1,), "b")]

    scenario(play, registry)


@pytest.mark.spec("S9")
def test_a_failed_iteration_ends_the_chunk() -> None:
    registry, _ = tools()

    async def play(desk: Desk, _worker: Worker, _clock: FakeClock) -> None:
        task = "{kind: python, args: {n: '{{ iter.item }}'}, code: 'result = 1 / (2 - n)'}"
        desk.assign(playbook(loop(task)), items=list(range(9)))
        chunk = await desk.chunk()
        assert [one.report.status for one in chunk.iterations] == ["ok", "ok", "error"]

    scenario(play, registry)


@pytest.mark.spec("S13")
def test_a_cancel_keeps_what_has_ended_and_reports_what_runs_as_cancelled() -> None:
    registry, _ = tools()
    entered, leave = threading.Event(), threading.Event()
    stops = {"entered": entered, "leave": leave}
    code = (
        "import petra.testing as t\\n"
        "if n == 2:\\n"
        "    t.STOPS['entered'].set()\\n"
        "    t.STOPS['leave'].wait(300)\\n"
        "result = n"
    )
    import petra.testing as kit  # noqa: PLC0415 - the code of the task finds the events there

    kit.STOPS = stops  # type: ignore[attr-defined]

    async def play(desk: Desk, _worker: Worker, _clock: FakeClock) -> None:
        task = "{kind: python, args: {n: '{{ iter.item }}'}, code: \"" + code + '"}'
        given = desk.assign(playbook(loop(task)), items=list(range(5)))
        while not entered.is_set():
            await settle()
        desk.send(f.CancelRuns(leases=[given.lease], reason="no longer wanted"))
        chunk = await desk.chunk()
        shown = [(one.report.status, _kind(one.report)) for one in chunk.iterations]
        assert shown == [("ok", ""), ("ok", ""), ("error", "cancelled")]

    try:
        scenario(play, registry)
    finally:
        leave.set()
        del kit.STOPS  # type: ignore[attr-defined]


@pytest.mark.spec("S13")
def test_nothing_more_starts_once_it_is_stopped() -> None:
    def never(*_: object) -> Any:
        raise AssertionError("it was stopped")

    stride = Stride(deque([Iteration(path=(0,), iter={})]))
    Strider(
        tools={}, clock=FakeClock(), make=never, take=never, clean=never, scrub=never, part=never,
        say=never, measure=never, goes_on=never, stopped=lambda: True,
    ).go(stride)  # fmt: skip
    assert (len(stride.left), stride.ended, stride.at) == (1, [], None)


def _kind(report: Report) -> str:
    return report.error.kind if report.error is not None else ""


@pytest.mark.spec("S9", "S18")
def test_items_behind_references_are_looked_up_once_however_many_goes_it_takes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[int] = []
    look = with_items

    async def counted(loaded: Any, objects: Any, iterations: list[Iteration]) -> list[Iteration]:
        asked.extend(one.path[0] for one in iterations)
        return await look(loaded, objects, iterations)

    monkeypatch.setattr(runner, "with_items", counted)
    monkeypatch.setattr("petra.worker.short_iterations.STRIDE_S", 0.0)  # each go is of one
    registry, python = tools()

    async def play(desk: Desk, _worker: Worker, _clock: FakeClock) -> None:
        desk.assign(
            playbook(loop("{kind: python, args: {n: '{{ iter.item }}'}, code: 'result = n * 2'}")),
            items=list(range(100)),
        )
        assert results(await desk.chunk()) == [2 * n for n in range(100)]

    scenario(play, registry)
    assert python.goes == 100
    assert asked == list(range(100))
