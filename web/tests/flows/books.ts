/** Playbooks of the flows: nothing in them leaves this machine. */

export const APPROVAL = `apiVersion: petra/v1
kind: Playbook
metadata: {name: signed}
workload: {amount: 3, who: "ada"}
workflow:
  - step: count
    tool:
      kind: python
      args: {amount: "{{ workload.amount }}"}
      code: |
        def main(amount):
            return amount * 2
      spec:
        policy:
          rules:
            - else:
                then: {do: continue, set_ctx: {doubled: "{{ outcome.result }}"}}
    next: {arcs: [{step: wait}]}
  - step: wait
    tool: {kind: wait, signal: {name: go}}
    next: {arcs: [{step: last}]}
  - step: last
    tool: {kind: noop}
`;

export const FAILING = `apiVersion: petra/v1
kind: Playbook
metadata: {name: failing}
workflow:
  - step: fine
    tool: {kind: noop}
    next: {arcs: [{step: breaks}]}
  - step: breaks
    tool:
      kind: python
      code: |
        def main():
            raise ValueError("<img src=x onerror=alert(1)> it broke")
    next: {arcs: [{step: never}]}
  - step: never
    tool: {kind: noop}
`;

export const LOOP = `apiVersion: petra/v1
kind: Playbook
metadata: {name: looping}
workflow:
  - step: each
    spec:
      policy:
        failure: {mode: best_effort}
    loop: {in: "{{ range(300) | list }}", iterator: n, spec: {mode: parallel, max_in_flight: 50}}
    tool:
      kind: python
      args: {n: "{{ iter.n }}"}
      code: |
        def main(n):
            if n % 100 == 7:
                raise ValueError("seven")
            return n
`;

export const HOSTILE = `apiVersion: petra/v1
kind: Playbook
metadata: {name: hostile}
workflow:
  - step: make
    desc: '<img src=x onerror=alert(1)>'
    tool:
      kind: python
      code: |
        def main():
            print("<script>alert(1)</script>")
            return {
                "markup": "<script>alert(1)</script><img src=x onerror=alert(1)><iframe src='javascript:alert(1)'>",
                "turned": chr(0x202e) + "evil",
                "<b>key</b>": 1,
                "template": "{{ 7 * 7 }}",
            }
      spec:
        policy:
          rules:
            - when: "{{ outcome.status == 'error' }}"
              then: {do: fail}
            - else:
                then:
                  do: continue
                  set_ctx: {made: "{{ outcome.result }}"}
    next: {arcs: [{step: long}]}
  - step: long
    tool:
      kind: python
      code: |
        def main():
            return "x" * 30_000
      spec:
        policy:
          rules:
            - when: "{{ outcome.status == 'error' }}"
              then: {do: fail}
            - else:
                then: {do: continue, set_ctx: {long: "{{ outcome.result }}"}}
`;

/** Somebody is asked, with a form and a proposal. Whoever has the folder may answer. */
export const ASKING = `apiVersion: petra/v1
kind: Playbook
metadata: {name: asking}
executor: {spec: {output: "{{ ask }}"}}
workflow:
  - step: ask
    tool:
      kind: human
      title: "Pay 12 500?"
      description: Compare it with the delivery note.
      actions: [approve, reject]
      proposal: {amount: 12500}
      form:
        type: object
        required: [amount]
        properties: {amount: {type: number, minimum: 0}, note: {type: string, maxLength: 5}}
`;

/** A join that waits for an arc that was not taken. */
export const STUCK = `apiVersion: petra/v1
kind: Playbook
metadata: {name: halves}
workload: {left: true}
workflow:
  - step: a
    tool: {kind: noop}
    next:
      arcs: [{step: b, when: "{{ workload.left }}"}, {step: c, when: "{{ not workload.left }}"}]
  - step: b
    tool: {kind: noop}
    next: {arcs: [{step: j}]}
  - step: c
    tool: {kind: noop}
    next: {arcs: [{step: j}]}
  - step: j
    spec: {join: {mode: arcs}}
    tool: {kind: noop}
`;

export const SCHEDULE = `apiVersion: petra/v1
kind: Schedule
metadata: {name: nightly}
playbook: hello
cron: "30 2 * * *"
timezone: Europe/Berlin
`;

/** One that is called by another, and waits in the middle. */
export const CALLED = `apiVersion: petra/v1
kind: Playbook
metadata: {name: called}
workload: {n: 0}
workflow:
  - step: inner
    tool: {kind: noop}
    next: {arcs: [{step: asks}]}
  - step: asks
    tool: {kind: wait, signal: {name: go}}
`;

export const CALLING = `apiVersion: petra/v1
kind: Playbook
metadata: {name: calling}
workflow:
  - step: call
    tool: {kind: playbook, path: called, args: {n: 1}}
    next: {arcs: [{step: after}]}
  - step: after
    tool: {kind: noop}
`;

/** A gate that opens when somebody says so in ctx. */
export const GATED = `apiVersion: petra/v1
kind: Playbook
metadata: {name: gated}
workflow:
  - step: order
    tool:
      kind: noop
      spec: {policy: {rules: [{else: {then: {do: continue, set_ctx: {paid: false}}}}]}}
    next: {arcs: [{step: ship}]}
  - step: ship
    spec: {policy: {admit: {rules: [{when: "{{ ctx.paid }}", then: {allow: true}}]}}}
    tool: {kind: noop}
`;

export const MANY = `apiVersion: petra/v1
kind: Playbook
metadata: {name: many}
workflow:
  - step: each
    spec: {policy: {failure: {mode: best_effort}}}
    loop: {in: "{{ range(10000) | list }}", iterator: n, spec: {mode: parallel, max_in_flight: 500}}
    tool:
      kind: noop
      spec:
        policy:
          rules:
            - when: "{{ iter.n % 1000 == 7 }}"
              then: {do: fail}
            - else: {then: {do: continue}}
`;

export const NESTED = `apiVersion: petra/v1
kind: Playbook
metadata: {name: nested}
workflow:
  - step: rows
    loop:
      in: "{{ [[1, 2, 3], [4, 5], [6, 7, 8, 9]] }}"
      iterator: row
      spec: {mode: parallel}
      loop: {in: "{{ iter.row }}", iterator: n, spec: {mode: parallel}}
    tool: {kind: noop}
`;

/** What no page should choke on: ten megabytes, ten thousand keys, and a well. */
export const HEAVY = `apiVersion: petra/v1
kind: Playbook
metadata: {name: heavy}
workflow:
  - step: make
    tool:
      kind: python
      code: |
        def main():
            well = "bottom"
            for _ in range(60):
                well = {"deeper": [well]}
            return {
                "long": "<b>" + chr(0x202e) + "x" * 10_000_000,
                "many": {f"<i>{n}</i>": n for n in range(10_000)},
                "well": well,
            }
      spec:
        policy:
          rules:
            - when: "{{ outcome.status == 'error' }}"
              then: {do: fail}
            - else:
                then: {do: continue, set_ctx: {many: "{{ outcome.result.many }}", well: "{{ outcome.result.well }}"}}
`;
/** What it takes is said by a schema. */
export const TYPED = `apiVersion: petra/v1
kind: Playbook
metadata: {name: typed}
workload: {amount: 3, who: ada}
executor:
  spec:
    input_schema:
      type: object
      required: [amount, who]
      properties:
        amount: {type: integer, minimum: 1, maximum: 100, title: Amount}
        who: {type: string, minLength: 2, title: Who}
        rush: {type: boolean, title: Rush}
      not: {required: [rush], properties: {who: {const: bob}}}
    output: "{{ workload }}"
workflow:
  - step: a
    tool: {kind: noop}
`;

export const TRIGGER = `apiVersion: petra/v1
kind: Trigger
metadata: {name: orders}
playbook: typed
webhook: {path: orders, verify: none}
workload: {amount: "{{ event.body.amount }}", who: "ada"}
`;

/** Turns and turns, a wait, and as many again. */
export const LONG = `apiVersion: petra/v1
kind: Playbook
metadata: {name: long}
workload: {turns: 400}
workflow:
  - step: turn
    spec: {policy: {failure: {mode: best_effort}}}
    tool:
      kind: noop
      spec: {policy: {rules: [{else: {then: {do: continue, set_ctx: {n: "{{ (ctx.n | default(0)) + 1 }}"}}}}]}}
    next:
      arcs:
        - {step: pause, when: "{{ ctx.n == workload.turns }}"}
        - {step: turn, when: "{{ ctx.n < 2 * workload.turns }}"}
        - {step: last}
  - step: pause
    tool: {kind: wait, signal: go}
    next: {arcs: [{step: turn}]}
  - {step: last, tool: {kind: noop}}
`;
