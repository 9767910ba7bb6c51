from __future__ import annotations

from pathlib import Path

import pytest
from texts import NOETL, model, only, playbook, told, workflow

from petra.playbook import read

pytestmark = pytest.mark.spec("S1")

SEEDS = Path(__file__).parent / "seeds"
REST = """
- step: b
  tool: {kind: noop}
- step: c
  tool: {kind: noop}
"""


@pytest.mark.parametrize(
    ("legacy", "canonical", "warnings"),
    [
        pytest.param(
            "- {step: a, next: [{step: b}, {step: c}]}",
            "- {step: a, next: {spec: {mode: inclusive}, arcs: [{step: b}, {step: c}]}}",
            1,
            id="a next list without any when is inclusive",
            marks=pytest.mark.spec("002§13-4", "004§8.1-1", "004§1.1-8", "002§0-4"),
        ),
        pytest.param(
            "- {step: a, next: [{step: b, when: '{{ ctx.x }}'}, {step: c}]}",
            "- {step: a, next: {spec: {mode: exclusive}, arcs: [{step: b, when: '{{ ctx.x }}'}, {step: c}]}}",
            1,
            id="a next list with a when is exclusive",
            marks=pytest.mark.spec("004§Next-1", "004§Next-2"),
        ),
        pytest.param(
            "- {step: a, next: b}\n- {step: d, next: [b, c]}\n- {step: e, next: {step: b}}",
            "- {step: a, next: {arcs: [{step: b}]}}\n- {step: d, next: {spec: {mode: inclusive}, arcs: [{step: b}, {step: c}]}}\n- {step: e, next: {arcs: [{step: b}]}}",
            3,
            id="a next may be names",
        ),
        pytest.param(
            "- {step: a, when: \"{{ done('b') }}\", tool: {kind: noop}, next: {spec: {mode: inclusive}, arcs: [{step: b}, {step: c}]}}",
            "- {step: a, spec: {policy: {admit: {once: true, rules: [{when: \"{{ done('b') }}\", then: {allow: true}}]}}}, tool: {kind: noop}, next: {spec: {mode: inclusive}, arcs: [{step: b}, {step: c}]}}",
            1,
            id="step.when is admission, once",
            marks=pytest.mark.spec("002§13-1", "000§3.1-1", "002§0-3", "004§1.1-4", "004§5.2-3"),
        ),
        pytest.param(
            "- {step: a, bind: {n: '{{ workload.n }}'}, tool: {kind: python, code: x, args: {n: '{{ n }}'}}, next: {arcs: [{step: b, when: '{{ n > 1 }}'}, {step: c}]}}",
            """
            - step: a
              tool:
                - {name: bind, kind: noop, set_ctx: {n: '{{ workload.n }}'}}
                - {name: a_task, kind: python, code: x, args: {n: '{{ ctx.n }}'}}
              next: {arcs: [{step: b, when: '{{ ctx.n > 1 }}'}, {step: c}]}
            """,
            1,
            id="bind is a set_ctx, and bare names that it defined are ctx",
            marks=pytest.mark.spec("004§1.1-5"),
        ),
        pytest.param(
            "- {step: a, tool: {kind: python, code: x, result: {as: r}}, next: {arcs: [{step: b, when: '{{ r.n }}'}, {step: c}]}}",
            """
            - step: a
              tool:
                kind: python
                code: x
                set_ctx: {r: '{{ outcome.result }}'}
              next: {arcs: [{step: b, when: '{{ ctx.r.n }}'}, {step: c}]}
            """,
            1,
            id="result.as is a set_ctx",
            marks=pytest.mark.spec("004§7-6"),
        ),
        pytest.param(
            "- {step: a, tool: {kind: python, code: x, result: {pick: '{{ this.rows[0] }}', as: r}}, next: [{step: b}, {step: c}]}",
            """
            - step: a
              tool:
                kind: python
                code: x
                set_ctx: {r: '{{ outcome.result.rows[0] }}'}
              next: {spec: {mode: inclusive}, arcs: [{step: b}, {step: c}]}
            """,
            2,
            id="pick is the expression of the set_ctx, this is outcome.result",
            marks=pytest.mark.spec("004§7-4", "004§7-5"),
        ),
        pytest.param(
            "- {step: a, loop: {collection: [1], element: e, mode: parallel}, tool: {kind: python, code: x}, next: {spec: {mode: inclusive}, arcs: [{step: b}, {step: c}]}}",
            "- {step: a, loop: {in: [1], iterator: e, spec: {mode: parallel}}, tool: {kind: python, code: x}, next: {spec: {mode: inclusive}, arcs: [{step: b}, {step: c}]}}",
            3,
            id="collection and element are in and iterator",
            marks=pytest.mark.spec("004§7-2", "004§7-3"),
        ),
        pytest.param(
            "- {step: a, tool: {kind: http, spec: {method: GET, endpoint: 'http://x', timeout: 3}}, next: {spec: {mode: inclusive}, arcs: [{step: b}, {step: c}]}}",
            "- {step: a, tool: {kind: http, method: GET, url: 'http://x', spec: {timeout: 3}}, next: {spec: {mode: inclusive}, arcs: [{step: b}, {step: c}]}}",
            3,
            id="fields under tool.spec move up, endpoint is url, knobs stay",
            marks=pytest.mark.spec("004§8.1-2"),
        ),
        pytest.param(
            "- {step: a, tool: {kind: playbook, spec: {path: p/q}, args: {u: 1}}, next: {spec: {mode: inclusive}, arcs: [{step: b}, {step: c}]}}",
            "- {step: a, tool: {kind: playbook, path: p/q, args: {u: 1}}, next: {spec: {mode: inclusive}, arcs: [{step: b}, {step: c}]}}",
            1,
            id="a playbook's path moves up",
            marks=pytest.mark.spec("004§8.1-3"),
        ),
        pytest.param(
            "- {step: a, tool: {kind: python, code: x, eval: [{expr: \"outcome.status == 'error'\", do: retry, attempts: 2}, {else: {do: continue}}]}, next: {spec: {mode: inclusive}, arcs: [{step: b}, {step: c}]}}",
            "- {step: a, tool: {kind: python, code: x, spec: {policy: {rules: [{when: \"{{ outcome.status == 'error' }}\", then: {do: retry, attempts: 2}}, {else: {then: {do: continue}}}]}}}, next: {spec: {mode: inclusive}, arcs: [{step: b}, {step: c}]}}",
            1,
            id="eval is the policy, expr is when",
            marks=pytest.mark.spec("002§13-2", "002§13-3", "002§0-5", "002§4-5"),
        ),
        pytest.param(
            "- {step: a, tool: {kind: python, code: x, spec: {policy: {rules: [{expr: \"{{ outcome.status == 'error' }}\", then: {do: retry, backoff: fixed}}]}}}, next: {spec: {mode: inclusive}, arcs: [{step: b}, {step: c}]}}",
            "- {step: a, tool: {kind: python, code: x, spec: {policy: {rules: [{when: \"{{ outcome.status == 'error' }}\", then: {do: retry, backoff: none}}]}}}, next: {spec: {mode: inclusive}, arcs: [{step: b}, {step: c}]}}",
            2,
            id="expr in a rule is when, and backoff fixed is none",
        ),
        pytest.param(
            "- {step: a, tool: {kind: python, code: x}, case: [{when: \"{{ event.name == 'step.done' }}\", then: {next: [{step: b}]}}, {else: {next: [{step: c}]}}]}",
            "- {step: a, tool: {kind: python, code: x}, next: {spec: {mode: exclusive}, arcs: [{step: b, when: \"{{ event.name == 'step.done' }}\"}, {step: c}]}}",
            1,
            id="case is a router",
        ),
        pytest.param(
            "- {step: a, tool: {kind: http, url: 'http://x', result: {sink: [{postgres: {command: INSERT}}]}}, next: {spec: {mode: inclusive}, arcs: [{step: b}, {step: c}]}}",
            """
            - step: a
              tool:
                - {name: a_task, kind: http, url: 'http://x'}
                - {name: sink_0, kind: postgres, command: INSERT, args: {data: '{{ a_task }}'}}
                - {name: a_task_result, kind: python, args: {value: '{{ a_task }}'}, code: 'def main(value): return value'}
              next: {spec: {mode: inclusive}, arcs: [{step: b}, {step: c}]}
            """,
            1,
            id="a sink is a further task",
            marks=pytest.mark.spec("002§13-5", "002§0-6", "004§7-8", "004§8.1-6"),
        ),
        pytest.param(
            "- {step: a, tool: {kind: http, url: 'http://x', result: {pick: '{{ response.data }}', sink: [{tool: {kind: shell, argv: ['{{ this.status }}']}}, {kind: noop}]}}, next: {spec: {mode: inclusive}, arcs: [{step: b}, {step: c}]}}",
            """
            - step: a
              tool:
                - {name: a_task, kind: http, url: 'http://x'}
                - {name: sink_0, kind: shell, argv: ['{{ a_task.status }}'], args: {data: '{{ a_task.data }}'}}
                - {name: sink_1, kind: noop, args: {data: '{{ a_task.data }}'}}
                - {name: a_task_result, kind: python, args: {value: '{{ a_task }}'}, code: 'def main(value): return value'}
              next: {spec: {mode: inclusive}, arcs: [{step: b}, {step: c}]}
            """,
            1,
            id="every sink reads the tool's result, by whatever name, and it stays the step's",
        ),
        pytest.param(
            "- {step: a, spec: {policy: {admit: {rules: [{expr: 'ctx.go', then: {allow: true}}]}}}, tool: {kind: noop}, next: {spec: {mode: exclusive}, arcs: [{step: b, expr: 'ctx.x'}, {step: c}]}}",
            "- {step: a, spec: {policy: {admit: {rules: [{when: '{{ ctx.go }}', then: {allow: true}}]}}}, tool: {kind: noop}, next: {spec: {mode: exclusive}, arcs: [{step: b, when: '{{ ctx.x }}'}, {step: c}]}}",
            2,
            id="expr is when on arcs and in admission, too",
        ),
        pytest.param(
            "- {step: a, loop: {in: [1], iterator: n, spec: {mode: async}}, tool: {kind: noop}, next: {spec: {mode: inclusive}, arcs: [{step: b}, {step: c}]}}",
            "- {step: a, loop: {in: [1], iterator: n, spec: {mode: parallel}}, tool: {kind: noop}, next: {spec: {mode: inclusive}, arcs: [{step: b}, {step: c}]}}",
            1,
            id="a loop in mode async is parallel",
        ),
        pytest.param(
            "- {step: a, loop: {collection: '{{ workload.users }}', element: user}, tool: {kind: python, code: x, args: {id: '{{ user.id }}'}}, next: {spec: {mode: inclusive}, arcs: [{step: b}, {step: c}]}}",
            "- {step: a, loop: {in: '{{ workload.users }}', iterator: user}, tool: {kind: python, code: x, args: {id: '{{ iter.user.id }}'}}, next: {spec: {mode: inclusive}, arcs: [{step: b}, {step: c}]}}",
            2,
            id="a bare element is iter.element",
        ),
        pytest.param(
            "- {step: a, bind: {n: '{{ workload.n }}', m: '{{ n }}'}, tool: {kind: noop}, next: {spec: {mode: inclusive}, arcs: [{step: b}, {step: c}]}}",
            """
            - step: a
              tool:
                - {name: bind, kind: noop, set_ctx: {n: '{{ workload.n }}'}}
                - {name: bind_1, kind: noop, set_ctx: {m: '{{ ctx.n }}'}}
                - {name: a_task, kind: noop}
              next: {spec: {mode: inclusive}, arcs: [{step: b}, {step: c}]}
            """,
            1,
            id="a bound name sees those before it",
        ),
        pytest.param(
            "- {step: a, tool: {kind: python, code: x, result: {as: b}}, next: {spec: {mode: exclusive}, arcs: [{step: b, when: '{{ b.ok }}'}, {step: c}]}}",
            "- {step: a, tool: {kind: python, code: x, set_ctx: {b: '{{ outcome.result }}'}}, next: {spec: {mode: exclusive}, arcs: [{step: b, when: '{{ ctx.b.ok }}'}, {step: c}]}}",
            1,
            id="a result with the name of a step is ctx all the same",
        ),
        pytest.param(
            "- {step: a, when: '{{ workload.n }}', bind: {n: '{{ workload.n }}', all: '{{ [n] }}'}, loop: {collection: '{{ all }}', element: e}, tool: {kind: python, code: x, args: {e: '{{ e }}', n: '{{ n }}'}}, next: [{step: b, args: {k: 1}}, {step: c}]}",
            """
            - step: a_bind
              spec: {policy: {admit: {once: true, rules: [{when: '{{ workload.n }}', then: {allow: true}}]}}}
              tool:
                - {name: bind, kind: noop, set_ctx: {n: '{{ workload.n }}'}}
                - {name: bind_1, kind: noop, set_ctx: {all: '{{ [ctx.n] }}'}}
              next: {arcs: [{step: a}]}
            - step: a
              loop: {in: '{{ ctx.all }}', iterator: e}
              tool: {kind: python, code: x, args: {e: '{{ iter.e }}', n: '{{ ctx.n }}'}}
              next: {spec: {mode: inclusive}, arcs: [{step: b, args: {k: 1}}, {step: c}]}
            """,
            5,
            id="bind with a loop is a step ahead of it, behind its gate",
            marks=pytest.mark.spec("004§7-1", "004§1.1-5"),
        ),
        pytest.param(
            "- {step: a, loop: {collection: [1], element: u, loop: {collection: '{{ u.os }}', element: o}}, tool: {kind: python, code: x, args: {u: '{{ u.id }}', o: '{{ o }}'}}, next: {spec: {mode: inclusive}, arcs: [{step: b}, {step: c}]}}",
            "- {step: a, loop: {in: [1], iterator: u, loop: {in: '{{ iter.u.os }}', iterator: o}}, tool: {kind: python, code: x, args: {u: '{{ iter.parent.u.id }}', o: '{{ iter.o }}'}}, next: {spec: {mode: inclusive}, arcs: [{step: b}, {step: c}]}}",
            4,
            id="the bare element of an outer loop is the parent's",
        ),
        pytest.param(
            "- {step: a, tool: {kind: http, url: 'http://x', result: {pick: '{{ this.data }}', sink: [{postgres: {table: users, mode: upsert, key: id, credential: pg}}, {tool: sqlite, table: t, database: f, data: {id: '{{ this.data.id }}'}, mode: insert}]}}, next: {spec: {mode: inclusive}, arcs: [{step: b}, {step: c}]}}",
            """
            - step: a
              tool:
                - {name: a_task, kind: http, url: 'http://x'}
                - {name: sink_0, kind: transfer, source: {kind: rows, rows: '{{ a_task.data }}'}, target: {kind: postgres, table: users, mode: upsert, key: [id], auth: pg}}
                - {name: sink_1, kind: transfer, source: {kind: rows, rows: {id: '{{ a_task.data.id }}'}}, target: {kind: sqlite, table: t, database: f, mode: append}}
                - {name: a_task_result, kind: python, args: {value: '{{ a_task }}'}, code: 'def main(value): return value'}
              next: {spec: {mode: inclusive}, arcs: [{step: b}, {step: c}]}
            """,
            1,
            id="a sink by table is a transfer of rows",
        ),
    ],
)  # fmt: skip
def test_the_older_dialect_is_read_as(legacy: str, canonical: str, warnings: int) -> None:
    reading = read(workflow(legacy, NOETL) + REST.replace("\n", "\n  "))
    older = [p for p in reading.problems if p.code == "P207"]
    assert [p for p in reading.problems if p.code not in ("P207", "P201", "P128")] == []
    assert len(older) == warnings
    assert all(p.severity == "warning" for p in older)
    wanted = read(workflow(canonical, NOETL) + REST.replace("\n", "\n  "))
    assert [p for p in wanted.problems if p.code not in ("P201", "P128")] == []
    assert reading.checked() == wanted.checked()


@pytest.mark.spec("004§7-7")
def test_collect_becomes_a_set_ctx_with_the_reducer_append() -> None:
    legacy = workflow("""
        - step: a
          loop: {collection: [1, 2], element: e}
          tool: {kind: python, code: x, result: {collect: {into: all}}}
    """)
    canonical = playbook("""
        executor: {spec: {ctx: {all: {reduce: append}}}}
        workflow:
        - step: a
          loop: {in: [1, 2], iterator: e}
          tool:
            kind: python
            code: x
            set_ctx: {all: "{{ outcome.result }}"}
    """)
    assert model(legacy) == model(canonical)


@pytest.mark.spec("004§6.3-1", "004§6.3-2", "004§6.3-3")
@pytest.mark.parametrize("name", ["step", "workload", "execution"])
@pytest.mark.parametrize(
    "step", ["bind: {%s: 1}, tool: {kind: noop}", "tool: {kind: python, code: x, result: {as: %s}}"]
)
def test_a_reserved_name_cannot_be_bound(step: str, name: str) -> None:
    text = workflow(f"- {{step: a, {step % name}}}")
    errors = [p for p in read(text).problems if p.severity == "error"]
    assert [p.code for p in errors] == ["P117"]
    assert name in errors[0].message


@pytest.mark.spec(
    "004§8.1-1", "004§8.1-2", "004§8.1-3", "004§8.1-4", "004§8.1-5", "004§6.2-8", "004§5.3-1"
)
def test_the_join_example_of_004_reads_as_meant() -> None:
    reading = read((SEEDS / "004-8.1.yaml").read_text("utf-8"))
    assert {p.code for p in reading.problems} == {"P207", "P205"}
    start, fetch, score, join = reading.checked().workflow
    assert start.inclusive
    assert fetch.tool[0].fields["url"] == "{{ api }}/users/{{ workload.user_id }}"
    assert score.tool[0].args == {"user": "{{ ctx.user_raw }}"}
    admit = join.spec.policy.admit
    assert admit is not None
    assert admit.once
    assert admit.rules[0].guard == "{{ done('fetch_user') and ok('score_user') }}"
    assert join.tool[0].fields["code"].startswith("def main(context, results):")


@pytest.mark.spec("004§Next-4")
def test_the_score_example_of_004_reads_as_meant() -> None:
    reading = read((SEEDS / "004-next.yaml").read_text("utf-8"))
    assert told(reading) == ["P207 9", "P207 10"]
    rate = reading.checked().workflow[0]
    assert [(arc.step, arc.when) for arc in rate.arcs] == [
        ("high_score_path", "{{ ctx.score > 80 }}"),
        ("medium_score_path", "{{ ctx.score > 50 }}"),
        ("low_score_path", True),
    ]
    assert not rate.inclusive


def test_a_header_of_v1_is_read_as_v2() -> None:
    text = workflow("- {step: a, tool: {kind: noop}}", NOETL.replace("v2", "v1"))
    problem = only(text)
    assert (problem.code, problem.severity, problem.line) == ("P207", "warning", 1)
    assert model(text).api_version == "noetl.io/v2"


def test_a_case_that_does_more_than_route_is_refused() -> None:
    text = workflow("""
        - step: a
          tool: {kind: noop}
          case: [{when: "{{ true }}", then: {retry: 3, next: [{step: a}]}}]
    """)
    errors = [p for p in read(text).problems if p.severity == "error"]
    assert [p.code for p in errors] == ["P113"]


def test_a_list_of_sql_lines_is_one_command() -> None:
    text = workflow("- {step: a, tool: {kind: duckdb, commands: [INSTALL httpfs;, SELECT 1;]}}")
    (task,) = model(text).workflow[0].tool
    assert task.fields == {"command": "INSTALL httpfs;\nSELECT 1;"}


def test_the_id_of_the_execution_is_found_under_its_older_name() -> None:
    steps = """
        - step: a
          loop: {in: "{{ [execution_id] }}", iterator: x}
          tool: {kind: http, url: "http://x/{{ execution_id }}"}
    """
    (step,) = model(workflow(steps)).workflow
    assert step.loop is not None
    assert step.loop.items == "{{ [execution.id] }}"
    assert step.tool[0].fields["url"] == "http://x/{{ execution.id }}"


@pytest.mark.parametrize(
    ("step", "words"),
    [
        (
            "{step: a, when: '{{ ctx.x }}', spec: {policy: {admit: {rules: [{else: {then: {allow: true}}}]}}}, tool: {kind: noop}}",
            "both say when it may start",
        ),
        (
            "{step: a, tool: {kind: noop, result: {collect: {into: x, mode: pile}}}}",
            "cannot be collected by 'pile'",
        ),
        ("{step: a, tool: {kind: noop, result: {az: x}}}", "'az' in 'result' has no meaning"),
        (
            "{step: a, tool: {kind: noop, result: {collect: {into: x, order: y}}}}",
            "'order' in 'result.collect'",
        ),
    ],
)
def test_no_older_word_is_dropped_in_silence(step: str, words: str) -> None:
    problems = read(workflow("- " + step)).problems
    (error,) = [one for one in problems if one.severity == "error"]
    assert words in error.message


@pytest.mark.parametrize("mode", ["append", "extend", "merge", "union", "sum"])
def test_the_mode_of_a_collection_is_its_reducer(mode: str) -> None:
    found = read(
        workflow(
            f"- {{step: a, tool: {{kind: noop, result: {{collect: {{into: x, mode: {mode}}}}}}}}}"
        )
    ).checked()
    assert found.executor.spec.ctx["x"].reduce == mode
