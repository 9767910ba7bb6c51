"""What is decided in one go is what a turn would have decided: the same events in the same order, and the same state."""

from __future__ import annotations

import copy
import importlib
import json
from collections import Counter
from random import Random  # noqa: TID251 - seeded, and only in tests
from typing import Any

import pytest
from thoroughness import few

from petra.kernel import Program, State, decide
from petra.kernel import commands as c
from petra.kernel.straight import Straight, onward
from petra.playbook import read
from petra.wire import Error, Report, Write

deciding = importlib.import_module("petra.kernel.decide")
"""The module: the package has a function of that name."""
PATHS, STEPS, COMMANDS = 300, 9, 40
PLAIN = {"kind": "python", "code": "result = 1"}
RARE: tuple[tuple[str, Any], ...] = (
    ("policy", {"lifecycle": {"timeout_s": 5}}),
    ("policy", {"admit": {"rules": [{"when": "{{ ctx.n }}", "allow": True}]}}),
    ("terminate", True),
    ("cancels", {"steps": ["s0"], "on": "done"}),
    ("compensate", {"tool": PLAIN}),
)


class Drawn:
    """A playbook of plain steps, mostly: here and there something else, so that what is not straight on is met too."""

    def __init__(self, seed: int) -> None:
        self.dice = Random(seed)
        self.rare = self.dice.choice((0.0, 0.0, 0.1))
        self.failure = self.dice.choice(("fail_fast", "best_effort"))
        self.names = [f"s{number}" for number in range(self.dice.randint(3, STEPS))]

    def program(self) -> Program:
        while True:
            reading = read(json.dumps(self.playbook()))
            if reading.ok and reading.playbook is not None:
                return Program(reading.playbook)

    def playbook(self) -> dict[str, Any]:
        return {
            "apiVersion": "petra/v1", "kind": "Playbook", "metadata": {"name": "drawn"},
            "executor": {"spec": {"policy": {"limits": {"max_payload_bytes": 1024}, "failure": {"mode": self.failure}}}},
            "workflow": [self.step(number) for number in range(len(self.names))],
        }  # fmt: skip

    def seldom(self) -> bool:
        return self.dice.random() < self.rare

    def step(self, number: int) -> dict[str, Any]:
        spec: dict[str, Any] = {}
        if self.dice.random() < 0.4 and number:
            spec["join"] = {"mode": "any" if self.seldom() else "all", "merge": {"into": "m"}}
            if self.seldom():
                spec["join"]["timeout_s"] = 3
        spec |= {name: value for name, value in RARE if self.seldom()}
        later = self.names[number + 1 :]
        step: dict[str, Any] = {"step": self.names[number], "spec": spec, "tool": PLAIN}
        if self.seldom() and later:
            del step["tool"]
        if later:
            width = self.dice.choice((1, 1, 1, 2, 3))
            arcs = [self.arc(later) for _ in range(width)]
            step["next"] = {
                "spec": {"mode": "inclusive" if width > 1 else "exclusive"},
                "arcs": arcs,
            }
        return step

    def arc(self, later: list[str]) -> dict[str, Any]:
        arc: dict[str, Any] = {"step": self.dice.choice(later[:2])}
        if self.dice.random() < 0.25:
            arc["foreach"] = self.dice.choice(([1, 2, 3], [1]))
        if self.seldom():
            arc["when"] = "{{ event.result }}"
        return arc

    def command(self, state: State, now: float) -> c.AnyCommand:
        dice = self.dice
        if dice.random() < 0.05 or (state.paused and dice.random() < 0.5):
            return dice.choice(
                (c.Pause(now=now), c.Resume(now=now), c.PatchCtx(now=now, values={"n": 1}))
            )
        run = dice.choice(list(state.runs)) if state.runs else "none"
        if dice.random() < 0.03:
            return c.LeaseExpired(now=now, run=run, delivery=1)
        delivery = state.runs[run].delivery if run in state.runs and dice.random() < 0.95 else 1
        return c.StepReport(now=now, run=run, report=self.report(), delivery=delivery)

    def report(self) -> Report:
        dice = self.dice
        if self.failure == "best_effort" and dice.random() < 0.1:
            return Report(status="error", error=Error(kind="unknown", message="no"))
        result = dice.choice((None, 1, "x", {"k": [1]}, "y" * 2_000))
        if dice.random() < 0.1:
            return Report(status="ok", result=result, writes=[Write(key="n", value=2)])
        if dice.random() < 0.1:
            return Report(status="ok", result=result, branch="out")
        return Report(status="ok", result=result)


@pytest.fixture
def decided(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Count what is decided in one go, by its shape."""
    seen: Counter[str] = Counter()

    def counted(program: Program, state: State, command: c.StepReport) -> Straight | None:
        before, groups = len(state.runs), bool(state.groups)
        went = onward(program, state, command)
        if went is not None:
            starts = len(state.runs) == before
            seen[f"{'starts' if starts else 'waits'}{' in a branch' if groups else ''}"] += 1
        return went

    monkeypatch.setattr(deciding, "onward", counted)
    return seen


def settled(
    program: Program, state: State, command: c.AnyCommand, patch: pytest.MonkeyPatch
) -> Any:
    """Decide by a turn, whatever it is."""
    with patch.context() as without:
        without.setattr(deciding, "onward", lambda *_: None)
        return decide(program, state, command)


@pytest.mark.spec("S5", "S7", "S8", "S17")
def test_what_is_decided_in_one_go_is_what_a_turn_decides(
    decided: Counter[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for seed in range(few(PATHS)):
        drawn = Drawn(seed)
        program, ours, theirs = drawn.program(), State(id="x"), State(id="x")
        command: c.AnyCommand = c.Start(now=1.0)
        for number in range(COMMANDS):
            twin = copy.deepcopy(command)
            made = decide(program, ours, command)
            assert made == settled(program, theirs, twin, monkeypatch), (seed, number, command)
            assert ours == theirs, (seed, number, command)
            for name in ("ready", "runs", "groups"):
                assert list(getattr(ours, name)) == list(getattr(theirs, name)), (seed, number)
            if ours.terminal:
                break
            command = drawn.command(ours, 2.0 + number)
    assert set(decided) == {"starts", "starts in a branch", "waits in a branch"}
    assert min(decided.values()) > few(PATHS) // 10, decided
