"""What the templates of a run can read, and what the tool gets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from uuid import UUID

import msgspec
import pytest
from pipeline.drive import ON_ERROR, always, bad, machine, noop, ok, play, playbook, task, when

from petra.pipeline import Finished, Machine, NextAttempt, Settings
from petra.playbook.model import Task
from petra.wire import Report


class Vault(Mapping[str, dict[str, str]]):
    """A keychain that notes what was read."""

    def __init__(self) -> None:
        self.read: list[str] = []

    def __getitem__(self, name: str) -> dict[str, str]:
        self.read.append(name)
        return {"key": "s3cret"}

    def __iter__(self) -> Iterator[str]:
        return iter(["api"])

    def __len__(self) -> int:
        return 1


@pytest.mark.spec("S6", "S22", "002§7.5-4")
def test_a_task_name_gives_its_result_in_later_templates() -> None:
    runs, _ = play(
        machine(task("fetch"), task("b", json={"n": "{{ fetch.data.n }}", "all": "{{ results }}"})),
        ok({"data": {"n": 3}}), ok(),
    )  # fmt: skip
    assert runs[1].fields["json"] == {"n": 3, "all": {"fetch": {"data": {"n": 3}}}}


@pytest.mark.spec("S6")
def test_a_task_name_wins_over_a_step_and_a_built_in_name_over_a_task() -> None:
    played = machine(
        task("other"), task("ctx"), task("last", url="{{ other }} {{ ctx.n }} {{ results.ctx }}"),
        scope={"other": "of the step", "ctx": {"n": 1}},
    )  # fmt: skip
    runs, _ = play(played, ok("of the task"), ok("mine"), ok())
    assert runs[2].fields["url"] == "of the task 1 mine"


@pytest.mark.spec("S6")
def test_prev_task_and_attempt_speak_of_this_try() -> None:
    said = ["{{ _task }}", "{{ _attempt }}", "{{ _prev }}"]
    runs, _ = play(
        machine(task("a", json=said), noop("n"), task("b", when(ON_ERROR, "retry"), json=said)),
        ok("A"), bad(), ok(),
    )  # fmt: skip
    assert [run.fields["json"] for run in runs] == [["a", 1, None], ["b", 1, "A"], ["b", 2, "A"]]


@pytest.mark.spec("S6")
def test_own_args_are_laid_over_those_of_the_token_for_this_task_only() -> None:
    played = machine(
        task("a", args={"n": "{{ args.n + 1 }}", "m": 9}, url="{{ args.n }}/{{ args.k }}"),
        task("b", url="{{ args.n }}"),
        scope={"args": {"n": 1, "k": "k"}},
    )
    runs, _ = play(played, ok(), ok())
    assert (runs[0].args, runs[0].fields["url"]) == ({"n": 2, "k": "k", "m": 9}, "2/k")
    assert (runs[1].args, runs[1].fields["url"]) == ({"n": 1, "k": "k"}, 1)


@pytest.mark.spec("S6")
def test_the_args_of_a_task_hold_in_its_policy_too() -> None:
    move = machine(noop("a", always(set_ctx={"n": "{{ args.n }}"}), args={"n": 5})).start()
    assert isinstance(move, Finished)
    assert [(w.key, w.value) for w in move.report.writes] == [("n", 5)]


@pytest.mark.spec("S22", "S6")
def test_constant_fields_are_handed_over_as_written() -> None:
    code = "result = '{{ workload.n }} {{'"
    fields = task("a", kind="python", code=code, args={"n": "{{ workload.n }}"})
    runs, _ = play(machine(fields, scope={"workload": {"n": 1}}), ok())
    assert (runs[0].fields, runs[0].args) == ({"code": code}, {"n": 1})
    sql = task("a", kind="postgres", command="select '{{ x }}'", params=["{{ workload.n }}"])
    runs, _ = play(machine(sql, scope={"workload": {"n": 1}}), ok())
    assert runs[0].fields == {"command": "select '{{ x }}'", "params": [1]}


@pytest.mark.spec("S22")
def test_constant_text_inside_a_field_is_found_too() -> None:
    source = {"kind": "sqlite", "query": "select '{{ x }}'", "database": "{{ workload.db }}"}
    moved = task("a", kind="transfer", source=source, target={"kind": "sqlite"})
    runs, _ = play(machine(moved, scope={"workload": {"db": "d"}}), ok())
    assert runs[0].fields["source"] == {**source, "database": "d"}
    report = failure(machine(moved))
    assert "task 'a': source.database: workload.db is undefined" in message(report)


def test_the_fields_of_an_undeclared_kind_are_templates() -> None:
    plug_in = task("a", kind="acme", code="{{ workload.n }}")
    runs, _ = play(machine(plug_in, scope={"workload": {"n": 1}}), ok())
    assert runs[0].fields == {"code": 1}


@pytest.mark.spec("S6")
@pytest.mark.parametrize("place", ["url", "params", "args"])
def test_undefined_in_a_field_fails_the_run_without_asking_the_policy(place: str) -> None:
    value = {"q": ["{{ workload.gone }}"]} if place != "url" else "{{ workload.gone }}"
    faulty = task("a", always("continue"), **{place: value})  # type: ignore[arg-type]
    report = failure(machine(faulty))
    assert report.attempts == []
    assert report.error is not None
    assert report.error.kind == "transform"
    where = "url" if place == "url" else f"{place}.q.0"
    assert message(report).startswith(f"task 'a': {where}: workload.gone is undefined")
    assert report.error.details == {"template": "{{ workload.gone }}"}


def test_a_bad_template_fails_the_run_instead_of_raising() -> None:
    assert "task 'a': url: " in message(failure(machine(task("a", url="{{ ( }}"))))
    assert "rules.0.when" in message(failure(machine(noop("a", when("{{ ( }}")))))
    assert "rules.0.then.set_ctx.k" in message(
        failure(machine(noop("a", always(set_ctx={"k": "{{ ( }}"}))))
    )


@pytest.mark.spec("S6")
def test_what_came_from_outside_is_never_rendered_again() -> None:
    runs, _ = play(machine(task("a"), task("b", url="{{ a }}")), ok("{{ workload }}"), ok())
    assert runs[1].fields["url"] == "{{ workload }}"


@pytest.mark.spec("S5", "002§12-4")
def test_a_task_gets_its_effective_spec_rendered() -> None:
    book = playbook(
        "- step: s\n  spec: {timeout: {connect: '{{ workload.n }}', read: 5}}\n"
        "  tool: {kind: http, url: u, spec: {timeout: {read: 6}, timeout_s: 9}}\n",
        executor="{spec: {verify: false}}",
    )
    step = book.workflow[0]
    scope = {"workload": book.workload}
    move = Machine(step.tool, scope, settings=Settings.of(book, step), jitter=lambda: 0).start()
    assert isinstance(move, NextAttempt)
    assert move.spec == {"verify": False, "timeout": {"connect": 3, "read": 6}, "timeout_s": 9}


@pytest.mark.spec("S5", "S10")
def test_reducers_and_the_limit_of_jumps_come_from_the_executor() -> None:
    book = playbook(
        "- step: s\n  tool: {kind: noop, spec: {policy: {rules: [\n"
        "    {else: {then: {do: jump, to: s_task, set_ctx: {n: 1}}}}]}}}\n",
        executor="{spec: {ctx: {n: {reduce: sum}, m: {}}, policy: {limits: {max_jumps: 4}}}}",
    )
    step = book.workflow[0]
    found = Settings.of(book, step)
    assert (found.reducers, found.max_jumps) == ({"n": "sum"}, 4)
    report = failure(Machine(step.tool, {}, settings=found, jitter=lambda: 0))
    assert len(report.attempts) == 5


def test_settings_never_take_one_task_for_another_of_the_same_name() -> None:
    shared = Settings()
    for url in ("first", "second"):
        move = Machine([task("a", url=url)], {}, settings=shared, jitter=lambda: 0).start()
        assert isinstance(move, NextAttempt)
        assert move.fields == {"url": url}


@pytest.mark.spec("S20", "S6")
def test_fields_may_read_the_keychain_and_nothing_carries_it_away() -> None:
    vault = Vault()
    secretive = task("a", always(set_ctx={"k": "{{ keychain.api.key }}"}),
                     headers={"x": "{{ keychain.api.key }}"})  # fmt: skip
    runs, report = play(machine(secretive, scope={"keychain": vault}), ok())
    assert runs[0].fields["headers"] == {"x": "s3cret"}
    assert "keychain" not in runs[0].scope
    assert vault.read == ["api"]
    assert "then.set_ctx.k: keychain.api.key is undefined" in message(report)
    assert b"s3cret" not in msgspec.json.encode(report)


@pytest.mark.spec("S20", "S6")
def test_an_argument_made_of_a_secret_reaches_the_tool_and_no_patch() -> None:
    login = task("a", always(set_ctx={"k": "{{ args.login.key }}"}), kind="python", code="",
                 args={"login": {"key": "{{ keychain.api.key }}"}, "n": 1})  # fmt: skip
    runs, report = play(machine(login, scope={"keychain": Vault()}), ok())
    assert runs[0].args == {"login": {"key": "s3cret"}, "n": 1}
    assert "args.login.key is undefined" in message(report)
    assert b"s3cret" not in msgspec.json.encode(report)


def test_a_value_kept_by_a_patch_does_not_change_later() -> None:
    keep = always(set_ctx={"seen": "{{ results }}"})
    _, report = play(machine(task("a", keep), task("b")), ok(1), ok(2))
    assert report.writes[0].value == {"a": 1}


def failure(played: Machine) -> Report:
    move = played.start()
    assert isinstance(move, Finished)
    assert move.report.status == "error"
    return move.report


def message(report: Report) -> str:
    assert report.error is not None
    return report.error.message


KEYED = "{{ _task.key }}"


def keys_of(runs: list[NextAttempt]) -> list[str]:
    return [run.fields["json"] for run in runs]


def caused(*tasks: Task, cause: str = "e/r//do") -> Machine:
    scope: dict[str, object] = {"workload": {}, "ctx": {}, "args": {}}
    return Machine(tasks, scope, settings=Settings(), jitter=lambda: 0.0, cause=cause)


@pytest.mark.spec("S22")
def test_every_try_of_a_task_has_one_key_and_every_task_its_own() -> None:
    tasks = [task("a", when(ON_ERROR, "retry"), json=KEYED), task("b", json=KEYED)]
    runs, _ = play(caused(*tasks), bad(), bad(), ok(), ok())
    first, *again, other = keys_of(runs)
    assert again == [first, first]
    assert other != first
    assert (UUID(first).version, str(UUID(first))) == (5, first)


@pytest.mark.spec("S22")
def test_a_redelivery_finds_the_keys_of_the_first_delivery_and_another_run_does_not() -> None:
    tasks = [task("a", json=KEYED), task("b", json=KEYED)]
    first, again, other = (
        keys_of(play(caused(*tasks, cause=cause), ok(), ok())[0])
        for cause in ("e/r//do", "e/r//do", "e/s//do")
    )
    assert again == first
    assert not set(other) & set(first)


@pytest.mark.spec("S22")
def test_a_task_that_its_run_comes_back_to_does_another_thing_under_another_key() -> None:
    more = "{{ outcome.result < 3 }}"
    paged = task("page", when(ON_ERROR, "retry"), when(more, "jump", to="page"), json=KEYED)
    runs, _ = play(caused(paged), ok(1), bad(), ok(2), ok(3))
    one, two, again, three = keys_of(runs)
    assert again == two
    assert len({one, two, three}) == 3


@pytest.mark.spec("S22", "S6")
def test_task_is_a_name_that_says_its_key_in_policies_too() -> None:
    said = task("a", always(set_ctx={"k": "{{ _task.key }}"}), json=KEYED)
    runs, report = play(caused(said), ok())
    assert [write.value for write in report.writes] == keys_of(runs)
    assert runs[0].scope["_task"] == "a"
    assert not [name for name in runs[0].scope if name.startswith("$")]
