"""Runs go to workers that know the tools they need; where none does they wait, and it is said which tool that is."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from engine_support import playbook, talk, until
from hostile.harness import HOSTILE, Fake, Scene, fake, play
from support.clocks import FakeClock

from petra.desk import Look
from petra.engine.limits import KINDS_MAX
from petra.engine.roster import Roster
from petra.engine.workers import Queue, WorkerSeen
from petra.keychain import Keychain
from petra.playbook import Playbook
from petra.tools.registry import Registry
from petra.wire import Report
from petra.wire import frames as f
from petra.worker import Offer, Transport, Worker, in_process
from petra.worker.transport import ClosedError


def book(*tools: str, pool: str = "etl") -> Playbook:
    """Return a playbook of one step with these tasks, for a pool."""
    tasks = "".join(f"      - {tool}\n" for tool in tools)
    return playbook(f"  - step: work\n    spec: {{pool: {pool}}}\n    tool:\n{tasks}")


DUCK = book("{name: add, kind: duckdb, command: 'SELECT 40 + 2 AS n'}")
BOTH = book(
    "{name: add, kind: duckdb, command: 'SELECT 40 + 2 AS n'}",
    "{name: more, kind: python, code: 'result = 1'}",
)
ROWS = {"rows": [{"n": 42}], "count": 1}
PYTHON = book("{name: code, kind: python, code: 'result = 7'}")


class Knows(Registry):
    """The tools of a worker that lacks some kinds."""

    def __init__(self, *lacks: str) -> None:
        super().__init__()
        self._lacks = lacks

    def __iter__(self) -> Iterator[str]:
        yield from (kind for kind in super().__iter__() if kind not in self._lacks)


@asynccontextmanager
async def worker(scene: Scene, name: str, *lacks: str, pool: str = "etl") -> AsyncIterator[None]:
    """Give a worker of a pool, in this process, that lacks some kinds of tools."""
    server, client = in_process()
    ends: Iterator[Transport] = iter([client])

    async def connect() -> Transport:
        try:
            return next(ends)
        except StopIteration:
            raise ClosedError("once is enough") from None

    registry, keychain = Knows(*lacks), Keychain()
    made = Worker(
        connect, Offer(name=name, pool=pool), registry=registry, keychain=keychain, jitter=lambda: 0.5
    )  # fmt: skip
    tasks = [asyncio.create_task(made.run()), asyncio.create_task(talk(scene.petra, server))]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        scene.engine.connections.lost(server)
        await registry.close()
        await keychain.close()


async def there(scene: Scene, count: int, pool: str = "etl") -> None:
    """Wait until so many workers of a pool are there."""

    async def are() -> bool:
        return sum(one.pool == pool for one in scene.engine.roster.seen()) == count

    await until(are)


@pytest.mark.spec("S11")
@pytest.mark.parametrize("store", ["sqlite", pytest.param("postgres", marks=pytest.mark.slow)])
def test_a_run_waits_for_a_worker_that_knows_its_tools_and_it_is_said_which_that_is(
    store: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    kind = str(request.getfixturevalue("new_database")()) if store == "postgres" else store

    async def case(scene: Scene) -> None:
        async with worker(scene, "one", "duckdb"), worker(scene, "two", "duckdb"):
            await there(scene, 2)
            await scene.start(DUCK)
            words = (
                "no worker of pool 'etl' knows 'duckdb'; 2 workers are there; 1 run waits"
                " (petra[duckdb] brings it)"
            )
            assert f"Step 'work' waits: {words}." in await scene.explained()
            assert (await scene.run(PYTHON, "beside")).output == 7  # nobody is held up by it
            reply = await scene.petra.carry_out(Look(id="1", execution=HOSTILE))
            assert reply.result is not None
            assert reply.result["troubles"] == [words]
            [wait] = reply.result["explanation"]["waiting"]
            assert (wait["reason"], wait["unblocked_by"]) == (
                "no worker",
                "a worker of pool 'etl' that knows 'duckdb'",
            )
            async with worker(scene, "able"):
                result = await scene.ended()
                assert (result.status, result.output) == ("completed", ROWS)
                assert scene.engine.custody.unserved() == []
                assert (await scene.types()).count("run.redelivered") == 0

    play(kind, tmp_path, case, with_worker="")


def test_a_step_goes_only_to_a_worker_that_knows_all_of_its_kinds(tmp_path: Path) -> None:
    async def case(scene: Scene) -> None:
        async with worker(scene, "one", "duckdb"), worker(scene, "two", "python"):
            await there(scene, 2)
            await scene.start(BOTH)
            assert "no worker of pool 'etl' knows 'duckdb' and 'python'" in await scene.explained()
            async with worker(scene, "able"):
                assert (await scene.ended()).output == 1

    play("sqlite", tmp_path, case, with_worker="")


def test_what_is_undone_needs_the_tools_of_that_only(tmp_path: Path) -> None:
    """A step is done by one worker, and undone by another, which knows nothing of what it did."""
    text = (
        "  - step: work\n    tool: {kind: duckdb, command: 'SELECT 1 AS n'}\n"
        "    spec: {pool: etl, compensate: {tool: {kind: python, code: 'result = 1'}}}\n"
        "    next: {arcs: [{step: fails}]}\n"
        "  - step: fails\n    tool: {kind: python, code: 'raise ValueError(1)'}\n"
    )

    async def case(scene: Scene) -> None:
        async with worker(scene, "ducks", "python"):
            await there(scene, 1)
            await scene.start(
                playbook(text, executor="{spec: {policy: {compensation: on_failure}}}")
            )
            await scene.logged("step.failed")

            async def waits() -> bool:
                return "knows 'python'" in await scene.explained()

            await until(waits)
            async with worker(scene, "snakes", "duckdb"):
                assert (await scene.ended()).status == "failed"
                assert (await scene.types()).count("step.done") == 2

    play("sqlite", tmp_path, case, with_worker="helped")


@pytest.mark.spec("S11")
def test_after_a_restart_a_run_waits_for_the_same_tools(tmp_path: Path) -> None:
    async def before(scene: Scene) -> None:
        async with worker(scene, "one", "duckdb"):
            await there(scene, 1)
            await scene.start(DUCK)

    async def after(scene: Scene) -> None:
        async with worker(scene, "one", "duckdb"):
            await there(scene, 1)
            assert "knows 'duckdb'" in await scene.explained()
            async with worker(scene, "able"):
                assert (await scene.ended()).output == ROWS

    play("sqlite", tmp_path, before, with_worker="")
    play("sqlite", tmp_path, after, with_worker="", handed_back=True)


async def given(one: Fake) -> Any:
    [assignment] = (await one.heard(f.Assignments)).assignments
    return assignment


async def reported(one: Fake, assignment: Any) -> None:
    report = f.RunReport(
        execution=assignment.execution, run=assignment.run, delivery=assignment.delivery,
        lease=assignment.lease, report=Report(status="ok", result=7),
    )  # fmt: skip
    await one.frame(f.Reports(reports=[report]))


def test_a_worker_that_claims_odd_kinds_gets_what_it_claims_and_nothing_else(
    tmp_path: Path,
) -> None:
    odd = ["duckdb", "duckdb", "", "human", "'; DROP", "duckdb ", "DUCKDB", "x" * 512]

    async def case(scene: Scene) -> None:
        async with fake(scene) as liar, fake(scene) as silent:
            await liar.hello(pool="etl", kinds=odd)
            await there(scene, 1)
            await scene.start(PYTHON, "python")
            assert "knows 'python'; 1 worker is there" in await scene.explained("python")
            await scene.start(DUCK)
            duck = await given(liar)
            assert duck.execution == HOSTILE
            await reported(liar, duck)
            assert (await scene.ended()).output == 7
            [seen] = [one for one in scene.engine.roster.seen() if one.pool == "etl"]
            assert seen.kinds == sorted(set(odd))
            await silent.hello(pool="etl", kinds=[])  # one that does not say gets anything
            await reported(silent, await given(silent))
            assert (await scene.ended("python")).output == 7

    play("sqlite", tmp_path, case, with_worker="helped")


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "too many kinds": ({"kinds": [f"k{n}" for n in range(KINDS_MAX + 1)]}, "1,001 kinds"),
    "a kind of a megabyte": ({"kinds": ["x" * 2**20]}, "characters"),
    "a kind with a line end": ({"kinds": ["http\npython"]}, "cannot be printed"),
    "a kind that is no text": ({"kinds": [7]}, "no frame"),
    "too many labels": ({"labels": {f"k{n}": "" for n in range(65)}}, "65 labels"),
    "a label of a megabyte": ({"labels": {"a": "x" * 2**20}}, "characters"),
    "a label with an escape": ({"labels": {"a": "\x1b[2J"}}, "cannot be printed"),
    "labels that are none": ({"labels": ["a"]}, "no frame"),
    "a version of a megabyte": ({"version": "1" * 2**20}, "characters"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_worker_with_kinds_that_are_none_is_not_let_in(name: str, tmp_path: Path) -> None:
    fields, words = REFUSED[name]

    async def case(scene: Scene) -> None:
        async with fake(scene) as one:
            await one.data(frame="hello", worker="w", pool="etl", slots=1, credit=1, **fields)
            await one.dropped()
            assert any("dropped" in notice and words in notice for notice in scene.notices)
            await scene.bystander()

    play("sqlite", tmp_path, case, with_worker="helped")


def test_workers_that_come_with_ever_other_kinds_leave_nothing_behind() -> None:
    roster = Roster(FakeClock())

    class Wire:
        def send(self, frame: Any) -> None:
            pass

    for number in range(100):
        worker = WorkerSeen(Wire(), "w", "etl", 1, kinds=frozenset({f"k{number}"}))
        roster.add(worker)
        assert roster.free(Queue("etl", kinds=frozenset({f"k{number}"}))) is worker
        roster.remove(worker.link)
    assert not roster._room._heaps


def test_a_tool_whose_package_is_missing_is_not_claimed(monkeypatch: pytest.MonkeyPatch) -> None:
    assert {"duckdb", "postgres", "mcp", "python"} <= set(Registry())
    for package in ("duckdb", "asyncpg", "mcp"):
        monkeypatch.setitem(sys.modules, package, None)
    assert not {"duckdb", "postgres", "mcp"} & set(Registry())
    assert {"python", "http", "transfer"} <= set(Registry())


@pytest.mark.slow
@pytest.mark.spec("S11")
def test_a_kind_that_the_worker_beside_the_engine_lacks_is_said_and_others_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The worker process that is kept here runs where duckdb is not installed."""
    (tmp_path / "sitecustomize.py").write_text("import sys\nsys.modules['duckdb'] = None\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))

    async def case(scene: Scene) -> None:
        await there(scene, 1, "default")
        await scene.start(book("{kind: duckdb, command: 'SELECT 1'}", pool="default"))
        words = "no worker of pool 'default' knows 'duckdb'; 1 worker is there; 1 run waits"

        async def said() -> bool:
            return any(words in notice for notice in scene.notices)

        await until(said)
        assert words in await scene.explained()
        await scene.bystander()

    play("sqlite", tmp_path, case)
