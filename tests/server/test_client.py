"""The client: the words of ``petra.open``, over a network, through a server that dies."""

from __future__ import annotations

import asyncio
import secrets
import signal
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from server.books import ADDS, ASKS, WAITS
from server.conftest import Served, serve
from server.test_who_saw_it import UNSOUND
from support.processes import port_to_come_back_to

from petra import open as petra_open
from petra.client import Client, ServerError, connect


def using(server: Served, scenario: Callable[[Client], Awaitable[None]], **more: float) -> None:
    async def go() -> None:
        async with connect(server.url, server.said["token"], **more) as client:
            await scenario(client)

    asyncio.run(go())


def test_it_runs_follows_and_decides(server: Served, tmp_path: Path) -> None:
    adds, asks, waits = (tmp_path / f"{name}.yaml" for name in ("adds", "asks", "waits"))
    for path, text in ((adds, ADDS), (asks, ASKS), (waits, WAITS)):
        path.write_text(text)

    async def scenario(client: Client) -> None:
        done = await client.run(adds, {"n": 20})
        assert (done.status, done.output, await client.result(done.id)) == ("completed", 42, 42)
        numbers = [record["seq"] async for record in client.records(done.id)]
        assert numbers == list(range(1, done.version + 1))
        told = [one.cursor async for one in client.follow(done.id, 2) if one.about == "record"]
        assert told == numbers[2:]
        asked = await client.run(str(asks))
        assert asked.waiting_on == "human"
        item = asked.work_items[0]["id"]
        await client.complete(asked.id, item, "approve")
        assert (await client.rest(asked.id)).status == "completed"
        waiting = await client.run(waits)
        assert "go" in str(await client.explain(waiting.id))
        with pytest.raises(ServerError, match="other"):
            await client.signal(waiting.id, "other")
        await client.pause(waiting.id)
        await client.resume(waiting.id)
        await client.cancel(waiting.id)
        assert (await client.rest(waiting.id)).status == "aborted"
        listed = [one.id async for one in client.executions(playbook="waits")]
        assert waiting.id in listed

    using(server, scenario)


def test_errors_have_a_code_and_a_hint(server: Served) -> None:
    async def scenario(client: Client) -> None:
        with pytest.raises(ServerError) as unknown:
            await client.get("nope")
        assert (unknown.value.code, unknown.value.status) == ("unknown-execution", 404)
        assert unknown.value.hint
        with pytest.raises(ServerError) as nobody:
            await client.start("no/such/playbook")
        assert nobody.value.code == "not-found"

    using(server, scenario)
    gone = Served(server.home, server.process, {**server.said, "url": "http://127.0.0.1:9"})

    async def unreachable(client: Client) -> None:
        with pytest.raises(ServerError, match="petra serve") as error:
            await client.get("nope")
        assert error.value.code == "unreachable"

    using(gone, unreachable, patience_s=0.0)


@pytest.mark.slow
@pytest.mark.spec("S17")
def test_a_server_that_is_killed_costs_time_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "waits.yaml"
    path.write_text(WAITS)

    async def scenario() -> None:
        there = ("--port", str(port_to_come_back_to()))
        with serve(tmp_path / ".petra", *there) as served:
            async with connect(served.url, served.said["token"]) as client:
                execution = await client.start(path)
                seen: list[int] = []
                begun = asyncio.Event()

                async def follow() -> None:
                    async for one in client.follow(execution):
                        seen.extend([one.cursor] if one.cursor is not None else [])
                        begun.set()

                following = asyncio.create_task(follow())
                await begun.wait()
                served.end(signal.SIGKILL)
                signalled = asyncio.create_task(client.signal(execution, "go"))
                with serve(tmp_path / ".petra", *there):
                    assert await signalled
                    await following
                    done = await client.get(execution)
                    assert (done.status, seen) == ("completed", list(range(1, done.version + 1)))

    asyncio.run(scenario())


def test_it_reads_what_happened_and_acts_on_many(server: Served, tmp_path: Path) -> None:
    adds, waits = tmp_path / "adds.yaml", tmp_path / "waits.yaml"
    adds.write_text(ADDS)
    waits.write_text(WAITS)

    async def scenario(client: Client) -> None:
        done, same = [await client.run(adds, {"n": 5}) for _ in range(2)]
        frames = await client.frames(done.id)
        assert len(frames["delta"]) == done.version
        assert (await client.at(done.id, 1))["tokens"] == {"one.ready": 1}
        assert [run["step"] async for run in client.runs(done.id)] == ["one", "two"]
        ended = [one["step"] async for one in client.events(done.id, type="step.done")]
        assert ended == ["one", "two"]
        assert (await client.diff(done.id, same.id))["same"] is True
        assert (await client.verify(done.id))["ok"] is True
        assert (await client.lineage(done.id))["origins"] == []
        assert (await client.counts(playbook="adds"))["completed"] >= 2
        assert done.id in [hit["id"] for hit in await client.search(done.id)]
        waiting = await client.run(waits)
        made = await client.operate("cancel", ids=[waiting.id], reason="enough")
        while (found := await client.operation(made["id"]))["status"] == "running":
            pass
        assert (found["done"], (await client.get(waiting.id)).status) == (1, "aborted")

    using(server, scenario)


@pytest.mark.spec("S13")
def test_signals_and_executions_are_named_as_they_are(server: Served, tmp_path: Path) -> None:
    path = tmp_path / "waits.yaml"
    path.write_text(WAITS.replace("signal: go", "signal: 'go on? 100 %'"))

    async def scenario(client: Client) -> None:
        begun = await client.start(path, execution="odd@1~=+")
        assert (await client.rest(begun)).waiting_on == "signal"
        assert await client.signal(begun, "go on? 100 %")
        assert (await client.rest(begun)).status == "completed"

    using(server, scenario)


@pytest.mark.spec("S19")
def test_what_is_not_sound_is_started_where_that_is_allowed(server: Served, tmp_path: Path) -> None:
    path = tmp_path / "leaves.yaml"
    path.write_text(UNSOUND)

    async def scenario(client: Client) -> None:
        with pytest.raises(ServerError, match="the join 'meet' cannot complete"):
            await client.start(path)
        assert (await client.run(path, allow_unsound=True)).status == "failed"

    using(server, scenario)


def test_the_same_lines_run_embedded_and_over_a_network(server: Served, tmp_path: Path) -> None:
    """One line is another one: where the words come from."""
    books = {name: tmp_path / f"{name}.yaml" for name in ("adds", "asks", "waits")}
    for name, text in (("adds", ADDS), ("asks", ASKS), ("waits", WAITS)):
        books[name].write_text(text)

    async def lines(petra: Any) -> list[Any]:
        applied = await petra.apply(books["adds"], str(books["waits"]))
        done = await petra.run(books["adds"], {"n": 20}, labels={"a": "b"})
        waiting = await petra.start(books["waits"], execution=f"same-{secrets.token_hex(4)}")
        await petra.rest(waiting)
        await petra.signal(waiting, "go", {"a": 1})
        asked = await petra.run(books["asks"])
        await petra.complete(asked.id, "approve", "approve", actor="same", data=None)
        decided = await petra.rest(asked.id)
        stopped = await petra.start(books["waits"])
        await petra.cancel(stopped)
        ended = [await petra.rest(one) for one in (waiting, stopped)]
        return [
            [(one["path"], one["unchanged"]) for one in applied],
            [(one.status, one.output) for one in (done, decided, *ended)],
        ]

    async def go() -> tuple[list[Any], list[Any]]:
        async with petra_open(tmp_path / "home") as here:
            embedded = await lines(here)
        async with connect(server.url, server.said["token"]) as there:
            roles = ["operator@default", "approver@default", "finance@default"]
            user = {"name": "same", "roles": roles, "password": "correct horse battery staple"}
            await there.call("POST", "/users", user)
            return embedded, await lines(there)

    embedded, served = asyncio.run(go())
    assert embedded[1:] == served[1:]
    assert [path for path, _ in embedded[0]] == [path for path, _ in served[0]]
