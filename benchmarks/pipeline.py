"""What the pipeline machine costs: python benchmarks/pipeline.py

Each line is the best of several rounds, per run, without any tool: start, one advance per task, report.
"""

from __future__ import annotations

import timeit
from collections.abc import Callable

from petra.pipeline import Machine, NextAttempt, Settings
from petra.playbook import read
from petra.playbook.model import Step
from petra.wire import Error, Outcome

HEAD = """
apiVersion: petra/v1
kind: Playbook
metadata: {name: bench}
workload: {url: 'http://x', n: 3}
workflow:
"""
TRIVIAL = "- step: s\n  tool: {kind: python, code: 'result = 1'}\n"
TEN = "- step: s\n  tool:\n" + "".join(
    f"    - {{name: t{n}, kind: python, code: 'result = 1'}}\n" for n in range(10)
)
FETCH = """
- step: s
  tool:
    kind: http
    url: "{{ workload.url }}/{{ args.id }}"
    params: {n: "{{ workload.n }}"}
    spec:
      policy:
        rules:
          - when: "{{ outcome.status == 'error' and outcome.http.status in [429, 503] }}"
            then: {do: retry, attempts: 5, backoff: exponential}
          - else: {then: {do: continue, set_ctx: {last: "{{ outcome.result.n }}"}}}
"""
NOOPS = """
- step: s
  tool:
    - name: count
      kind: noop
      spec: {policy: {rules: [{else: {then: {do: continue, set_iter: {n: "{{ (iter.n | default(0)) + 1 }}"}}}}]}}
    - name: again
      kind: noop
      spec: {policy: {rules: [{when: "{{ iter.n < 1000 }}", then: {do: jump, to: count}}]}}
"""
OK = Outcome(status="ok", result={"n": 1})
BUSY = Outcome(status="error", error=Error(kind="rate_limit"), more={"http": {"status": 429}})


def runner(workflow: str, *first: Outcome) -> Callable[[], None]:
    playbook = read(HEAD + workflow, "bench.yaml").checked()
    step: Step = playbook.workflow[0]
    settings = Settings.of(playbook, step)
    scope = {"workload": playbook.workload, "ctx": {}, "args": {"id": 7}, "step": {}}

    def run() -> None:
        outcomes = list(first)
        machine = Machine(step.tool, scope, settings=settings, jitter=lambda: 0.5)
        move = machine.start()
        while isinstance(move, NextAttempt):
            move = machine.advance(outcomes.pop() if outcomes else OK, 1.0)
        assert move.report.status == "ok"

    return run


def measure(name: str, run: Callable[[], None], *, parts: int, number: int) -> None:
    best = min(timeit.repeat(run, number=number, repeat=7)) / number * 1e6
    print(f"{name:<44} {best:10.1f} µs  {best / parts:8.1f} µs each")


def main() -> None:
    measure("one task, no policy", runner(TRIVIAL), parts=1, number=5000)
    measure("ten tasks, no policy", runner(TEN), parts=10, number=1000)
    measure("http with fields, policy and a patch", runner(FETCH), parts=1, number=3000)
    measure("the same, retried twice", runner(FETCH, BUSY, BUSY), parts=3, number=1000)
    measure("2,000 noops that count and jump", runner(NOOPS), parts=2000, number=3)


if __name__ == "__main__":
    main()
