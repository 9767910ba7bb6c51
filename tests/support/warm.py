"""What every ``petra`` works out once and keeps, worked out before it is forked (``forks.PETRA``): grammar, schemas, patterns."""

from __future__ import annotations

from petra.net.proof import prove
from petra.playbook import read_bytes
from petra.playbook.write import to_yaml

BOOK = b"""\
apiVersion: petra/v1
kind: Playbook
metadata: {name: warm}
workload: {n: 2}
workflow:
  - step: double
    tool:
      kind: python
      args: {n: "{{ workload.n }}"}
      code: result = n
      spec: {policy: {rules: [{when: "{{ outcome.status == 'error' }}", then: {do: fail}}, {else: {then: {do: continue}}}]}}
    next: {arcs: [{step: ask, when: "{{ event.result > 1 }}"}]}
  - step: ask
    tool: {kind: human, title: "Well?", assignees: {users: [ada]}}
"""
_read = read_bytes(BOOK, "warm.yaml")
prove(_read)
to_yaml(_read.checked())
