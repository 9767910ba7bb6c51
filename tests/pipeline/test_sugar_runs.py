"""choose, while and until run as they read; nothing falls through."""

from __future__ import annotations

import pytest
from pipeline.drive import bad, decisions, ok, play, playbook

from petra.pipeline import Machine, Settings
from petra.wire import Outcome, Report

CHOOSE = """
- step: s
  tool:
    - choose:
        - when: "{{ workload.n == WANTED }}"
          do: [{name: one, kind: http, url: u}]
        - when: "{{ workload.n > 1 }}"
          do: [{name: two, kind: http, url: u}, {name: three, kind: http, url: u}]
        ELSE
    - {name: last, kind: http, url: u}
"""
WHILE = """
- step: s
  tool:
    - name: init
      kind: noop
      spec: {policy: {rules: [{else: {then: {do: continue, set_iter: {left: LEFT}}}}]}}
    - while:
        when: "{{ iter.left > 0 }}"
        do:
          - name: work
            kind: http
            url: "{{ iter.left }}"
            spec: {policy: {rules: [
              {when: "{{ outcome.status == 'ok' }}",
               then: {do: continue, set_iter: {left: "{{ iter.left - 1 }}"}}},
              {else: {then: {do: fail}}}]}}
        max: 3
    - {name: last, kind: http, url: u}
"""
UNTIL = """
- step: s
  tool:
    - until:
        when: "{{ poll.data.ready }}"
        do: [{name: poll, kind: http, url: u}]
        max: 3
    - {name: last, kind: http, url: u}
"""


def run(workflow: str, *outcomes: Outcome) -> tuple[list[str], Report]:
    """Return the tasks that reached a tool, and the report."""
    book = playbook(workflow)
    step = book.workflow[0]
    played = Machine(
        step.tool, {"workload": book.workload}, settings=Settings.of(book, step), jitter=lambda: 0
    )
    runs, report = play(played, *outcomes)
    return [run.task.name for run in runs], report


@pytest.mark.spec("S5", "S1")
@pytest.mark.parametrize(
    ("wanted", "otherwise", "names"),
    [
        pytest.param("3", "- else: [{name: no, kind: http, url: u}]", ["one", "last"], id="first"),
        pytest.param("9", "", ["two", "three", "last"], id="a later branch, all its tasks"),
    ],
)
def test_choose_runs_one_branch_and_goes_on_after_the_last(
    wanted: str, otherwise: str, names: list[str]
) -> None:
    text = CHOOSE.replace("WANTED", wanted).replace("ELSE", otherwise)
    found, report = run(text, *(ok() for _ in names))
    assert (found, report.status) == (names, "ok")


@pytest.mark.spec("S5", "S1")
@pytest.mark.parametrize(
    ("otherwise", "names"),
    [("- else: [{name: no, kind: http, url: u}]", ["no", "last"]), ("", ["last"])],
)
def test_choose_without_a_match_takes_else_or_nothing(otherwise: str, names: list[str]) -> None:
    text = CHOOSE.replace("WANTED", "9").replace("> 1", "> 9").replace("ELSE", otherwise)
    assert run(text, *(ok() for _ in names))[0] == names


@pytest.mark.spec("S5", "S1")
@pytest.mark.parametrize("left", [0, 1, 3])
def test_while_tests_before_each_round(left: int) -> None:
    names, report = run(WHILE.replace("LEFT", str(left)), *(ok() for _ in range(left + 1)))
    assert names == ["work"] * left + ["last"]
    assert report.status == "ok"


@pytest.mark.spec("S5", "S1")
def test_while_fails_when_its_rounds_are_used_up() -> None:
    names, report = run(WHILE.replace("LEFT", "4"), ok(), ok(), ok())
    assert names == ["work"] * 3
    assert report.error is not None
    assert report.error.message == "'while_1' went round 3 times, which is its max"


@pytest.mark.spec("S5", "S1")
def test_an_error_inside_sugar_fails_the_run() -> None:
    names, report = run(WHILE.replace("LEFT", "2"), ok(), bad("auth"))
    assert (names, report.status) == (["work", "work"], "error")


@pytest.mark.spec("S5", "S1")
@pytest.mark.parametrize("rounds", [1, 2, 3])
def test_until_tests_after_each_round(rounds: int) -> None:
    polls = [ok({"data": {"ready": n == rounds}}) for n in range(1, rounds + 1)]
    names, report = run(UNTIL, *polls, ok())
    assert names == ["poll"] * rounds + ["last"]
    assert report.status == "ok"
    assert decisions(report)[-1] == "last 1 ok continue"


@pytest.mark.spec("S5", "S1")
def test_until_fails_when_its_rounds_are_used_up() -> None:
    names, report = run(UNTIL, *(ok({"data": {"ready": False}}) for _ in range(3)))
    assert (names, report.status) == (["poll"] * 3, "error")
