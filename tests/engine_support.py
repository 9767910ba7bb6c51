"""An engine with a worker in the same process, for tests."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from petra.clock import Clock, SystemClock
from petra.embedded import Home
from petra.engine import Engine
from petra.engine.limits import SHARD_LEASE_S
from petra.engine.news import Appended, News, Notice
from petra.engine.notifying import Notifying
from petra.engine.retention import Retention
from petra.errors import PetraError
from petra.kernel import Record
from petra.keychain import Keychain
from petra.objects import ObjectStore
from petra.playbook import Playbook, read
from petra.store.base import Store
from petra.store.memory import MemoryStore
from petra.store.postgres import PostgresStore
from petra.store.sqlite import SqliteStore
from petra.tools.registry import Registry
from petra.worker import Offer, Transport, Worker, in_process
from petra.worker.transport import ClosedError


def playbook(workflow: str, name: str = "test", **head: str) -> Playbook:
    """Read a playbook from its workflow."""
    text = f"apiVersion: petra/v1\nkind: Playbook\nmetadata: {{name: {name}}}\n"
    text += "".join(f"{key}: {value}\n" for key, value in head.items())
    return read(text + "workflow:\n" + workflow).checked()


def chain(length: int, task: str = "{kind: python, code: 'result = 1'}") -> Playbook:
    """Return a playbook of steps one after the other."""
    steps = ""
    for number in range(length):
        steps += f"  - step: s{number}\n    tool: {task}\n"
        if number + 1 < length:
            steps += f"    next: {{arcs: [{{step: s{number + 1}}}]}}\n"
    return playbook(steps)


async def until(condition: Callable[[], Awaitable[bool]], *, within_s: float = 180.0) -> None:
    """Wait until something outside has come true."""
    deadline = asyncio.get_running_loop().time() + within_s
    while not await condition():
        assert asyncio.get_running_loop().time() < deadline, "it did not come true in time"
        await asyncio.sleep(0.01)


async def talk(petra: Home, link: Transport) -> None:
    """Let a worker talk with the engine; one that breaks the protocol is cut off."""
    if why := await petra.engine.connections.converse(link):
        petra.engine.connections.ended(link, why)
        link.close()


class Ear:
    """Hears the records of what it is attached to in the moment they are told, as no reader would."""

    def __init__(
        self,
        heard: Callable[[Sequence[Record]], None],
        noted: Callable[[Notice], None] = lambda _: None,
    ) -> None:
        self._heard = heard
        self._noted = noted
        self.told: list[str] = []

    def take(self, message: News) -> None:
        if isinstance(message, Appended):
            self._heard(message.records)
        elif isinstance(message, Notice):
            self._noted(message)

    def end(self, why: PetraError) -> None:
        self.told.append(str(why))


@asynccontextmanager
async def opened(kind: str, folder: Path) -> AsyncIterator[Store]:
    """Open a store: in memory, in a file of a folder, or in the database of an address."""
    store: Store
    if kind.startswith("postgresql:"):
        store = await PostgresStore.open(kind)
    elif kind == "memory":
        store = MemoryStore(clock=SystemClock().now)
    else:
        store = await SqliteStore.open(folder / "petra.db")
    try:
        yield store
    finally:
        await store.close()


@asynccontextmanager
async def local(  # noqa: PLR0913 - each is a choice of its own
    store: Store,
    *,
    clock: Clock | None = None,
    slots: int = 32,
    holder: str = "",
    shard_lease_s: float = SHARD_LEASE_S,
    retention: Retention | None = None,
    objects: ObjectStore | None = None,
    notifying: Notifying | None = None,
) -> AsyncIterator[Home]:
    """Give an engine on a store, with one worker in this process. A store that others share needs a name."""
    chosen = clock or SystemClock()
    if isinstance(store, PostgresStore):
        holder = holder or "here"
    made = Engine(
        store,
        clock=chosen,
        holder=holder,
        shard_lease_s=shard_lease_s,
        retention=retention,
        objects=objects,
        notifying=notifying,
    )
    async with made as engine:
        found = Home(engine, chosen)
        server, client = in_process()
        ends: list[Transport] = [client]

        async def connect() -> Transport:
            if not ends:
                raise ClosedError("once is enough")
            return ends.pop()

        registry, keychain = Registry(), Keychain()
        worker = Worker(
            connect,
            Offer(name="w", slots=slots),
            registry=registry,
            keychain=keychain,
            jitter=lambda: 0.5,
            clock=chosen,
            objects=objects,
        )
        working = asyncio.create_task(worker.run())
        talking = asyncio.create_task(talk(found, server))
        try:
            yield found
        finally:
            talking.cancel()
            working.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.gather(talking, working, return_exceptions=True)
            await registry.close()
            await keychain.close()
