"""Every construct that reads data, as playbooks whose data can be made as large as one likes (S18)."""

from __future__ import annotations

GEN = """
  - step: gen
    tool: {kind: python, args: {pad: "{{ workload.pad }}"}, code: "result = {'status': 200, 'rows': [{'id': n, 'k': 'k%d' % n, 'pad': 'x' * pad} for n in range(6)]}"}
"""
"""A result of six rows; ``workload.pad`` says how long they are."""
YES_NO = """
  - {step: yes, tool: {kind: python, args: {n: 1}, code: "result = 'yes'"}}
  - {step: no, tool: {kind: python, args: {n: 1}, code: "result = 'no'"}}
"""


def guard(when: str) -> str:
    """A guard on what ``gen`` came to."""
    return f"""{GEN}
    next: {{arcs: [{{step: yes, when: "{when}"}}, {{step: no}}]}}{YES_NO}"""


def patched(value: str, rest: str) -> str:
    """A patch of ``gen``, and what comes after it."""
    gen = GEN.rstrip()[:-1]
    rules = f'spec: {{policy: {{rules: [{{else: {{then: {{set_ctx: {{data: "{value}"}}}}}}}}]}}}}'
    return f"{gen}, {rules}}}\n{rest}"


def fanned(each: str, join: str, spec: str = "") -> str:
    """A branch per row, and a join of them."""
    return f"""{GEN}
    next: {{arcs: [{{step: each, foreach: "{{{{ gen.rows }}}}", as: row}}]}}
  - step: each
    spec: {{{spec}}}
    tool: {each}
    next: {{arcs: [{{step: join}}]}}
  - {{step: join, spec: {{join: {join}}}, tool: {{kind: noop}}}}
"""


ROW = """{kind: python, args: {row: "{{ args.row }}"}, code: "result = row"}"""
ROWS = """{kind: python, args: {row: "{{ args.row }}"}, code: "result = [row, row['id']]"}"""
BY_KEY = """{kind: python, args: {row: "{{ args.row }}"}, code: "result = {row['k']: row}"}"""
BRANCH = (
    """{kind: noop, spec: {policy: {rules: [{else: {then: {set_branch: "{{ branch.item }}"}}}]}}}"""
)


WRITES = """{kind: noop, spec: {policy: {rules: [{else: {then: {set_ctx: {one: "VALUE"}}}}]}}}"""
ONE = "policy: {resources: [{name: one}]}"
"""The order decides, so the branches run one after the other."""


def looped(loop: str, tool: str, before: str = GEN) -> str:
    """A loop over what ``gen`` came to."""
    return f"""{before}
    next: {{arcs: [{{step: each}}]}}
  - step: each
    loop: {{{loop}}}
    tool: {tool}
"""


EACH = """{kind: python, args: {row: "{{ iter.row }}"}, code: "result = [row['id'], len(row['pad']) > 0, row]"}"""


def reduced(value: str) -> str:
    """A loop that writes to ctx."""
    patch = f'spec: {{policy: {{rules: [{{else: {{then: {{set_ctx: {{kept: "{value}"}}}}}}}}]}}}}'
    return looped('in: "{{ gen.rows }}", iterator: row', f"{{kind: noop, {patch}}}")


def used(task: str) -> str:
    """A task of a worker that reads what ``gen`` came to."""
    return f"""{GEN}
    next: {{arcs: [{{step: use, args: {{all: "{{{{ gen.rows }}}}"}}}}]}}
  - {{step: use, tool: {task}}}
"""


def reducer(name: str) -> str:
    """A ctx key with a reducer."""
    return f"ctx: {{kept: {{reduce: {name}}}}}"


TABLE: dict[str, tuple[str, str]] = {  # the workflow, and what is under executor.spec
    "a guard on event.result": (guard("{{ event.result.status == 200 }}"), ""),
    "a guard on a length": (guard("{{ gen.rows | length > 5 }}"), ""),
    "a guard on one element": (guard("{{ gen.rows[5].id == 5 and gen.rows[6] is undefined }}"), ""),
    "a guard that compares": (guard("{{ gen.rows[0].pad == gen.rows[1].pad }}"), ""),
    "a guard that is false": (guard("{{ gen.rows | selectattr('id', 'equalto', 9) }}"), ""),
    "a guard on a sum": (guard("{{ gen.rows | sum(attribute='id') == 15 }}"), ""),
    "a guard on something that is not there": (
        guard("{{ gen.other.deep or gen.rows | length == 0 }}"),
        "",
    ),
    "a guard on the workload": (
        guard("{{ workload.rows | length == 6 and workload.rows[2].id == 2 }}"),
        "",
    ),
    "a guard on ctx": (
        patched(
            "{{ outcome.result }}",
            f'    next: {{arcs: [{{step: "yes", when: "{{{{ ctx.data.rows | length == 6 }}}}"}}, {{step: "no"}}]}}{YES_NO}',
        ),
        "",
    ),
    "a part in ctx": (
        patched(
            "{{ outcome.result.rows }}",
            f'    next: {{arcs: [{{step: "yes", when: "{{{{ ctx.data[5].k == \'k5\' }}}}"}}, {{step: "no"}}]}}{YES_NO}',
        ),
        "",
    ),
    "admission": (
        f"""{GEN}
    next: {{arcs: [{{step: "in"}}]}}
  - step: "in"
    spec: {{policy: {{admit: {{on_deny: fail, rules: [{{when: "{{{{ gen.rows | length == 6 }}}}", then: {{allow: true}}}}]}}}}}}
    tool: {{kind: python, args: {{n: 1}}, code: "result = 1"}}
""",
        "",
    ),
    "arguments, whole and in part": (
        f"""{GEN}
    next: {{arcs: [{{step: b, args: {{all: "{{{{ gen }}}}", rows: "{{{{ gen.rows }}}}", one: "{{{{ gen.rows[3] }}}}", made: "{{{{ {{'a': gen.rows, 'n': 1}} }}}}"}}}}]}}
  - step: b
    tool: {{kind: python, args: {{n: "{{{{ args.made.a | length + args.rows | length + args.one.id }}}}"}}, code: "result = n"}}
    next: {{arcs: [{{step: yes, when: "{{{{ args.all.rows[5].id + args.made.n == 6 and event.args.one.id == 3 }}}}"}}, {{step: no}}]}}
{YES_NO}""",
        'output: "{{ b }}"',
    ),
    "output, whole": (GEN, 'output: "{{ gen }}"'),
    "output, in part": (GEN, 'output: "{{ gen.rows }}"'),
    "output, computed": (
        GEN,
        'output: {n: "{{ gen.rows | length }}", ids: "{{ gen.rows | map(attribute=\'id\') }}", all: "{{ gen }}"}',
    ),
    "output, the last result": (GEN, ""),
    "output, of the workload": (GEN, 'output: "{{ workload.rows }}"'),
    "copies and a quorum": (
        f"""{GEN}
    next: {{arcs: [{{step: c, copies: "{{{{ gen.rows | length }}}}"}}]}}
  - {{step: c, tool: {{kind: noop}}, next: {{arcs: [{{step: j}}]}}}}
  - {{step: j, spec: {{join: {{mode: {{m_of_n: "{{{{ gen.rows | length }}}}"}}}}}}, tool: {{kind: noop}}}}
""",
        "",
    ),
    "a resource's key": (
        f"""{GEN}
    next: {{arcs: [{{step: r}}]}}
  - {{step: r, spec: {{policy: {{resources: [{{name: db, key: "{{{{ gen.rows[2].pad }}}}"}}]}}}}, tool: {{kind: noop}}}}
""",
        "resources: {db: 1}",
    ),
    "loop.in": (looped('in: "{{ gen.rows }}", iterator: row', EACH), ""),
    "loop.in with a default": (
        looped('in: "{{ gen.rows | default([]) }}", iterator: row', EACH),
        "",
    ),
    "loop.in of a filter": (
        looped("in: \"{{ gen.rows | selectattr('id', 'gt', 2) | list }}\", iterator: row", EACH),
        "",
    ),
    "loop.in of the workload": (looped('in: "{{ workload.rows }}", iterator: row', EACH), ""),
    "loop.in of ctx": (
        patched(
            "{{ outcome.result.rows }}",
            f'    next: {{arcs: [{{step: each}}]}}\n  - step: each\n    loop: {{in: "{{{{ ctx.data }}}}", iterator: row}}\n    tool: {EACH}\n',
        ),
        "",
    ),
    "loop.in, distributed": (
        looped(
            'in: "{{ gen.rows }}", iterator: row, spec: {mode: parallel, max_in_flight: "{{ gen.rows | length }}", policy: {exec: distributed}}',
            EACH,
        ),
        "",
    ),
    "loop.in, nested": (
        looped(
            'in: "{{ [gen.rows, gen.rows] }}", iterator: all, loop: {in: "{{ iter.all }}", iterator: row}',
            EACH,
        ),
        "",
    ),
    "a loop that nothing comes of": (
        looped('in: "{{ gen.rows }}", iterator: row', "{kind: noop}"),
        'output: "{{ each }}"',
    ),
    "a loop of waits": (
        looped(
            'in: "{{ gen.rows }}", iterator: row',
            '{kind: wait, for_s: "{{ 0 if iter.row.pad else 9 }}"}',
        ),
        "",
    ),
    "results of a loop": (
        looped('in: "{{ gen.rows }}", iterator: row', EACH)
        + '    next: {arcs: [{step: "yes", when: "{{ each[4][2].id == 4 and event.counts.total == 6 }}"}, {step: "no"}]}'
        + YES_NO,
        'output: "{{ each }}"',
    ),
    "a loop over a loop": (
        looped('in: "{{ gen.rows }}", iterator: row', EACH)
        + '    next: {arcs: [{step: again}]}\n  - step: again\n    loop: {in: "{{ each }}", iterator: one}\n'
        + '    tool: {kind: python, args: {one: "{{ iter.one }}"}, code: "result = one[2][\'k\']"}\n',
        "",
    ),
    "the reducer append": (reduced("{{ iter.row }}"), reducer("append")),
    "the reducer extend": (reduced("{{ [iter.row, iter.row.id] }}"), reducer("extend")),
    "the reducer merge": (reduced("{{ {iter.row.k: iter.row} }}"), reducer("merge")),
    "the reducer union": (reduced("{{ [iter.row.pad, iter.row.id] }}"), reducer("union")),
    "the reducer first": (reduced("{{ iter.row }}"), reducer("first")),
    "the reducer last": (reduced("{{ iter.row }}"), reducer("last")),
    "the reducer sum": (reduced("{{ iter.row.id }}"), reducer("sum")),
    "the reducer max": (reduced("{{ iter.row.pad }}"), reducer("max")),
    "a schema of ctx": (
        patched("{{ outcome.result }}", ""),
        "ctx: {data: {schema: {type: object, required: [rows], properties: {rows: {type: array, minItems: 7}}}}}",
    ),
    "merge append": (fanned(ROW, "{merge: {into: all}}"), ""),
    "merge extend": (fanned(ROWS, "{merge: {strategy: extend, into: all}}"), ""),
    "merge merge_object": (fanned(BY_KEY, "{merge: {strategy: merge_object, into: all}}"), ""),
    "merge keyed_by_branch": (fanned(ROW, "{merge: {strategy: keyed_by_branch, into: all}}"), ""),
    # The order of arrivals decides, so the branches run one after the other.
    "merge last_wins": (
        fanned(
            ROW, "{merge: {strategy: last_wins, into: all}}", "policy: {resources: [{name: one}]}"
        ),
        "resources: {one: 1}",
    ),
    "merge.source": (fanned(ROW, "{merge: {strategy: append, into: all, source: pad}}"), ""),
    "merge.source of a list": (
        fanned(ROWS, "{merge: {strategy: append, into: all, source: 0.id}}"),
        "",
    ),
    "merge.source that is not there": (
        fanned(ROW, "{merge: {strategy: append, into: all, source: other.deep}}"),
        "",
    ),
    "merge extend of what is no list": (fanned(ROW, "{merge: {strategy: extend, into: all}}"), ""),
    "set_branch": (fanned(BRANCH, "{merge: {into: all}}"), ""),
    "a join's condition": (
        fanned(
            ROW,
            '{mode: {when: "{{ arrived == total and outputs[5].id == 5 and outputs | length == 6 }}"}, merge: {into: all}}',
        ),
        "",
    ),
    "foreach with arguments": (
        f"""{GEN}
    next: {{arcs: [{{step: e, foreach: "{{{{ gen.rows }}}}", as: row, args: {{id: "{{{{ row.id }}}}", pad: "{{{{ row.pad }}}}"}}}}]}}
  - {{step: e, tool: {{kind: python, args: {{id: "{{{{ args.id + (args.pad == args.row.pad) | int }}}}"}}, code: "result = id"}}, next: {{arcs: [{{step: j}}]}}}}
  - {{step: j, spec: {{join: {{merge: {{into: ids}}}}}}, tool: {{kind: noop}}}}
""",
        "",
    ),
    "the final step": (
        f"""{GEN}
  - {{step: end, tool: {{kind: python, args: {{n: "{{{{ args.results.gen.rows | length }}}}", all: "{{{{ args.results.gen }}}}"}}, code: "result = [n, all['rows'][2]['id']]"}}}}
""",
        'final_step: end, output: "{{ end }}"',
    ),
    "a sub-playbook": (
        f"""{GEN}
    next: {{arcs: [{{step: call}}]}}
  - step: call
    tool: {{kind: playbook, path: child, args: {{rows: "{{{{ gen.rows }}}}", pad: 1}}}}
    next: {{arcs: [{{step: yes, when: "{{{{ call.rows | length == 6 and call.n == 6 }}}}"}}, {{step: no}}]}}
{YES_NO}""",
        'output: "{{ call }}"',
    ),
    "a signal": (
        """
  - step: wait
    tool: {kind: wait, signal: {name: go}, spec: {policy: {rules: [{when: "{{ outcome.result.payload.rows | length == 6 }}", then: {do: continue, set_ctx: {got: "{{ outcome.result.payload }}", n: "{{ outcome.result.payload.rows | length }}"}}}, {else: {then: {do: fail}}}]}}}
    next: {arcs: [{step: "yes", when: "{{ wait.payload.rows[1].id == 1 }}"}, {step: "no"}]}"""
        + YES_NO,
        "",
    ),
    "a person": (
        f"""{GEN}
    next: {{arcs: [{{step: ask}}]}}
  - step: ask
    tool: {{kind: human, title: "{{{{ gen.rows | length }}}} rows", proposal: "{{{{ gen.rows }}}}", form: {{type: object, required: [rows]}}}}
    next: {{arcs: [{{step: yes, when: "{{{{ ask.data.rows | length == 6 and event.result.action == 'approve' }}}}"}}, {{step: no}}]}}
{YES_NO}""",
        'output: "{{ ask.data }}"',
    ),
    "an operator's patch": (
        """
  - step: gate
    spec: {policy: {admit: {rules: [{when: "{{ ctx.patched.rows | length == 6 }}", then: {allow: true}}]}}}
    tool: {kind: python, args: {n: "{{ ctx.patched.rows | length }}"}, code: "result = n"}
""",
        "",
    ),
    "parameters of python": (
        used(
            """{kind: python, args: {gen: "{{ gen }}", all: "{{ args.all }}"}, code: "def main(gen, all, workload, ctx):\\n  return [len(gen['rows']), all[3]['id'], len(workload['rows'])]"}"""
        ),
        "",
    ),
    "filters on a worker": (
        used(
            """{kind: python, args: {a: "{{ gen.rows | map(attribute='id') | list }}", b: "{{ args.all | selectattr('id', 'gt', 3) | list }}", c: "{{ gen.rows | sum(attribute='id') }}"}, code: "result = [a, b, c]"}"""
        ),
        "",
    ),
    "statements on a worker": (
        used(
            """{kind: python, args: {a: "{% for row in gen.rows %}{{ row.k }},{% endfor %}{{ gen.rows | length }}"}, code: "result = a"}"""
        ),
        "",
    ),
    "results of earlier tasks": (
        f"""{GEN}
    next: {{arcs: [{{step: use}}]}}
  - step: use
    tool:
      - {{name: one, kind: python, args: {{rows: "{{{{ gen.rows }}}}"}}, code: "result = {{'rows': rows}}"}}
      - {{name: two, kind: python, args: {{n: "{{{{ one.rows | length + _prev.rows | length }}}}"}}, code: "result = n", spec: {{policy: {{rules: [{{when: "{{{{ outcome.result == 12 and one.rows[5].id == 5 }}}}", then: {{do: continue, set_ctx: {{all: "{{{{ one.rows }}}}"}}}}}}, {{else: {{then: {{do: fail}}}}}}]}}}}}}
""",
        "",
    ),
    "parameters of SQL": (
        used(
            """{kind: sqlite, database: ":memory:", command: "select length(:a) > 0 as n, :b as b", params: {a: "{{ gen.rows[0].pad }}", b: "{{ args.all[4].id }}"}}"""
        ),
        "",
    ),
    # What is said of data elsewhere
    "a schema of the workload": (
        GEN,
        "input_schema: {type: object, required: [rows], properties: {rows: {type: array, minItems: 6, items: {required: [pad]}}}}",
    ),
    "a result by the name of its step": (
        guard("{{ step['gen'].result.rows | length == 6 and step.gen.status.ok }}"),
        "",
    ),
    "a branch's item": (
        f"""{GEN}
    next: {{arcs: [{{step: e, foreach: "{{{{ gen.rows }}}}", as: row}}]}}
  - {{step: e, tool: {{kind: python, args: {{id: "{{{{ branch.item.id + (_branch.item.pad == args.row.pad) | int }}}}"}}, code: "result = id"}}, next: {{arcs: [{{step: j}}]}}}}
  - {{step: j, spec: {{join: {{merge: {{into: ids}}}}}}, tool: {{kind: noop}}}}
""",
        "",
    ),
    "the same written by every branch": (
        fanned(WRITES.replace("VALUE", "{{ gen.rows }}"), "{on_unreachable: proceed}"),
        "",
    ),
    "another one written by every branch": (
        fanned(WRITES.replace("VALUE", "{{ args.row }}"), "{on_unreachable: proceed}", ONE),
        "resources: {one: 1}",
    ),
    "a merge that is the result of its join": (
        fanned(ROW, "{merge: {strategy: append}}").replace(
            "tool: {kind: noop}}\n",
            """tool: {kind: noop}, next: {arcs: [{step: use}]}}
  - {step: use, tool: {kind: python, args: {n: "{{ join | length }}", one: "{{ join[4].id }}"}, code: "result = [n, one]"}}
""",
        ),
        "",
    ),
    "a merge of both arcs": (
        f"""{GEN}
    next: {{spec: {{mode: inclusive}}, arcs: [{{step: a, args: {{rows: "{{{{ gen.rows }}}}"}}}}, {{step: b, args: {{rows: "{{{{ gen.rows[5] }}}}"}}}}]}}
  - {{step: a, spec: {{{ONE}}}, tool: {{kind: python, args: {{rows: "{{{{ args.rows }}}}"}}, code: "result = rows"}}, next: {{arcs: [{{step: join}}]}}}}
  - {{step: b, spec: {{{ONE}}}, tool: {{kind: python, args: {{rows: "{{{{ args.rows }}}}"}}, code: "result = rows"}}, next: {{arcs: [{{step: join}}]}}}}
  - {{step: join, spec: {{join: {{mode: arcs, merge: {{into: all}}}}}}, tool: {{kind: noop}}}}
""",
        "resources: {one: 1}",
    ),
    "the reducer min": (reduced("{{ iter.row.pad }}"), reducer("min")),
    "what an iteration keeps": (
        looped(
            'in: "{{ gen.rows }}", iterator: row',
            """
      - {name: keep, kind: noop, spec: {policy: {rules: [{else: {then: {set_iter: {kept: "{{ iter.row }}"}}}}]}}}
      - {name: use, kind: python, args: {id: "{{ iter.kept.id }}", same: "{{ iter.kept.pad == iter.row.pad }}"}, code: "result = [id, same]"}""",
        ),
        "",
    ),
    "the item of the outer loop": (
        looped(
            'in: "{{ [gen.rows, gen.rows] }}", iterator: all, loop: {in: "{{ iter.all }}", iterator: row}',
            """{kind: python, args: {n: "{{ iter.parent.all | length + iter.row.id }}"}, code: "result = n"}""",
        ),
        "",
    ),
    "a choice on a worker": (
        used(
            """[{name: one, kind: python, args: {rows: "{{ args.all }}"}, code: "result = {'rows': rows}"}, {choose: ["""
            """{when: "{{ one.rows | length > 6 }}", do: [{name: many, kind: python, code: "result = 'many'"}]}, """
            """{when: "{{ one.rows[5].id == 5 }}", do: [{name: few, kind: python, code: "result = 'few'"}]}, """
            """{else: [{name: none, kind: python, code: "result = 'none'"}]}]}]"""
        ),
        "",
    ),
    "rounds on a worker": (
        used(
            """[{until: {when: "{{ one.rows | length > 5 }}", max: 3, do: [{name: one, kind: python, args: {rows: "{{ args.all }}"}, """
            """code: "result = {'rows': rows}"}]}}, {name: end, kind: python, args: {n: "{{ one.rows | length }}"}, code: "result = n"}]"""
        ),
        "",
    ),
    "another try because of what came": (
        used(
            """{name: one, kind: python, args: {rows: "{{ args.all }}", n: "{{ _attempt }}"}, code: "result = {'rows': rows, 'n': n}", spec: {policy: {rules: [{when: "{{ outcome.result.rows | length == 6 and outcome.result.n < 3 }}", then: {do: retry, attempts: 5, delay: 0}}]}}}"""
        ),
        "",
    ),
    "a failure that says much": (
        """
  - step: gen
    tool: {kind: python, args: {pad: "{{ workload.pad }}"}, code: "raise ValueError('x' * pad)"}
    next: {arcs: [{step: yes, when: "{{ event.status == 'error' and event.error.kind == 'unknown' }}"}, {step: no}]}"""
        + YES_NO,
        "",
    ),
    "what undoes a step": (
        f"""{GEN.rstrip()[:-1]}}}
    spec: {{compensate: {{tool: {{kind: python, args: {{n: "{{{{ gen.rows | length }}}}", one: "{{{{ gen.rows[3] }}}}"}}, code: "assert [n, one['id']] == [6, 3]"}}}}}}
    next: {{arcs: [{{step: fails}}]}}
  - {{step: fails, tool: {{kind: python, code: "raise ValueError('no')"}}}}
""",
        "policy: {compensation: on_failure}",
    ),
    "people whom data names": (
        f"""{GEN}
    next: {{arcs: [{{step: ask}}]}}
  - step: ask
    tool: {{kind: human, title: "?", assignees: {{users: "{{{{ gen.rows | map(attribute='k') | list }}}}"}}, priority: "{{{{ gen.rows | length }}}}"}}
    next: {{arcs: [{{step: yes, when: "{{{{ ask.data.rows | length == 6 }}}}"}}, {{step: no}}]}}
{YES_NO}""",
        "",
    ),
    "an operator's outcome": (
        """
  - step: hold
    tool: {kind: wait, signal: {name: go}}
    next: {arcs: [{step: yes, when: "{{ hold.payload.rows | length == 6 and event.result.payload.rows[2].id == 2 }}"}, {step: no}]}"""
        + YES_NO,
        'output: "{{ hold }}"',
    ),
    "one of several waits": (
        """
  - step: wait
    tool: {kind: wait, any_of: [{as: late, for_s: 900}, {as: go, signal: {name: go}}]}
    next: {arcs: [{step: yes, when: "{{ wait.which == 'go' and wait.payload.rows | length == 6 }}"}, {step: no}]}"""
        + YES_NO,
        'output: "{{ wait.payload.rows[1] }}"',
    ),
    "a signal that was kept": (
        """
  - {step: hold, tool: {kind: wait, signal: {name: begin}}, next: {arcs: [{step: wait}]}}
  - step: wait
    tool: {kind: wait, signal: {name: go}}
    next: {arcs: [{step: yes, when: "{{ wait.payload.rows | length == 6 }}"}, {step: no}]}"""
        + YES_NO,
        'output: "{{ wait.payload.rows[1] }}"',
    ),
    "a child that is not waited for": (
        f"""{GEN}
    next: {{arcs: [{{step: call}}]}}
  - step: call
    tool: {{kind: playbook, path: child, wait: false, args: {{rows: "{{{{ gen.rows }}}}", pad: 1}}}}
    next: {{arcs: [{{step: yes, when: "{{{{ call.execution }}}}"}}, {{step: no}}]}}
{YES_NO}""",
        'output: "{{ gen.rows | length }}"',
    ),
    "the environment of a shell": (
        used(
            """{kind: shell, argv: [sh, -c, "echo $N $ID"], env: {N: "{{ gen.rows | length }}", ID: "{{ args.all[4].id }}"}}"""
        ),
        "",
    ),
    "parameters of DuckDB": (
        used(
            """{kind: duckdb, command: "select length($a) > 0 as n, $b as b", params: {a: "{{ gen.rows[0].pad }}", b: "{{ args.all[4].id }}"}}"""
        ),
        "",
    ),
    "a body over HTTP": (
        used(
            """{kind: http, method: POST, url: "{{ workload.url }}", json: {rows: "{{ gen.rows }}", one: "{{ args.all[4].id }}"}}"""
        ),
        'output: "{{ use.data }}"',
    ),
}
