"""What policies set: ctx, iter and branch, at once for later tasks and in order for the report."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import UNSET
from pipeline.drive import ON_ERROR, always, bad, machine, noop, ok, play, task, when

from petra.pipeline import Finished, Machine
from petra.wire import Report


def finish(played: Machine) -> Report:
    move = played.start()
    assert isinstance(move, Finished)
    return move.report


def writes(report: Report) -> list[tuple[str, Any]]:
    return [(write.key, write.value) for write in report.writes]


def message(report: Report) -> str:
    assert report.error is not None
    return report.error.message


@pytest.mark.spec("S5", "002§5.4-12", "000§8-2")
@pytest.mark.parametrize("do", ["continue", "jump", "break", "fail", "retry"])
def test_patches_hold_whatever_the_action(do: str) -> None:
    more = {"to": "b"} if do == "jump" else {"attempts": 1} if do == "retry" else {}
    sets = {"set_ctx": {"x": "{{ outcome.result }}"}, "set_branch": "out", **more}
    _, report = play(machine(task("a", always(do, **sets)), noop("b")), ok(1))
    assert writes(report) == [("x", 1)]
    assert report.branch == "out"
    assert report.status == ("error" if do in ("fail", "retry") else "ok")


@pytest.mark.spec("S5")
def test_every_try_that_is_retried_leaves_its_patch() -> None:
    count = when(ON_ERROR, "retry", set_ctx={"tries": "{{ _attempt }}"})
    _, report = play(machine(task("a", count)), bad(), bad(), ok())
    assert writes(report) == [("tries", 1), ("tries", 2)]


@pytest.mark.spec("S5", "S10")
def test_a_failed_run_reports_what_it_wrote_before() -> None:
    _, report = play(machine(task("a", always(set_ctx={"x": 1})), task("b")), ok(), bad())
    assert (report.status, writes(report)) == ("error", [("x", 1)])


@pytest.mark.spec("S5", "S10")
def test_later_tasks_see_a_write_at_once_and_through_its_reducer() -> None:
    add = always(set_ctx={"seen": "{{ outcome.result }}", "plain": "{{ outcome.result }}"})
    played = machine(
        task("a", add), task("b", add), task("c", json=["{{ ctx.seen }}", "{{ ctx.plain }}"]),
        scope={"ctx": {"seen": [0], "other": 1}}, reducers={"seen": "append"},
    )  # fmt: skip
    runs, report = play(played, ok(1), ok(2), ok())
    assert runs[2].fields["json"] == [[0, 1, 2], 2]
    assert runs[2].scope["ctx"]["other"] == 1
    assert writes(report) == [("seen", 1), ("plain", 1), ("seen", 2), ("plain", 2)]


@pytest.mark.spec("S10")
def test_a_reducer_knows_whether_the_key_was_there() -> None:
    once = always(set_ctx={"k": "{{ _task }}"})
    keep = always(set_branch="{{ ctx.k }}")
    tasks = (noop("a", once), noop("b", once), noop("c", keep))
    assert finish(machine(*tasks, reducers={"k": "first"})).branch == "a"


def test_the_ctx_of_the_caller_stays_as_it_was() -> None:
    ctx = {"n": [1]}
    finish(
        machine(noop("a", always(set_ctx={"n": 2})), scope={"ctx": ctx}, reducers={"n": "append"})
    )
    assert ctx == {"n": [1]}


@pytest.mark.spec("S10")
def test_a_ctx_key_with_a_dot_is_a_key_and_no_path() -> None:
    report = finish(machine(noop("a", always(set_ctx={"a.b": 1})), scope={"ctx": {"a": {}}}))
    assert writes(report) == [("a.b", 1)]


@pytest.mark.spec("S5", "S6")
def test_a_patch_that_cannot_be_rendered_fails_the_run_and_nothing_of_the_rule_applies() -> None:
    rule = always(set_ctx={"x": 1, "y": "{{ ctx.gone }}"}, set_branch="b", set_iter={"z": 1})
    report = finish(machine(noop("a", rule)))
    assert report.error is not None
    assert report.error.kind == "transform"
    assert message(report).startswith("task 'a', rule 0: then.set_ctx.y: ctx.gone is undefined")
    assert (report.writes, report.branch) == ([], UNSET)
    assert [(a.status, a.action, a.rule) for a in report.attempts] == [("ok", "fail", 0)]


@pytest.mark.spec("S10")
def test_a_value_its_reducer_refuses_fails_the_run_and_nothing_of_the_rule_applies() -> None:
    rule = always(set_ctx={"x": 1, "n": "text"}, set_branch=1)
    report = finish(machine(noop("a", rule), reducers={"n": "sum"}))
    assert message(report) == (
        "task 'a', rule 0: ctx.n: the reducer 'sum' takes numbers, not a string"
    )
    assert (report.writes, report.branch) == ([], UNSET)


@pytest.mark.spec("S5")
def test_the_patches_of_one_rule_all_see_what_was_before() -> None:
    swap = always(
        set_iter={"a": "{{ iter.b }}", "b": "{{ iter.a }}"}, set_ctx={"was": "{{ iter.a }}"}
    )
    keep = always(set_ctx={"now": "{{ [iter.a, iter.b] }}"})
    report = finish(
        machine(noop("s", always(set_iter={"a": 1, "b": 2})), noop("x", swap), noop("k", keep))
    )
    assert writes(report) == [("was", 1), ("now", [2, 1])]


@pytest.mark.spec("S9", "002§5.4-16", "002§8-5")
def test_iter_is_the_scratchpad_of_this_run_alone() -> None:
    given = {"city": "Bern", "index": 4, "parent": None}
    rule = always(set_iter={"page": 1})
    fetch = task("a", url="{{ iter.city }}/{{ iter.index }}/{{ iter.page }}")
    runs, _ = play(machine(noop("i", rule), fetch, iter=given), ok())
    assert runs[0].fields["url"] == "Bern/4/1"
    assert given == {"city": "Bern", "index": 4, "parent": None}


@pytest.mark.spec("S9", "S6")
def test_iter_parent_is_the_outer_iteration() -> None:
    given = {"hotel": 1, "index": 0, "parent": {"city": "Bern", "index": 2}}
    runs, _ = play(machine(task("a", url="{{ iter.parent.city }}"), iter=given), ok())
    assert runs[0].fields["url"] == "Bern"


@pytest.mark.spec("S9")
@pytest.mark.parametrize("key", ["index", "parent"])
def test_what_belongs_to_the_loop_cannot_be_set(key: str) -> None:
    rule = always(set_iter={key: 1}, set_ctx={"x": 1})
    report = finish(machine(noop("a", rule), iter={"index": 0, "parent": None}))
    assert f"iter.{key} belongs to the loop" in message(report)
    assert report.writes == []
    assert finish(machine(noop("a", rule))).status == "ok", "outside a loop the name is free"


@pytest.mark.spec("S5", "S8")
def test_set_branch_replaces_the_output_of_the_branch() -> None:
    played = machine(
        noop("a", always(set_branch={"n": 1})),
        noop(
            "b",
            always(
                set_ctx={"seen": "{{ branch.output.n }}/{{ _branch.output.n }}/{{ _branch.index }}"}
            ),
        ),
        noop("c", always(set_branch={"n": 2})),
        scope={"branch": {"index": 3, "output": None}},
    )
    report = finish(played)
    assert writes(report) == [("seen", "1/1/3")]
    assert report.branch == {"n": 2}


def test_a_run_that_sets_no_branch_reports_none() -> None:
    assert finish(machine(noop("a"))).branch is UNSET
