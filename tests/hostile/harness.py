"""Where hostile cases play: a real engine on a real store, real workers, workers that are not, and a bystander.

    play(kind, tmp_path, case)              # case(scene), within PATIENCE_S, and at the end no engine has stopped
    scene = …
    await scene.start(book("…code…"))       # the hostile execution
    await scene.bystander()                 # another execution gets all its steps done meanwhile
    await scene.ended("hostile")            # what came of it

``hired`` is a worker process that the keeper looks after, ``helped`` a worker in this process; ``Fake`` speaks frames
made by hand. Nothing here is timed: a case that hangs runs into ``PATIENCE_S``.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
from engine_support import Ear, chain, playbook, talk, until

from petra.clock import SystemClock
from petra.desk import Result
from petra.embedded import Home
from petra.embedded.hands import begun, starter
from petra.engine import Engine
from petra.engine.cache import UnknownExecutionError
from petra.engine.codec import from_row
from petra.engine.logs import LogFiles
from petra.engine.news import Topic
from petra.engine.plight import explained
from petra.kernel import Record
from petra.keychain import Keychain
from petra.objects import LocalObjects
from petra.playbook import Playbook
from petra.store.base import Store
from petra.store.postgres import PostgresStore
from petra.store.sqlite import SqliteStore
from petra.tools.registry import Registry
from petra.wire import frames as f
from petra.worker import Offer, Transport, Worker, in_process
from petra.worker.stream import Stream
from petra.worker.transport import ClosedError

PATIENCE_S = 300.0
"""After so long a case hangs. No case needs a tenth of it, on a machine that has nothing else to do."""
LEASE_S = 3.0
HOSTILE = "hostile"
STEPS = 4
"""Steps of a bystander, one after the other."""


def code(text: str, *, spec: str = "", after: str = "") -> Playbook:
    """Return a playbook of one step, ``work``, that runs Python code."""
    tool = {"kind": "python", "code": text}
    line = f"  - step: work\n    tool: {json.dumps(tool)}\n"
    return playbook(line + (f"    spec: {spec}\n" if spec else "") + after)


class Scene:
    """An engine with what is around it."""

    def __init__(self, petra: Home, store: Store) -> None:
        self.petra = petra
        self.engine = petra.engine
        self.store = store
        self.notices: list[str] = []
        """What was said about workers."""
        ear = Ear(lambda _: None, noted=lambda one: self.notices.append(one.text))
        self.engine.feed.attach(Topic.WORKERS, ear)

    async def start(self, book: Playbook, execution: str = HOSTILE, **workload: Any) -> None:
        """Start an execution."""
        await self.petra.start(book, workload, execution=execution)

    async def ended(self, execution: str = HOSTILE) -> Result:
        """Wait until an execution has ended, or rests."""
        return await self.petra.rest(execution)

    async def run(self, book: Playbook, execution: str = HOSTILE, **workload: Any) -> Result:
        """Start an execution and wait until it has ended, or rests."""
        await self.start(book, execution, **workload)
        return await self.ended(execution)

    async def bystander(self, name: str = "bystander") -> None:
        """Have another execution go through all its steps."""
        result = await self.petra.run(chain(STEPS), execution=name)
        assert (result.status, result.output) == ("completed", 1)

    async def records(self, execution: str = HOSTILE) -> list[Record]:
        """Return the log of an execution."""
        return [from_row(row) for row in await self.store.read(execution)]

    async def types(self, execution: str = HOSTILE) -> list[str]:
        """Return the types of the records of an execution."""
        return [row.type for row in await self.store.read(execution)]

    async def logged(self, kind: str, execution: str = HOSTILE, *, times: int = 1) -> None:
        """Wait until the log has so many records of a type."""

        async def is_there() -> bool:
            return (await self.types(execution)).count(kind) >= times

        await until(is_there, within_s=PATIENCE_S)

    async def explained(self, execution: str = HOSTILE) -> str:
        """Return what ``explain`` says of an execution, in one text."""
        found = explained(self.engine.custody, await self.engine.view(execution))
        return "\n".join([found.sentence, *(one.sentence for one in found.waiting)])

    async def is_explained(self) -> None:
        """See that ``explain`` says what has come of the hostile execution, if there is one: its end, or its incidents."""
        try:
            state = (await self.engine.view(HOSTILE)).state
        except UnknownExecutionError:
            return
        said = await self.explained()
        assert not state.terminal or f"is {state.terminal}" in said
        assert state.error is None or not state.terminal or state.error.message in said
        assert all("incident" in said and why in said for why in state.incidents.values())


def play(  # noqa: PLR0913 - each is a choice of its own
    kind: str,
    folder: Path,
    case: Callable[[Scene], Awaitable[None]],
    *,
    with_worker: str = "hired",
    lease_s: float = LEASE_S,
    handed_back: bool = False,
) -> None:
    """Play a case on a store; whatever it does, the engine still runs at the end, and still serves."""

    async def scenario() -> None:
        async with staged(
            kind, folder, with_worker=with_worker, lease_s=lease_s, handed_back=handed_back
        ) as scene:
            await case(scene)
            scene.engine.check()
            await scene.is_explained()
            if with_worker:
                await scene.bystander("last")

    asyncio.run(asyncio.wait_for(scenario(), PATIENCE_S))


@asynccontextmanager
async def staged(
    kind: str,
    folder: Path,
    *,
    with_worker: str = "hired",
    lease_s: float = LEASE_S,
    handed_back: bool = False,
) -> AsyncIterator[Scene]:
    """Give an engine on a store, and a worker of the pool ``default``: ``hired``, ``helped``, or none."""
    store = await _store(kind, folder)
    clock = SystemClock()
    holder = "here" if isinstance(store, PostgresStore) else ""
    logs = LogFiles(folder / "logs", clock)
    try:
        async with Engine(
            store, lease_s=lease_s, holder=holder, logs=logs, handed_back=handed_back
        ) as engine:
            petra = Home(engine, clock)
            around = {"hired": hired, "helped": helped}.get(with_worker)
            async with around(petra, folder) if around else contextlib.nullcontext():
                yield Scene(petra, store)
    finally:
        await store.close()


async def _store(kind: str, folder: Path) -> Store:
    if kind.startswith("postgresql:"):
        return await PostgresStore.open(kind)
    return await SqliteStore.open(folder / "petra.db")


@asynccontextmanager
async def hired(petra: Home, folder: Path) -> AsyncIterator[None]:
    """Give a worker process that the keeper looks after."""
    workers = starter("--slots", "16", "--objects", str(folder / "objects"))
    async with workers as start, begun(start) as first, petra.keeper.keeping(first, start):
        yield


@asynccontextmanager
async def helped(petra: Home, folder: Path) -> AsyncIterator[None]:
    """Give a worker in this process, which costs nothing to start."""
    server, client = in_process()
    ends: Iterator[Transport] = iter([client])

    async def connect() -> Transport:
        try:
            return next(ends)
        except StopIteration:
            raise ClosedError("once is enough") from None

    registry, keychain = Registry(), Keychain()
    worker = Worker(
        connect,
        Offer(name="helper", slots=16),
        registry=registry,
        keychain=keychain,
        jitter=lambda: 0.5,
        objects=LocalObjects(folder / "objects"),
    )
    tasks = [asyncio.create_task(worker.run()), asyncio.create_task(talk(petra, server))]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await registry.close()
        await keychain.close()


class Fake:
    """A worker that says what a case wants it to say; ``said`` is what the engine answered."""

    def __init__(self, petra: Home) -> None:
        ours, theirs = socket.socketpair()
        self._socket = ours
        self._socket.settimeout(0)
        self._unpacker = f.Unpacker()
        self.said: list[f.AnyFrame] = []
        self.transport = Stream(theirs)
        self._talking = asyncio.create_task(self._converse(petra))

    async def _converse(self, petra: Home) -> None:
        await talk(petra, self.transport)
        petra.engine.connections.lost(self.transport)
        self.transport.close()

    async def raw(self, *pieces: bytes) -> None:
        """Send bytes as they are; an engine that has hung up takes none."""
        with contextlib.suppress(ConnectionError):
            for piece in pieces:
                await asyncio.get_running_loop().sock_sendall(self._socket, piece)

    async def body(self, body: bytes) -> None:
        """Send something as long as it says, whatever it is."""
        await self.raw(len(body).to_bytes(4, "big") + body)

    async def data(self, **fields: Any) -> None:
        """Send a map as a frame, whatever is in it."""
        await self.body(msgspec.msgpack.encode(fields))

    async def frame(self, frame: f.AnyFrame) -> None:
        """Send a frame."""
        await self.raw(f.pack(frame))

    async def hello(self, *, pool: str = HOSTILE, credit: int = 1, **more: Any) -> None:
        """Say hello, as a worker of the hostile pool."""
        await self.frame(f.Hello(worker="fake", pool=pool, slots=8, credit=credit, **more))

    async def heard(self, kind: type[f.AnyFrame]) -> Any:
        """Wait for a frame of a kind and take it."""
        while True:
            for frame in self.said:
                if isinstance(frame, kind):
                    self.said.remove(frame)
                    return frame
            piece = await asyncio.get_running_loop().sock_recv(self._socket, 65536)
            assert piece, "the engine has hung up"
            self.said += self._unpacker.feed(piece)

    async def dropped(self) -> None:
        """Wait until the engine has hung up."""
        with contextlib.suppress(ConnectionError):
            while await asyncio.get_running_loop().sock_recv(self._socket, 65536):
                pass
        await self._talking

    async def close(self) -> None:
        """End the connection."""
        self._socket.close()
        await asyncio.gather(self._talking, return_exceptions=True)


@asynccontextmanager
async def fake(scene: Scene) -> AsyncIterator[Fake]:
    """Give a worker that speaks frames made by hand."""
    made = Fake(scene.petra)
    try:
        yield made
    finally:
        await made.close()
