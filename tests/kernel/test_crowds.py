"""Crowds: a firing of very many tokens is several events, and means what it means as one (S8, S18)."""

from __future__ import annotations

import tracemalloc
from typing import Any

import msgspec
import pytest
from kernel.oracle.compare import difference
from kernel.oracle.draw import draw
from kernel.paths import Watch, walk
from support.net_conformance import violations
from thoroughness import few

from petra.export.firings import firings_xes
from petra.export.life import ExportedLog, life, step_runs
from petra.kernel import Ledger, Program, Record, State, crowds, decide, evolve, replay, verify
from petra.kernel import commands as c
from petra.kernel import events as e
from petra.kernel.crowds import whole
from petra.kernel.fork import fork, rerun
from petra.kernel.objects import DecisionObjects, PlainShelf
from petra.kernel.snapshot import restore, snapshot
from petra.net import compile as compile_net
from petra.playbook import Playbook, read
from petra.playbook.model import BRANCHES_MAX
from petra.testing import Simulation
from petra.testing.story import event_in_words
from petra.wire import Report

EVENT_MAX = 256 * 1024
PIECES = e.TokensAdded | e.TokensGathered
BOOK = """
apiVersion: petra/v1
kind: Playbook
metadata: {name: crowd}
workload: {rows: [], n: 0}
workflow:
  - step: split
    tool: {kind: python, code: x}
    next: {arcs: [{step: work, foreach: "{{ workload.rows }}", as: row, args: {note: "{{ row.text }}"}}]}
  - {step: work, tool: {kind: python, code: x}, next: {arcs: [{step: join}]}}
  - step: join
    spec: {join: {mode: MODE, on_unreachable: UNREACHABLE, merge: {strategy: append, into: all}}}
    tool: {kind: python, code: x}
"""


def book(mode: str = "all", unreachable: str = "fail") -> Playbook:
    return read(BOOK.replace("MODE", mode).replace("UNREACHABLE", unreachable), "x").checked()


def begun(playbook: Playbook, rows: list[Any], *, after_s: float = 1, **tools: Any) -> Simulation:
    """Start an execution whose fan-out is a second old."""
    work = {"ok": 7, "after_s": after_s}
    simulation = Simulation(
        playbook,
        tools={"split": {"ok": 1}, "work": work, "join": {"ok": "end"}, **tools},
        watch=Watch(),
    )
    simulation.start({"rows": rows})
    return simulation


def faults(simulation: Simulation) -> list[str]:
    watch = simulation.watch
    assert isinstance(watch, Watch)
    return [*watch.faults, *(one for checker in watch.checkers.values() for one in checker.faults)]


def events(simulation: Simulation) -> list[e.AnyEvent]:
    return [record.event for record in simulation.root.log]


def rows_of(count: int, size: int = 4) -> list[Any]:
    return [{"id": index, "text": f"{index:0{size}d}"} for index in range(count)]


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let two or three tokens be a crowd."""
    monkeypatch.setattr(crowds, "WHOLE_BYTES", 0)
    monkeypatch.setattr(crowds, "FIRST_BYTES", 1)
    monkeypatch.setattr(crowds, "ADDED_BYTES", 400)
    monkeypatch.setattr(crowds, "NAMED_MAX", 2)


def _firings(simulation: Simulation) -> list[list[e.AnyEvent]]:
    return [
        [event for _, _, event in whole((r.seq, r.at, r.event) for r in execution.log)]
        for execution in simulation.executions.values()
    ]


@pytest.mark.slow
@pytest.mark.spec("S8", "S18")
def test_random_paths_mean_the_same_when_their_firings_are_cut(request: Any) -> None:
    straight = [walk(seed) for seed in range(60)]
    request.getfixturevalue("small")
    pieces = 0
    for seed, (_, once, _) in enumerate(straight):
        _, cut, wrong = walk(seed)
        assert not wrong, (seed, wrong[:3])
        if len(once.root.log) < 140:  # longer ones are stopped by their number of records
            assert _firings(cut) == _firings(once), seed
        pieces += sum(isinstance(event, PIECES) for event in events(cut))
    assert pieces > 50


@pytest.mark.usefixtures("small")
@pytest.mark.spec("S4", "S8", "S11")
def test_kernel_and_oracle_agree_on_firings_that_are_cut() -> None:
    for seed in range(few(40)):
        plan = draw(seed)
        assert difference(plan) is None, seed


@pytest.mark.usefixtures("small")
@pytest.mark.spec("S8")
@pytest.mark.parametrize("mode", ["all", "any", "{m_of_n: 5}"])
def test_a_join_waits_until_all_tokens_of_its_group_are_there(mode: str) -> None:
    text = BOOK.replace("{step: work, foreach", "{step: join, foreach").replace("MODE", mode)
    text = text.replace("UNREACHABLE", "fail").replace(
        "  - {step: work, tool: {kind: python, code: x}, next: {arcs: [{step: join}]}}\n", ""
    )
    simulation = begun(read(text, "x").checked(), rows_of(9))
    simulation.run()
    assert simulation.root.state.terminal == "completed"
    assert not faults(simulation)
    kinds = [type(event) for event in events(simulation)]
    added = [n for n, kind in enumerate(kinds) if kind is e.TokensAdded]
    taken = [
        n for n, kind in enumerate(kinds) if kind in {e.TokensGathered, e.StepStarted, e.Withdrawn}
    ]
    assert max(added) < min(n for n in taken if n > kinds.index(e.StepDone))
    assert len(simulation.ctx["all"]) == 9  # all had arrived when it was judged


@pytest.mark.usefixtures("small")
@pytest.mark.spec("S8", "S13")
def test_a_join_that_fails_takes_all_that_arrived() -> None:
    tools: dict[str, Any] = {
        "work": [{"ok": 1, "after_s": 1}] * 8 + [{"error": {"kind": "unknown"}, "after_s": 2}]
    }
    text = (
        BOOK.replace("MODE", "all")
        .replace("UNREACHABLE", "fail")
        .replace(
            "  - {step: work, tool: {kind: python, code: x}, next: {arcs: [{step: join}]}}\n",
            "  - {step: work, tool: {kind: python, code: x}, spec: {policy: {failure: {mode: best_effort}}},"
            " next: {arcs: [{step: join, when: \"{{ event.name == 'step.done' }}\"}]}}\n",
        )
    )
    simulation = begun(read(text, "x").checked(), rows_of(9), **tools)
    simulation.run()
    assert simulation.root.state.terminal == "failed"
    gathered = [x for x in events(simulation) if isinstance(x, e.TokensGathered)]
    (failed,) = [x for x in events(simulation) if isinstance(x, e.StepFailed) and x.step == "join"]
    assert len(failed.consumed) + sum(len(x.consumed) for x in gathered) == 8
    assert not faults(simulation)


@pytest.mark.usefixtures("small")
@pytest.mark.spec("S13", "S17")
def test_every_prefix_replays_and_can_be_forked_but_never_within_a_firing() -> None:
    simulation = begun(book(), rows_of(9))
    simulation.run()
    log = simulation.root.log
    assert sum(isinstance(event, PIECES) for event in events(simulation)) > 5
    assert verify(simulation.root.id, log) is None
    state = State(id=simulation.root.id)
    for record in log:
        state = restore(snapshot(state))
        evolve(state, record.event, seq=record.seq, at=record.at)
        assert f"{state.marking:064x}" == record.receipt.after
    assert state == replay(simulation.root.id, log) == simulation.root.state
    for at in range(1, len(log)):
        if isinstance(log[at - 1].event, e.ExecutionEnded | e.ExecutionEnding):
            continue
        command = fork(simulation.root.id, log, at, now=1.0)
        past = State(id="fork")
        decision = decide(simulation.root.program, past, command, simulation.shelf)
        assert not any(group.missing for group in past.groups.values())
        assert not past.gathered
        ledger = Ledger("fork")
        made = [
            ledger.record(event, 1.0, *marking)
            for event, marking in zip(decision.events, decision.markings, strict=True)
        ]
        assert verify("fork", made) is None
    again = rerun(simulation.root.id, log, "join", now=1.0)
    assert not isinstance(again.past[-1][1], e.TokensGathered)


@pytest.mark.usefixtures("small")
@pytest.mark.spec("S2")
def test_readers_get_each_firing_as_a_whole() -> None:
    simulation = begun(book(), rows_of(9))
    simulation.run()
    playbook = simulation.root.program.playbook
    assert not violations(compile_net(playbook), events(simulation))
    log = ExportedLog("e", playbook, simulation.root.log, "completed")
    assert not any(isinstance(moment.event, PIECES) for moment in life(log.records))
    runs = step_runs(log)
    assert [run.branch for run in runs if run.step == "work"] == [(n,) for n in range(9)]
    assert len(runs[-1].tokens) == 9
    xes = firings_xes(log)
    assert "petra:off_net" not in xes
    assert '"petra:stands_for" value="9"' in xes
    said = [event_in_words(event) for event in events(simulation)]
    assert "tokens.gathered join; 2 tokens" in said
    assert any(line.startswith("tokens.added split → work") for line in said)


def _driven(mode: str, rows: list[Any], ends: str) -> tuple[State, list[Record], PlainShelf]:
    """Live through a fan-out by hand: joined, cancelled, or with one branch overridden."""
    program, state, shelf, ledger = Program(book(mode)), State(id="e"), PlainShelf(), Ledger("e")
    log: list[Record] = []

    def send(command: c.AnyCommand) -> None:
        made = decide(program, state, command, shelf)
        for event, marking in zip(made.events, made.markings, strict=True):
            log.append(ledger.record(event, command.now, *marking))

    send(c.Start(now=0.0, workload={"rows": rows}))
    (run,) = state.runs
    send(c.StepReport(now=1.0, run=run, report=Report(status="ok", result=1)))
    assert len(state.runs) == len(rows)
    if ends == "cancelled":
        send(c.Cancel(now=2.0, reason="enough"))
    elif ends == "overridden":
        send(c.Override(now=2.0, step="work", result=7))
    while not state.terminal:
        for run in list(state.runs):
            send(c.StepReport(now=3.0, run=run, report=Report(status="ok", result=7)))
    return state, log, shelf


@pytest.mark.slow
@pytest.mark.spec("S18")
@pytest.mark.parametrize("ends", ["joined", "cancelled", "overridden"])
def test_no_event_of_20_000_branches_is_larger_than_an_event_may_be(ends: str) -> None:
    mode = "all" if ends == "joined" else "any"
    state, log, shelf = _driven(mode, rows_of(20_000, 1_000), ends)
    assert state.terminal == ("aborted" if ends == "cancelled" else "completed")
    assert max(len(msgspec.json.encode((x.event, x.receipt))) for x in log) <= EVENT_MAX
    assert verify("e", log) is None
    stored = msgspec.json.decode(msgspec.json.encode(log), type=list[Record])
    assert replay("e", stored) == state
    if ends == "joined":
        assert DecisionObjects("e", shelf).whole(state.ctx["all"]) == [7] * 20_000


@pytest.mark.spec("S18")
def test_copies_with_a_heavy_argument_store_it_once() -> None:
    text = BOOK.replace("MODE", "all").replace("UNREACHABLE", "fail")
    fan_out = 'foreach: "{{ workload.rows }}", as: row, args: {note: "{{ row.text }}"}'
    assert fan_out in text
    alike = 'copies: 100, args: {note: "{{ workload.rows }}"}'
    simulation = begun(read(text.replace(fan_out, alike), "x").checked(), rows_of(50))
    stored = len(simulation.shelf)
    simulation.run()
    assert simulation.root.state.terminal == "completed"
    assert not faults(simulation)
    assert len(simulation.shelf) - stored == 1
    assert max(len(msgspec.json.encode(event)) for event in events(simulation)) <= EVENT_MAX


@pytest.mark.spec("S17")
def test_a_small_fan_out_is_one_event() -> None:
    simulation = begun(book(), rows_of(100))
    simulation.run()
    assert not any(isinstance(event, PIECES) for event in events(simulation))
    stored = msgspec.json.decode(msgspec.json.encode(simulation.root.log), type=list[Record])
    assert replay(simulation.root.id, stored) == simulation.root.state


MANY: dict[str, tuple[str, dict[str, Any]]] = {
    "copies": ("copies: '{{ workload.n }}'", {"n": 10**9}),
    "copies beyond what a machine counts with": ("copies: '{{ workload.n }}'", {"n": 2**62}),
    "foreach": ("foreach: '{{ workload.rows }}'", {"rows": [0] * (BRANCHES_MAX + 1)}),
}


@pytest.mark.spec("S8")
@pytest.mark.parametrize("name", MANY)
def test_a_fan_out_into_too_many_fails_before_there_is_a_token(name: str) -> None:
    how, workload = MANY[name]
    text = BOOK.replace("MODE", "all").replace("UNREACHABLE", "fail")
    fan_out = 'foreach: "{{ workload.rows }}", as: row, args: {note: "{{ row.text }}"}'
    assert fan_out in text
    playbook = read(text.replace(fan_out, how), "x").checked()
    simulation = Simulation(playbook, tools={"split": {"ok": 1}}, watch=Watch())
    tracemalloc.start()
    simulation.start({"rows": [], **workload})
    simulation.run()
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    state = simulation.root.state
    assert state.terminal == "failed"
    assert state.error is not None
    assert "one firing makes at most 100,000" in state.error.message
    assert not faults(simulation)
    assert most < 50_000_000


def test_copies_that_are_written_down_are_refused_when_they_are_too_many() -> None:
    text = BOOK.replace("MODE", "all").replace("UNREACHABLE", "fail")
    fan_out = 'foreach: "{{ workload.rows }}", as: row, args: {note: "{{ row.text }}"}'
    found = read(text.replace(fan_out, f"copies: {10**9}"), "x")
    assert [problem.code for problem in found.problems if problem.code == "P103"] == ["P103"]


ARCS = """
apiVersion: petra/v1
kind: Playbook
metadata: {name: pair}
workflow:
  - step: split
    tool: {kind: noop}
    next: {spec: {mode: inclusive}, arcs: [{step: left}, {step: right}]}
  - {step: left, tool: {kind: python, code: x}, next: {arcs: [{step: both}]}}
  - {step: right, tool: {kind: python, code: x}, next: {arcs: [{step: both}]}}
  - step: both
    spec: {join: {mode: arcs}}
    tool: {kind: python, code: x, args: {left: "{{ left }}", right: "{{ right }}"}}
    next: {arcs: [{step: last}]}
  - {step: last, tool: {kind: python, code: x, args: {left: "{{ left }}", right: "{{ right }}"}}}
"""


@pytest.mark.spec("S8")
def test_a_join_of_no_group_whose_own_event_takes_one_token_is_a_join_all_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its other tokens went before: what they have seen is seen by the run, and nothing of them is left."""
    monkeypatch.setattr(crowds, "NAMED_MAX", 1)
    told = {"run": "[args.left, args.right]"}
    tools = {"left": {"ok": "l"}, "right": {"ok": "r"}, "both": told, "last": told}
    simulation = Simulation(read(ARCS, "x").checked(), tools=tools, watch=Watch())
    simulation.start({})
    simulation.run()
    [gathered] = [one for one in events(simulation) if isinstance(one, e.TokensGathered)]
    [started] = [
        one for one in events(simulation) if isinstance(one, e.StepStarted) and one.step == "both"
    ]
    assert gathered.group is started.group is None
    assert len(gathered.consumed) == len(started.consumed) == 1
    state = simulation.root.state
    assert (state.terminal, state.output) == ("completed", ["l", "r"])
    assert not state.gathered
    assert not faults(simulation)
    assert replay(simulation.root.id, simulation.root.log) == state
