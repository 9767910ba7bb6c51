"""Limits that executions share, as one of them sees it: it asks, waits, is let in, gives back (S15)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest

from petra.kernel import Program, State, decide, replay, verify
from petra.kernel import commands as c
from petra.kernel import effects as f
from petra.kernel.events import AnyEvent
from petra.kernel.explain import explain
from petra.kernel.fork import fork
from petra.kernel.permit_state import Permit
from petra.kernel.redecide import redecide
from petra.kernel.replay import Ledger, Record, recorded
from petra.kernel.rest import rest_of
from petra.kernel.snapshot import restore, snapshot
from petra.playbook import read
from petra.wire import Report

HEAD = "apiVersion: petra/v1\nkind: Playbook\nmetadata: {name: load, path: etl/load}\n"
TASK = "tool: {kind: python, code: x}"
STEP = f"workflow: [{{step: a, {TASK}}}]\n"
LIMIT = "executor: {spec: {concurrency: {key: '{{ workload.k }}', limit: 3}}}\nworkload: {k: x}\n"
SHARED = "executor: {spec: {resources: {db: server, disk: server}}}\n"
HOLDS = "spec: {policy: {resources: [{name: disk, units: 2}, {name: db, key: '{{ workload.k }}'}]}}"


@dataclass
class Lived:
    """An execution, and what has come of it."""

    text: str
    id: str = "e"
    now: float = 1000.0
    assigned: list[str] = field(default_factory=list)
    ended: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.program = Program(read(HEAD + self.text).checked())
        self.state = State(id=self.id)
        self.records: list[Record] = []
        self._ledger = Ledger(self.id)

    def give(self, command: c.AnyCommand) -> str:
        made = decide(self.program, self.state, command)
        written = self._ledger.write(made.events, made.markings)
        self.records += [recorded(one, command.now) for one in written]
        for effect in made.effects:
            if isinstance(effect, f.Assign):
                self.assigned.append(self.state.runs[effect.run].step)
            elif isinstance(effect, f.Finish):
                self.ended.append(effect.status)
        self.state = restore(snapshot(self.state))
        return made.refused

    def start(self, **more: Any) -> Lived:
        assert not self.give(c.Start(now=self.now, **more))
        return self

    def asked(self) -> list[Permit]:
        permits = self.state.permits
        return [] if permits is None or self.state.terminal else list(permits.waiting())

    def held(self) -> list[str]:
        permits = self.state.permits
        if permits is None or self.state.terminal:
            return []
        return [one.wanted.limit for one in permits.by_id.values() if one.given]

    def let_in(self) -> str:
        (permit,) = self.asked()
        assert not self.give(c.GivePermit(now=self.now, id=permit.id))
        return permit.wanted.limit

    def done(self, step: str) -> None:
        run = next(one for one in self.state.runs.values() if one.step == step)
        self.give(c.StepReport(now=self.now, run=run.id, report=Report(status="ok", result=1)))

    def of(self, tag: str) -> list[AnyEvent]:
        return [one.event for one in self.records if one.event.__struct_config__.tag == tag]

    def holds_together(self) -> None:
        """The log verifies, replays to the same state, and each of its decisions is made again."""
        assert verify(self.id, self.records) is None
        assert replay(self.id, self.records) == self.state
        assert redecide(self.id, self.records, lambda _: self.program).bad is None


@pytest.mark.spec("S15")
def test_nothing_fires_before_the_limit_lets_it_in() -> None:
    lived = Lived(LIMIT + STEP).start()
    wanted = lived.asked()[0].wanted
    assert (wanted.limit, wanted.key, wanted.most, wanted.on_limit) == ("playbook etl/load", "x", 3, "queue")  # fmt: skip
    rest = rest_of(lived.program, lived.state)
    assert rest is not None
    assert (rest.status, rest.reason) == ("waiting", "limit")
    assert not lived.assigned
    lived.let_in()
    assert lived.assigned == ["a"]
    lived.done("a")
    assert (lived.ended, lived.held()) == (["completed"], [])
    lived.holds_together()


@pytest.mark.spec("S15")
def test_the_limit_of_the_playbook_comes_before_that_of_the_namespace() -> None:
    lived = Lived(LIMIT + STEP).start(quota=True, priority=-2)
    assert [one.wanted.rank for one in lived.asked()] == [1000.0 - 2 * 3600]
    assert [lived.let_in(), lived.let_in()] == ["playbook etl/load", "quota executions"]
    assert lived.assigned == ["a"]
    lived.done("a")
    lived.holds_together()


def test_a_plain_execution_asks_for_nothing() -> None:
    lived = Lived(STEP).start()
    assert (lived.state.permits, lived.assigned) == (None, ["a"])
    assert [one.event.__struct_config__.tag for one in lived.records] == ["execution.started", "step.started"]  # fmt: skip


@pytest.mark.spec("S15", "S13")
@pytest.mark.parametrize("let_in", [False, True])
def test_every_end_gives_back(*, let_in: bool) -> None:
    lived = Lived(LIMIT + STEP).start()
    if let_in:
        lived.let_in()
    lived.give(c.Cancel(now=lived.now, reason="enough"))
    assert (lived.ended, lived.asked(), lived.held()) == (["aborted"], [], [])
    lived.holds_together()


@pytest.mark.spec("S15")
def test_who_is_turned_away_ends_with_the_reason_and_without_a_final_step() -> None:
    final = LIMIT.replace("spec: {", "spec: {final_step: z, ")
    steps = f"workflow: [{{step: a, {TASK}}}, {{step: z, {TASK}}}]\n"
    lived = Lived(final + steps).start()
    (permit,) = lived.asked()
    lived.give(c.RefusePermit(now=lived.now, id=permit.id, reason="it is full", kind="limit"))
    assert (lived.ended, lived.assigned) == (["aborted"], [])
    assert lived.state.error is not None
    assert (lived.state.error.kind, lived.state.error.message) == ("limit", "it is full")
    lived.holds_together()


@pytest.mark.spec("S15")
def test_a_permit_that_comes_twice_or_too_late_changes_nothing() -> None:
    lived = Lived(LIMIT + STEP).start()
    (permit,) = lived.asked()
    lived.let_in()
    seq = lived.state.seq
    for name in (permit.id, "nobody"):
        lived.give(c.GivePermit(now=lived.now, id=name))
        lived.give(c.RefusePermit(now=lived.now, id=name, reason="no"))
    assert lived.state.seq == seq
    lived.done("a")
    assert lived.give(c.GivePermit(now=lived.now, id=permit.id)) == "the execution is completed"


@pytest.mark.spec("S15", "S13")
def test_a_fork_asks_anew_and_goes_on_only_then() -> None:
    lived = Lived(LIMIT + f"workflow: [{{step: a, {TASK}, next: {{arcs: [{{step: b}}]}}}}, {{step: b, {TASK}}}]\n")  # fmt: skip
    lived.start()
    lived.let_in()
    lived.done("a")
    other = Lived(lived.text, id="other")
    assert not other.give(fork("e", lived.records, len(lived.records), now=other.now))
    (permit,) = other.asked()
    assert permit.id.startswith("other/")
    assert other.assigned == []
    other.let_in()
    assert other.assigned == ["b"]
    other.done("b")
    assert other.ended == ["completed"]


@pytest.mark.spec("S15")
def test_a_step_starts_when_it_has_what_it_holds_of_the_server_and_its_end_gives_it_back() -> None:
    text = SHARED + f"workload: {{k: x}}\nworkflow: [{{step: a, {TASK}, {HOLDS}, next: {{arcs: [{{step: b}}]}}}}, {{step: b, {TASK}}}]\n"  # fmt: skip
    lived = Lived(text).start()
    rest = rest_of(lived.program, lived.state)
    assert rest is not None
    assert (rest.status, rest.reason) == ("waiting", "resource")
    assert rest.message == "step 'a' waits for resource 'db' of the server with key '\"x\"'"
    assert [lived.let_in(), lived.let_in()] == ["resource db", "resource disk"]
    assert (lived.assigned, lived.held()) == (["a"], ["resource db", "resource disk"])
    lived.done("a")
    assert (lived.assigned, lived.held(), lived.asked()) == (["a", "b"], [], [])
    lived.done("b")
    lived.holds_together()


@pytest.mark.spec("S15", "S13")
def test_a_token_that_is_withdrawn_gives_back_what_it_waited_for() -> None:
    step = f"{{step: a, {TASK}, {HOLDS}}}"
    first = "{step: z, next: {spec: {mode: inclusive}, arcs: [{step: a}, {step: b}]}}"
    text = SHARED + f"workload: {{k: x}}\nworkflow: [{first}, {step}, {{step: b, {TASK}, spec: {{cancels: [a]}}}}]\n"  # fmt: skip
    lived = Lived(text).start()
    assert (lived.assigned, len(lived.asked())) == (["b"], 1)
    lived.done("b")
    assert (lived.asked(), lived.held(), lived.ended) == ([], [], ["completed"])
    lived.holds_together()


@pytest.mark.spec("S15", "S9")
def test_a_join_waits_for_a_branch_that_waits_for_the_server() -> None:
    first = "{step: z, next: {spec: {mode: inclusive}, arcs: [{step: a}, {step: b}]}}"
    ends = "next: {arcs: [{step: j}]}"
    join = f"{{step: j, {TASK}, spec: {{join: {{mode: or}}}}}}"
    text = SHARED + f"workload: {{k: x}}\nworkflow: [{first}, {{step: a, {TASK}, {HOLDS}, {ends}}}, {{step: b, {TASK}, {ends}}}, {join}]\n"  # fmt: skip
    lived = Lived(text).start()
    lived.done("b")
    assert lived.assigned == ["b"]
    lived.let_in()
    lived.let_in()
    lived.done("a")
    assert lived.assigned == ["b", "a", "j"]


@pytest.mark.spec("S15")
def test_what_can_never_be_given_fails_the_step() -> None:
    lived = Lived(SHARED + f"workload: {{k: x}}\nworkflow: [{{step: a, {TASK}, {HOLDS}}}]\n").start()  # fmt: skip
    (permit,) = lived.asked()
    lived.give(c.RefusePermit(now=lived.now, id=permit.id, reason="a circle", kind="deadlock"))
    assert lived.ended == ["failed"]
    assert lived.state.error is not None
    assert lived.state.error.kind == "deadlock"
    lived.holds_together()


@pytest.mark.spec("S15", "S11")
def test_explain_says_what_is_waited_for() -> None:
    found = explain(*_pair(Lived(LIMIT + STEP).start()))
    assert (found.status, found.reason) == ("waiting", "limit")
    assert found.sentence == (
        "The execution is waiting (limit): it waits for its turn at the limit of 'etl/load' with key 'x'."
    )
    (waiting,) = found.waiting
    assert (waiting.reason, waiting.permit) == ("limit", "e/execution")
    lived = Lived(SHARED + f"workload: {{k: x}}\nworkflow: [{{step: a, {TASK}, {HOLDS}}}]\n").start()  # fmt: skip
    (waiting,) = explain(*_pair(lived)).waiting
    assert (waiting.step, waiting.reason) == ("a", "resource")
    assert (
        waiting.sentence == "A token waits at 'a' for resource 'db' of the server with key '\"x\"'."
    )


def _pair(lived: Lived) -> tuple[Program, State]:
    return lived.program, lived.state
