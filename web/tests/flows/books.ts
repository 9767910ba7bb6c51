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
