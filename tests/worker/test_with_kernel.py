"""The kernel decides, a worker runs, and its reports are what the kernel wants: whole executions, in process."""

from __future__ import annotations

from typing import Any

import pytest
from support.clocks import FakeClock
from worker.desk import Desk, ProbeTools, ok, playbook, scenario

from petra.kernel import Program, State, assignment, decide
from petra.kernel import commands as c
from petra.kernel import effects as e
from petra.kernel.assignment import iterations
from petra.kernel.chunks import goes_on
from petra.kinds import Http
from petra.playbook import Playbook, to_yaml
from petra.tools.base import ToolContext, ToolError
from petra.wire import Assignment, IterationReport, Outcome
from petra.wire import frames as f
from petra.worker import Worker


class Engine:
    """Just enough of one: decides, hands out under fresh leases, and takes reports."""

    def __init__(self, book: Playbook, desk: Desk) -> None:
        self.program, self.state, self.desk = Program(book), State(id="e"), desk
        self.assigned: list[Assignment] = []
        desk.send(f.PlaybookText(digest=self.program.digest, text=to_yaml(book)))

    async def run(self) -> None:
        self._decide(c.Start(now=0.0))
        taken = 0
        while not self.state.terminal:
            await self.desk.report(taken + 1)
            self._take(self.desk.reports[taken])
            taken += 1

    def _take(self, sent: f.RunReport) -> None:
        if not sent.chunk:
            assert sent.report is not None
            self._decide(
                c.StepReport(now=0.0, run=sent.run, report=sent.report, delivery=sent.delivery)
            )
            return
        reports = [IterationReport(path=one.path, report=one.report) for one in sent.iterations]
        self._decide(
            c.ChunkReport(
                now=0.0,
                run=sent.run,
                chunk=sent.chunk,
                reports=reports,
                delivery=sent.delivery,
                more=sent.more,
                gathered=sent.report,
            )
        )

    def _decide(self, command: c.AnyCommand) -> None:
        for effect in decide(self.program, self.state, command).effects:
            if isinstance(effect, e.Assign):
                self._assign(effect)
            elif isinstance(effect, e.Extend):
                self._extend(effect)

    def _extend(self, effect: e.Extend) -> None:
        run = self.state.runs[effect.run]
        more = goes_on(self.program.steps[run.step], run, run.chunks[effect.chunk])
        made = iterations(self.program, run, effect.paths)
        lease = next(one.lease for one in reversed(self.assigned) if one.chunk == effect.chunk)
        self.desk.send(f.Further(lease=lease, iterations=made, more=more))

    def _assign(self, effect: e.Assign) -> None:
        made = assignment(self.program, self.state, effect.run, effect.chunk)
        lease = f"lease-{len(self.assigned)}"
        given = Assignment(
            **{k: getattr(made, k) for k in made.__struct_fields__} | {"lease": lease}
        )
        self.assigned.append(given)
        self.desk.send(f.Assignments(assignments=[given]))


class Counting:
    """A tool that knows how many of it run at a time, and fails now and then."""

    def __init__(self) -> None:
        self.running = self.most = self.calls = 0
        self.clock: FakeClock | None = None

    async def __call__(self, fields: Http, _context: ToolContext) -> Outcome:
        assert self.clock is not None
        self.calls += 1
        self.running += 1
        self.most = max(self.most, self.running)
        try:
            await self.clock.sleep(1)
            if self.calls % 7 == 0:
                raise ToolError("server_error", "now and then")
            return ok((fields.json or {}).get("n"))
        finally:
            self.running -= 1


TASK = """
  tool:
    name: t
    kind: http
    url: count
    json: {n: "%s"}
    spec:
      policy:
        rules: [{when: "{{ outcome.status == 'error' }}", then: {do: retry, attempts: 9, delay: 2}}]
"""


def execute(loop: str, value: str, **offer: Any) -> tuple[Engine, Counting]:
    tool, made = Counting(), list[Engine]()
    book = playbook(f"- step: s\n  loop: {loop}{TASK % value}")

    async def play(desk: Desk, _worker: Worker, clock: FakeClock) -> None:
        tool.clock = clock
        engine = Engine(book, desk)
        made.append(engine)
        await clock.run(engine.run())

    scenario(play, ProbeTools(count=tool), **offer)
    return made[0], tool


@pytest.mark.spec("S9")
def test_a_local_parallel_loop_runs_on_one_lease_as_wide_as_it_says() -> None:
    loop = (
        f"{{in: {list(range(40))}, iterator: n, "
        "spec: {mode: parallel, max_in_flight: 5, policy: {exec: local}}}"
    )
    engine, tool = execute(loop, "{{ iter.n }}")
    assert engine.state.terminal == "completed"
    assert engine.state.output == list(range(40))
    assert [(given.width, len(given.iterations)) for given in engine.assigned] == [(5, 40)]
    assert tool.most == 5
    assert tool.calls > 40


@pytest.mark.spec("S9")
def test_a_distributed_loop_never_exceeds_max_in_flight() -> None:
    loop = f"{{in: {list(range(40))}, iterator: n, spec: {{mode: parallel, max_in_flight: 3}}}}"
    engine, tool = execute(loop, "{{ iter.n }}", slots=16)
    assert engine.state.output == list(range(40))
    assert all(given.width == 1 for given in engine.assigned)
    assert tool.most <= 3


@pytest.mark.spec("S9")
def test_nested_loops_arrive_as_paths_and_give_a_list_of_lists() -> None:
    loop = (
        "{in: [0, 1, 2], iterator: a, spec: {mode: parallel, max_in_flight: 2}, "
        "loop: {in: [0, 1, 2, 3], iterator: b, spec: {mode: parallel, max_in_flight: 2}}}"
    )
    engine, tool = execute(loop, "{{ iter.parent.a * 10 + iter.b }}", slots=16)
    assert engine.state.output == [[a * 10 + b for b in range(4)] for a in range(3)]
    assert tool.most <= 4


@pytest.mark.spec("S9")
def test_a_sequential_local_loop_runs_one_at_a_time() -> None:
    loop = "{in: [0, 1, 2, 3, 4, 5, 6, 7, 8], iterator: n, spec: {policy: {exec: local}}}"
    engine, tool = execute(loop, "{{ iter.n }}")
    assert engine.state.output == list(range(9))
    assert tool.most == 1
