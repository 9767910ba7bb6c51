"""Ten planted bugs: each must be caught by the checker, by replay, or by the cases."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from kernel.paths import walk

from petra.kernel import admission, cancel, fan_in, routing, verdict
from petra.kernel import ctx as ctx_rules
from petra.kernel import events as e
from petra.kernel.state import Group, State
from petra.testing import Case, load_suite, run_case

decide: Any = import_module("petra.kernel.decide")  # the package has a function of that name
writes: Any = import_module("petra.kernel.fold.writes")

CASES = Path(__file__).parent / "cases"
Patch = Callable[[pytest.MonkeyPatch], None]


def _join_fires_early(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(verdict, "_needed", lambda *_: 1)


def _group_is_counted(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(verdict, "_holds", lambda _t, _p, group: len(group.order) >= group.size)
    patch.setattr(verdict, "_unreachable", lambda *_: None)


def _exclusive_takes_two(patch: pytest.MonkeyPatch) -> None:
    def matching(turn: Any, plan: Any, view: Any, *, ok: bool) -> list[Any]:  # noqa: ARG001
        return [arc for arc in plan.arcs if turn.holds(arc.guard, view)][:2]

    patch.setattr(routing, "_matching", matching)


def _resource_stays_held(patch: pytest.MonkeyPatch) -> None:
    true = State.take_run

    def take(self: State, run_id: str) -> Any:
        kept = dict(self.held)
        run = true(self, run_id)
        self.held.update({key: kept[key] for key in kept if run.resources})
        return run

    patch.setattr(State, "take_run", take)


def _conflict_is_ignored(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(ctx_rules, "_conflict", lambda *_: None)


def _denied_starts_anyway(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(admission, "admits", lambda *_: True)


def _timer_fires_twice(patch: pytest.MonkeyPatch) -> None:
    true = decide.fire_timer

    def fire(turn: Any, timer: Any) -> None:
        true(turn, timer)
        if not turn.state.terminal:
            turn.emit(e.TimerFired(timer=timer.id))

    patch.setattr(decide, "fire_timer", fire)


def _the_end_is_not_the_end(patch: pytest.MonkeyPatch) -> None:
    true = decide.completion._end

    def end(turn: Any, status: str, error: Any = None) -> None:
        true(turn, status, error)
        turn.state.terminal = ""
        turn.emit(e.ExecutionStuck(reason="x", message="x"))
        turn.state.terminal = status

    patch.setattr(decide.completion, "_end", end)


def _old_delivery_is_taken(patch: pytest.MonkeyPatch) -> None:
    def report(turn: Any, command: Any) -> None:
        run = turn.state.runs.get(command.run)
        if run is not None:
            decide.runs.end(turn, run, command.report)

    patch.setitem(decide._COMMANDS, decide.c.StepReport, report)


def _nested_branches_live_on(patch: pytest.MonkeyPatch) -> None:
    def leave(turn: Any, group: Group, arrived: set[str]) -> None:
        runs = [r for r in turn.state.runs if turn.state.runs[r].stack[-1:] == ((group.id, 0),)]
        cancel.withdraw(turn, [], [run for run in runs if run not in arrived], "x", "join")

    for module in (cancel, fan_in, admission):
        patch.setattr(module, "leave_others", leave)


def _writes_are_forgotten(patch: pytest.MonkeyPatch) -> None:
    true = writes.write

    def write(state: State, made: Any, stack: Any, loop: Any = None) -> None:
        if state.seq % 5:
            true(state, made, stack, loop)

    for chapter in ("steps", "tasks", "loops"):
        patch.setattr(import_module(f"petra.kernel.fold.{chapter}"), "write", write)


MUTANTS: list[Patch] = [
    _join_fires_early, _group_is_counted, _exclusive_takes_two, _resource_stays_held, _conflict_is_ignored,
    _denied_starts_anyway, _timer_fires_twice, _the_end_is_not_the_end, _old_delivery_is_taken,
    _nested_branches_live_on, _writes_are_forgotten,
]  # fmt: skip


def _caught_by_paths(seeds: range) -> bool:
    for seed in seeds:
        try:
            if walk(seed)[2]:
                return True
        except (AssertionError, KeyError):
            return True
    return False


def _caught_by_cases() -> bool:
    for case in _cases():
        try:
            if run_case(case).result != "passed":
                return True
        except (AssertionError, KeyError):
            return True
    return False


@cache
def _cases() -> list[Case]:
    names = ("S04", "S07", "S08", "S10", "S15")
    return [case for name in names for case in load_suite(CASES / f"{name}.test.yaml").cases]


@pytest.mark.slow
@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.__name__.strip("_"))
def test_a_planted_bug_is_caught(mutant: Patch, monkeypatch: pytest.MonkeyPatch) -> None:
    mutant(monkeypatch)
    few, more = range(15), range(15, 150)  # a case takes a tenth of a path
    assert _caught_by_paths(few) or _caught_by_cases() or _caught_by_paths(more)
