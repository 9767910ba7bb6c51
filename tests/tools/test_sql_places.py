"""An error of SQL says in which statement it is, on which line, and what stands there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.attempts import bad, run

from petra.playbook.origins import WrittenAt
from petra.tools.sql_places import starts
from petra.wire import Error

pytestmark = [pytest.mark.spec("S22"), pytest.mark.spec("S5")]

WRITTEN = {"command": WrittenAt("load.yaml", 10, by_line=True)}
MADE = "CREATE TABLE t (a int PRIMARY KEY);\n-- é; not a statement\nINSERT INTO t VALUES (1);\n"


def failing(kind: str, command: str, tmp_path: Path, **context: Any) -> Error:
    fields = {"database": str(tmp_path / f"{kind}.db"), "command": command}
    return bad(run(kind, fields, written=WRITTEN, **context))


@pytest.mark.parametrize(
    ("command", "at"),
    [
        (MADE + "  SELEC 1;", "load.yaml:13, statement 3, line 4, column 3: SELEC 1;"),
        (MADE + "SELECT 'é', nope FROM t", "load.yaml:13, statement 3, line 4, column 13: SELECT 'é', nope FROM t"),
        (MADE + "INSERT INTO t VALUES (1); SELECT 2", "load.yaml:13, statement 3, line 4, column 1: INSERT INTO t VALUES (1); SELECT 2"),
        (MADE + "INSERT INTO t VALUES (2, 3);", "load.yaml:13, statement 3, line 4, column 1: INSERT INTO t VALUES (2, 3);"),
        ("SELECT nope", "load.yaml:10, line 1, column 8: SELECT nope"),
    ],
)  # fmt: skip
def test_sqlite_names_statement_line_and_column(command: str, at: str, tmp_path: Path) -> None:
    error = failing("sqlite", command, tmp_path)
    assert error.details["at"] == at
    assert error.message.endswith(f"; {at}")


def test_sqlite_undoes_all_of_it_all_the_same(tmp_path: Path) -> None:
    failing("sqlite", MADE + "SELEC 1", tmp_path)
    failing("sqlite", MADE + "SELEC 1", tmp_path)  # the table is not there


@pytest.mark.parametrize(
    ("command", "at"),
    [
        (MADE + "  SELEC 1;", "load.yaml:13, statement 3, line 4, column 3: SELEC 1;"),
        (MADE + "SELECT nope FROM t", "load.yaml:13, statement 3, line 4, column 1: SELECT nope FROM t"),
        (MADE + "INSERT INTO t VALUES (1);", "load.yaml:13, statement 3, line 4, column 1: INSERT INTO t VALUES (1);"),
        ("SELECT nope", "load.yaml:10, line 1, column 8: SELECT nope"),
    ],
)  # fmt: skip
def test_duckdb_names_statement_line_and_column(command: str, at: str, tmp_path: Path) -> None:
    error = failing("duckdb", command, tmp_path)
    assert error.details["at"] == at
    assert "\n" not in error.message


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "at"),
    [
        ("SELECT 1;\nSELEC 2", "load.yaml:11, statement 2, line 2, column 1: SELEC 2"),
        ("SELECT 'é', nope", "load.yaml:10, line 1, column 13: SELECT 'é', nope"),
    ],
)
def test_postgres_names_statement_line_and_column(command: str, at: str, postgres_url: str) -> None:
    error = bad(run("postgres", {"url": postgres_url, "command": command}, written=WRITTEN))
    assert error.details["at"] == at
    assert error.message.endswith(f"; {at}")


def test_a_command_in_a_file_of_its_own_is_named_by_that(tmp_path: Path) -> None:
    fields = {"database": str(tmp_path / "x.db"), "command": "\nSELEC 1", "file": "load.sql"}
    assert bad(run("sqlite", fields)).details["at"] == "load.sql:2, line 2, column 1: SELEC 1"


QUOTED = [
    "'a;''b'",
    '"x;y"',
    "-- no;\n",
    "/* no; */",
    "$$ no; $$",
    "$f$ a; $$ b; $f$",
    "a",
    " ",
    "\n",
]


@given(st.lists(st.lists(st.sampled_from(QUOTED), max_size=4), min_size=1, max_size=4))
def test_statements_are_told_apart_by_what_divides_them_only(parts: list[list[str]]) -> None:
    command, wanted = "", []
    for part in parts:
        text = "SELECT " + " ".join(part)
        wanted.append(len(command))
        command += f"{text} ;"
    assert starts(command) == wanted
