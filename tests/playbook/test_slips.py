"""Slips of newcomers that once went by in silence, or were told twice."""

from __future__ import annotations

import pytest
from texts import codes, only, workflow

pytestmark = pytest.mark.spec("S1")


def loop_with(template: str, loop: str = "{in: [1], iterator: file}") -> str:
    return workflow(f"- step: a\n  loop: {loop}\n  tool: {{kind: python, code: 'result = 1', args: {{x: '{template}'}}}}\n")  # fmt: skip


def test_an_item_under_another_name_is_told() -> None:
    problem = only(loop_with("{{ iter.fil }}"))
    assert (problem.code, problem.severity) == ("P128", "error")
    assert problem.hint == "did you mean 'iter.file'?"


@pytest.mark.parametrize(
    "template",
    ["{{ iter.file }}", "{{ iter.index }}", "{{ iter.parent }}", "{{ iter.other | default(1) }}"],
)
def test_what_a_loop_has_is_not(template: str) -> None:
    assert codes(loop_with(template)) == []


def test_items_of_inner_loops_and_what_tasks_write_are_known() -> None:
    inner = "{in: [[1]], iterator: row, loop: {in: '{{ iter.row }}', iterator: cell}}"
    assert codes(loop_with("{{ iter.cell }}", inner)) == []
    text = workflow(
        """
        - step: a
          tool:
            - {name: begin, kind: noop, set_iter: {page: 1}}
            - {name: use, kind: http, url: "x/{{ iter.page }}"}
        """
    )
    assert codes(text) == []


def test_the_result_of_a_step_in_sql_is_no_template_there() -> None:
    text = workflow(
        """
        - step: find
          tool: {kind: python, code: "result = 1"}
          next: {arcs: [{step: store}]}
        - step: store
          tool: {kind: sqlite, database: x.db, command: "INSERT INTO t VALUES ({{ find }})"}
        """
    )
    assert only(text).code == "P125"


def test_braces_of_another_language_are_left_alone() -> None:
    text = workflow(
        """
        - step: find
          tool:
            kind: python
            code: |
              result = "{{find}}".format()
        """
    )
    assert codes(text) == []


def test_a_slip_in_a_compensation_is_one_problem() -> None:
    text = workflow(
        """
        - step: a
          tool: {kind: noop}
          spec: {compensate: {tol: {kind: noop}}}
        """
    )
    found = [code for code in codes(text) if code != "P212"]
    assert found == ["P101"]


def post(**more: str) -> str:
    lines = "".join(f"\n    {key}: {value}" for key, value in more.items())
    return workflow(f"- step: a\n  tool:\n    kind: http\n    url: http://x{lines}\n")


@pytest.mark.spec("S22")
def test_a_request_has_one_key() -> None:
    problem = only(post(idempotent="true", headers="{idempotency-key: mine}"))
    assert (problem.code, problem.severity) == ("P122", "error")
    assert codes(post(idempotent="false", headers="{Idempotency-Key: mine}")) == []
    assert codes(post(idempotent="true", headers="{Accept: text/html}")) == []


@pytest.mark.spec("S22", "S6")
@pytest.mark.parametrize(
    ("template", "hint"),
    [("{{ _task.id }}", "it has name and key"), ("{{ execution.key }}", "it has id and playbook and started_at")],
)  # fmt: skip
def test_a_name_of_the_language_has_its_own_parts_only(template: str, hint: str) -> None:
    problem = only(post(headers=f"{{X: '{template}'}}"))
    assert (problem.code, problem.severity, problem.hint) == ("P128", "error", hint)


@pytest.mark.spec("S22", "S6")
def test_the_key_of_a_task_is_read_where_tasks_are() -> None:
    assert codes(post(headers="{X: '{{ _task.key }} {{ _task.name }} {{ _task }}'}")) == []
    arc = "- step: a\n  tool: {kind: noop}\n  next: {arcs: [{step: a, when: '{{ _task.key }}'}]}\n"
    assert "P205" in codes(workflow(arc))
