"""Obligations on the text of a playbook: what may be written, and what is refused with which code."""

from __future__ import annotations

import pytest
from texts import codes, model, only, playbook, workflow

from petra.kinds import KINDS
from petra.playbook import read, to_yaml

ROUTER = "    - {step: a, next: {arcs: [{step: b}]}}\n    - {step: b, tool: {kind: noop}}\n"


@pytest.mark.spec("000§0-2", "002§2-1")
def test_the_root_sections_are_read_and_all_but_the_workflow_may_be_left_out() -> None:
    whole = model(
        playbook(
            """
            keychain: [{name: shop, kind: env, var: SHOP}]
            executor: {spec: {entry_step: a}}
            workload: {n: 1}
            workflow: [{step: a, tool: {kind: workbook, name: w}}]
            workbook: {w: {kind: noop}}
            """
        )
    )
    assert (whole.workload, [entry.name for entry in whole.keychain]) == ({"n": 1}, ["shop"])
    assert codes(playbook("workflow: [{step: a, tool: {kind: noop}}]")) == []
    assert "P102" in codes(playbook("workload: {n: 1}"))


@pytest.mark.spec("002§2-2")
def test_there_is_no_root_vars() -> None:
    assert "P101" in codes(playbook("vars: {n: 1}\nworkflow: [{step: a, tool: {kind: noop}}]"))


@pytest.mark.spec("000§2.2-3")
def test_an_entry_step_that_does_not_exist_is_an_error() -> None:
    text = playbook(
        "executor: {spec: {entry_step: b}}\nworkflow: [{step: a, tool: {kind: noop}}]\n"
    )
    assert "P104" in codes(text)


@pytest.mark.spec("002§0-1")
@pytest.mark.parametrize("word", ["if", "cond", "unless"])
def test_when_is_the_one_conditional_word(word: str) -> None:
    text = workflow(
        f"""
        - step: a
          tool: {{kind: noop}}
          next: {{arcs: [{{step: b, {word}: "{{{{ true }}}}"}}]}}
        - step: b
          tool: {{kind: noop}}
        """
    )
    assert "P101" in codes(text)


@pytest.mark.spec("002§0-2", "002§5.2.1-1")
@pytest.mark.parametrize(
    "step",
    [
        pytest.param('admit: {rules: [{when: "{{ true }}", then: {allow: true}}]}', id="admit"),
        pytest.param("policy: {admit: {once: true}}", id="policy"),
        pytest.param("join: {mode: all}", id="join"),
        pytest.param("timeout_s: 5", id="timeout"),
        pytest.param("spec: {admit: {once: true}}", id="admit outside policy"),
    ],
)
def test_knobs_stand_under_spec_and_policies_under_spec_policy(step: str) -> None:
    assert "P101" in codes(workflow(f"- {{step: a, tool: {{kind: noop}}, {step}}}"))
    assert (
        codes(workflow("- {step: a, tool: {kind: noop}, spec: {policy: {admit: {once: true}}}}"))
        == []
    )


@pytest.mark.spec("002§1-9")
@pytest.mark.parametrize(
    "then", ["{do: jump, to: b}", "{do: continue, step: b}", "{do: start, step: b}"]
)
def test_a_task_policy_cannot_start_a_step(then: str) -> None:
    found = codes(
        workflow(
            f"""
            - step: a
              tool:
                - name: t
                  kind: noop
                  spec: {{policy: {{rules: [{{when: "{{{{ outcome.status == 'ok' }}}}", then: {then}}}]}}}}
              next: {{arcs: [{{step: b}}]}}
            - step: b
              tool: {{kind: noop}}
            """
        )
    )
    assert set(found) & {"P101", "P106", "P108", "P109", "P110"}, found


@pytest.mark.spec("002§5.2.2-8", "002§5.4-14", "002§5.5-1")
@pytest.mark.parametrize(
    "steps",
    [
        pytest.param(
            '- {step: a, tool: {kind: noop}, spec: {policy: {rules: [{when: "{{ true }}", then: {do: retry}}]}}}',
            id="in the policy of a step",
        ),
        pytest.param(
            '- {step: a, tool: {kind: noop}, loop: {in: "{{ [1] }}", iterator: i, spec: {policy: {rules: []}}}}',
            id="in the policy of a loop",
        ),
        pytest.param(
            "- {step: a, tool: {kind: noop}, next: {spec: {policy: {do: retry}}, arcs: [{step: a}]}}",
            id="in the policy of a router",
        ),
        pytest.param(
            "- {step: a, tool: {kind: noop}, next: {arcs: [{step: b, do: retry}]}}\n- {step: b, tool: {kind: noop}}",
            id="on an arc",
        ),
    ],
)
def test_control_actions_stand_in_the_rules_of_tasks_only(steps: str) -> None:
    assert set(codes(workflow(steps))) & {"P101", "P113"}


@pytest.mark.spec("002§7.4-3")
def test_a_task_under_its_name_is_refused_with_the_fix() -> None:
    problem = only(workflow("- step: a\n  tool:\n    - fetch: {kind: noop}"))
    assert problem.code == "P112"
    assert "name: fetch" in (problem.hint or "") + problem.message


@pytest.mark.spec("002§0-7")
def test_a_loop_is_no_kind_of_tool() -> None:
    assert "loop" not in KINDS
    assert "P115" in codes(workflow("- {step: a, tool: {kind: loop}}"))


@pytest.mark.spec("002§14-4", "002§14-6")
def test_sugar_becomes_a_plain_task_list_that_reads_as_itself() -> None:
    text = workflow(
        """
        - step: a
          tool:
            - choose:
                - {when: "{{ ctx.x }}", do: [{name: one, kind: noop}]}
                - else: [{name: two, kind: noop}]
        """
    )
    plain = to_yaml(model(text))
    assert "choose:" not in plain
    assert to_yaml(model(plain)) == plain
    assert to_yaml(model(text)) == plain, "and the labels are the same each time"


@pytest.mark.spec("002§14-5")
def test_every_branch_of_a_choice_jumps_to_its_merge() -> None:
    text = workflow(
        """
        - step: a
          tool:
            - choose:
                - {when: "{{ ctx.x }}", do: [{name: one, kind: noop}]}
                - {when: "{{ ctx.y }}", do: [{name: two, kind: noop}]}
                - else: [{name: three, kind: noop}]
        """
    )
    tasks = model(text).workflow[0].tool
    merge = tasks[-1].name
    ends = [task for task in tasks if task.name.endswith("__end")]
    assert len(ends) == 3
    for end in ends:
        assert end.spec.policy is not None
        closing = end.spec.policy.rules[-1].otherwise
        assert closing is not None
        assert (closing.then.do, closing.then.to) == ("jump", merge)


@pytest.mark.spec("004§1.1-1")
def test_the_keys_of_a_step_are_known_and_others_are_not() -> None:
    legacy = workflow(
        """
        - step: a
          desc: x
          when: "{{ workload.n }}"
          bind: {x: "{{ workload.n }}"}
          tool: {kind: noop}
          next: [{step: b}]
        - step: b
          tool: {kind: noop}
        """,
    )
    assert "P101" not in codes(legacy)
    assert "P101" in codes(workflow("- {step: a, tool: {kind: noop}, what: 1}"))


@pytest.mark.spec("004§1.1-2")
def test_the_name_of_a_step_is_used_once() -> None:
    assert "P105" in codes(
        workflow("- {step: a, tool: {kind: noop}}\n- {step: a, tool: {kind: noop}}")
    )


@pytest.mark.spec("004§1.1-7")
def test_a_step_without_a_tool_routes_and_one_with_neither_is_refused() -> None:
    assert "P114" not in codes(workflow(ROUTER))
    assert "P114" in codes(workflow("- {step: a}"))


@pytest.mark.spec("004§Tool-1")
def test_kind_names_a_plug_in_and_an_unknown_one_gets_its_neighbour() -> None:
    assert {"http", "postgres", "python", "duckdb", "playbook"} <= KINDS.keys()
    problem = only(workflow("- {step: a, tool: {kind: pyton, code: x}}"))
    assert problem.code == "P115"
    assert "python" in (problem.hint or "") + problem.message


@pytest.mark.spec("002§7-1")
def test_all_shapes_of_a_task_become_one() -> None:
    single = model(workflow("- {step: a, tool: {kind: noop, name: t}}"))
    listed = model(workflow("- {step: a, tool: [{kind: noop, name: t}]}"))
    assert single.workflow == listed.workflow
    assert [
        task.name
        for task in read(workflow("- {step: a, tool: [{kind: noop}, {kind: noop}]}"))
        .checked()
        .workflow[0]
        .tool
    ] == [
        "task_0",
        "task_1",
    ]
