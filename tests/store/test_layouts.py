"""What earlier versions left is taken up by this one: folders and databases of every layout that there was.

``scripts/layout_fixtures.py`` made them, with the code of then: executions at every kind of rest, and one whose step was
with a worker when its process was killed.
"""

from __future__ import annotations

import asyncio
import tarfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import apsw
import asyncpg  # type: ignore[import-untyped]
import pytest
from cli.processes import petra
from engine_support import until
from layout_fixtures import COMMITS

from petra.embedded import Home, Result
from petra.store import ExecutionFilter, sqlite_schema
from petra.store.queries import NEVER_USED, load_migrations

LAYOUTS = Path(__file__).parent / "layouts"
CAME_LATER = {11: {9}}
"""Migrations that came to main after a higher one: stores of that layout have them applied last."""
ENDS = {
    "the-done": {"squares": [1, 4, 9]},
    "the-asks": "approved",
    "the-hears": "heard",
    "the-late": "late",
    "the-busy": "done again",
    "the-child": "from the child",
    "the-parent": "from the child",
}


def unpacked(name: str, into: Path) -> Path:
    with tarfile.open(LAYOUTS / name) as archive:
        archive.extractall(into, filter="data")
    return into


async def restored(dump: str, dsn: str) -> None:
    """Run a dump; lines that begin with a backslash are for another program."""
    lines = dump.splitlines(keepends=True)
    connection = await asyncpg.connect(dsn)
    try:
        await connection.execute("".join(line for line in lines if not line.startswith("\\")))
    finally:
        await connection.close()


def verified(home: Path, store: str = "") -> str:
    """Prove every log as it is, and what is decided today against what was decided then."""
    where = ["--home", str(home), *(["--store", store] if store else [])]
    return petra(home, "verify", "--net", "--redecide", *where)


async def finished(home: Path, store: str | None = None) -> dict[str, Result]:
    """Open what was left, do what its executions wait for, and wait for their ends."""
    async with Home.open(home, store=store) as local:
        await local.complete("the-asks", "approve", "approve", actor="ada")
        await local.signal("the-hears", "open")
        await local.signal("the-child", "open")
        page = await local.engine.store.executions(ExecutionFilter(parent="the-parent"))
        (called,) = [stored.row.id for stored in page.rows]
        await local.signal(called, "open")

        async def over() -> bool:
            # a timer that was due long ago goes off a moment after the opening
            return all([(await local.rest(name)).status != "waiting" for name in ENDS])

        await until(over)
        return {name: await local.rest(name) for name in ENDS}


def check(ends: dict[str, Result]) -> None:
    assert {name: result.status for name, result in ends.items()} == dict.fromkeys(
        ENDS, "completed"
    )
    assert {name: result.output for name, result in ends.items()} == ENDS


@pytest.mark.slow
@pytest.mark.parametrize("layout", COMMITS)
def test_a_folder_of_an_earlier_layout_is_taken_up_and_finished(
    layout: int, tmp_path: Path
) -> None:
    home = unpacked(f"{layout:04}.sqlite.tar.xz", tmp_path / "home")
    known = [migration.number for migration in load_migrations("sqlite")]
    then = [one for one in known if one <= layout and one not in CAME_LATER.get(layout, ())]
    assert applied(home) == then
    check(asyncio.run(finished(home)))
    assert applied(home) == known
    assert "8 executions" in verified(home)


def applied(home: Path) -> list[int]:
    with closing(apsw.Connection(str(home / "petra.db"))) as file:
        return [number for number, _, _ in sqlite_schema.applied(file)]


@pytest.mark.slow
@pytest.mark.parametrize("layout", COMMITS)
def test_a_database_of_an_earlier_layout_is_taken_up_and_finished(
    layout: int, tmp_path: Path, empty_database: Callable[[], str]
) -> None:
    dump = unpacked(f"{layout:04}.postgres.tar.xz", tmp_path) / "dump.sql"
    dsn = empty_database()
    asyncio.run(restored(dump.read_text("utf-8"), dsn))
    check(asyncio.run(finished(tmp_path / "home", dsn)))
    assert "8 executions" in verified(tmp_path / "home", dsn)


@pytest.mark.slow
@pytest.mark.parametrize("reached", range(2, len(load_migrations("sqlite"))))
def test_an_upgrade_that_was_killed_half_way_goes_on(
    reached: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each migration has a transaction of its own: so there are folders between the layouts that ever were."""
    first = min(COMMITS)
    home = unpacked(f"{first:04}.sqlite.tar.xz", tmp_path / "home")
    some = load_migrations("sqlite")[:reached]
    with monkeypatch.context() as patch, closing(apsw.Connection(str(home / "petra.db"))) as file:
        patch.setattr(sqlite_schema, "load_migrations", lambda _: some)
        sqlite_schema.migrate(file)
    assert applied(home) == [one.number for one in some]
    check(asyncio.run(finished(home)))


def test_every_layout_but_the_newest_has_its_fixture_and_one_number_stays_free() -> None:
    for dialect in ("sqlite", "postgres"):
        numbers = [migration.number for migration in load_migrations(dialect)]
        assert set(range(1, numbers[-1] + 1)) - set(numbers) == {NEVER_USED}
        assert max(COMMITS) in numbers[-2:]


def test_the_fixtures_are_small_and_every_one_has_its_commit() -> None:
    made = sorted(file.name for file in LAYOUTS.iterdir())
    kinds = ("postgres", "sqlite")
    assert made == sorted(f"{n:04}.{kind}.tar.xz" for n in COMMITS for kind in kinds)
    assert all((LAYOUTS / name).stat().st_size < 200_000 for name in made)
