"""Objects: a made-up reference, somebody else's, a missing or a broken one is an error, never data (S18)."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from engine_support import playbook

from petra.cli import petra
from petra.embedded import Home
from petra.engine.authority import may_read
from petra.engine.cache import Cache
from petra.errors import UsageError
from petra.playbook import read
from petra.store.rows import ExecutionFilter
from petra.store.sqlite import SqliteStore

BIG = """
  - step: a
    tool: {kind: python, code: "def main(): return {'rows': ['secret'] * 20_000}"}
"""
TELLS = """
  - step: a
    tool: {kind: python, code: "def main(workload): return dict(workload['given'])"}
"""
CALLS = """
  - step: a
    tool: {kind: playbook, path: big}
"""
CHILD = f"apiVersion: petra/v1\nkind: Playbook\nmetadata: {{name: big, path: big}}\nworkflow:{BIG}"


async def made(home: Path) -> dict[str, Any]:
    """Run one execution with a large result, and return its reference."""
    async with Home.open(home) as local:
        done = await local.run(playbook(BIG), execution="victim")
        assert done.status == "completed", done
        output: dict[str, Any] = (await local.engine.view("victim")).state.output
        return output


async def told(home: Path, given: dict[str, Any]) -> None:
    """Run an execution whose result is what it is given."""
    async with Home.open(home) as local:
        pairs = [
            list(pair) for pair in given.items()
        ]  # as data: in a workload it would be looked through
        await local.run(playbook(TELLS), {"given": pairs}, execution="thief")


def ask(home: Path, *words: str) -> Result:
    return CliRunner().invoke(petra, [*words, "--home", str(home)])


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / ".petra"


@pytest.mark.slow
@pytest.mark.spec("S18")
def test_the_object_of_another_execution_is_not_shown_and_named_by_verify(home: Path) -> None:
    reference = asyncio.run(made(home))
    assert reference["size"] > 64 * 1024
    assert "secret" in ask(home, "result", "victim").output
    asyncio.run(told(home, reference))
    shown = ask(home, "result", "thief", "--step", "a")
    assert isinstance(shown.exception, UsageError)
    assert "belongs to another execution" in str(shown.exception)
    assert "secret" not in shown.output
    verified = ask(home, "verify", "thief")
    assert verified.exit_code == 1
    assert "is not this execution's" in verified.output
    assert ask(home, "verify", "victim").exit_code == 0


@pytest.mark.slow
@pytest.mark.spec("S18")
def test_a_made_up_reference_is_an_error(home: Path) -> None:
    reference = asyncio.run(made(home))
    asyncio.run(told(home, reference | {"key": f"thief/{'0' * 64}.json"}))
    shown = ask(home, "result", "thief", "--step", "a")
    assert isinstance(shown.exception, UsageError)
    assert "is not in the store" in str(shown.exception)
    assert ask(home, "verify", "thief").exit_code == 1


@pytest.mark.slow
@pytest.mark.spec("S18")
def test_verify_names_the_record_whose_object_is_missing_or_broken(home: Path) -> None:
    reference = asyncio.run(made(home))
    file = home / "objects" / reference["key"]
    verified = ask(home, "verify", "victim", "-o", "json")
    assert json.loads(verified.output)["objects"] == 1
    whole = file.read_bytes()
    for content, words in ((whole[:-1], "not what was stored"), (whole.replace(b"s", b"S"), "not")):
        file.write_bytes(content)
        verified = ask(home, "verify", "victim")
        assert verified.exit_code == 1
        assert words in verified.output
        assert "record " in verified.output
    file.unlink()
    verified = ask(home, "verify", "victim")
    assert "is not in the store" in verified.output
    assert ask(home, "verify").exit_code == 1


@pytest.mark.slow
@pytest.mark.spec("S18")
def test_what_a_child_handed_back_is_its_parents_too(home: Path) -> None:
    async def running() -> str:
        async with Home.open(home) as local:
            await local.apply(read(CHILD, "big.yaml").checked())
            done = await local.run(
                playbook(CALLS), execution="parent", until=lambda found: found.status != "waiting"
            )
            assert done.status == "completed", done
            page = await local.engine.store.executions(ExecutionFilter())
            return next(one.row.id for one in page.rows if one.row.parent == "parent")

    child = asyncio.run(running())
    assert child != "parent"
    shown = ask(home, "result", "parent", "--step", "a")
    assert "secret" in shown.output, shown
    verified = ask(home, "verify", "parent")
    assert verified.exit_code == 0, verified.output

    async def deleting() -> bool:
        """The child ends before its parent, so its retention may, too."""
        store = await SqliteStore.open(home / "petra.db")
        entry = await Cache(store).read("parent")
        before = await may_read(store, entry.state, child)
        connection = store._writing
        assert connection is not None
        connection.execute("DELETE FROM executions WHERE id = ?", (child,))
        assert await store.execution(child) is None
        after = await may_read(store, entry.state, child)
        assert not await may_read(store, entry.state, "somebody")
        await store.close()
        return before and after

    assert asyncio.run(deleting())


@pytest.mark.slow
@pytest.mark.spec("S18")
def test_who_says_in_its_data_that_somebody_is_its_child_reads_nothing_of_theirs(
    home: Path,
) -> None:
    asyncio.run(made(home))

    async def stealing() -> bool:
        async with Home.open(home) as local:
            await local.run(
                playbook(TELLS),
                {"given": [["child", "victim"]], "child": "victim"},
                execution="thief",
            )
        store = await SqliteStore.open(home / "petra.db")
        entry = await Cache(store).read("thief")
        connection = store._writing
        assert connection is not None
        connection.execute("DELETE FROM executions WHERE id = 'victim'")
        assert await store.execution("victim") is None
        logged = await store.read("thief", after=0)
        assert any(b'"child":"victim"' in row.body for row in logged)
        stolen = await may_read(store, entry.state, "victim")
        await store.close()
        return stolen

    assert not asyncio.run(stealing())
