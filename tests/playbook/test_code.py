"""Python code is compiled where it is checked; a fault is shown in the author's own line."""

from __future__ import annotations

import pytest
from texts import workflow

from petra.playbook import Problem, read

BLOCK = """- step: a
  tool:
    - name: ok
      kind: python
      code: |
        result = 1
        result = 1
    - name: bad
      kind: python
      code: {style}
        def main():
            x = 1
            return x +

        result = 1
"""


def faults(text: str) -> list[Problem]:
    return [problem for problem in read(text).problems if problem.code == "P127"]


@pytest.mark.spec("S1")
@pytest.mark.parametrize("style", ["|", "|-", "|2-", ">+"])
def test_a_fault_in_a_block_is_shown_in_its_line_and_column(style: str) -> None:
    text = workflow(BLOCK.replace("{style}", style.replace("2", "")))
    (problem,) = faults(text)
    line = text.splitlines()[problem.line - 1]
    assert "return x +" in line or style == ">+"
    assert problem.severity == "error"
    assert "task 'bad'" in problem.message
    assert 1 <= problem.column <= len(line) + 1


@pytest.mark.spec("S1")
def test_the_column_is_that_of_the_fault() -> None:
    text = workflow('- {step: a, tool: {kind: python, code: "result = (1 +"}}')
    (problem,) = faults(text)
    assert text.splitlines()[problem.line - 1][problem.column - 1] == "("


@pytest.mark.parametrize(
    "code", ["result = 1", "def main(x):\n    return x", "import os", "", "x = '\\\\d'"]
)
def test_code_that_compiles_is_no_problem(code: str) -> None:
    import json  # noqa: PLC0415

    assert (
        faults(workflow(f"- {{step: a, tool: {{kind: python, code: {json.dumps(code)}}}}}")) == []
    )


def test_code_of_another_engine_is_only_warned_about() -> None:
    text = workflow('- {step: a, tool: {kind: python, code: "print 1"}}')
    foreign = text.replace("petra/v1", "noetl.io/v2")
    assert [problem.severity for problem in faults(foreign)] == ["warning"]
    assert [problem.severity for problem in faults(text)] == ["error"]


def test_code_is_never_run() -> None:
    assert faults(workflow('- {step: a, tool: {kind: python, code: "1 / 0"}}')) == []
