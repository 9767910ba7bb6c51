"""Coverage of arcs: what counts, and under which name."""

from __future__ import annotations

from pathlib import Path

import pytest

from petra.testing.coverage import Coverage
from petra.testing.session import CaseVerdict, cases_of, judge

CHILD = """\
apiVersion: petra/v1
kind: Playbook
metadata: {name: child, path: lib/child}
workflow:
  - step: one
    next:
      arcs:
        - {step: two, when: "{{ workload.far }}"}
        - {step: three}
  - {step: two, tool: {kind: noop}}
  - {step: three, tool: {kind: noop}}
"""

PARENT = """\
apiVersion: petra/v1
kind: Playbook
metadata: {name: parent}
executor: {spec: {final_step: report}}
workflow:
  - step: call
    tool: {kind: playbook, path: lib/child, args: {far: false}}
    next: {arcs: [{step: work}]}
  - step: work
    tool: {kind: shell, argv: [work]}
    next: {arcs: [{step: rest}]}
  - {step: rest, tool: {kind: noop}}
  - step: report
    tool: {kind: noop}
    next: {arcs: [{step: rest}]}
"""

TEST = """\
apiVersion: petra/v1
kind: Test
playbook: parent.yaml
library: [child.yaml]
cases: [{name: it runs, tools: {work: {ok: 1}}, expect: {status: completed}}]
"""


def covered(folder: Path, test: str = TEST) -> tuple[list[CaseVerdict], list[str]]:
    (folder / "child.yaml").write_text(CHILD, "utf-8")
    (folder / "parent.yaml").write_text(PARENT, "utf-8")
    (folder / "a.test.yaml").write_text(test, "utf-8")
    coverage = Coverage()
    verdicts = []
    for case in cases_of(folder / "a.test.yaml"):
        assert not isinstance(case, CaseVerdict), case.message
        verdicts.append(judge(case, coverage))
    return verdicts, [str(found).removeprefix(f"{folder}/") for found in coverage]


@pytest.mark.spec("S21")
def test_sub_playbooks_are_covered_too_under_their_own_file(tmp_path: Path) -> None:
    (verdict,), found = covered(tmp_path)
    assert verdict.message == ""
    assert "child.yaml: 1 of 2 arcs; never: line 8 'one' → 'two'" in found


@pytest.mark.spec("S12", "S21")
def test_the_arcs_of_a_final_step_are_not_asked_for(tmp_path: Path) -> None:
    _, found = covered(tmp_path)
    assert "parent.yaml: 2 of 2 arcs" in found


@pytest.mark.spec("S21")
def test_a_case_that_is_an_error_covers_what_it_took_before(tmp_path: Path) -> None:
    (verdict,), found = covered(tmp_path, TEST.replace("work: {ok: 1}", ""))
    assert verdict.result == "error"
    assert "parent.yaml: 1 of 2 arcs; never: line 11 'work' → 'rest'" in found


def test_inline_playbooks_of_one_name_are_told_apart(tmp_path: Path) -> None:
    inline = """\
  - name: {number}
    playbook:
      apiVersion: petra/v1
      kind: Playbook
      metadata: {{name: x}}
      workflow:
        - {{step: a, next: {{arcs: [{arcs}]}}}}
        - {{step: b, tool: {{kind: noop}}}}
    expect: {{status: completed}}
"""
    text = "kind: Test\napiVersion: petra/v1\ncases:\n"
    text += inline.format(number="first", arcs="{step: b}")
    text += inline.format(number="second", arcs="{step: b, when: false}, {step: b}")
    _, found = covered(tmp_path, text)
    assert found == [
        "a.test.yaml (x): 1 of 1 arcs",
        "a.test.yaml (x) at 'second': 1 of 2 arcs; never: line 19 'a' → 'b'",
    ]
