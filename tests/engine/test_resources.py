"""The server's resources and quotas: units, rates, namespaces, changes while somebody waits, circles (S15)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from engine.test_limits import WAIT, House, book, house
from engine_support import opened, playbook, until
from support.clocks import FakeClock
from support.examples import example_documents

from petra.desk import Desk, owner
from petra.desk.looking import looked
from petra.desk.principal import POWERS, ForbiddenError, Principal
from petra.desk.resources import Resources, UnknownResourceError, resource_in
from petra.engine import Engine
from petra.errors import PetraError
from petra.playbook import Playbook
from petra.store.memory import MemoryStore

WHO = owner("ada")
HOLDS = "spec: {policy: {resources: [{name: db}]}}"
STEP = f"  - step: rest\n    tool: {{kind: wait, signal: {{name: go}}}}\n    {HOLDS}\n"


def resource(name: str, more: str) -> str:
    return f"apiVersion: petra/v1\nkind: Resource\nmetadata: {{name: {name}}}\n{more}\n"


def holder() -> Playbook:
    return playbook(STEP, "holder", executor="{spec: {resources: {db: server}}}")


async def say(petra: House, name: str, more: str) -> None:
    await Resources(petra.engine).apply(WHO, resource_in(resource(name, more), name))


def on(kind: str, folder: Path, test: Callable[[House], Awaitable[None]]) -> None:
    async def main() -> None:
        async with opened(kind, folder) as store, house(store) as found:
            await test(found)

    asyncio.run(main())


@pytest.mark.spec("S15")
def test_a_resource_of_the_server_is_shared_by_steps_of_all_executions(
    kind: str, tmp_path: Path
) -> None:
    async def test(petra: House) -> None:
        for name in ("a", "b", "c"):
            await petra.start(holder(), name)
        await petra.at_rest(
            a="resource", b="resource", c="resource"
        )  # nobody said how much there is
        told = (await looked(petra.engine, "b"))["explanation"]["waiting"][0]
        assert told["sentence"].endswith("nobody has said how much there is.")
        assert (
            told["unblocked_by"] == "it is not configured here: 'petra resource set db --units N'"
        )
        await say(petra, "db", "units: 1")
        await petra.at_rest(a="signal", b="resource", c="resource")
        told = (await looked(petra.engine, "c"))["explanation"]["waiting"][0]
        assert told["sentence"].endswith("number 2 of 2 who wait; 1 of 1 in use.")
        assert told["queue"] == {
            "limit": "resource db", "key": "", "position": 2, "waiting": 2, "used": 1, "most": 1, "holders": ["a"],
        }  # fmt: skip
        await say(petra, "db", "units: 2")  # more of it counts at once
        await petra.at_rest(b="signal", c="resource")
        await petra.end("a")
        await petra.at_rest(a="completed", c="signal")
        shown = await Resources(petra.engine).get(WHO, "db")
        assert (shown["used"], shown["waiting"]) == (2, 0)
        assert [one["execution"] for one in shown["lines"][0]["holders"]] == ["b", "c"]

    on(kind, tmp_path, test)


@pytest.mark.spec("S15")
def test_the_quota_of_a_namespace_counts_its_executions_and_those_of_no_other(
    tmp_path: Path,
) -> None:
    async def test(petra: House) -> None:
        await say(petra, "executions", "units: 1")
        given = playbook(WAIT, "plain")
        await petra.start(given, "a")
        await petra.start(given, "b")
        await petra.start(given, "elsewhere", namespace="other")
        await petra.at_rest(a="signal", b="limit", elsewhere="signal")
        await Resources(petra.engine).remove(WHO, "executions")
        await petra.at_rest(b="signal")
        with pytest.raises(UnknownResourceError):
            await Resources(petra.engine).remove(WHO, "executions")

    on("memory", tmp_path, test)


@pytest.mark.spec("S15")
def test_who_applies_playbooks_says_how_much_there_is_and_only_an_administrator_sets_a_quota() -> (
    None
):
    async def main() -> None:
        async with Engine(MemoryStore(clock=FakeClock().now)) as engine:
            author = Principal("eve", may=POWERS["author"])
            desk = Resources(engine)
            await desk.apply(author, resource_in(resource("db", "units: 3"), "db"))
            with pytest.raises(ForbiddenError):
                await desk.apply(author, resource_in(resource("executions", "units: 3"), "x"))

    asyncio.run(main())


@pytest.mark.spec("S15")
def test_a_rate_lets_in_so_many_in_a_time() -> None:
    async def main() -> None:
        clock = FakeClock()
        store = MemoryStore(clock=clock.now)
        engine = Engine(store, clock=clock)
        await engine.__aenter__()
        petra = House(engine)
        await say(petra, "executions", "rate: {count: 2, per_s: 60}")
        given = playbook(WAIT, "plain")
        for number in range(5):
            await clock.run(petra.start(given, f"e{number}", allow_unsound=True))
        inside = []
        for _ in range(3):
            await clock.advance(1)
            states = [await petra.status(f"e{number}") for number in range(5)]
            inside.append(sum(one == ("waiting", "signal") for one in states))
            await clock.advance(60)
        assert inside == [2, 4, 5]
        await clock.run(engine.__aexit__(None, None, None))

    asyncio.run(main())


@pytest.mark.parametrize("file", example_documents("resource"), ids=lambda file: file.name)
def test_the_examples_are_good(file: Path) -> None:
    assert resource_in(file.read_text("utf-8"), file.name).units == 3


CHILD = "  - step: call\n    tool: {kind: playbook, path: inner}\n"


@pytest.mark.spec("S15", "S16")
def test_a_child_that_wants_what_its_parent_holds_is_told_that_it_would_wait_for_ever(
    kind: str, tmp_path: Path
) -> None:
    async def test(petra: House) -> None:
        inner = book("limit: 1, name: both", "inner")
        await Desk(petra.engine, petra.engine.clock).apply(WHO, [inner])
        outer = book("limit: 1, name: both", "outer", CHILD)
        await petra.start(outer, "parent")

        async def failed() -> bool:
            return (await petra.status("parent"))[0] == "failed"

        await until(failed)
        state = (await petra.engine.view("parent")).state
        assert state.error is not None
        assert state.error.kind == "deadlock"
        assert "is held by parent, which waits for this execution" in state.error.message

    on(kind, tmp_path, test)


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ("", "it is not said how much of it there is"),
        ("units: -1", "at least 0"),
        ("units: many", "must"),
        ("rate: {count: 0, per_s: 1}", "at least 1"),
        ("rate: {count: 5}", "per_s"),
        ("unit: 3", "unknown key 'unit'"),
    ],
)
def test_what_is_wrong_with_a_resource_is_said_at_its_place(more: str, words: str) -> None:
    with pytest.raises(PetraError) as told:
        resource_in(resource("db", more), "db")
    assert words in str(told.value)
