from __future__ import annotations

import pytest
from texts import NOETL, PETRA, only, playbook, workflow

from petra.playbook import read

pytestmark = pytest.mark.spec("S1")

POLICY = "- {step: a, tool: {kind: http, url: x, spec: {policy: {rules: [%s]}}}}"
ADMIT = "- {step: a, spec: {policy: {admit: {rules: [%s]}}}, tool: {kind: noop}}"
WAIT = "- {step: a, tool: {kind: wait, any_of: %s}}"
ONE = "workflow: [{step: a, tool: {kind: noop}}]\n"


@pytest.mark.parametrize(
    ("steps", "code", "hint"),
    [
        ("- a", "P103", ""),
        ("- {step: 1, tool: {kind: noop}}", "P103", "quotes"),
        ("- {step: a, tool: []}", "P114", "kind: noop"),
        ("- {step: a, tol: {kind: noop}}", "P101", "'tool'"),
        ("- {step: a, tool: [7]}", "P103", ""),
        ("- {name: a, tool: {kind: noop}}", "P101", "'step'"),
        ("- {step: a, tool: {name: t, url: x}}", "P102", "'kind:'"),
        ("- {step: a, tool: {kind: http}}", "P102", "'url:'"),
        ("- {step: a, tool: {kind: http, ulr: x}}", "P101", "'url'"),
        ("- {step: a, tool: {kind: wait, for: 3}}", "P101", "'for_s'"),
        ("- {step: a, tool: {kind: python}}", "P102", ""),
        ("- {step: a, next: {arcs: [a]}}", "P103", "'- step: a'"),
        ("- {step: a, next: {arcs: {step: a}}}", "P103", "'- '"),
        ("- {step: a, next: {arcs: [{stp: a}]}}", "P101", "'step'"),
        ("- {step: a, next: {arcs: [{step: a, if: '{{ ctx.x }}'}, {step: a}]}}", "P101", "'when'"),
        ("- {step: a, next: {arcs: [{step: a, when: '{{ ctx.x == }}'}]}}", "P119", ""),
        ("- {step: a, next: {arcs: [{step: a, when: 'ctx.x == 1'}]}}", "P119", "{{ ctx.x == 1 }}"),
        ("- {step: a, next: {mode: inclusive, arcs: [{step: a}]}}", "P101", "'spec'"),
        ("- {step: a, loop: [1], tool: {kind: noop}}", "P103", ""),
        ("- {step: a, loop: {in: [1]}, tool: {kind: noop}}", "P102", "'iterator:'"),
        ("- {step: a, loop: {in: [1], iterater: i}, tool: {kind: noop}}", "P101", "'iterator'"),
        ("- {step: a, spec: {join: all}, tool: {kind: noop}}", "P103", ""),
        ("- {step: a, spec: {join: {mode: {n_of_m: 2}}}, tool: {kind: noop}}", "P101", "'m_of_n'"),
        ("- {step: a, next: {arcs: [{step: b}]}}\n- {step: c, tool: {kind: noop}}", "P104", ""),
        (POLICY % "{when: \"{{ outcome.status == 'ok' }}\"}", "P102", "'then: {…}'"),
        (POLICY % "{do: fail}", "P101", "'then'"),
        (POLICY % "{else: {do: fail}}", "P111", "'then'"),
        (POLICY % "{when: x, then: {do: fail}}", "P119", "{{ x }}"),
        (POLICY % "{when: \"{{ outcome.status == 'error' }}\", then: retry}", "P103", ""),
        (POLICY % "{when: \"{{ outcome.status == 'error' }}\", then: {do: jump}}", "P102", "task"),
        (POLICY % "{when: \"{{ outcome.status == 'error' }}\", then: {do: skip}}", "P106", "fail"),
        (POLICY % "{when: \"{{ outcome.status == 'error' }}\", then: {do: fail, step: a}}", "P110", "arc"),
        (POLICY % "{when: \"{{ outcome.status == 'ok' }}\", then: {}, else: {then: {do: fail}}}", "P122", "own"),
        ("- {step: a, next: {arcs: [{step: a, when: '{{ ctx.x }} and {{ ctx.y }}'}, {step: a}]}}", "P119", "one pair"),
        (WAIT % "3", "P103", ""),
        (WAIT % "[{human: x}]", "P103", ""),
        ("- {step: a, tool: {kind: human, escalate: 3}}", "P103", ""),
        ("- {step: a, tool: {kind: human, actions: 3, escalate: [{after_s: 1, do: approve}]}}", "P103", ""),
        ("- {step: a, tool: {kind: playbook, path: p, args: {t: '{{ keychain.t }}'}}}", "P118", "fields"),
        ("- {step: a, loop: {in: [1], iterator: i, spec: {policy: {ordering: x}}}, tool: {kind: noop}}", "P113", "ordering"),
        ("- {step: a, next: {arcs: [{step: a, foreach: [1], copies: 2}]}}", "P122", "one"),
        ("- {step: a, tool: {kind: noop, spec: {policy: {rules: [{else: {then: {do: continue, set_iter: {index: 1}}}}]}}}}", "P117", "name"),
        (ADMIT % "{when: '{{ ctx.x }}', allow: true}", "P101", "'then'"),
        (ADMIT % "{when: '{{ ctx.x }}'}", "P102", "'then: {…}'"),
        (ADMIT % "{else: {allow: true}}", "P111", "'then'"),
        (ADMIT % "{else: , then: {allow: true}}", "P111", "child of 'else'"),
    ],
)  # fmt: skip
def test_one_mistake_is_one_problem(steps: str, code: str, hint: str) -> None:
    problem = only(workflow(steps))
    assert (problem.code, problem.severity) == (code, "error")
    assert hint in problem.hint


@pytest.mark.parametrize(
    ("text", "code", "line"),
    [
        (PETRA.replace("petra/v1", "v1") + ONE, "P107", 1),
        (PETRA.replace("Playbook", "playbook") + ONE, "P107", 2),
        (PETRA.replace("{name: test}", "{}") + ONE, "P102", 3),
        (PETRA + ONE.replace("workflow", "Workflow"), "P101", 4),
        (PETRA + ONE.replace("workflow", "steps"), "P101", 4),
        (PETRA + "workflow: {step: a, tool: {kind: noop}}\n", "P103", 4),
        (PETRA + ONE + "keychain: {a: {kind: env}}\n", "P103", 5),
        (PETRA + ONE + "workload: [1]\n", "P103", 5),
        (PETRA + ONE + "executor: fast\n", "P103", 5),
        (PETRA + ONE + "executor: {spec: {entry_step: b}}\n", "P104", 5),
        ("apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: x}\nspec: {}\n", "P008", 2),
    ],
)
def test_one_mistake_at_the_root_is_one_problem(text: str, code: str, line: int) -> None:
    problem = only(text)
    assert (problem.code, problem.line) == (code, line)


def test_a_misspelt_key_is_read_as_meant_so_that_the_rest_is_still_checked() -> None:
    text = playbook("""
        workflow:
          - step: a
            tol: {kind: http, url: x}
            nxet: {arcs: [{stpe: b}]}
          - step: b
            tool: {kind: noop}
    """, NOETL)  # fmt: skip
    assert [(p.code, p.line) for p in read(text).problems] == [
        ("P101", 6),
        ("P101", 7),
        ("P101", 7),
    ]
