"""How fast the kernel is: plain steps, replay, fan-out, a gate that opens, memory. No store, no network."""

from __future__ import annotations

import gc
import time
import tracemalloc

import msgspec

from petra.engine.codec import status_of
from petra.kernel import Ledger, Program, Record, State, decide, replay
from petra.kernel import commands as c
from petra.kernel import effects as f
from petra.playbook import Playbook, read
from petra.wire import Attempt, Report

HEAD = "apiVersion: petra/v1\nkind: Playbook\nmetadata: {name: bench}\n"
OK = Report(
    status="ok", result=1, attempts=[Attempt(task="t", number=1, status="ok", action="continue")]
)


def book(workflow: str, workload: str = "{}") -> Playbook:
    made = read(f"{HEAD}workload: {workload}\nworkflow:\n{workflow}", "bench").playbook
    assert made is not None
    return made


def drive(program: Program, *, record: bool = True) -> tuple[State, list[Record]]:
    """Run an execution to its end; every assignment is answered at once."""
    state, ledger, log = State(id="bench"), Ledger("bench"), []
    waiting: list[c.AnyCommand] = [c.Start(now=0.0)]
    while waiting:
        decision = decide(program, state, waiting.pop())
        if record:
            for event, (before, after) in zip(decision.events, decision.markings, strict=True):
                log.append(ledger.record(event, 0.0, before, after))
        waiting += [
            c.StepReport(now=0.0, run=effect.run, report=OK)
            for effect in decision.effects
            if isinstance(effect, f.Assign)
        ]
    return state, log


def plain_steps(steps: int = 20_000, *, keep: bool = False) -> tuple[float, list[Record]]:
    """Run a chain of steps; records are made and, as with a store, not kept unless asked for."""
    workflow = (
        "  - {step: a, tool: {kind: python, code: x}, next: {arcs: [{step: b}]}}\n"
        "  - {step: b, tool: {kind: python, code: x}, next: {arcs: [{step: a}]}}\n"
    )
    program = Program(book(workflow))
    state, ledger, log = State(id="bench"), Ledger("bench"), []
    command: c.AnyCommand = c.Start(now=0.0)
    began = time.perf_counter()
    for _ in range(steps):
        decision = decide(program, state, command)
        made = [
            ledger.record(event, 0.0, before, after)
            for event, (before, after) in zip(decision.events, decision.markings, strict=True)
        ]
        log += made if keep else ()
        command = c.StepReport(now=0.0, run=decision.effects[0].run, report=OK)  # type: ignore[union-attr]
    return steps / (time.perf_counter() - began), log


def replayed(log: list[Record]) -> float:
    stored = msgspec.json.decode(msgspec.json.encode(log), type=list[Record])
    began = time.perf_counter()
    replay("bench", stored)
    return len(stored) / (time.perf_counter() - began)


def fan_out(branches: int) -> float:
    workflow = (
        "  - {step: a, next: {arcs: [{step: b, copies: %d}]}}\n"
        "  - {step: b, tool: {kind: python, code: x}, next: {arcs: [{step: j}]}}\n"
        "  - {step: j, spec: {join: {merge: {into: out}}}, tool: {kind: noop}}\n"
    )
    program = Program(book(workflow % branches))
    began = time.perf_counter()
    state, _ = drive(program)
    assert state.terminal == "completed", state.terminal
    return time.perf_counter() - began


def gate(tokens: int) -> float:
    workflow = (
        "  - {step: a, next: {arcs: [{step: g, copies: %d}]}}\n"
        "  - step: g\n    spec: {policy: {admit: {rules: [{when: '{{ ctx.go }}', then: {allow: true}}]}}}\n"
        "    next: {arcs: [{step: z, when: '{{ false }}'}]}\n  - {step: z, tool: {kind: noop}}\n"
    )
    program = Program(book(workflow % tokens))
    state = State(id="bench")
    decide(program, state, c.Start(now=0.0))
    assert len(state.ready) == tokens
    began = time.perf_counter()
    decide(program, state, c.PatchCtx(now=1.0, values={"go": True}))
    assert state.terminal == "completed"
    return time.perf_counter() - began


def memory(executions: int = 1000) -> float:
    program = Program(book("  - {step: h, tool: {kind: human, title: x}}\n"))
    gc.collect()
    tracemalloc.start()
    states = []
    for number in range(executions):
        state = State(id=f"bench-{number}")
        decide(program, state, c.Start(now=0.0))
        states.append(state)
    used = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    return used / len(states)


def signal(waiting: int, signals: int = 200) -> float:
    """Return the seconds that a signal takes among so many branches that wait, with its status and next timer."""
    workflow = (
        "  - {step: a, next: {arcs: [{step: b, copies: %d}]}}\n"
        "  - {step: b, tool: {kind: wait, any_of: [{for_s: 9000}, {signal: {name: go}}]}}\n"
    )
    program = Program(book(workflow % waiting))
    state = State(id="bench")
    decide(program, state, c.Start(now=0.0))
    assert len(state.runs) == waiting
    began = time.perf_counter()
    for number in range(signals):
        decide(program, state, c.SendSignal(now=1.0 + number, name="go"))
        status_of(program, state)
        state.next_due()
    return (time.perf_counter() - began) / signals


def time_limits(branches: int, spec: str) -> float:
    """Return the seconds that a fan-out takes whose steps have a spec."""
    workflow = (
        "  - {step: a, next: {arcs: [{step: b, copies: %d}]}}\n"
        "  - {step: b, spec: %s, tool: {kind: python, code: x}}\n"
    )
    program = Program(book(workflow % (branches, spec)))
    began = time.perf_counter()
    state, _ = drive(program)
    assert state.terminal == "completed", state.terminal
    return time.perf_counter() - began


def limits_ratio(branches: int = 4_000, rounds: int = 5) -> float:
    """Return how much longer it takes with a time limit on every step; the best of several rounds of both."""
    timed = "{policy: {lifecycle: {timeout_s: 60}}}"
    pairs = [(time_limits(branches, "{}"), time_limits(branches, timed)) for _ in range(rounds)]
    return min(b for _, b in pairs) / min(a for a, _ in pairs)


def main() -> None:
    speed, _ = plain_steps()
    _, log = plain_steps(keep=True)
    print(f"plain steps, decide + evolve + records   {speed:>12,.0f} /s")
    print(f"replay                                   {replayed(log):>12,.0f} records/s")
    small, large = fan_out(10_000), fan_out(20_000)
    print(f"10,000 branches with a join              {small:>12.2f} s")
    print(f"20,000 branches with a join              {large:>12.2f} s, ratio {large / small:.2f}")
    print(f"100,000 tokens released at a gate        {gate(100_000):>12.2f} s")
    for waiting in (2_000, 10_000):
        print(
            f"a signal among {waiting:>6,} that wait            {signal(waiting) * 1e6:>12.0f} µs"
        )
    print(f"4,000 branches with time limits          {limits_ratio():>12.2f} × without")
    print(f"memory of a waiting execution            {memory() / 1024:>12.1f} KiB")


if __name__ == "__main__":
    main()
