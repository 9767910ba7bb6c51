"""Whatever the pipeline and whatever its tools answer, these hold."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pipeline.drive import bad, machine, noop, ok, task
from thoroughness import few

from petra.pipeline import Finished, NextAttempt
from petra.playbook.model import Task
from petra.values import canonical
from petra.wire import Attempt, Outcome, Report

NAMES = ("a", "b", "c", "d")
MOST_JUMPS = 7
MOST_TRIES = 3

GUARDS = st.sampled_from(
    [
        "{{ outcome.status == 'error' }}", "{{ outcome.status == 'ok' }}", "{{ true }}", "{{ false }}",
        "{{ outcome.result > 2 }}", "{{ iter.n > 1 }}", "{{ ctx.total > 3 }}", "{{ gone.away }}",
        "{{ 1 < 'x' }}", "{{ _attempt == 2 }}", "{{ results.b is defined }}",
    ]
)  # fmt: skip
VALUES = st.sampled_from(
    [1, "x", None, [1], "{{ outcome.result }}", "{{ (iter.n | default(0)) + 1 }}", "{{ gone }}",
     "{{ ctx.total }}", "{{ _prev }}", "{{ results }}"]
)  # fmt: skip
PATCHES = st.none() | st.dictionaries(
    st.sampled_from(["n", "total", "log", "index"]), VALUES, max_size=2
)


@st.composite
def actions(draw: st.DrawFn) -> dict[str, Any]:
    action: dict[str, Any] = {
        "do": draw(st.sampled_from(["continue", "retry", "jump", "break", "fail"])),
        "to": draw(st.sampled_from([*NAMES, "nowhere"])),
        "attempts": draw(st.sampled_from([None, 1, 2, MOST_TRIES, "{{ 2 }}", "{{ outcome.result }}"])),
        "backoff": draw(st.sampled_from(["none", "linear", "exponential"])),
        "delay": draw(st.sampled_from([None, 0, 2.5, "{{ iter.n }}"])),
        "jitter": draw(st.sampled_from([None, 0, 1])),
        "set_ctx": draw(PATCHES), "set_iter": draw(PATCHES), "set_branch": draw(VALUES),
    }  # fmt: skip
    return {key: value for key, value in action.items() if value is not None}


@st.composite
def tasks(draw: st.DrawFn, name: str) -> Task:
    rules: list[dict[str, Any]] = [
        {"when": draw(GUARDS), "then": draw(actions())} for _ in range(draw(st.integers(0, 2)))
    ]
    if draw(st.booleans()):
        rules.append({"else": {"then": draw(actions())}})
    if draw(st.integers(0, 2)) == 0:
        return noop(name, *rules)
    unmatched = draw(st.sampled_from([None, "continue", "fail"]))
    url = draw(st.sampled_from(["u", "{{ iter.n | default(1) }}", "{{ _prev.x }}", "{{ a }}"]))
    return task(name, *rules, on_unmatched=unmatched, url=url)


PIPELINES = st.integers(0, 4).flatmap(lambda n: st.tuples(*(tasks(name) for name in NAMES[:n])))
OUTCOMES = st.lists(
    st.sampled_from([ok(1), ok(5), ok({"x": 1}), ok(None), bad("timeout"), bad("auth"),
                     Outcome(status="error"), Outcome(status="ok", has_result=False)]),
    min_size=1, max_size=8,
)  # fmt: skip
REDUCERS = {"total": "sum", "log": "append"}


def play(
    pipeline: tuple[Task, ...], outcomes: list[Outcome], stop: int
) -> tuple[list[NextAttempt], Report]:
    """Play with the outcomes in turn, over and over; cancel after ``stop`` tries."""
    played = machine(
        *pipeline, u=0.5, reducers=REDUCERS, max_jumps=MOST_JUMPS, iter={"index": 0, "parent": None}
    )
    runs: list[NextAttempt] = []
    move = played.start()
    while isinstance(move, NextAttempt):
        runs.append(move)
        if len(runs) == stop:
            move = played.cancel("enough")
        else:
            move = played.advance(outcomes[len(runs) % len(outcomes)], 1.0)
    assert isinstance(move, Finished)
    return runs, move.report


@pytest.mark.spec("S5")
@settings(max_examples=few(300))
@given(pipeline=PIPELINES, outcomes=OUTCOMES, stop=st.integers(1, 30) | st.just(0))
def test_it_ends_within_its_limits_and_reports_exactly_the_tries_handed_out(
    pipeline: tuple[Task, ...], outcomes: list[Outcome], stop: int
) -> None:
    runs, report = play(pipeline, outcomes, stop)
    tries = [attempt for attempt in report.attempts if not attempt.noop]
    assert [(a.task, a.number) for a in tries] == [(r.task.name, r.attempt) for r in runs]
    assert all(attempt.number <= 5 for attempt in tries), "an attempts of 5 is the largest in play"
    jumps = sum(attempt.action == "jump" for attempt in report.attempts)
    assert jumps <= MOST_JUMPS
    assert (report.error is None) == (report.status == "ok")
    assert "keychain" not in msgspec.to_builtins(report)
    check_order(pipeline, report.attempts)


def check_order(pipeline: tuple[Task, ...], attempts: list[Attempt]) -> None:
    """After each try comes what its action says."""
    names = [task.name for task in pipeline]
    for one, other in pairwise(attempts):
        match one.action:
            case "retry":
                assert (other.task, other.number) == (one.task, one.number + 1)
            case "continue":
                assert (names.index(other.task), other.number) == (names.index(one.task) + 1, 1)
            case "jump":
                assert other.number == 1
            case _:
                pytest.fail(f"nothing comes after {one.action}")


@pytest.mark.spec("S5", "S17")
@settings(max_examples=few(100))
@given(pipeline=PIPELINES, outcomes=OUTCOMES)
def test_the_same_outcomes_give_the_same_report(
    pipeline: tuple[Task, ...], outcomes: list[Outcome]
) -> None:
    first, again = (play(pipeline, outcomes, 0)[1] for _ in range(2))
    assert canonical(first) == canonical(again)
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(first), type=Report) == first
