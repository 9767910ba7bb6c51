"""Messages of a real NATS server: each starts one execution, however often it comes, and what is wrong is told (S24)."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import nats
import pytest
from engine_support import playbook
from nats.aio.msg import Msg
from nats.js.api import StreamConfig
from support.nats import NatsServer
from support.trigger_works import REST, WHO, Keeper, a_trigger, eventually, played

from petra.desk import Desk
from petra.desk.triggers import DeskTriggers
from petra.engine import Engine, trigger_watches
from petra.engine.trigger_nats import NatsListener
from petra.engine.trigger_watches import WatchNotes
from petra.store.base import Store
from petra.store.memory import MemoryStore
from petra.store.postgres import PostgresStore
from petra.store.rows import ExecutionFilter
from petra.store.sqlite import SqliteStore

pytestmark = pytest.mark.spec("S24")
Opened = Callable[[], Awaitable[Store]]


@pytest.fixture(scope="module")
def shared_server() -> Iterator[NatsServer]:
    server = NatsServer()
    yield server
    server.remove()


@pytest.fixture
def own_server() -> Iterator[NatsServer]:
    """Make one that a test may kill."""
    server = NatsServer()
    yield server
    server.remove()


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trigger_watches, "WATCH_AGAIN_S", 0.05)


@pytest.fixture(params=["memory", "sqlite", pytest.param("postgres", marks=pytest.mark.slow)])
def opened(request: pytest.FixtureRequest, tmp_path: Path) -> Opened:
    """Return how a store is opened."""

    async def memory() -> Store:
        return MemoryStore(clock=lambda: 0.0)

    async def sqlite() -> Store:
        return await SqliteStore.open(tmp_path / "petra.db")

    if request.param == "postgres":
        address = request.getfixturevalue("new_database")()

        async def postgres() -> Store:
            return await PostgresStore.open(address)

        return postgres
    return memory if request.param == "memory" else sqlite


class Heard:
    """An engine with one trigger that hears."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.triggers = DeskTriggers(engine)

    async def watch(self) -> dict[str, Any]:
        return (await self.triggers.get(WHO, "heard"))["watch"] or {}

    async def listens(self) -> bool:
        found = await self.watch()
        return "listening_since" in found and not found["trouble"]

    async def started(self) -> int:
        found = await self.engine.store.executions(ExecutionFilter(playbook="ship"))
        return len(found.rows)

    async def has(self, number: int) -> None:
        async def so() -> bool:
            found = await self.started()
            assert found <= number
            return found == number

        await eventually(so)

    async def says(self, words: str) -> None:
        async def so() -> bool:
            return words in "\n".join((await self.triggers.explain(WHO, "heard"))["why"])

        await eventually(so)


@asynccontextmanager
async def _hearing(
    more: str, store: Store | None = None, secrets: dict[str, Any] | None = None
) -> AsyncIterator[Heard]:
    store = store or MemoryStore(clock=lambda: 0.0)
    async with Engine(store, secrets=Keeper(secrets or {})) as engine:
        heard = Heard(engine)
        await Desk(engine, engine.clock).apply(WHO, [playbook(REST, "ship")])
        trigger = a_trigger(f"playbook: ship\nnats: {{{more}}}\nworkload: {{}}\n", "heard")
        await heard.triggers.apply(WHO, trigger)
        yield heard


def _at(server: NatsServer, more: str = "") -> str:
    return f"servers: '{server.address}', {more}"


async def _client(server: NatsServer, **more: Any) -> Any:
    """Connect as others do; a client that tries again would outlive a test that fails."""
    return await nats.connect(server.address, allow_reconnect=False, **more)


@played
async def test_a_message_starts_one_execution_though_two_hear_it_and_it_is_sent_twice(
    shared_server: NatsServer,
) -> None:
    async with _hearing(_at(shared_server, "subject: 'core.*'")) as heard:
        await eventually(heard.listens)
        kept = heard.engine.triggers.registry.get("default", "heard")
        assert kept is not None
        other = NatsListener(heard.engine, kept, WatchNotes(heard.engine, kept))
        second = asyncio.create_task(other.run())
        before = (await heard.watch())["listening_since"]

        async def both() -> bool:
            return bool((await heard.watch())["listening_since"] > before)

        await eventually(both)
        shop = await _client(shared_server)
        for name in ("a", "b", "b", "a"):
            await shop.publish("core.x", b'{"n": 1}', headers={"Nats-Msg-Id": name})
        await shop.publish("core.x", b"\xff", headers={"Nats-Msg-Id": "c"})
        await heard.has(3)
        await shop.close()
        second.cancel()
        await asyncio.gather(second, return_exceptions=True)
        assert await heard.started() == 3


@played
async def test_without_a_stream_what_was_missed_is_told(own_server: NatsServer) -> None:
    async with _hearing(_at(own_server, "subject: gap")) as heard:
        await eventually(heard.listens)
        assert (await heard.watch())["missed"] == []
        own_server.kill()
        await heard.says("Connect call failed")
        own_server.start()
        await eventually(heard.listens)
        [gap] = (await heard.watch())["missed"]
        assert gap["since"] < gap["until"]
        await heard.says("nobody listened from")
        shop = await _client(own_server)
        await shop.publish("gap", b"1")
        await heard.has(1)
        await shop.close()


async def _stream(server: NatsServer, name: str) -> Any:
    client = await _client(server)
    await client.jetstream().add_stream(StreamConfig(name=name, subjects=[f"{name}.>"]))
    return client


@played
async def test_what_is_not_acknowledged_comes_again_and_is_the_same_event(
    own_server: NatsServer, opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop = await _stream(own_server, "S")
    stream = shop.jetstream()
    await stream.add_consumer("S", durable_name="d", filter_subject="S.>", ack_wait=0.1)
    come = 0
    tells = Msg.ack

    async def silent(_: Msg) -> None:
        nonlocal come
        come += 1

    async def again() -> bool:
        return come >= 12

    async def acknowledged() -> bool:
        found = await stream.consumer_info("S", "d")
        return not (found.num_ack_pending or found.num_pending)

    await stream.publish("S.a", b"1")
    await stream.publish("S.a", b"2", headers={"Nats-Msg-Id": "two"})
    await stream.publish("S.a", b"3")
    store = await opened()
    how = _at(own_server, "subject: 'S.>', stream: S, durable: d")
    monkeypatch.setattr(Msg, "ack", silent)
    async with _hearing(how, store) as heard:
        await heard.has(3)
        await eventually(again)
    monkeypatch.setattr(Msg, "ack", tells)
    own_server.kill()
    own_server.start()  # and what was sent while nobody was there is not lost
    await shop.close()
    shop = await _client(own_server)
    stream = shop.jetstream()
    await stream.publish("S.b", b"4")
    async with _hearing(how, store) as heard:
        await heard.has(4)
        await eventually(acknowledged)
        assert await heard.started() == 4
        assert (await heard.watch()).get("missed", []) == []
        own_server.kill()
        await heard.says("it cannot listen")
        own_server.start()
        await shop.close()
        shop = await _client(own_server)
        await shop.jetstream().publish("S.b", b"5")
        await heard.has(5)
        assert (await heard.watch()).get("missed", []) == []
    await shop.close()
    await store.close()


@pytest.mark.parametrize(("begin", "number"), [("all", 2), ("new", 1)])
@played
async def test_a_consumer_is_made_that_begins_where_it_is_told(
    shared_server: NatsServer, begin: str, number: int
) -> None:
    name = f"B{begin}"
    shop = await _stream(shared_server, name)
    await shop.jetstream().publish(f"{name}.x", b"old")
    how = f"subject: '{name}.x', stream: {name}, begin: {begin}"
    async with _hearing(_at(shared_server, how)) as heard:
        await eventually(heard.listens)
        await shop.jetstream().publish(f"{name}.y", b"not ours")
        await shop.jetstream().publish(f"{name}.x", b"new")
        await heard.has(number)
        found = await shop.jetstream().consumer_info(name, "petra-default-heard")
        assert found.config.filter_subject == f"{name}.x"
        how = how.replace(".x", ".y")
        again = a_trigger(f"playbook: ship\nnats: {{{_at(shared_server, how)}}}\n", "heard")
        await heard.triggers.apply(WHO, again)

        async def changed() -> bool:
            found = await shop.jetstream().consumer_info(name, "petra-default-heard")
            return bool(found.config.filter_subject == f"{name}.y")

        await eventually(changed)
    await shop.close()


@played
async def test_a_message_that_is_too_large_to_keep_is_a_dead_letter(
    own_server: NatsServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("petra.engine.trigger_intake.ARRIVAL_BYTES_MAX", 1_000)
    async with _hearing(_at(own_server, "subject: large")) as heard:
        await eventually(heard.listens)
        shop = await _client(own_server)
        await shop.publish("large", b"x" * 2_000)
        await heard.says("1 dead letter")
        [letter], _ = await heard.triggers.dead(WHO, "heard")
        assert "too large" in letter["error"]
        await shop.close()


@pytest.fixture(scope="module")
def locked_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NatsServer]:
    """Make one that asks who we are."""
    config = tmp_path_factory.mktemp("nats") / "server.conf"
    allowed = "{subscribe: [mine, '_INBOX.>'], publish: '>'}"
    config.write_text(
        f"authorization {{users: [{{user: ada, password: hush, permissions: {allowed}}}]}}"
    )
    server = NatsServer("-c", str(config))
    yield server
    server.remove()


ADA = {"shop": {"username": "ada", "password": "hush"}}


@pytest.mark.parametrize(
    ("how", "secrets", "words"),
    [
        ("subject: mine", {}, "Authorization"),
        ("subject: mine, credential: shop", {}, "there is no credential 'shop'"),
        ("subject: mine, credential: shop", {"shop": "token"}, "Authorization"),
        ("subject: mine, credential: shop", {"shop": {"a": "b"}}, "is to be a token"),
        ("subject: other, credential: shop", ADA, "permissions violation"),
        ("subject: mine, credential: shop, stream: NONE", ADA, "stream not found"),
    ],
)
@played
async def test_what_keeps_it_from_hearing_is_told(
    locked_server: NatsServer, how: str, secrets: dict[str, Any], words: str
) -> None:
    async with _hearing(_at(locked_server, how), secrets=secrets) as heard:
        await heard.says(words)
        assert "hush" not in str(await heard.triggers.get(WHO, "heard"))


@played
async def test_who_shows_who_it_is_hears(locked_server: NatsServer) -> None:
    how = _at(locked_server, "subject: mine, credential: shop")
    async with _hearing(how, secrets=ADA) as heard:
        await eventually(heard.listens)
        shop = await _client(locked_server, user="ada", password="hush")
        await shop.publish("mine", b"{}")
        await heard.has(1)
        await shop.close()


@played
async def test_an_address_where_nobody_is_is_told_and_one_that_says_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("petra.engine.trigger_nats.NATS_CONNECT_S", 0.2)
    async with _hearing("servers: 'nats://127.0.0.1:1', subject: a") as heard:
        await heard.says("nats://127.0.0.1:1: ConnectionRefusedError")

    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()

    async with await asyncio.start_server(silent, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        async with _hearing(f"servers: 'nats://127.0.0.1:{port}', subject: a") as heard:
            await heard.says(f":{port}: it does not answer")


@played
async def test_without_the_library_it_is_said_how_to_get_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "nats.aio.client", None)
    async with _hearing("servers: 'nats://127.0.0.1:1', subject: a") as heard:
        await heard.says("pip install 'petra[nats]'")
