from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from texts import PETRA, workflow

from petra import __version__
from petra.cli import petra
from petra.playbook.schema import json_schema
from petra.store.errors import StoreError

PETRA_COMMAND = (sys.executable, "-c", "from petra.cli import main; main()")
OLD = "# mine\n" + workflow(
    "- {step: a, next: [{step: b}]}  # here\n- {step: b, tool: {kind: noop}}"
)
BAD = workflow("- {step: a, next: [{step: zzz}]}")


def run(*arguments: object) -> Result:
    result = CliRunner().invoke(petra, [str(argument) for argument in arguments])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


def file(folder: Path, text: str, name: str = "x.yaml") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


# migrate


def test_migrate_prints_the_new_text_and_tells_each_change_on_stderr(tmp_path: Path) -> None:
    path = file(tmp_path, OLD)
    result = run("migrate", path)
    assert result.exit_code == 0
    assert "arcs:" in result.stdout
    assert "# mine" in result.stdout
    assert f"{path}:6: next as a list → next.spec and next.arcs" in result.stderr
    assert path.read_text("utf-8") == OLD


def test_migrate_write_changes_the_file_and_the_file_then_checks_clean(tmp_path: Path) -> None:
    path = file(tmp_path, OLD)
    result = run("migrate", path, "--write")
    assert (result.exit_code, result.stdout) == (0, "")
    assert "arcs:" in path.read_text("utf-8")
    assert run("check", path, "--strict").exit_code == 0
    assert "nothing to change" in run("migrate", path, "--write").stderr


def test_migrate_as_json(tmp_path: Path) -> None:
    path = file(tmp_path, OLD)
    found = json.loads(run("migrate", path, "-o", "json").stdout)
    assert found["file"] == str(path)
    assert "arcs:" in found["text"]
    assert found["changes"] == [
        {
            "line": 6,
            "column": 15,
            "kind": "legacy",
            "old": "next as a list",
            "new": "next.spec and next.arcs",
        }
    ]


@pytest.mark.parametrize("text", [BAD, "", "a: [", "\x00"])
def test_migrate_leaves_a_file_with_errors_alone(tmp_path: Path, text: str) -> None:
    path = file(tmp_path, text)
    result = run("migrate", path, "--write")
    assert result.exit_code == 1
    assert "nothing was changed" in result.stderr
    assert path.read_text("utf-8") == text


def test_migrate_of_a_missing_file_is_a_problem(tmp_path: Path) -> None:
    result = run("migrate", tmp_path / "no.yaml")
    assert result.exit_code == 1
    assert "[P001]" in result.output


def test_migrate_as_json_tells_what_is_wrong_as_json_too(tmp_path: Path) -> None:
    result = run("migrate", file(tmp_path, BAD), "-o", "json")
    assert result.exit_code == 1
    assert [one["code"] for one in json.loads(result.stdout)["problems"]] == ["P104"]


# graph, schema, init


def test_graph_draws_an_execution_as_svg_and_says_so_where_another_form_is_asked() -> None:
    result = run("graph", "0190aa00bb11", "-f", "dot")
    assert result.exit_code == 2
    assert "drawn as svg, not as dot" in result.stderr


def test_graph_draws_what_is_correct_and_tells_what_is_not(tmp_path: Path) -> None:
    path = file(tmp_path, workflow("- {step: a, tool: {kind: noop}}"))
    assert run("graph", path).stdout.startswith("flowchart TD\n")
    assert run("graph", path, "-f", "dot").stdout.startswith('digraph "test" {\n')
    assert run("graph", path, "-f", "png").exit_code == 2
    result = run("graph", file(tmp_path, BAD))
    assert result.exit_code == 1
    assert "[P104]" in result.output


def test_schema_prints_the_schema() -> None:
    assert json.loads(run("schema").stdout) == json_schema()


def test_schema_prints_the_schema_of_each_kind_of_document() -> None:
    kinds = ("test", "schedule", "trigger", "resource", "notify")
    schemas = {kind: json.loads(run("schema", kind).stdout) for kind in kinds}
    assert "units" in schemas["resource"]["properties"]
    assert len({schema["title"] for schema in schemas.values()}) == len(kinds)


def test_init_writes_a_playbook_that_checks_without_a_word(tmp_path: Path) -> None:
    assert run("init", tmp_path / "new" / "hello").exit_code == 0
    folder = tmp_path / "new"
    assert sorted(p.name for p in folder.iterdir()) == [
        "hello.test.yaml",
        "hello.yaml",
        "playbook.schema.json",
    ]
    assert run("check", folder, "--strict").exit_code == 0
    assert (
        (folder / "hello.yaml")
        .read_text("utf-8")
        .startswith(
            "# yaml-language-server: $schema=playbook.schema.json\n" + PETRA.split("metadata")[0]
        )
    )


def test_init_overwrites_only_when_told_to(tmp_path: Path) -> None:
    path = file(tmp_path, "mine", "hello.yaml")
    result = run("init", tmp_path / "hello")
    assert result.exit_code == 1
    assert "already there" in result.stderr
    assert path.read_text("utf-8") == "mine"
    assert run("init", tmp_path / "hello", "--force").exit_code == 0
    assert path.read_text("utf-8") != "mine"


@pytest.mark.parametrize("name", ["", "a b", "-x", "ü", "a:b"])
def test_init_refuses_a_name_that_templates_and_files_cannot_hold(
    tmp_path: Path, name: str
) -> None:
    assert run("init", "--", str(tmp_path / name) if name else name).exit_code == 2


def test_init_below_a_file_is_an_error_and_no_traceback(tmp_path: Path) -> None:
    result = run("init", file(tmp_path, "x") / "hello")
    assert result.exit_code == 1
    assert "cannot write" in result.stderr


# the group


def test_help_lists_every_verb_and_the_version_is_told() -> None:
    shown = run("--help").stdout
    for verb in ("init", "check", "graph", "migrate", "schema"):
        assert f"  {verb} " in shown
        assert run(verb, "--help").exit_code == 0
    assert max(len(line) for line in shown.splitlines()) <= 80
    assert run("--version").stdout == f"petra {__version__}\n"


def test_a_slip_in_a_verb_gets_a_suggestion() -> None:
    result = run("chekc")
    assert result.exit_code == 2
    assert "did you mean 'check'?" in result.stderr


@pytest.mark.parametrize(
    "verb", [("ps",), ("get", "x"), ("verify",), ("db", "stats")], ids=" ".join
)
def test_a_file_that_is_no_database_is_told_with_the_next_move(
    tmp_path: Path, verb: tuple[str, ...]
) -> None:
    file(tmp_path, "no database " * 100, "petra.db")
    result = CliRunner().invoke(petra, [*verb, "--home", str(tmp_path)])
    assert isinstance(result.exception, StoreError)
    assert "is no database of SQLite; put a copy in its place" in str(result.exception)
