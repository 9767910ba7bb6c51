"""What ``petra explain`` says of assignees that are texts, and of values that a gate reads."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from cli.conftest import Command

pytestmark = [pytest.mark.slow, pytest.mark.spec("S11")]

ASKS = """\
apiVersion: petra/v1
kind: Playbook
metadata: {name: asks}
workload: {boss: chief}
workflow:
  - step: ask
    tool: {kind: human, title: "Go?", assignees: {users: ada, roles: "{{ workload.boss }}"}}
"""
GATE = """\
apiVersion: petra/v1
kind: Playbook
metadata: {name: gate}
workload: {far: ["%s"]}
workflow:
  - step: go
    spec:
      policy:
        admit: {rules: [{when: "{{ ctx.open and ctx.n is none and workload.far == 1 }}", then: {allow: true}}]}
    tool: {kind: noop}
"""


def explained(command: Command, text: str, *more: str) -> str:
    Path("x.yaml").write_text(text)
    execution = json.loads(command("run", "x.yaml", "-o", "json").stdout)["id"]
    for words in more:
        command("patch", execution, words)
    return command("explain", execution).stdout


def test_a_name_that_is_a_text_is_one_name(command: Command) -> None:
    assert "the work item: users ada; roles chief" in explained(command, ASKS)


def test_values_of_a_gate_are_shown_as_they_are_written(command: Command) -> None:
    said = explained(command, GATE % ("x" * 500), "open=true", "n=null")
    assert "ctx.open is true" in said
    assert len(max(said.splitlines(), key=len)) < 300
