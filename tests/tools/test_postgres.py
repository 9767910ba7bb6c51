"""``kind: postgres`` on a real PostgreSQL."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from support.attempts import bad, good, run, with_tools

from petra.tools import sql as tools_sql
from petra.tools.base import Cancellation, ToolContext, ToolSettings
from petra.tools.registry import Registry
from petra.wire import Outcome

pytestmark = pytest.mark.slow


@pytest.fixture(name="sql")
def sql_fixture(postgres_url: str) -> Any:
    def sql(command: str, params: Any = None, **more: Any) -> Outcome:
        fields = {"url": postgres_url, "command": command}
        return run("postgres", fields if params is None else {**fields, "params": params}, **more)

    return sql


@pytest.fixture(name="table")
def table_fixture(sql: Any) -> str:
    good(
        sql(
            "DROP TABLE IF EXISTS item; CREATE TABLE item (id int PRIMARY KEY, n int NOT NULL CHECK (n >= 0))"
        )
    )
    return "item"


@pytest.mark.spec("S22")
def test_the_result_is_rows_and_their_count(sql: Any) -> None:
    outcome = sql("SELECT n, 'a' || n AS t FROM generate_series(1, $1::int) n", [2])
    assert good(outcome) == {"rows": [{"n": 1, "t": "a1"}, {"n": 2, "t": "a2"}], "count": 2}


@pytest.mark.spec("S22")
def test_a_command_without_rows_counts_what_it_changed(sql: Any, table: str) -> None:
    assert good(sql(f"INSERT INTO {table} VALUES (1, 1), (2, 2), (3, 3)")) == {
        "rows": [],
        "count": 3,
    }
    assert good(sql(f"UPDATE {table} SET n = 0 WHERE id > $1", [1]))["count"] == 2
    returned = good(sql(f"DELETE FROM {table} WHERE id = 1 RETURNING id"))
    assert returned == {"rows": [{"id": 1}], "count": 1}
    assert good(sql("CREATE TEMP TABLE t (a int)"))["count"] == 0


@pytest.mark.spec("S22")
@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("7::int8", 7), ("1.5::float8", 1.5), ("1.50::numeric", 1.5), ("NULL", None), ("true", True),
        ("12345678901234567890.123456789::numeric", "12345678901234567890.123456789"), ("'NaN'::numeric", "NaN"),
        ("'NaN'::float8", "NaN"), ("'-Infinity'::float8", "-Infinity"), ("date '2026-01-02'", "2026-01-02"),
        ("timestamp '2026-01-02 03:04:05'", "2026-01-02T03:04:05"),
        ("timestamptz '2026-01-02 03:04:05+02'", "2026-01-02T01:04:05+00:00"), ("time '03:04'", "03:04:00"),
        ("interval '1 day 2 s'", 86402.0), ("'00000000-0000-0000-0000-000000000007'::uuid", "00000000-0000-0000-0000-000000000007"),
        ("'\\x6162'::bytea", "YWI="), ("'{\"a\": [1]}'::json", {"a": [1]}), ("'[1, null]'::jsonb", [1, None]),
        ("ARRAY[1, 2]", [1, 2]), ("ARRAY[date '2026-01-02']", ["2026-01-02"]), ("ARRAY[[1], [2]]", [[1], [2]]),
        ("'10.0.0.1'::inet", "10.0.0.1"), ("ROW(1, 'a')", [1, "a"]), ("'infinity'::timestamp", "9999-12-31T23:59:59.999999"),
        ("int4range(1, 5)", "[1,5)"), ("int4range(5, 5)", "empty"), ("numrange(NULL, 1.5, '[]')", "(,1.5]"), ("point(1, 2)", [1.0, 2.0]), ("''", ""), ("'é☃'", "é☃"), ("'a'::\"char\"", "YQ=="),
    ],
)  # fmt: skip
def test_every_type_has_a_json_form(sql: Any, expression: str, value: Any) -> None:
    (row,) = good(sql(f"SELECT {expression} AS v"))["rows"]
    assert row == {"v": value}


@pytest.mark.spec("S22")
@pytest.mark.parametrize(
    ("kind", "value", "text"),
    [
        ("int", 7, "7"), ("text", "x'; DROP TABLE t; --", "x'; DROP TABLE t; --"), ("numeric", 0.1, "0.1"),
        ("numeric", "12345678901234567890.5", "12345678901234567890.5"), ("date", "2026-01-02", "2026-01-02"),
        ("timestamp", "2026-01-02T03:04:05", "2026-01-02 03:04:05"), ("timestamp", "2026-01-02T03:04:05+02:00", "2026-01-02 01:04:05"),
        ("timestamptz", "2026-01-02T03:04:05Z", "2026-01-02 03:04:05+00"), ("timestamptz", "2026-01-02", "2026-01-02 00:00:00+00"),
        ("time", "03:04", "03:04:00"), ("interval", 90, "00:01:30"), ("bytea", "YWI=", "\\x6162"), ("bool", True, "true"),
        ("uuid", "00000000-0000-0000-0000-000000000007", "00000000-0000-0000-0000-000000000007"),
        ("json", {"a": 1}, '{"a":1}'), ("jsonb", [1, None], "[1, null]"), ("jsonb", "text", '"text"'), ("int[]", [1, None], "{1,NULL}"),
        ("date[]", ["2026-01-02"], "{2026-01-02}"), ("jsonb[]", [{"a": 1}], '{"{\\"a\\": 1}"}'), ("text", None, None), ("float8", 2, "2"),
    ],
)  # fmt: skip
def test_json_parameters_become_what_their_place_expects(
    sql: Any, kind: str, value: Any, text: str | None
) -> None:
    outcome = sql(f"SELECT ($1::{kind})::text AS v", [value])
    assert good(outcome)["rows"] == [{"v": text}]


@pytest.mark.spec("S5", "S22")
@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("int", "seven"), ("int", 1.5), ("int", 2**40), ("text", 7), ("date", "tomorrow"), ("date", 7), ("uuid", "x"),
        ("bytea", "no base64!"), ("int[]", 7), ("numeric", "many"), ("interval", "soon"), ("text", "a\0b"),
    ],
)  # fmt: skip
def test_a_parameter_that_does_not_fit_is_a_client_error(sql: Any, kind: str, value: Any) -> None:
    assert bad(sql(f"SELECT $1::{kind}", [value])).kind == "client_error"


@pytest.mark.parametrize("params", [[], [1, 2], {"a": 1}, "x"])
def test_the_number_of_parameters_must_fit(sql: Any, params: Any) -> None:
    assert bad(sql("SELECT $1::int", params)).kind == "client_error"


@pytest.mark.spec("S5", "S22")
@pytest.mark.parametrize(
    ("command", "code", "kind"),
    [
        ("SELEC 1", "42601", "client_error"), ("SELECT * FROM no_such_table", "42P01", "client_error"),
        ("SELECT no_such_column", "42703", "client_error"), ("SELECT 1 / 0", "22012", "client_error"),
        ("SELECT 'x'::int", "22P02", "client_error"), ("SELECT (SELECT 1 UNION SELECT 2)", "21000", "client_error"),
        ("INSERT INTO item VALUES (1, 1), (1, 1)", "23505", "constraint"), ("INSERT INTO item VALUES (1, -1)", "23514", "constraint"),
        ("INSERT INTO item VALUES (1, NULL)", "23502", "constraint"), ("DO $$ BEGIN RAISE 'no'; END $$", "P0001", "client_error"),
        ("SET statement_timeout = 20; SELECT pg_sleep(5)", "57014", "timeout"),
        ("SET TRANSACTION READ ONLY; DELETE FROM item", "25006", "denied"),
        ("SET ROLE nobody_at_all", "22023", "client_error"), ("CREATE TABLE item (a int)", "42P07", "client_error"),
    ],
)  # fmt: skip
@pytest.mark.usefixtures("table")
def test_what_really_goes_wrong_has_its_kind_and_code(
    sql: Any, command: str, code: str, kind: str
) -> None:
    outcome = sql(command)
    assert (bad(outcome).kind, bad(outcome).code) == (kind, code)
    assert outcome.more == {"pg": {"code": code}}


@pytest.mark.spec("S5", "S22")
@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("02000", "not_found"), ("03000", "client_error"), ("08006", "connection"), ("0A000", "client_error"),
        ("21000", "client_error"), ("22003", "client_error"), ("23503", "constraint"), ("24000", "client_error"),
        ("25001", "client_error"), ("26000", "client_error"), ("28000", "auth"), ("28P01", "auth"), ("2F002", "client_error"),
        ("34000", "client_error"), ("3D000", "not_found"), ("3F000", "client_error"), ("40001", "deadlock"),
        ("40P01", "deadlock"), ("42501", "denied"), ("42883", "client_error"), ("44000", "constraint"), ("53000", "quota"),
        ("53100", "quota"), ("53200", "quota"), ("53300", "quota"), ("54000", "limit"), ("55006", "deadlock"),
        ("55P03", "deadlock"), ("57000", "server_error"), ("57014", "timeout"), ("57P03", "connection"),
        ("58030", "server_error"), ("72000", "deadlock"), ("F0001", "server_error"), ("HV000", "server_error"),
        ("P0002", "not_found"), ("XX000", "server_error"), ("XX001", "server_error"), ("ZZ999", "client_error"),
    ],
)  # fmt: skip
def test_every_class_of_sqlstate_has_its_kind(sql: Any, code: str, kind: str) -> None:
    outcome = sql(f"DO $$ BEGIN RAISE EXCEPTION 'as told' USING ERRCODE = '{code}'; END $$")
    assert (bad(outcome).kind, outcome.more) == (kind, {"pg": {"code": code}})
    assert bad(outcome).message == "as told"


@pytest.mark.spec("S5", "S22")
def test_a_connection_that_is_cut_is_a_connection_error_and_the_next_one_is_new(
    postgres_url: str,
) -> None:
    async def use(registry: Registry) -> list[Outcome]:
        cut = {"url": postgres_url, "command": "SELECT pg_terminate_backend(pg_backend_pid())"}
        ask = {"url": postgres_url, "command": "SELECT 1"}
        return [await registry.attempt("postgres", fields, ToolContext()) for fields in (cut, ask)]

    cut, after = with_tools(use)
    assert bad(cut).kind == "connection"
    assert good(after)["count"] == 1


@pytest.mark.spec("S5")
def test_a_constraint_is_named(sql: Any, table: str) -> None:
    error = bad(sql(f"INSERT INTO {table} VALUES (1, -1)"))
    assert error.details["constraint_name"] == "item_n_check"


@pytest.mark.spec("S5", "S22")
@pytest.mark.parametrize(
    ("url", "kind"),
    [
        ("postgresql://u:hunter2@127.0.0.1:1/db", "connection"), ("postgresql://nobody.invalid/db", "connection"),
        ("mysql://localhost/db", "client_error"), ("", "client_error"), ("postgresql://h:port/db", "client_error"),
    ],
)  # fmt: skip
def test_an_address_that_does_not_answer(url: str, kind: str) -> None:
    outcome = run("postgres", {"url": url, "command": "SELECT 1"})
    assert bad(outcome).kind == kind
    assert "hunter2" not in repr(outcome)


def test_a_database_that_is_not_there_is_not_found(postgres_url: str) -> None:
    url = postgres_url.replace("/postgres?", "/no_such_db?")
    assert bad(run("postgres", {"url": url, "command": "SELECT 1"})).kind == "not_found"


@pytest.mark.spec("S20")
def test_auth_names_a_keychain_value_with_a_url_or_parts(postgres_url: str) -> None:
    host = postgres_url.partition("host=")[2]
    parts = {
        "host": host,
        "username": "postgres",
        "dbname": "postgres",
        "password": "x",
        "port": "5432",
    }
    fields = {"auth": "db", "command": "SELECT 1 AS n"}
    for value in (postgres_url, {"url": postgres_url}, parts):
        assert good(run("postgres", fields, secrets={"db": value}))["count"] == 1
    assert bad(run("postgres", fields, secrets={"db": {"colour": "blue"}})).kind == "auth"
    assert bad(run("postgres", {"command": "SELECT 1"})).kind == "client_error"


@pytest.mark.spec("S5", "S22")
def test_more_rows_than_allowed_are_an_error_and_change_nothing(sql: Any, table: str) -> None:
    good(sql(f"INSERT INTO {table} SELECT n, n FROM generate_series(1, 10) n"))
    command = f"DELETE FROM {table} RETURNING id"
    assert bad(sql(command, spec={"max_rows": 9})).kind == "limit"
    assert good(sql(f"SELECT count(*) AS n FROM {table}"))["rows"] == [{"n": 10}]
    assert good(sql(command, spec={"max_rows": 10}))["count"] == 10


@pytest.mark.spec("S18", "S22")
def test_rows_that_no_worker_has_room_for_are_an_error_and_change_nothing(
    sql: Any, table: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    good(sql(f"INSERT INTO {table} SELECT n, n FROM generate_series(1, 3) n"))
    command = f"DELETE FROM {table} RETURNING repeat('x', 10000) AS t"
    with monkeypatch.context() as patched:
        patched.setattr(tools_sql, "ROWS_BYTES", 29_999)
        assert bad(sql(command)).kind == "limit"
    assert good(sql(command))["count"] == 3


@pytest.mark.spec("S22")
def test_more_rows_than_are_fetched_at_once_all_come(sql: Any) -> None:
    for many in (999, 1_000, 1_001, 2_500):
        found = good(sql(f"SELECT n FROM generate_series(1, {many}) n"))
        assert found["rows"] == [{"n": n} for n in range(1, many + 1)]
    assert (
        bad(sql("SELECT n FROM generate_series(1, 1000) n", spec={"max_rows": 999})).kind == "limit"
    )


@pytest.mark.spec("S22")
def test_several_statements_are_all_or_nothing(sql: Any, table: str) -> None:
    bad(sql(f"INSERT INTO {table} VALUES (1, 1); INSERT INTO {table} VALUES (1, 1)"))
    assert good(sql(f"SELECT * FROM {table}"))["count"] == 0
    assert (
        good(sql(f"INSERT INTO {table} VALUES (1, 1); INSERT INTO {table} VALUES (2, 2)"))["count"]
        == 1
    )


@pytest.mark.spec("S5")
@pytest.mark.parametrize("how", ["timeout", "cancel"])
def test_a_stopped_command_stops_on_the_server_too(postgres_url: str, how: str) -> None:
    async def use(registry: Registry) -> tuple[Outcome, Outcome]:
        cancelled = Cancellation()
        spec = {"timeout_s": 0.3} if how == "timeout" else {}
        context = ToolContext(spec=spec, cancelled=cancelled)
        sleep = {"url": postgres_url, "command": "SELECT pg_sleep(60) /* mine */"}
        running = asyncio.create_task(registry.attempt("postgres", sleep, context))
        look = {
            "url": postgres_url,
            "command": "SELECT 1 FROM pg_stat_activity WHERE query LIKE $1 AND state = 'active'"
            " AND pid <> pg_backend_pid()",
            "params": ["%/* mine */%"],
        }
        seen = 0
        # On a slow machine the time may be up before the command is seen at all.
        while not seen and not running.done():
            seen = good(await registry.attempt("postgres", look, ToolContext()))["count"]
        if how == "cancel":
            cancelled.set()
        stopped = await running
        while good(found := await registry.attempt("postgres", look, ToolContext()))["count"]:
            pass
        return stopped, found

    stopped, found = with_tools(use)
    assert bad(stopped).kind == {"timeout": "timeout", "cancel": "cancelled"}[how]
    assert good(found)["count"] == 0


def test_connections_are_pooled_and_bounded(postgres_url: str) -> None:
    async def use(registry: Registry) -> set[int]:
        fields = {"url": postgres_url, "command": "SELECT pg_backend_pid() AS pid"}
        outcomes = await asyncio.gather(
            *(registry.attempt("postgres", fields, ToolContext()) for _ in range(20))
        )
        return {good(outcome)["rows"][0]["pid"] for outcome in outcomes}

    assert len(with_tools(use, ToolSettings(connections=2))) <= 2


def test_two_tasks_that_lock_each_other_out_end_with_a_deadlock(
    postgres_url: str, sql: Any, table: str
) -> None:
    good(sql(f"INSERT INTO {table} VALUES (1, 0), (2, 0)"))

    def crossing(first: int, second: int) -> str:
        return (
            f"UPDATE {table} SET n = n + 1 WHERE id = {first}; SELECT pg_sleep(0.1);"
            f"UPDATE {table} SET n = n + 1 WHERE id = {second}"
        )

    async def use(registry: Registry) -> list[Outcome]:
        return await asyncio.gather(
            *(
                registry.attempt(
                    "postgres", {"url": postgres_url, "command": command}, ToolContext()
                )
                for command in (crossing(1, 2), crossing(2, 1))
            )
        )

    good(sql("ALTER DATABASE postgres SET deadlock_timeout = '50ms'"))
    kinds = sorted(outcome.error.kind if outcome.error else "ok" for outcome in with_tools(use))
    assert kinds == ["deadlock", "ok"]


# Many rows


@pytest.fixture(name="bulk")
def bulk_fixture(postgres_url: str) -> Any:
    def bulk(**fields: Any) -> Outcome:
        return run("postgres", {"url": postgres_url, **fields})

    return bulk


@pytest.mark.spec("S22")
def test_a_command_is_run_for_each_of_many(sql: Any, table: str, bulk: Any) -> None:
    rows: list[Any] = [[n, str(n)] if n == 3 else [n, float(n)] for n in range(500)]
    assert bad(bulk(command=f"INSERT INTO {table} VALUES ($1, $2)", many=rows)).message.startswith(
        "many[3]: "
    )
    rows[3] = [3, 3]
    done = bulk(command=f"INSERT INTO {table} VALUES ($1, $2)", many=rows)
    assert good(done) == {"rows": [], "count": 500}
    assert good(sql(f"SELECT count(*) AS c, sum(n) AS s FROM {table}"))["rows"] == [
        {"c": 500, "s": 124750}
    ]
    assert good(bulk(command=f"DELETE FROM {table} WHERE id = $1", many=[]))["count"] == 0


@pytest.mark.spec("S5", "S22")
def test_many_are_all_or_nothing(sql: Any, table: str, bulk: Any) -> None:
    error = bad(bulk(command=f"INSERT INTO {table} VALUES ($1, $2)", many=[[1, 1], [2, -1]]))
    assert error.kind == "constraint"
    assert good(sql(f"SELECT count(*) AS c FROM {table}"))["rows"] == [{"c": 0}]
    for rows in ([[1]], [{"id": 1}], [7], "x"):
        assert bad(bulk(command=f"INSERT INTO {table} VALUES ($1, $2)", many=rows)).kind == "client_error"  # fmt: skip


@pytest.mark.spec("S22")
def test_rows_are_copied_by_name_or_in_order_with_their_types(sql: Any, bulk: Any) -> None:
    good(sql('DROP TABLE IF EXISTS "Odd ""name"; CREATE TABLE "Odd ""name" (id int, "at day" date, j jsonb, b bytea)'))  # fmt: skip
    copy = {"table": 'Odd "name'}
    rows = [{"id": 1, "at day": "2026-01-02", "j": {"a": [1]}, "b": "AAE="}, {"id": 2}]
    assert good(bulk(copy=copy, many=rows)) == {"rows": [], "count": 2}
    ordered = {**copy, "table": 'public.Odd "name', "columns": ["j", "id"]}
    assert good(bulk(copy=ordered, many=[[None, 3], ["x", 4]]))["count"] == 2
    found = good(sql('SELECT * FROM "Odd ""name" ORDER BY id'))["rows"]
    assert found[0] == {"id": 1, "at day": "2026-01-02", "j": {"a": [1]}, "b": "AAE="}
    assert [row["j"] for row in found] == [{"a": [1]}, None, None, "x"]


@pytest.mark.spec("S5", "S22")
@pytest.mark.parametrize(
    ("copy", "rows", "kind"),
    [
        ({"table": "item"}, [[1, 1], [2, -1]], "constraint"),
        ({"table": "item"}, [[1, 1], [2, "x"]], "client_error"),
        ({"table": "item"}, [[1, 1], [2]], "client_error"),
        ({"table": "item"}, [{"id": 1, "n": 1}, {"id": 2, "other": 1}], "client_error"),
        ({"table": "item", "columns": ["id", "gone"]}, [[1, 1]], "client_error"),
        ({"table": "nowhere"}, [[1, 1]], "client_error"),
        ({"table": "item; DROP TABLE item"}, [[1, 1]], "client_error"),
        ({"table": "a.b.c.d"}, [[1, 1]], "client_error"),
        ({"table": ""}, [[1, 1]], "client_error"),
    ],
)
@pytest.mark.usefixtures("table")
def test_a_copy_is_all_or_nothing(sql: Any, bulk: Any, copy: Any, rows: Any, kind: str) -> None:
    assert bad(bulk(copy=copy, many=rows)).kind == kind
    assert good(sql("SELECT count(*) AS c FROM item"))["rows"] == [{"c": 0}]


def test_a_copy_has_rows_and_no_command(table: str, bulk: Any) -> None:
    assert good(bulk(copy={"table": table}, many=[])) == {"rows": [], "count": 0}
    assert "no command" in bad(bulk(copy={"table": table}, many=[[1, 1]], command="x")).message
    assert "rows of many" in bad(bulk(copy={"table": table})).message


def test_ten_megabytes_are_copied(sql: Any, bulk: Any) -> None:
    good(sql("DROP TABLE IF EXISTS big; CREATE TABLE big (id int, t text)"))
    rows = [[n, "x" * 100] for n in range(100_000)]
    assert good(bulk(copy={"table": "big"}, many=rows))["count"] == 100_000
