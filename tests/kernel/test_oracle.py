"""Nested fan-outs against an oracle of their own: the same firings, at the same time, with the same merges."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from kernel.oracle.compare import difference, shrunk
from kernel.oracle.draw import Plan, draw
from kernel.oracle.text import playbook
from kernel.oracle.world import Kernel, TooLongError
from support.net_conformance import violations
from thoroughness import seeds

from petra.kernel import admission, fan_in, merge, pairing, routing, verdict
from petra.kernel.state import State
from petra.net import compile as compile_net

NESTED = int(os.environ.get("PETRA_NESTED", "600"))
SHARDS = 20
QUICK = 40


def _told(plan: Plan) -> str:
    """Tell a difference with the smallest plan that shows it."""
    small = shrunk(plan)
    return f"seed {plan.seed}: {difference(small)}\n{playbook(small)}\n{small.world}"


@pytest.mark.spec("S4", "S8", "S9", "S11")
def test_kernel_and_oracle_agree_on_a_few_nested_fan_outs() -> None:
    for seed in range(QUICK):
        plan = draw(seed)
        assert difference(plan) is None, _told(plan)


@pytest.mark.slow
@pytest.mark.spec("S4", "S8", "S9", "S11")
@pytest.mark.parametrize("shard", range(SHARDS))
def test_kernel_and_oracle_agree_on_nested_fan_outs(shard: int) -> None:
    for seed in seeds(NESTED, shard, SHARDS):
        plan = draw(seed)
        assert difference(plan) is None, _told(plan)


@pytest.mark.slow
@pytest.mark.spec("S2")
def test_every_firing_of_a_nested_fan_out_is_a_firing_of_its_net() -> None:
    for seed in range(300):
        kernel = Kernel(draw(seed))
        kernel.run()
        found = violations(compile_net(kernel.program.playbook), kernel.log)
        assert not found, (seed, str(found[0]))


def test_the_drawing_draws_everything() -> None:
    drawn: Counter[str] = Counter()
    for seed in range(300):
        plan = draw(seed)
        drawn.update(
            word for act in plan.world for word in act if word not in ("at", "which", "ok")
        )
        drawn.update(str(act["group"]) for act in plan.world if "group" in act)
        for spec in plan.steps.values():
            drawn.update(
                key
                for key in ("gate", "once", "withdraw", "resource", "loop", "set_branch")
                if spec[key]
            )
            drawn.update([f"on_deny {spec['on_deny']}"])
            if (join := spec["join"]) is not None:
                mode = join["mode"]
                drawn.update(
                    [
                        next(iter(mode)) if isinstance(mode, dict) else mode,
                        join["early"],
                        join["unreachable"],
                    ]
                )
                drawn.update(key for key in ("of", "timeout_s", "blocking", "merge") if join[key])
                drawn.update([join["merge"]["strategy"]] if join["merge"] else [])
            drawn.update("nobody" for arc in spec["arcs"] if arc.get("foreach") == 0)
    wanted = [
        "patch",
        "override",
        "cancel",
        "add",
        "close",
        "complete",
        "gate",
        "once",
        "withdraw",
        "resource",
        "loop",
        "set_branch",
        "all",
        "any",
        "m_of_n",
        "when",
        "arcs",
        "or",
        "abandon",
        "allow_late_merge",
        "fail",
        "proceed",
        "wait",
        "of",
        "timeout_s",
        "blocking",
        "merge",
        "append",
        "collect",
        "extend",
        "merge_object",
        "keyed_by_branch",
        "last_wins",
        "nobody",
    ]
    assert {
        word for word in (*wanted, "on_deny discard", "on_deny fail") if not drawn[word]
    } == set()


@pytest.mark.slow
def test_what_happens_covers_the_corners() -> None:
    """Joins with nobody arrived, inside other branches; late merges; branches that run on detached."""
    seen: Counter[str] = Counter()
    for seed in range(400):
        try:
            kernel = Kernel(draw(seed))
            trace = kernel.run()["trace"]
        except TooLongError:
            continue
        for _, word, step, path, *more in trace:
            joins = step.startswith("join")
            seen[word] += 1
            seen["inner join of nobody"] += bool(
                word == "start" and joins and len(path) > 1 and not more[0]
            )
            seen["join that fails"] += word == "failed" and joins
        seen["completed"] += kernel.state.terminal == "completed"
    wanted = ("gone", "drop", "back", "inner join of nobody", "join that fails", "completed")
    assert {word: seen[word] for word in wanted if seen[word] < 5} == {}


# Planted bugs: each must make the two differ


def _inner_joins_do_not_live(patch: pytest.MonkeyPatch) -> None:
    def add(self: State, group: Any) -> None:
        self.groups[group.id] = group

    patch.setattr(State, "add_group", add)


def _nothing_is_detached(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(State, "detach", lambda *_: None)


def _nobody_passes_the_gate(patch: pytest.MonkeyPatch) -> None:
    true = admission.passes

    def passes(turn: Any, plan: Any, tokens: Any, *more: Any) -> bool:
        return not tokens or true(turn, plan, tokens, *more)

    patch.setattr(fan_in, "passes", passes)


def _nobody_is_judged_again(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(admission, "judge_again", lambda *_: None)


def _a_condition_reads_nothing(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(verdict, "_may_change", lambda *_: False)


def _time_stops_at_the_last_arrival(patch: pytest.MonkeyPatch) -> None:
    true = verdict.verdict

    def judged(turn: Any, plan: Any, group: Any) -> Any:
        if len(group.arrived) == group.size:
            group.timed_out = False
        return true(turn, plan, group)

    patch.setattr(fan_in, "verdict", judged)


def _merges_go_by_arrival(patch: pytest.MonkeyPatch) -> None:
    true = merge.of_group

    def of_group(group: Any) -> Any:
        return [one._replace(key=one.came) for one in true(group)]

    patch.setattr(fan_in, "of_group", of_group)


def _arcs_merge_by_arc(patch: pytest.MonkeyPatch) -> None:
    def outputs(_turn: Any, _plan: Any, tokens: Any, _stack: Any) -> Any:
        return [merge.Output(n, one.output, n) for n, one in enumerate(tokens)]

    patch.setattr(pairing, "_outputs", outputs)


def _what_is_detached_feeds_outer_joins(patch: pytest.MonkeyPatch) -> None:
    def closed(turn: Any, step: str, stack: Any, new: Any = None) -> Any:
        join = turn.program.steps[step].join
        for level in reversed(stack):
            group = turn.state.groups.get(level.group)
            origin = (
                group.step
                if group is not None
                else new[1]
                if new and new[0] == level.group
                else None
            )
            if join is not None and origin is not None and join.of in (None, origin):
                return level
        return None

    patch.setattr(routing, "closed_level", closed)
    patch.setattr(fan_in, "closed_level", closed)


@pytest.mark.slow
@pytest.mark.parametrize(
    "plant",
    [
        _inner_joins_do_not_live,
        _nothing_is_detached,
        _nobody_passes_the_gate,
        _nobody_is_judged_again,
        _a_condition_reads_nothing,
        _time_stops_at_the_last_arrival,
        _merges_go_by_arrival,
        _arcs_merge_by_arc,
        _what_is_detached_feeds_outer_joins,
    ],
)
def test_the_oracle_finds_a_planted_bug(
    plant: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(monkeypatch)
    for seed in range(1500):
        try:
            found = difference(draw(seed))
        except (AssertionError, KeyError):
            found = "it broke"
        if found is not None:
            return
    pytest.fail("nobody noticed")
