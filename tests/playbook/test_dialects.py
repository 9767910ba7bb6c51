from __future__ import annotations

from pathlib import Path

import pytest
from texts import NOETL, PETRA, model, playbook, told, workflow

from petra.playbook import read

pytestmark = pytest.mark.spec("S1")

SEEDS = Path(__file__).parent / "seeds"


@pytest.mark.parametrize("header", [PETRA, NOETL], ids=["petra", "noetl"])
@pytest.mark.parametrize(
    ("renamed", "canonical"),
    [
        pytest.param(
            """
            - step: a
              tool: {kind: python, code: x, input: {n: "{{ input.n }}"}}
            """,
            """
            - step: a
              tool: {kind: python, code: x, args: {n: "{{ args.n }}"}}
            """,
            id="input is args",
        ),
        pytest.param(
            """
            - step: a
              tool:
                kind: python
                code: x
                spec:
                  policy:
                    rules:
                      - when: "{{ output.status == 'error' and output.error.retryable }}"
                        then: {do: retry}
                      - when: "{{ output.data.n > 1 }}"
                        then: {do: continue, set: {ctx.n: "{{ output.data.n }}", iter.m: "{{ output.ref }}"}}
            """,
            """
            - step: a
              tool:
                kind: python
                code: x
                spec:
                  policy:
                    rules:
                      - when: "{{ outcome.status == 'error' and outcome.error.retryable }}"
                        then: {do: retry}
                      - when: "{{ outcome.result.n > 1 }}"
                        then: {do: continue, set_ctx: {n: "{{ outcome.result.n }}"}, set_iter: {m: "{{ outcome.result }}"}}
            """,
            id="output is outcome, output.data is outcome.result, set is set_ctx and set_iter",
        ),
        pytest.param(
            """
            - step: a
              tool: {kind: python, code: x, set: {ctx.n: "{{ output.data.n }}"}}
            """,
            """
            - step: a
              tool:
                kind: python
                code: x
                set_ctx: {n: "{{ outcome.result.n }}"}
            """,
            id="a task's own set patches on success",
        ),
        pytest.param(
            """
            - step: a
              set: {ctx.n: "{{ output.data.n }}"}
              tool:
                - {name: one, kind: python, code: x}
                - {name: two, kind: python, code: y}
            """,
            """
            - step: a
              tool:
                - {name: one, kind: python, code: x}
                - name: two
                  kind: python
                  code: y
                  set_ctx: {n: "{{ outcome.result.n }}"}
            """,
            id="a step's set is that of its last task",
        ),
        pytest.param(
            """
            - step: a
              input: {n: "{{ execution.id }}", m: 2}
              tool:
                - {name: one, kind: python, code: x}
                - {name: two, kind: python, code: y, input: {m: 3}}
            """,
            """
            - step: a
              tool:
                - {name: one, kind: python, code: x, args: {n: "{{ execution.id }}", m: 2}}
                - {name: two, kind: python, code: y, args: {m: 3, n: "{{ execution.id }}"}}
            """,
            id="a step's input is the default args of its tasks",
        ),
        pytest.param(
            """
            - step: a
              next:
                arcs:
                  - {step: b, when: "{{ output.data.n > 1 }}", set: {n: "{{ output.data.n }}", args.m: 1}}
                  - {step: b}
            - step: b
              tool: {kind: noop}
            """,
            """
            - step: a
              next:
                arcs:
                  - {step: b, when: "{{ event.result.n > 1 }}", args: {n: "{{ event.result.n }}", m: 1}}
                  - {step: b}
            - step: b
              tool: {kind: noop}
            """,
            id="an arc's set is args, its output the boundary event",
        ),
        pytest.param(
            """
            - step: a
              next:
                spec: {mode: inclusive}
                arcs:
                  - step: b
                    foreach: [1, 2]
                    args: {k: 7}
                    set: {ctx.n: "{{ output.data.n }}", ctx.sure: true, ctx: {"deep.er": ["{{ input.m }}"]}, m: 1, input: {o: 2}}
                  - {step: b, set: {ctx.sure: false}}
            - step: b
              tool: {kind: noop}
            """,
            """
            - step: a
              next:
                spec: {mode: inclusive}
                arcs:
                  - step: a_to_b
                    foreach: [1, 2]
                    args: {k: 7, m: 1, o: 2, set_ctx: {n: "{{ event.result.n }}", "deep.er": ["{{ args.m }}"]}}
                  - {step: a_to_b_2}
            - step: a_to_b
              tool:
                kind: noop
                set_ctx: {n: "{{ args.set_ctx.n }}", sure: true, deep.er: "{{ args.set_ctx['deep.er'] }}"}
              next: {arcs: [{step: b, args: {k: "{{ args.k }}", m: "{{ args.m }}", o: "{{ args.o }}", item: "{{ args.item }}"}}]}
            - step: a_to_b_2
              tool: {kind: noop, set_ctx: {sure: false}}
              next: {arcs: [{step: b}]}
            - step: b
              tool: {kind: noop}
            """,
            id="an arc's set of ctx is a step on its way",
        ),
        pytest.param(
            """
            - step: a
              tool: {kind: python, code: x, args: {n: 1}, input: {m: "{{ input.m }}"}}
            """,
            """
            - step: a
              tool: {kind: python, code: x, args: {n: 1, m: "{{ args.m }}"}}
            """,
            id="input and args together are args",
        ),
        pytest.param(
            """
            - step: a
              tool:
                - {name: one, kind: python, code: x, args: {n: 1}}
                - {name: two, kind: python, code: y, input: {n: "{{ one.n }}"}}
              next:
                arcs: [{step: b, args: {n: 1}}]
            - step: b
              tool:
                kind: noop
                spec:
                  policy:
                    rules:
                      - when: "{{ outcome.status == 'ok' }}"
                        then: {do: continue, set_ctx: {a: 1}, set: {ctx.b: 2}}
            """,
            """
            - step: a
              tool:
                - {name: one, kind: python, code: x, args: {n: 1}}
                - {name: two, kind: python, code: y, args: {n: "{{ one.n }}"}}
              next:
                arcs: [{step: b, args: {n: 1}}]
            - step: b
              tool:
                kind: noop
                spec:
                  policy:
                    rules:
                      - when: "{{ outcome.status == 'ok' }}"
                        then: {do: continue, set_ctx: {a: 1, b: 2}}
            """,
            id="both dialects in one file",
        ),
        pytest.param(
            """
            - step: a
              tool: {kind: python, code: "result = input['output.data']", set: {ctx: {n: 1}, iter: {m: 2}}}
            """,
            """
            - step: a
              tool:
                kind: python
                code: "result = input['output.data']"
                set_ctx: {n: 1}
                set_iter: {m: 2}
            """,
            id="code is left alone, and a set may be nested",
        ),
        pytest.param(
            """
            - step: a
              loop: {in: [1], iterator: i}
              tool:
                - choose:
                    - when: "{{ iter.i }}"
                      do: [{name: t, kind: python, code: x, input: {n: "{{ input.n }}"}}]
            """,
            """
            - step: a
              loop: {in: [1], iterator: i}
              tool:
                - choose:
                    - when: "{{ iter.i }}"
                      do: [{name: t, kind: python, code: x, args: {n: "{{ args.n }}"}}]
            """,
            id="inside sugar too",
        ),
    ],
)
def test_the_renamed_dialect_is_read_silently_as(renamed: str, canonical: str, header: str) -> None:
    reading = read(workflow(renamed, header))
    assert told(reading) == []
    assert reading.checked() == model(workflow(canonical, header))


def test_the_renamed_dialect_works_in_the_workbook() -> None:
    steps = "workflow:\n- {step: a, tool: {kind: workbook, name: w}}\n"
    renamed = playbook(steps + "workbook:\n- {name: w, kind: python, code: x, input: {n: 1}}\n")
    canonical = playbook(steps + "workbook:\n  w: {kind: python, code: x, args: {n: 1}}\n")
    assert model(renamed) == model(canonical)


@pytest.mark.spec("004§6.3-1", "002§2.1-5")
@pytest.mark.parametrize("target", ["step.x", "workload.x", "keychain.x", "execution.id"])
def test_a_set_of_anything_but_ctx_and_iter_is_refused(target: str) -> None:
    text = workflow(f"- step: a\n  tool: {{kind: noop, set: {{{target}: 1}}}}\n")
    (problem,) = read(text).problems
    assert (problem.severity, problem.code, problem.line) == ("error", "P117", 6)


def test_a_router_has_nothing_to_set() -> None:
    text = workflow("- step: a\n  set: {ctx.x: 1}\n  next: {arcs: [{step: a}]}\n")
    (problem,) = read(text).problems
    assert (problem.severity, problem.line) == ("error", 6)


@pytest.mark.spec(
    "S1", "S5", "002§12", "002§4-1", "002§4-2", "002§4-3", "002§5.4-13", "002§7.1-1", "002§8-1"
)
def test_the_full_example_of_002_checks_without_a_word() -> None:
    reading = read((SEEDS / "002-12.yaml").read_text("utf-8"))
    assert told(reading) == []
    step = reading.checked().workflow[0]
    assert [task.name for task in step.tool] == [
        "init_iter", "fetch_page", "route_by_status", "store_200", "store_404", "paginate",
    ]  # fmt: skip
    assert step.loop is not None
    assert (step.loop.iterator, step.loop.spec.mode, step.loop.spec.max_in_flight) == ("endpoint", "parallel", 10)  # fmt: skip


@pytest.mark.spec(
    "002§7.2-1",
    "002§7.1-2",
    "002§7.1-3",
    "002§5.1-1",
    "002§5.2.1-2",
    "002§5.4-2",
    "002§5.5-2",
    "000§2.2-2",
    "000§7.1-1",
)
def test_the_shapes_of_002_read_as_one() -> None:
    reading = read((SEEDS / "002-5.yaml").read_text("utf-8"))
    assert told(reading) == ["P128 54", "P205 67"]  # `api_url` is read bare there
    names = {step.step: [task.name for task in step.tool] for step in reading.checked().workflow}
    assert names["unnamed"] == ["task_0", "task_1"]
    assert names["single"] == ["single_task"]
    assert reading.checked().entry == "gate"
