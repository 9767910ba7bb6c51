"""``kind: sqlite`` and ``kind: duckdb``: SQL on files."""

from __future__ import annotations

import asyncio
import stat
from pathlib import Path
from typing import Any

import apsw
import duckdb
import pytest
from support.attempts import bad, good, run, with_tools

from petra.tools import sql as tools_sql
from petra.tools import threads
from petra.tools.base import Cancellation, ToolContext
from petra.tools.registry import Registry
from petra.wire import Outcome

KINDS = ["sqlite", "duckdb"]
TABLE = "CREATE TABLE item (id integer PRIMARY KEY, n integer NOT NULL CHECK (n >= 0), t text)"


class Sql:
    """Runs commands of one kind on one file."""

    def __init__(self, kind: str, folder: Path) -> None:
        self.kind = kind
        self.file = folder / f"test.{kind}"

    def __call__(self, command: str, params: Any = None, **more: Any) -> Outcome:
        fields = {"database": str(self.file), "command": command, "params": params}
        return run(self.kind, fields, **more)


@pytest.fixture(name="sql", params=KINDS)
def sql_fixture(request: pytest.FixtureRequest, tmp_path: Path) -> Sql:
    sql = Sql(request.param, tmp_path)
    good(sql(TABLE))
    return sql


@pytest.fixture(name="sqlite")
def sqlite_fixture(tmp_path: Path) -> Sql:
    sql = Sql("sqlite", tmp_path)
    good(sql(TABLE))
    return sql


@pytest.mark.spec("S22")
def test_the_result_is_rows_and_their_count(sql: Sql) -> None:
    assert good(sql("INSERT INTO item VALUES (1, 5, 'a'), (2, 6, NULL)")) == {
        "rows": [],
        "count": 2,
    }
    rows = [{"id": 1, "t": "a"}, {"id": 2, "t": None}]
    assert good(sql("SELECT id, t FROM item ORDER BY id")) == {"rows": rows, "count": 2}
    assert good(sql("SELECT id FROM item WHERE id > 9")) == {"rows": [], "count": 0}
    assert good(sql("UPDATE item SET n = 0"))["count"] == 2
    assert good(sql("DELETE FROM item WHERE id = 1 RETURNING id")) == {
        "rows": [{"id": 1}],
        "count": 1,
    }


@pytest.mark.spec("S22")
def test_parameters_are_bound_by_position_or_by_name(sql: Sql) -> None:
    hostile = "x'); DROP TABLE item; --"
    good(sql("INSERT INTO item VALUES (?, ?, ?)", [1, 2, hostile]))
    assert good(sql("SELECT t FROM item WHERE id = $id", {"id": 1}))["rows"] == [{"t": hostile}]


@pytest.mark.spec("S22")
def test_lists_and_objects_are_bound_as_json_text_in_sqlite(sqlite: Sql) -> None:
    good(sqlite("INSERT INTO item VALUES (1, 2, ?)", [{"a": [1]}]))
    assert good(sqlite("SELECT t ->> '$.a[0]' AS n FROM item"))["rows"] == [{"n": 1}]


@pytest.mark.spec("S5", "S22")
@pytest.mark.parametrize(
    ("command", "params", "kind"),
    [
        ("SELEC 1", None, "client_error"), ("SELECT * FROM no_such_table", None, "client_error"),
        ("SELECT no_such_column FROM item", None, "client_error"), ("INSERT INTO item VALUES (1, 1, ''), (1, 1, '')", None, "constraint"),
        ("INSERT INTO item VALUES (1, -1, '')", None, "constraint"), ("INSERT INTO item VALUES (1, NULL, '')", None, "constraint"),
        ("SELECT ?", [], "client_error"), ("SELECT ?", [1, 2], "client_error"), ("SELECT $a", {"b": 1}, "client_error"),
        ("SELECT ?", "x", "client_error"), ("CREATE TABLE item (a integer)", None, "client_error"),
    ],
)  # fmt: skip
def test_each_failure_has_its_kind(sql: Sql, command: str, params: Any, kind: str) -> None:
    error = bad(sql(command, params))
    assert error.kind == kind
    assert error.message


@pytest.mark.spec("S5")
def test_a_constraint_of_sqlite_has_its_code(sqlite: Sql) -> None:
    good(sqlite("INSERT INTO item VALUES (1, 1, '')"))
    assert bad(sqlite("INSERT INTO item VALUES (1, 1, '')")).code == "SQLITE_CONSTRAINT_PRIMARYKEY"


@pytest.mark.spec("S5")
@pytest.mark.parametrize("kind", KINDS)
def test_a_file_that_cannot_be_opened_is_a_connection_error(kind: str, tmp_path: Path) -> None:
    fields = {"database": str(tmp_path / "no" / "folder"), "command": "SELECT 1"}
    assert bad(run(kind, fields)).kind == "connection"


@pytest.mark.spec("S5")
def test_a_file_of_something_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"no database at all, " * 100)
    fields = {"database": str(tmp_path / "x"), "command": "SELECT * FROM sqlite_schema"}
    assert bad(run("sqlite", fields)).kind == "parse"
    assert bad(run("duckdb", fields)).kind == "connection"


@pytest.mark.spec("S5")
def test_a_damaged_file_is_an_error_of_the_server(sqlite: Sql) -> None:
    good(
        sqlite(
            "WITH RECURSIVE s(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM s WHERE i < 200)"
            " INSERT INTO item SELECT i, 1, hex(zeroblob(500)) FROM s"
        )
    )
    content = bytearray(sqlite.file.read_bytes())
    content[4096:] = b"\xff" * (len(content) - 4096)
    sqlite.file.write_bytes(content)
    assert bad(sqlite("SELECT sum(length(t)) FROM item")).kind == "server_error"


@pytest.mark.spec("S5")
def test_a_file_that_may_only_be_read_is_denied(sqlite: Sql) -> None:
    sqlite.file.chmod(stat.S_IRUSR)
    error = bad(sqlite("PRAGMA query_only = 1; INSERT INTO item VALUES (1, 1, '')"))
    assert error.kind == "denied"


@pytest.mark.spec("S5")
def test_a_full_database_is_a_quota_error(sqlite: Sql) -> None:
    grow = "PRAGMA max_page_count = 4; INSERT INTO item VALUES (1, 1, hex(zeroblob(100000)))"
    assert bad(sqlite(grow)).kind == "quota"


@pytest.mark.spec("S5")
def test_a_value_that_is_too_large_is_a_limit_error(sqlite: Sql) -> None:
    assert bad(sqlite("SELECT zeroblob(3000000000)")).kind == "limit"


@pytest.mark.spec("S5")
def test_a_file_that_stays_locked_is_a_deadlock(
    sqlite: Sql, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("petra.tools.sqlite.BUSY_MS", 20)
    other = apsw.Connection(str(sqlite.file))
    other.execute("BEGIN IMMEDIATE")
    try:
        error = bad(sqlite("INSERT INTO item VALUES (1, 1, '')"))
    finally:
        other.close()
    assert (error.kind, error.code, error.retryable) == ("deadlock", "SQLITE_BUSY", True)


@pytest.mark.spec("S5")
def test_two_writers_of_one_duckdb_row_are_a_deadlock(tmp_path: Path) -> None:
    sql = Sql("duckdb", tmp_path)
    good(sql(f"{TABLE}; INSERT INTO item VALUES (1, 1, 'a')"))
    other = duckdb.connect(str(sql.file))
    other.execute("BEGIN; UPDATE item SET n = 2 WHERE id = 1")
    try:
        assert bad(sql("UPDATE item SET n = 3 WHERE id = 1")).kind == "deadlock"
    finally:
        other.close()


@pytest.mark.spec("S5", "S22")
def test_more_rows_than_allowed_are_an_error_and_change_nothing(sql: Sql) -> None:
    good(sql("INSERT INTO item VALUES (1, 1, ''), (2, 2, ''), (3, 3, '')"))
    assert bad(sql("DELETE FROM item RETURNING id", spec={"max_rows": 2})).kind == "limit"
    assert good(sql("SELECT * FROM item", spec={"max_rows": "3"}))["count"] == 3


@pytest.mark.spec("S18", "S22")
def test_rows_that_no_worker_has_room_for_are_an_error_and_change_nothing(
    sql: Sql, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A value of 900 MB kept its worker from everything until it was taken for hung, five times."""
    long = "printf('%.*c', 10000, 'x')" if sql.kind == "sqlite" else "repeat('x', 10000)"
    good(sql(f"INSERT INTO item VALUES (1, 1, {long}), (2, 2, {long}), (3, 3, {long})"))
    with monkeypatch.context() as patched:
        patched.setattr(tools_sql, "ROWS_BYTES", 29_999)
        refused = bad(sql("UPDATE item SET n = 7 RETURNING t"))
        assert refused.kind == "limit"
        assert "rows of more than 29,999 bytes; nothing was changed" in refused.message
        patched.setattr(tools_sql, "ROWS_BYTES", 30_000)
        assert good(sql("SELECT t FROM item"))["count"] == 3
    assert good(sql("SELECT max(n) AS n FROM item"))["rows"] == [{"n": 3}]


@pytest.mark.spec("S18", "S22")
def test_one_value_of_sqlite_is_never_made_when_it_is_too_large(sqlite: Sql) -> None:
    refused = bad(sqlite("SELECT zeroblob(900000000) AS b"))
    assert (refused.kind, refused.code) == ("limit", "SQLITE_TOOBIG")


@pytest.mark.spec("S5", "S22")
def test_a_text_of_sqlite_that_is_no_utf_8_is_called_that(sqlite: Sql) -> None:
    refused = bad(sqlite("SELECT cast(x'ff' AS text) AS t"))
    assert refused.kind == "parse"
    assert "a text of the database is no UTF-8" in refused.message
    assert good(sqlite("SELECT cast(cast(x'ff' AS text) AS blob) AS t"))["rows"] == [{"t": "/w=="}]


@pytest.mark.spec("S22")
def test_several_statements_are_all_or_nothing(sql: Sql) -> None:
    bad(sql("INSERT INTO item VALUES (1, 1, ''); INSERT INTO item VALUES (1, 1, '')"))
    assert good(sql("SELECT * FROM item"))["count"] == 0


def test_a_pragma_stands_alone_even_after_a_comment(sqlite: Sql) -> None:
    command = "-- first\n/* then */ ; PRAGMA journal_mode = wal"
    assert good(sqlite(command))["rows"] == [{"journal_mode": "wal"}]


@pytest.mark.spec("S5")
@pytest.mark.parametrize(
    ("kind", "command"),
    [
        ("sqlite", "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n"),
        ("duckdb", "SELECT count(*) FROM range(100000000) a, range(100000000) b WHERE a.range % 7 = b.range % 11"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("how", ["timeout", "cancel"])
def test_a_command_without_end_is_interrupted(
    kind: str, command: str, how: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # it is asked as often in a second, and on a busy machine as long as it takes
    monkeypatch.setattr(threads, "GRACE_S", 60 * threads.GRACE_S)
    monkeypatch.setattr(threads, "ASKED", 60 * threads.ASKED)

    async def use(registry: Registry) -> Outcome:
        cancelled = Cancellation()
        context = ToolContext(spec={"timeout_s": 0.2}, cancelled=cancelled)
        fields = {"database": str(tmp_path / "x"), "command": command}
        running = asyncio.create_task(registry.attempt(kind, fields, context))
        if how == "cancel":
            asyncio.get_running_loop().call_later(0.05, cancelled.set)
        outcome = await running
        tool: Any = registry.tool(kind)
        assert tool._threads._idle == 1, "the thread has come back"
        return outcome

    assert bad(with_tools(use)).kind == {"timeout": "timeout", "cancel": "cancelled"}[how]


@pytest.mark.spec("S22")
@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("7", 7), ("1.50::decimal(9, 2)", 1.5), ("date '2026-01-02'", "2026-01-02"), ("[1, 2]", [1, 2]),
        ("{'a': 1}", {"a": 1}), ("'ab'::blob", "YWI="), ("uuid '00000000-0000-0000-0000-000000000007'", "00000000-0000-0000-0000-000000000007"),
        ("timestamp '2026-01-02 03:04:05'", "2026-01-02T03:04:05"), ("NULL", None), ("true", True), ("interval 90 seconds", 90.0),
        ("'nan'::double", "NaN"), ("map {'k': 1}", {"k": 1}), ("2::hugeint ** 70", 1180591620717411303424),
    ],
)  # fmt: skip
def test_every_type_of_duckdb_has_a_json_form(expression: str, value: Any) -> None:
    assert good(run("duckdb", {"command": f"SELECT {expression} AS v"}))["rows"] == [{"v": value}]


def test_bytes_of_sqlite_come_as_base64(sqlite: Sql) -> None:
    assert good(sqlite("SELECT x'6162' AS v, 1.5 AS f"))["rows"] == [{"v": "YWI=", "f": 1.5}]


def test_duckdb_works_in_memory_and_sqlite_needs_a_file() -> None:
    assert good(run("duckdb", {"command": "SELECT 1 AS n"}))["rows"] == [{"n": 1}]
    assert bad(run("sqlite", {"command": "SELECT 1"})).kind == "client_error"


@pytest.mark.spec("S20")
@pytest.mark.parametrize("kind", KINDS)
def test_auth_may_name_the_file(kind: str, tmp_path: Path) -> None:
    fields = {"auth": "db", "command": "SELECT 1 AS n"}
    for value in (str(tmp_path / "a"), {"database": str(tmp_path / "a")}):
        assert good(run(kind, fields, secrets={"db": value}))["count"] == 1
    assert bad(run(kind, fields, secrets={"db": {"colour": "blue"}})).kind == "auth"


# Many sets of parameters


def many(sql: Sql, command: str, rows: Any) -> Outcome:
    return run(sql.kind, {"database": str(sql.file), "command": command, "many": rows})


@pytest.mark.spec("S22")
def test_a_command_is_run_for_each_of_many(sql: Sql) -> None:
    rows = [[n, n * 2, f"it's {n}"] for n in range(500)]
    assert good(many(sql, "INSERT INTO item VALUES (?, ?, ?)", rows)) == {"rows": [], "count": 500}
    found = good(sql("SELECT count(*) AS c, sum(n) AS s FROM item"))["rows"]
    assert found == [{"c": 500, "s": 249500}]
    by_name = [{"id": n, "t": None} for n in range(3)]
    assert good(many(sql, "UPDATE item SET t = $t WHERE id = $id", by_name))["count"] == 3
    assert good(sql("SELECT count(*) AS c FROM item WHERE t IS NULL"))["rows"] == [{"c": 3}]
    assert good(many(sql, "INSERT INTO nowhere VALUES (?)", [])) == {"rows": [], "count": 0}


@pytest.mark.spec("S5", "S22")
def test_many_are_all_or_nothing_and_the_error_names_which(sql: Sql) -> None:
    rows = [[1, 1, "a"], [2, 2, "b"], [3, -1, "c"], [4, 4, "d"]]
    error = bad(many(sql, "INSERT INTO item VALUES (?, ?, ?)", rows))
    assert (error.kind, error.message.startswith("many[2]: ")) == ("constraint", True)
    assert good(sql("SELECT count(*) AS c FROM item"))["rows"] == [{"c": 0}]


@pytest.mark.parametrize("rows", [7, "x", {"a": 1}, [1], [[1, 1, "a"], "x"], [None]])
def test_many_is_a_list_of_lists_or_objects(sql: Sql, rows: Any) -> None:
    error = bad(many(sql, "INSERT INTO item VALUES (?, ?, ?)", rows))
    assert (error.kind, "many" in error.message) == ("client_error", True)
    assert good(sql("SELECT count(*) AS c FROM item"))["rows"] == [{"c": 0}]


@pytest.mark.parametrize("rows", [[[1, 1]], [[1, 1, "a", 2]], [{"id": 1}]])
def test_what_does_not_fit_the_placeholders_is_refused(sql: Sql, rows: Any) -> None:
    assert bad(many(sql, "INSERT INTO item VALUES (?, ?, ?)", rows)).kind == "client_error"


def test_many_and_params_exclude_each_other(sql: Sql) -> None:
    fields = {"database": str(sql.file), "command": "SELECT 1", "many": [[1]], "params": [1]}
    assert "params or many" in bad(run(sql.kind, fields)).message


@pytest.mark.slow
def test_ten_megabytes_of_rows_are_written(sql: Sql) -> None:
    rows = [[n, n, "x" * 100] for n in range(100_000)]
    assert good(many(sql, "INSERT INTO item VALUES (?, ?, ?)", rows))["count"] == 100_000
    found = good(sql("SELECT count(*) AS c, sum(n) AS s, max(length(t)) AS l FROM item"))["rows"]
    assert found == [{"c": 100_000, "s": 4_999_950_000, "l": 100}]


@pytest.mark.slow
@pytest.mark.spec("S5", "S22")
@pytest.mark.parametrize("bad_one", [0, 1, 9_999, 10_000, 24_999])
def test_of_very_many_rows_the_error_names_the_first_that_does_not_fit(sql: Sql, bad_one: int) -> None:  # fmt: skip
    rows = [[n, -1 if n >= bad_one else n, "x"] for n in range(25_000)]
    error = bad(many(sql, "INSERT INTO item VALUES (?, ?, ?)", rows))
    assert (error.kind, error.message.startswith(f"many[{bad_one}]: ")) == ("constraint", True)
    assert good(sql("SELECT count(*) AS c FROM item"))["rows"] == [{"c": 0}]


ODD = [
    ("INSERT INTO item (t, id) VALUES ($t, $id)", [{"id": 1, "t": "a"}, {"t": None, "id": 2}]),
    ("insert into item values ($3, $1, $2);", [[1, "a", 3], [2, "b", 4]]),
    ("INSERT INTO item VALUES (?, ?, ?)", [[1, 1, "a"], [2, None, None], [3, 2, "c"]]),
    ("INSERT INTO item VALUES (?, ?, ?)", [[1, 1, "a"], [2, 2.0, "b"], [3, "3", 4]]),
    ("INSERT INTO item VALUES (?, ?, upper(?))", [[1, 1, "a"], [2, 2, "b"]]),
    ("INSERT INTO item SELECT ?, ?, ?", [[1, 1, "a"], [2, 2, "b"]]),
    ("INSERT INTO item VALUES (?, ?, ?) ON CONFLICT (id) DO UPDATE SET n = n + 1", [[1, 1, "a"], [1, 2, "b"]]),
    ("INSERT INTO item VALUES (?, ?, 'VALUES (?)')", [[1, 1], [2, 2]]),
]  # fmt: skip


@pytest.mark.parametrize(("command", "rows"), ODD)
def test_rows_that_go_together_are_what_they_are_one_by_one(command: str, rows: list[Any], tmp_path: Path) -> None:  # fmt: skip
    found = []
    for name in ("together", "alone"):
        (tmp_path / name).mkdir()
        sql = Sql("duckdb", tmp_path / name)
        good(sql("CREATE TABLE item (id bigint PRIMARY KEY, n double, t text)"))
        if name == "together":
            assert good(many(sql, command, rows))["count"] == len(rows)
        else:
            for row in rows:
                good(sql(command, row))
        found.append(good(sql("SELECT * FROM item ORDER BY id")))
    assert found[0] == found[1]
