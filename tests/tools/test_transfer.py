"""``kind: transfer``: rows from anywhere to anywhere, everything or nothing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support.attempts import bad, good, with_tools
from support.stub_http import Answer, Asked, Route, reply_json, serving

from petra.tools.base import ToolContext
from petra.tools.registry import Registry
from petra.wire import Outcome

pytestmark = pytest.mark.slow

DATABASES = ["postgres", "sqlite", "duckdb"]
CREATE = "CREATE TABLE {} (id integer PRIMARY KEY, name text, price numeric(9, 2), day date, made timestamp)"
ROWS = [
    {
        "id": n,
        "name": f"é{n}",
        "price": n + 0.5,
        "day": "2026-01-02",
        "made": f"2026-01-02T03:04:0{n}",
    }
    for n in range(1, 6)
]


class World:
    """A database of each kind, and a server that gives and takes rows."""

    def __init__(self, registry: Registry, folder: Path, postgres_url: str) -> None:
        self.registry = registry
        self.places: dict[str, dict[str, Any]] = {
            "postgres": {"url": postgres_url},
            "sqlite": {"database": str(folder / "t.sqlite")},
            "duckdb": {"database": str(folder / "t.duckdb")},
        }
        self.taken: list[list[Any]] = []

    async def sql(self, kind: str, command: str, params: Any = None) -> Any:
        fields = {**self.places[kind], "command": command, "params": params}
        return good(await self.registry.attempt(kind, fields, ToolContext()))["rows"]

    async def table(self, kind: str, name: str, rows: list[dict[str, Any]] | None = None) -> None:
        await self.sql(kind, f"DROP TABLE IF EXISTS {name}")
        await self.sql(kind, CREATE.format(name))
        for row in rows or []:
            marks = ", ".join(f"${n}" for n in range(1, 6))
            await self.sql(kind, f"INSERT INTO {name} VALUES ({marks})", list(row.values()))

    async def source(self, kind: str) -> dict[str, Any]:
        if kind == "http":
            return {"kind": "http", **self.places["http"], "query": "page.items"}
        await self.table(kind, "src", ROWS)
        return {"kind": kind, **self.places[kind], "query": "SELECT * FROM src ORDER BY id"}

    async def target(self, kind: str, **more: Any) -> dict[str, Any]:
        if kind == "http":
            return {"kind": "http", "url": self.places["http"]["url"].replace("/rows", "/take")}
        await self.table(kind, "dst", more.pop("rows", None))
        return {"kind": kind, **self.places[kind], "table": "dst", **more}

    async def move(self, source: Any, target: Any, **more: Any) -> Outcome:
        fields = {"source": source, "target": target, **more}
        return await self.registry.attempt("transfer", fields, ToolContext())

    def take(self, asked: Asked) -> bytes:
        rows = json.loads(asked.body)
        if any(row.get("id") == 13 for row in rows):
            return reply_json({}, "422 No")
        self.taken.append(rows)
        return reply_json({"ok": True})


@pytest.fixture(name="play")
def play_fixture(tmp_path: Path, postgres_url: str) -> Any:
    def play(scenario: Any) -> Any:
        async def use(registry: Registry) -> Any:
            world = World(registry, tmp_path, postgres_url)
            routes: dict[str, Route | bytes | Answer] = {
                "/rows": reply_json({"page": {"items": ROWS}}),
                "/take": world.take,
            }
            async with serving(routes) as stub:
                world.places["http"] = {"url": stub.url("/rows")}
                return await scenario(world)

        return with_tools(use)

    return play


@pytest.mark.spec("S22")
@pytest.mark.parametrize("target", [*DATABASES, "http"])
@pytest.mark.parametrize("source", [*DATABASES, "http"])
def test_rows_go_from_anywhere_to_anywhere(play: Any, source: str, target: str) -> None:
    async def scenario(world: World) -> None:
        outcome = await world.move(
            await world.source(source), await world.target(target), chunk_size=2
        )
        assert good(outcome) == {"count": 5, "chunks": 3}
        if target == "http":
            assert [len(rows) for rows in world.taken] == [2, 2, 1]
            found = [row for rows in world.taken for row in rows]
        else:
            found = await world.sql(target, "SELECT * FROM dst ORDER BY id")
        assert found == ROWS

    play(scenario)


@pytest.mark.spec("S22")
@pytest.mark.parametrize("target", [*DATABASES, "http"])
def test_rows_of_the_playbook_go_anywhere_and_one_object_is_one_row(play: Any, target: str) -> None:
    async def scenario(world: World) -> None:
        end = await world.target(target)
        several = await world.move({"kind": "rows", "rows": ROWS[:4]}, end, chunk_size=3)
        assert good(several) == {"count": 4, "chunks": 2}
        one = await world.move({"kind": "rows", "rows": ROWS[4]}, end)
        assert good(one) == {"count": 1, "chunks": 1}
        if target == "http":
            found = [row for rows in world.taken for row in rows]
        else:
            found = await world.sql(target, "SELECT * FROM dst ORDER BY id")
        assert found == ROWS
        for wrong in (None, "text", [1], 7):
            assert (
                bad(await world.move({"kind": "rows", "rows": wrong}, end)).kind == "client_error"
            )

    play(scenario)


@pytest.mark.spec("S22")
@pytest.mark.parametrize("kind", DATABASES)
@pytest.mark.parametrize(
    ("mode", "ids"),
    [("append", [1, 2, 3, 4, 5, 9]), ("replace", [1, 2, 3, 4, 5]), ("upsert", [1, 2, 3, 4, 5, 9])],
)
def test_how_rows_are_written(play: Any, kind: str, mode: str, ids: list[int]) -> None:
    old = [{**ROWS[0], "id": 9, "name": "kept"}]
    if mode == "upsert":
        old.append({**ROWS[0], "name": "old"})

    async def scenario(world: World) -> None:
        target = await world.target(kind, rows=old, mode=mode, key=["id"])
        good(await world.move(await world.source("http"), target, chunk_size=2))
        rows = await world.sql(kind, "SELECT id, name FROM dst ORDER BY id")
        assert [row["id"] for row in rows] == ids
        assert rows[0]["name"] == "é1"

    play(scenario)


@pytest.mark.spec("S22")
@pytest.mark.parametrize("kind", DATABASES)
@pytest.mark.parametrize("mode", ["append", "replace"])
def test_a_failure_on_the_way_leaves_the_target_as_it_was(play: Any, kind: str, mode: str) -> None:
    old = [{**ROWS[0], "id": 9, "name": "kept"}]

    async def scenario(world: World) -> None:
        await world.table("sqlite", "src", [*ROWS[:4], {**ROWS[4], "id": 8}])
        # The last chunk breaks the primary key of the target.
        source = {
            "kind": "sqlite",
            **world.places["sqlite"],
            "query": "SELECT min(id, 3) AS id, name, price, day, made FROM src ORDER BY src.id",
        }
        outcome = await world.move(
            source, await world.target(kind, rows=old, mode=mode), chunk_size=1
        )
        assert bad(outcome).kind == "constraint"
        rows = await world.sql(kind, "SELECT name FROM dst")
        assert rows == [{"name": "kept"}]

    play(scenario)


@pytest.mark.spec("S22")
@pytest.mark.parametrize("kind", DATABASES)
def test_the_same_key_twice_in_a_chunk_ends_with_the_last(play: Any, kind: str) -> None:
    async def scenario(world: World) -> None:
        await world.sql(
            "sqlite", "DROP TABLE IF EXISTS pairs; CREATE TABLE pairs (k integer, v text)"
        )
        await world.sql("sqlite", "INSERT INTO pairs VALUES (1, 'first'), (2, 'x'), (1, 'last')")
        source = {"kind": "sqlite", **world.places["sqlite"], "query": "SELECT * FROM pairs"}
        target = await world.target(kind, mode="upsert", key=["id"])
        good(await world.move(source, target, mapping={"id": "k", "name": "v"}))
        rows = await world.sql(kind, "SELECT id, name FROM dst ORDER BY id")
        assert rows == [{"id": 1, "name": "last"}, {"id": 2, "name": "x"}]

    play(scenario)


@pytest.mark.spec("S22")
def test_a_query_takes_parameters(play: Any) -> None:
    async def scenario(world: World) -> None:
        for kind in DATABASES:
            source = await world.source(kind)
            source |= {"query": "SELECT * FROM src WHERE id > $1", "params": [3]}
            assert good(await world.move(source, await world.target("http")))["count"] == 2

    play(scenario)


@pytest.mark.spec("S22")
def test_no_rows_are_no_chunks_and_replace_still_empties(play: Any) -> None:
    async def scenario(world: World) -> None:
        source = await world.source("sqlite")
        source["query"] += " LIMIT 0"
        target = await world.target("duckdb", rows=ROWS[:1], mode="replace")
        assert good(await world.move(source, target)) == {"count": 0, "chunks": 0}
        assert await world.sql("duckdb", "SELECT * FROM dst") == []

    play(scenario)


@pytest.mark.spec("S5", "S22")
@pytest.mark.parametrize(
    ("source", "target", "kind"),
    [
        ({"query": None}, {}, "client_error"),
        ({"query": "SELEC"}, {}, "client_error"),
        ({"query": "SELECT 1 AS nothing_like_it"}, {}, "client_error"),
        ({}, {"table": None}, "client_error"),
        ({}, {"table": 'dst"; DROP TABLE dst; --'}, "client_error"),
        ({}, {"table": "a..b"}, "client_error"),
        ({}, {"mode": "upsert"}, "client_error"),
        ({}, {"mode": "upsert", "key": ["colour"]}, "client_error"),
        ({}, {"mode": "upsert", "key": ["name"]}, "client_error"),
        ({}, {"mode": "merge"}, "schema"),
        ({"kind": "oracle"}, {}, "schema"),
    ],
)
@pytest.mark.parametrize("kind_of_end", DATABASES)
def test_each_mistake_has_its_kind(
    play: Any, source: Any, target: Any, kind: str, kind_of_end: str
) -> None:
    async def scenario(world: World) -> None:
        outcome = await world.move(
            {**await world.source("sqlite"), **source},
            {**await world.target(kind_of_end), **target},
        )
        assert bad(outcome).kind == kind
        assert await world.sql(kind_of_end, "SELECT * FROM dst") == []

    play(scenario)


@pytest.mark.spec("S5", "S22")
def test_mistakes_of_the_http_ends(play: Any) -> None:
    async def scenario(world: World) -> None:
        source, target = await world.source("http"), await world.target("http")
        kinds = [
            bad(await world.move(*ends)).kind
            for ends in (
                ({**source, "query": "page"}, target),
                ({**source, "query": "no.such"}, target),
                ({**source, "url": None}, target),
                ({**source, "params": [1]}, target),
                ({**source, "url": source["url"] + "x"}, target),
                (source, {**target, "mode": "replace"}),
                (source, {**target, "url": "http://127.0.0.1:1/"}),
            )
        ]
        assert kinds == [
            "parse", "parse", "client_error", "client_error", "not_found", "client_error", "connection",
        ]  # fmt: skip

    play(scenario)


@pytest.mark.parametrize(
    ("mapping", "said"),
    [({"id": "number"}, "no column 'number'"), ({"id": 7}, "target column to source column")],
)
def test_a_mapping_that_does_not_fit_is_named(play: Any, mapping: Any, said: str) -> None:
    async def scenario(world: World) -> None:
        ends = await world.source("http"), await world.target("sqlite")
        error = bad(await world.move(*ends, mapping=mapping))
        assert (error.kind, said in error.message) == ("client_error", True)

    play(scenario)
