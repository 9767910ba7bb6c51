"""The pipeline machine: what runs after what, and what the run comes to."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import structs
from pipeline.drive import ON_ERROR, always, bad, decisions, machine, noop, ok, play, task, when

from petra.pipeline import AskAgain, Finished, NextAttempt
from petra.pipeline.machine import NOOPS_AT_ONCE
from petra.playbook.model import Task
from petra.wire import Error, Outcome, Write


def test_tasks_run_in_the_order_written() -> None:
    runs, report = play(machine(task("a"), task("b"), task("c")), ok(), ok(), ok())
    assert [run.task.name for run in runs] == ["a", "b", "c"]
    assert report.status == "ok"


@pytest.mark.spec("S5", "002§7.5-1")
def test_without_a_policy_an_ok_continues_and_an_error_fails_the_run() -> None:
    _, report = play(machine(task("a"), task("b"), task("c")), ok(), bad("timeout"))
    assert decisions(report) == ["a 1 ok continue", "b 1 error fail"]
    assert report.error == Error(kind="timeout", message="broken")
    assert [attempt.rule for attempt in report.attempts] == [None, None]


@pytest.mark.spec("S5", "002§5.4-6", "002§7.5-2", "002§8-8")
def test_a_jump_goes_to_the_task_it_names_and_skips_what_is_between() -> None:
    runs, _ = play(machine(task("a", always("jump", to="c")), task("b"), task("c")), ok(), ok())
    assert [run.task.name for run in runs] == ["a", "c"]


@pytest.mark.spec("S5", "002§5.4-6")
def test_a_jump_starts_the_count_of_tries_anew() -> None:
    again = when("{{ iter.again is undefined }}", "jump", to="a", set_iter={"again": True})
    retry = when(ON_ERROR, "retry", attempts=2)
    runs, report = play(
        machine(task("a", retry), task("b", again)), bad(), ok(), ok(), bad(), ok(), ok()
    )
    assert [(run.task.name, run.attempt) for run in runs] == [
        ("a", 1), ("a", 2), ("b", 1), ("a", 1), ("a", 2), ("b", 1),
    ]  # fmt: skip
    assert report.status == "ok"


@pytest.mark.spec("S5")
def test_one_jump_more_than_allowed_fails_the_run_with_kind_limit() -> None:
    for jumps, status in ((2, "ok"), (1, "error")):
        rule = when("{{ (iter.n | default(0)) < 2 }}", "jump", to="a",
                    set_iter={"n": "{{ (iter.n | default(0)) + 1 }}"})  # fmt: skip
        played = machine(noop("a", rule), max_jumps=jumps).start()
        assert isinstance(played, Finished)
        assert played.report.status == status
        if status == "error":
            assert played.report.error is not None
            assert played.report.error.kind == "limit"
            assert "more than 1 jumps" in played.report.error.message


@pytest.mark.spec("S5")
def test_a_pipeline_that_only_jumps_ends_at_the_default_limit() -> None:
    _, report = play(machine(noop("a", always("jump", to="a"))))
    assert len(report.attempts) == 10_001


@pytest.mark.spec("S5", "S18")
def test_many_noops_are_no_single_go() -> None:
    played = machine(noop("a", always("jump", to="a")))
    move, goes = played.start(), 1
    while isinstance(move, AskAgain):
        assert move.after_s == 0
        move, goes = played.resume(), goes + 1
    assert isinstance(move, Finished)
    assert goes == 10_001 // NOOPS_AT_ONCE + 1
    assert isinstance(played.cancel("too late"), Finished)

    stopped = machine(noop("a", always("jump", to="a")))
    assert isinstance(stopped.start(), AskAgain)
    assert stopped.cancel("enough").report.error == Error(
        kind="cancelled", message="enough", retryable=False
    )


def test_a_jump_to_nowhere_fails_the_run_instead_of_raising() -> None:
    move = machine(noop("a", always("jump", to="nowhere"))).start()
    assert isinstance(move, Finished)
    assert move.report.error is not None
    assert "no task 'nowhere'" in move.report.error.message


@pytest.mark.spec("S5", "002§5.4-8", "002§8-7")
def test_break_ends_the_pipeline_as_a_success_with_the_result_so_far() -> None:
    _, report = play(machine(task("a", always("break")), task("b")), ok(7))
    assert (report.status, report.result) == ("ok", 7)
    _, report = play(machine(task("a"), task("b", always("break"))), ok(7), bad())
    assert (report.status, report.result, report.error) == ("ok", 7, None)


@pytest.mark.spec("S5", "002§5.4-7")
def test_continue_after_an_error_goes_on_with_no_result() -> None:
    runs, report = play(
        machine(task("a"), task("b", always("continue")), task("c", url="{{ _prev }}")),
        ok("first"), bad(), ok(),
    )  # fmt: skip
    assert runs[2].fields["url"] == "first"
    assert runs[2].scope["results"] == {"a": "first", "b": None}
    assert report.status == "ok"


@pytest.mark.spec("S5")
@pytest.mark.parametrize(
    ("tasks", "outcomes", "result"),
    [
        pytest.param([task("a"), task("b")], [ok(1), ok(2)], 2, id="of the last task"),
        pytest.param([task("a"), noop("end")], [ok(1)], 1, id="a trailing noop does not wipe it"),
        pytest.param([noop("only")], [], None, id="a noop has none"),
        pytest.param([], [], None, id="no task, no result"),
        pytest.param(
            [task("a"), task("b", always())], [ok(1), bad()], 1, id="an error outcome has none"
        ),
        pytest.param([task("a"), task("b")], [ok(1), ok(None)], None, id="null is a result"),
        pytest.param(
            [task("a"), task("b")], [ok(1), Outcome(status="ok", has_result=False)], 1,
            id="a tool may have none",
        ),
    ],
)  # fmt: skip
def test_the_result_is_that_of_the_last_task_that_has_one(
    tasks: list[Any], outcomes: list[Outcome], result: object
) -> None:
    _, report = play(machine(*tasks), *outcomes)
    assert (report.status, report.result) == ("ok", result)


@pytest.mark.spec("S5", "S6")
def test_an_error_takes_the_place_of_an_earlier_result_under_the_name_of_its_task() -> None:
    again = when("{{ _prev == 1 and a == 1 }}", "jump", to="a")
    failed = Outcome(status="error", has_result=False)
    _, report = play(
        machine(task("a", always()), noop("b", again, always(set_ctx={"a": "{{ a }}"}))),
        ok(1),
        failed,
    )
    assert [(write.key, write.value) for write in report.writes] == [("a", None)]


def test_a_failed_run_has_no_result() -> None:
    _, report = play(machine(task("a"), task("b")), ok(1), bad())
    assert (report.status, report.result) == ("error", None)


@pytest.mark.spec("S5", "000§8-1", "000§8-3", "002§7.1-2")
def test_noops_run_inside_the_machine_and_decide() -> None:
    move = machine(
        noop("init", always(set_iter={"page": 1})),
        noop("route", when("{{ iter.page == 1 }}", "jump", to="end")),
        task("never"),
        noop("end", always("break")),
    ).start()
    assert isinstance(move, Finished)
    assert decisions(move.report) == ["init 1 ok continue", "route 1 ok jump", "end 1 ok break"]
    assert all(attempt.noop for attempt in move.report.attempts)


@pytest.mark.spec("S5", "S21")
def test_only_the_tries_of_noops_are_marked_as_such() -> None:
    _, report = play(machine(noop("init"), task("a")), ok())
    assert [attempt.noop for attempt in report.attempts] == [True, False]


@pytest.mark.spec("S5")
def test_a_noop_retries_at_once_and_each_retry_counts_as_a_jump() -> None:
    count = {"n": "{{ (iter.n | default(0)) + 1 }}"}
    rule = when("{{ iter.n | default(0) < 2 }}", "retry", attempts=5, delay=60, set_iter=count)
    move = machine(noop("a", rule)).start()
    assert isinstance(move, Finished)
    assert [a.delay_s for a in move.report.attempts] == [0.0, 0.0, None]
    move = machine(noop("a", always("retry", attempts=10**9)), max_jumps=20).start()
    assert isinstance(move, Finished)
    assert move.report.error is not None
    assert move.report.error.kind == "limit"


@pytest.mark.spec("S5", "002§5.4-5", "002§9-1", "002§9.1-3", "002§7.1-3")
def test_a_retry_hands_the_whole_task_out_again_after_its_delay() -> None:
    runs, report = play(
        machine(task("a", when(ON_ERROR, "retry", delay=2), url="try {{ _attempt }}")), bad(), ok(5)
    )
    assert [(r.attempt, r.after_s, r.fields["url"]) for r in runs] == [
        (1, 0.0, "try 1"), (2, 2.0, "try 2"),
    ]  # fmt: skip
    assert (report.status, report.result) == ("ok", 5)


@pytest.mark.spec("S5", "002§7.5-3", "002§9.1-2")
def test_the_report_tells_every_try_with_rule_action_delay_and_duration() -> None:
    played = machine(task("a", when("{{ false }}"), when(ON_ERROR, "retry", attempts=2)))
    played.start()
    played.advance(bad("timeout"), 12.5)
    move = played.advance(bad("deadlock"), 7.5)
    assert isinstance(move, Finished)
    first, last = move.report.attempts
    assert (first.task, first.number, first.status, first.action) == ("a", 1, "error", "retry")
    assert (first.rule, first.delay_s, first.duration_ms) == (1, 1.0, 12.5)
    assert first.error == Error(kind="timeout", message="broken")
    assert (last.number, last.action, last.rule, last.delay_s) == (2, "fail", 1, None)
    assert move.report.error == last.error


@pytest.mark.spec("S5")
def test_cancelling_inside_a_task_records_its_try_and_keeps_the_patches() -> None:
    played = machine(noop("init", always(set_ctx={"n": 1})), task("a"), task("b"))
    assert isinstance(played.start(), NextAttempt)
    report = played.cancel("too late", 3.0).report
    assert decisions(report) == ["init 1 ok continue", "a 1 error fail"]
    assert report.error == Error(kind="cancelled", message="too late", retryable=False)
    assert report.writes == [Write(key="n", value=1)]
    assert report.attempts[1].duration_ms == 3.0


@pytest.mark.spec("S5")
def test_cancelling_between_tries_ends_the_run() -> None:
    played = machine(task("a", when(ON_ERROR, "retry")))
    played.start()
    assert isinstance(played.advance(bad()), NextAttempt)
    report = played.cancel("stop").report
    assert decisions(report) == ["a 1 error retry", "a 2 error fail"]
    assert report.status == "error"


def test_cancelling_before_the_start_reports_no_try() -> None:
    assert machine(task("a")).cancel("stop").report.attempts == []


def test_cancelling_too_late_changes_nothing() -> None:
    played = machine(task("a"))
    played.start()
    end = played.advance(ok(1))
    assert played.cancel("stop") is end


def test_an_outcome_for_a_finished_run_is_a_bug_of_the_caller() -> None:
    played = machine(task("a"))
    played.start()
    played.advance(ok())
    with pytest.raises(AssertionError, match="no more outcomes"):
        played.advance(ok())


@pytest.mark.spec("S5")
def test_a_run_that_goes_round_for_ever_does_not_grow_for_ever(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("petra.pipeline.machine.ATTEMPTS_KEPT", 100)
    _, report = play(machine(noop("t", always("jump", to="t"))))
    assert report.left_out is not None
    assert len(report.attempts) <= 100
    assert len(report.attempts) + report.left_out.count == 10_001
    assert report.error is not None
    assert report.error.kind == "limit"


@pytest.mark.spec("S5", "S22")
def test_a_try_records_which_packages_its_code_had() -> None:
    played = machine(task("a"))
    played.start()
    outcome = Outcome(status="ok", more={"py": {"environment": "abc"}})
    (attempt,) = played.advance(outcome).report.attempts  # type: ignore[union-attr]
    assert attempt.environment == "abc"


ENDS = {
    "alone": ([task("a")], [ok(1)]),
    "without a result": ([task("a")], [Outcome(status="ok", has_result=False)]),
    "behind another": ([task("a"), task("b")], [ok(1), Outcome(status="ok", has_result=False)]),
    "it sets a key": ([structs.replace(task("a"), set_ctx={"k": "{{ outcome.result }}"})], [ok(2)]),
    "a rule says more": ([task("a", always("continue", set_ctx={"k": 1}))], [ok(2)]),
    "it said with what it ran": (
        [task("a")],
        [Outcome(status="ok", result=1, more={"py": {"environment": "e"}})],
    ),
    "it failed": ([task("a")], [bad()]),
}


@pytest.mark.spec("S5")
@pytest.mark.parametrize(("tasks", "outcomes"), ENDS.values(), ids=ENDS)
def test_a_last_task_that_went_well_ends_as_it_would_by_all_rules(
    tasks: list[Task], outcomes: list[Outcome]
) -> None:
    quick, slow = machine(*tasks), machine(*tasks)
    for one in tasks:
        slow._settings.compiled(one).rules.go_on = False
    assert play(quick, *outcomes) == play(slow, *outcomes)
