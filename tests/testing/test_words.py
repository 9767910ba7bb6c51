"""The grammar of test files: the JSON Schema of ``petra schema test`` and the reader agree."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
from click.testing import CliRunner
from support.examples import example_documents

from petra.cli import petra
from petra.playbook.decode import plain
from petra.playbook.problems import Problems
from petra.playbook.yaml12 import parse
from petra.testing.suite import suite_problems
from petra.testing.words import json_schema

pytestmark = pytest.mark.spec("S21")

ROOT = Path(__file__).parents[2]
FILES = example_documents("test")
VALIDATOR = jsonschema_rs.validator_for(json_schema())
PLAYBOOK = {
    "apiVersion": "petra/v1",
    "kind": "Playbook",
    "metadata": {"name": "p"},
    "workflow": [{"step": "a", "tool": {"kind": "noop"}}],
}


def file_with(**changes: Any) -> dict[str, Any]:
    case = {"name": "c", "expect": {"status": "completed"}}
    return {"kind": "Test", "playbook": PLAYBOOK, "cases": [case | changes]}


def test_it_is_what_petra_schema_test_prints() -> None:
    found = CliRunner().invoke(petra, ["schema", "test"])
    assert found.exit_code == 0
    assert json.loads(found.stdout) == json_schema()
    jsonschema_rs.meta.validate(json_schema())


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_every_example_fits(path: Path) -> None:
    text = path.read_text("utf-8")
    assert suite_problems(path, text) == ()
    written = plain(parse(text, Problems()))
    assert [error.message for error in VALIDATOR.iter_errors(written)] == []


@pytest.mark.parametrize(
    "changes",
    [
        {"expects": {}},
        {"expect": {"status": "complete"}},
        {"expect": {"state": "completed"}},
        {"world": [{"at": 1, "cancel": True}]},
        {"world": {"at_s": 1}},
        {"workload": [1]},
        {"stop_at_s": "soon"},
        {"playbook": 7},
    ],
    ids=str,
)
def test_what_the_reader_refuses_the_schema_refuses(changes: dict[str, Any]) -> None:
    document = file_with(**changes)
    assert not VALIDATOR.is_valid(document)
    assert suite_problems(Path("x.test.yaml"), json.dumps(document))


def test_a_playbook_inside_is_judged_as_one() -> None:
    assert VALIDATOR.is_valid(file_with())
    broken = PLAYBOOK | {"workflow": [{"step": "a", "tool": {"kind": "noop"}, "nxt": 1}]}
    assert not VALIDATOR.is_valid(file_with(playbook=broken))


def test_a_broken_playbook_is_a_problem_at_the_place_that_names_it(tmp_path: Path) -> None:
    (tmp_path / "p.yaml").write_text("kind: Playbook\nworkflow: 3\n")
    text = "kind: Test\nplaybook: p.yaml\ncases:\n  - name: c\n"
    first, *_ = suite_problems(tmp_path / "p.test.yaml", text)
    assert (first.line, first.column) == (2, 11)
    assert "the playbook cannot run: " in first.message
