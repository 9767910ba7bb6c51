"""A worker runs assignments through the real pipeline machine and reports each of them once."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from support.clocks import FakeClock
from worker.desk import Desk, ProbeTools, ok, playbook, scenario

from petra.kinds import Http
from petra.tools.base import ToolContext, ToolError
from petra.wire import Error, Outcome, Write
from petra.wire import frames as f
from petra.worker import Worker

FETCH = "- step: s\n  tool: {name: t, kind: http, url: '{{ args.what }}'}\n"
RETRY = """
- step: s
  tool:
    name: t
    kind: http
    url: flaky
    spec:
      policy:
        rules:
          - when: "{{ outcome.status == 'error' }}"
            then: {do: retry, attempts: 4, backoff: exponential, delay: 10}
          - else: {then: {do: continue, set_ctx: {n: "{{ outcome.result }}"}}}
"""
LOOP = """
- step: s
  loop: {in: [], iterator: item}
  tool: {name: t, kind: http, url: '{{ iter.item }}'}
"""
BEST_EFFORT = LOOP.replace(
    "- step: s\n", "- step: s\n  spec: {policy: {failure: {mode: best_effort}}}\n"
)


def said(report: f.RunReport) -> list[tuple[int, str]]:
    return [(one.path[0], one.report.status) for one in report.iterations]


@pytest.mark.spec("S5")
def test_a_step_is_run_and_reported_in_one_message() -> None:
    async def play(desk: Desk, _worker: Worker, _clock: FakeClock) -> None:
        desk.assign(playbook(FETCH), scope={"args": {"what": "here"}}, delivery=3)
        report = await desk.single()
        assert report.result == {"url": "here"}
        assert [(a.task, a.action) for a in report.attempts] == [("t", "continue")]
        (sent,) = desk.reports
        assert (sent.run, sent.delivery, sent.lease) == ("run-1", 3, "lease-1")

    scenario(play)


@pytest.mark.spec("S5")
def test_a_retry_waits_by_the_clock_and_reports_every_attempt() -> None:
    tries: list[float] = []

    async def play(desk: Desk, _worker: Worker, clock: FakeClock) -> None:
        async def flaky(_fields: Http, _context: ToolContext) -> Outcome:
            tries.append(clock.monotonic())
            if len(tries) < 4:
                raise ToolError("server_error", "not yet")
            return ok(7)

        tools.probe.behaviours = {"flaky": flaky}
        desk.assign(playbook(RETRY))
        report = await clock.run(desk.single())
        assert report.result == 7
        assert report.writes == [Write(key="n", value=7)]
        assert [a.delay_s for a in report.attempts] == [10, 20, 40, None]

    tools = ProbeTools()
    scenario(play, tools)
    assert tries == [0, 10, 30, 70]


@pytest.mark.spec("S5")
def test_an_attempt_that_takes_too_long_is_a_timeout_that_the_policy_sees() -> None:
    workflow = """
- step: s
  tool:
    - name: slow
      kind: http
      url: slow
      spec:
        timeout_s: 5
        policy: {rules: [{when: "{{ outcome.error.kind == 'timeout' }}", then: {do: continue}}]}
    - {name: after, kind: http, url: after}
"""
    stopped: list[str] = []

    async def slow(_fields: Http, _context: ToolContext) -> Outcome:
        try:
            await asyncio.Event().wait()
        finally:
            stopped.append("slow")
        return ok()

    async def play(desk: Desk, _worker: Worker, clock: FakeClock) -> None:
        desk.assign(playbook(workflow))
        report = await clock.run(desk.single())
        assert report.status == "ok"
        assert report.attempts[0].error is not None
        assert report.attempts[0].error.kind == "timeout"
        assert report.attempts[0].duration_ms == 5000
        assert stopped == ["slow"]

    scenario(play, ProbeTools(slow=slow))


@pytest.mark.spec("S5", "S13")
@pytest.mark.parametrize("by", ["run", "lease"])
def test_a_cancel_reaches_the_running_tool_and_is_reported(by: str) -> None:
    events: list[str] = []

    async def endless(_fields: Http, _context: ToolContext) -> Outcome:
        events.append("begun")
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            events.append("stopped")
            raise
        return ok()

    async def play(desk: Desk, _worker: Worker, clock: FakeClock) -> None:
        given = desk.assign(playbook(FETCH), scope={"args": {"what": "endless"}})
        await clock.advance(1)
        assert events == ["begun"]
        names = {"runs": [given.run]} if by == "run" else {"leases": [given.lease]}
        desk.send(f.CancelRuns(reason="enough", **names))
        report = await desk.single()
        assert report.error == Error(kind="cancelled", message="enough", retryable=False)
        assert [(a.task, a.action) for a in report.attempts] == [("t", "fail")]
        assert events == ["begun", "stopped"]

    scenario(play, ProbeTools(endless=endless))


@pytest.mark.spec("S5")
def test_a_cancel_ends_the_wait_between_two_tries() -> None:
    async def flaky(_fields: Http, _context: ToolContext) -> Outcome:
        raise ToolError("server_error", "no")

    async def play(desk: Desk, _worker: Worker, clock: FakeClock) -> None:
        given = desk.assign(playbook(RETRY))
        await clock.advance(1)
        desk.send(f.CancelRuns(runs=[given.run], reason="enough"))
        report = await desk.single()
        assert report.error is not None
        assert report.error.kind == "cancelled"
        assert [a.action for a in report.attempts] == ["retry", "fail"]
        assert clock.monotonic() == 1

    scenario(play, ProbeTools(flaky=flaky))


@pytest.mark.spec("S5", "S18")
def test_rounds_in_which_no_tool_ever_waits_let_others_have_the_loop() -> None:
    """A pipeline of noop that goes round kept its worker from everything else until its jumps were used up."""
    rounds = """
- step: s
  tool:
    - {name: first, kind: http, url: first}
    - {name: t, kind: noop, spec: {policy: {rules: [{else: {then: {do: jump, to: t}}}]}}}
"""
    begun: list[str] = []
    desk, stop = Desk(), f.CancelRuns()

    async def tool(fields: Http, _context: ToolContext) -> Outcome:
        begun.append(fields.url)
        desk.send(stop)
        return ok()

    async def play(given: Desk, _worker: Worker, _clock: FakeClock) -> None:
        nonlocal desk, stop
        desk = given
        book = playbook(rounds, head="executor: {spec: {policy: {limits: {max_jumps: 50000}}}}")
        stop = f.CancelRuns(runs=[desk.assign(book).run], reason="enough")
        report = await desk.single()
        assert report.error == Error(kind="cancelled", message="enough", retryable=False)
        assert begun == ["first"]

    scenario(play, ProbeTools(first=tool))


def test_a_cancel_of_what_waits_for_a_slot_is_reported_without_running_it() -> None:
    ran: list[str] = []

    async def endless(fields: Http, _context: ToolContext) -> Outcome:
        ran.append(fields.url)
        await asyncio.Event().wait()
        return ok()

    async def play(desk: Desk, _worker: Worker, clock: FakeClock) -> None:
        book = playbook(FETCH)
        desk.assign(book, scope={"args": {"what": "endless"}})
        second = desk.assign(book, scope={"args": {"what": "endless"}})
        await clock.advance(1)
        desk.send(f.CancelRuns(leases=[second.lease]))
        sent = await desk.report()
        assert sent.lease == second.lease
        assert sent.report is not None
        assert sent.report.error is not None
        assert sent.report.error.kind == "cancelled"
        assert ran == ["endless"]

    scenario(play, ProbeTools(endless=endless), slots=1)


@pytest.mark.spec("S9")
def test_iterations_of_a_chunk_run_one_after_the_other() -> None:
    running, most, order = 0, 0, list[str]()

    async def play(desk: Desk, _worker: Worker, clock: FakeClock) -> None:
        async def item(fields: Http, _context: ToolContext) -> Outcome:
            nonlocal running, most
            running += 1
            most = max(most, running)
            order.append(fields.url)
            await clock.sleep(1)
            running -= 1
            return ok(fields.url)

        items = ["a", "b", "c"]
        tools.probe.behaviours = dict.fromkeys(items, item)
        desk.assign(playbook(LOOP), items=items)
        sent = await clock.run(desk.chunk())
        assert [one.report.result for one in sent.iterations] == items
        assert (most, order, clock.monotonic()) == (1, items, 3)

    tools = ProbeTools()
    scenario(play, tools)


@pytest.mark.spec("S9")
def test_a_local_parallel_loop_never_exceeds_its_width_and_starts_in_order() -> None:
    running, most, order = 0, 0, list[str]()

    async def play(desk: Desk, _worker: Worker, clock: FakeClock) -> None:
        async def item(fields: Http, _context: ToolContext) -> Outcome:
            nonlocal running, most
            running += 1
            most = max(most, running)
            order.append(fields.url)
            await clock.sleep(9 - int(fields.url) % 5)
            running -= 1
            return ok(int(fields.url))

        items = [str(n) for n in range(20)]
        tools.probe.behaviours = dict.fromkeys(items, item)
        desk.assign(playbook(LOOP), items=items, width=6)
        sent = await clock.run(desk.chunk())
        assert [one.report.result for one in sent.iterations] == list(range(20))
        assert (most, order) == (6, items)

    tools = ProbeTools()
    scenario(play, tools)


async def _bad(_fields: Http, _context: ToolContext) -> Outcome:
    raise ToolError("server_error", "broken")


async def _endless(_fields: Http, _context: ToolContext) -> Outcome:
    await asyncio.Event().wait()
    return ok()


@pytest.mark.spec("S9")
@pytest.mark.parametrize(
    ("workflow", "width", "items", "expected"),
    [
        (LOOP, 1, ["x", "bad", "y"], [(0, "ok"), (1, "error")]),
        (BEST_EFFORT, 1, ["x", "bad", "y"], [(0, "ok"), (1, "error"), (2, "ok")]),
        (LOOP, 3, ["endless", "x", "bad", "y"], [(1, "ok"), (2, "error")]),
        (BEST_EFFORT, 2, ["bad", "bad", "y"], [(0, "error"), (1, "error"), (2, "ok")]),
    ],
    ids=[
        "fail fast: nothing starts after a failure",
        "best effort: all run",
        "fail fast: what still runs is stopped, and left out",
        "best effort, in parallel: all run",
    ],
)
def test_a_failed_iteration_ends_a_chunk(
    workflow: str, width: int, items: list[str], expected: list[tuple[int, str]]
) -> None:
    async def play(desk: Desk, _worker: Worker, _clock: FakeClock) -> None:
        desk.assign(playbook(workflow), items=items, width=width)
        assert said(await desk.report()) == expected

    scenario(play, ProbeTools(bad=_bad, endless=_endless))


@pytest.mark.spec("S9")
def test_a_cancelled_chunk_reports_what_it_did() -> None:
    async def play(desk: Desk, _worker: Worker, clock: FakeClock) -> None:
        given = desk.assign(playbook(LOOP), items=["a", "endless", "b"])
        await clock.advance(1)
        desk.send(f.CancelRuns(runs=[given.run], reason="enough"))
        assert said(await desk.chunk()) == [(0, "ok"), (1, "error")]

    scenario(play, ProbeTools(endless=_endless))


@pytest.mark.spec("S5")
@pytest.mark.parametrize("raised", [ValueError("odd"), AssertionError("a bug"), RecursionError()])
def test_a_bug_of_a_tool_is_an_outcome(raised: Exception) -> None:
    async def broken(_fields: Http, _context: ToolContext) -> Outcome:
        raise raised

    async def play(desk: Desk, _worker: Worker, _clock: FakeClock) -> None:
        desk.assign(playbook(FETCH), scope={"args": {"what": "broken"}})
        report = await desk.single()
        assert report.error is not None
        assert report.error.kind == "unknown"
        assert type(raised).__name__ in report.error.message

    scenario(play, ProbeTools(broken=broken))


@pytest.mark.parametrize(
    "value", [object(), {1, 2}, {"a": object()}, 2**70], ids=["object", "set", "inside", "huge"]
)
def test_a_result_that_is_no_data_is_an_error_of_the_run(value: Any) -> None:
    async def odd(_fields: Http, _context: ToolContext) -> Outcome:
        return ok(value)

    async def play(desk: Desk, _worker: Worker, _clock: FakeClock) -> None:
        desk.assign(playbook(FETCH), scope={"args": {"what": "odd"}})
        report = await desk.single()
        if value == {1, 2}:  # msgspec writes a set as a list
            assert report.result == [1, 2]
            return
        assert report.error is not None
        assert report.error.kind == "schema"

    scenario(play, ProbeTools(odd=odd))


@pytest.mark.spec("S13")
def test_a_compensation_runs_the_tasks_that_undo_the_step() -> None:
    workflow = "- step: s\n  spec: {compensate: {tool: {kind: http, url: undo}}}\n  tool: {kind: http, url: do}\n"

    async def play(desk: Desk, _worker: Worker, _clock: FakeClock) -> None:
        desk.assign(playbook(workflow), compensate=True)
        assert (await desk.single()).result == {"url": "undo"}

    scenario(play)


def test_a_step_that_is_not_there_fails_the_run_and_not_the_worker() -> None:
    async def play(desk: Desk, _worker: Worker, _clock: FakeClock) -> None:
        book = playbook(FETCH)
        desk.assign(book, step="other")
        report = await desk.single()
        assert report.error is not None
        assert "no step 'other'" in report.error.message
        desk.assign(book, scope={"args": {"what": "x"}})
        assert (await desk.report(2)).report is not None

    scenario(play)
