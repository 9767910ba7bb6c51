"""Tests of older playbooks script what their authors wrote, not what keeps a result behind a sink."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from petra.testing.runner import run_case
from petra.testing.suite import load_suite

BOOK = """
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: p}
workflow:
  - step: a
    tool:
      name: t
      kind: python
      code: "result = {'v': 1}"
      result: {as: kept, pick: "{{ this.v }}", sink: [{kind: shell, argv: [store, "{{ result.v }}"]}]}
"""


def judged(tmp_path: Path, tools: dict[str, Any]) -> str:
    expect = {"status": "completed", "output": {"v": 1}, "ctx": {"kept": 1}, "attempts": {"a": 2}}
    case = {"name": "it is stored", "tools": tools, "expect": expect}
    (tmp_path / "p.yaml").write_text(BOOK)
    file = tmp_path / "p.test.yaml"
    file.write_text(
        yaml.safe_dump(
            {"apiVersion": "petra/v1", "kind": "Test", "playbook": "p.yaml", "cases": [case]}
        )
    )
    (loaded,) = load_suite(file).cases
    return run_case(loaded).message


@pytest.mark.spec("S1", "S21")
@pytest.mark.parametrize(
    "tools",
    [
        {"a/t": {"ok": {"v": 1}}, "a/sink_0": {"ok": {"stdout": ""}}},
        {"a": [{"ok": {"v": 1}}, {"ok": {"stdout": ""}}]},
    ],
    ids=["by task", "by step"],
)
def test_what_a_sink_leaves_the_result_of_the_step_needs_no_script(
    tmp_path: Path, tools: dict[str, Any]
) -> None:
    assert judged(tmp_path, tools) == ""
