"""A name that no playbook of a case has is a mistake, not a case that passes."""

from __future__ import annotations

from pathlib import Path

import pytest

from petra.testing.suite import TestError, load_suite

pytestmark = pytest.mark.spec("S1", "S21")

SUITE = """
apiVersion: petra/v1
kind: Test
playbook:
  apiVersion: petra/v1
  kind: Playbook
  metadata: {{name: p}}
  workflow:
    - step: get
      tool: [{{name: call, kind: http, url: "http://127.0.0.1"}}]
      next: {{arcs: [{{step: report}}]}}
    - {{step: report, tool: {{kind: wait, signal: {{name: paid}}}}}}
cases:
  - name: one
    {more}
"""


def read(folder: Path, more: str) -> None:
    path = folder / "one.test.yaml"
    path.write_text(SUITE.format(more=more))
    load_suite(path)


@pytest.mark.parametrize(
    "more",
    [
        "tools: {gret: {ok: 1}}",
        "tools: {get/cal: {ok: 1}}",
        "tools: {'p:get': {ok: 2}}",  # nothing calls it
        "expect: {never: [raport]}",
        "expect: {done: [get, raport]}",
        "expect: {cancelled: [raport]}",
        "expect: {runs: {raport: 1}}",
        "expect: {attempts: {raport: 1}}",
        "world: [{when_open: raport, cancel: {}}]",
        "world: [{when_waiting: raport, cancel: {}}]",
        "world: [{at_s: 1, group: {step: raport, close: true}}]",
        "world: [{at_s: 1, override: {step: raport, ok: 1}}]",
        "world: [{at_s: 1, signal: {name: payd}}]",
    ],
)
def test_a_name_that_nothing_has_is_a_problem_with_a_guess(tmp_path: Path, more: str) -> None:
    with pytest.raises(TestError, match=r"there is no (step|signal).*; did you mean"):
        read(tmp_path, more)


@pytest.mark.parametrize(
    "word", ["runs: {get/call: 0}", "attempts: {get/call: 0}", "never: [get/call]"]
)
def test_steps_are_counted_and_not_tasks(tmp_path: Path, word: str) -> None:
    with pytest.raises(TestError, match="there is no step 'get/call'"):
        read(tmp_path, f"expect: {{{word}}}")


@pytest.mark.parametrize(
    "more",
    [
        "tools: {get: {ok: 1}}",
        "tools: {get/call: {ok: 1}}",
        "expect: {never: [report], done: [get]}",
        "world: [{at_s: 1, signal: {name: paid}}, {at_s: 2, signal: {name: unheard_of}}]",
    ],
)
def test_names_that_are_there_are_fine(tmp_path: Path, more: str) -> None:
    read(tmp_path, more)


@pytest.mark.parametrize(
    "more",
    [
        "world: [{at_s: 1, signal: {name: paid, paylod: 1}}]",
        "world: [{at_s: 1, cancel: {raeson: x}}]",
        "world: [{when_open: get, complete: {action: approve, dat: 1}}]",
        "world: [{at_s: 1, group: {step: get, ad: 1}}]",
        "world: [{at_s: 1, override: {step: get, okay: 1}}]",
        "world: [{at_s: 1, pause: {raeson: x}}]",
    ],
)
def test_a_key_that_an_act_does_not_take_is_a_problem(tmp_path: Path, more: str) -> None:
    with pytest.raises(TestError, match=r"unknown key .*; (did you mean|known)"):
        read(tmp_path, more)
