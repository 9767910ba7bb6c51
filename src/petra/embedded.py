"""Petra inside one process: a store in a folder, an engine, and a worker beside it.

async with Local.open(Path(".petra")) as petra:
    done = await petra.run(playbook, {"order": 7})
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
from collections.abc import AsyncIterator, Callable, Collection
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from petra.clock import Clock, SystemClock
from petra.collector import look_less_often
from petra.engine import Engine
from petra.engine.codec import status_of
from petra.engine.entries import Entry
from petra.engine.limits import FOLLOW_S, SHARD_LEASE_S
from petra.engine.logs import LogFiles
from petra.engine.retention import Retention
from petra.errors import UsageError
from petra.kernel import Record
from petra.objects import LocalObjects
from petra.playbook import Playbook, read_bytes
from petra.store.base import Store
from petra.store.rows import shard_of
from petra.tools.registry import learn_plug_ins
from petra.worker.child import Child, start_child
from petra.worker.transport import LostError, Transport

DATABASE = "petra.db"
OBJECTS = "objects"
LOGS = "logs"
CLOSED = "closed-in-order"
"""A file that says: whoever had the folder last closed it, so no delivery was lost."""
STORE = "PETRA_STORE"
"""The variable that names the store of whoever names none: the address of a PostgreSQL database."""
SLOTS = 64
ID_TRIES = 1_000
REST = frozenset({"completed", "partial", "failed", "aborted", "waiting", "stuck", "paused"})


@dataclass(frozen=True, slots=True)
class Result:
    """What an execution has come to, when it ended or rests."""

    id: str
    playbook: str
    status: str
    reason: str
    output: Any
    ctx: dict[str, Any]
    counts: dict[str, int]
    failures: list[dict[str, Any]]
    error: dict[str, Any] | None


def result_of(entry: Entry) -> Result:
    """Sum up an execution."""
    state = entry.state
    status, reason = status_of(entry.program, state)
    return Result(
        id=state.id,
        playbook=state.playbook,
        status=status,
        reason=reason,
        output=state.output,
        ctx=state.ctx,
        counts=state.counts,
        failures=state.failures,
        error=state.error.as_data() if state.error is not None else None,
    )


@dataclass(frozen=True, slots=True)
class _Waiter:
    """Somebody who waits for an execution; a curious one hears of every change."""

    woken: asyncio.Future[None]
    curious: bool


class Local:
    """An engine with its own store and worker."""

    def __init__(self, engine: Engine, clock: Clock) -> None:
        self.engine = engine
        self.clock = clock
        self.worker: Child | None = None
        self._waiting: dict[str, list[_Waiter]] = {}
        engine.listeners.append(self._heard)
        engine.movers.append(self._moved)

    @classmethod
    @asynccontextmanager
    async def open(
        cls,
        home: Path,
        *,
        slots: int = SLOTS,
        store: Store | str | None = None,
        shard_lease_s: float = SHARD_LEASE_S,
        keep_s: float | None = None,
    ) -> AsyncIterator[Local]:
        """Open the folder (made if it is not there), take up what is left in it, and start a worker.

        With the address of a PostgreSQL database as ``store``, or in ``PETRA_STORE``, executions are kept
        there, and other engines may share it; the folder holds large results only. With ``keep_s``,
        executions that ended so many seconds ago are deleted.

        Raises:
            HeldError: another process has the folder open.
            UnavailableError: the database cannot be reached.
        """
        home.mkdir(parents=True, exist_ok=True)  # noqa: ASYNC240 - once, before anything runs
        clock = SystemClock()
        learn_plug_ins()
        look_less_often()
        if store is None:
            store = os.environ.get(STORE)
        holder = new_name() if isinstance(store, str) and store else ""
        if store is None or isinstance(store, str):
            store = await open_store(store or home / DATABASE)
        closed = home / CLOSED
        in_order = closed.exists()
        closed.unlink(missing_ok=True)
        retention = None
        if keep_s is not None:
            objects = LocalObjects(home / OBJECTS)
            retention = Retention(store, keep_s, objects=objects, clock=clock)
        made = Engine(
            store, clock=clock, handed_back=in_order, holder=holder, shard_lease_s=shard_lease_s,
            retention=retention, logs=LogFiles(home / LOGS, clock),
        )  # fmt: skip
        try:
            async with made as engine:
                local = cls(engine, clock)
                keeper = asyncio.create_task(local._keep_worker(home, slots))
                try:
                    yield local
                finally:
                    keeper.cancel()
                    await asyncio.gather(keeper, return_exceptions=True)
        finally:
            await store.close()
            closed.touch()

    async def _keep_worker(self, home: Path, slots: int) -> None:
        """Keep one worker process running; a dead one is replaced, and its work handed out again."""
        while True:
            child = await start_child(["--slots", str(slots), "--objects", str(home / OBJECTS)])
            self.worker = child
            try:
                await self._talk(child.transport)
                self.engine.lost(child.transport)  # not when we are closing: then nothing was lost
            finally:
                child.kill()
                with contextlib.suppress(asyncio.CancelledError):
                    await child.wait()
                child.transport.close()
            await self.clock.sleep(0.05)

    async def _talk(self, transport: Transport) -> None:
        while True:
            try:
                frames = await transport.receive()
            except LostError:
                return
            for frame in frames:
                await self.engine.receive(transport, frame)  # type: ignore[arg-type]

    def _heard(self, entry: Entry, _records: list[Record]) -> None:
        """Wake who waits for an execution; most need not know of it while it goes on."""
        waiting = self._waiting.get(entry.state.id)
        if waiting is None:
            return
        goes_on = entry.shown[0] == "running"
        kept = [one for one in waiting if goes_on and not one.curious]
        for one in waiting:
            if (one.curious or not goes_on) and not one.woken.done():
                one.woken.set_result(None)
        if kept:
            self._waiting[entry.state.id] = kept
        else:
            del self._waiting[entry.state.id]

    def _moved(self, shards: Collection[int]) -> None:
        """Wake who waits for executions that another engine acts for now: they must look there."""
        for execution in [key for key in self._waiting if shard_of(key) in shards]:
            for one in self._waiting.pop(execution):
                if not one.woken.done():
                    one.woken.set_result(None)

    # Using it

    async def run(
        self,
        playbook: Playbook,
        workload: dict[str, Any] | None = None,
        *,
        execution: str = "",
        until: Callable[[Result], bool] | None = None,
    ) -> Result:
        """Start an execution and wait until it ends or rests."""
        chosen = execution or self.new_id()
        answered = await self.engine.start(playbook, workload, execution=chosen)
        if answered.refused:
            return Result(
                chosen, playbook.metadata.name, "refused", answered.refused, None, {}, {}, [], None
            )
        return await self._rest(chosen, until, new=True)

    async def rest(self, execution: str, until: Callable[[Result], bool] | None = None) -> Result:
        """Wait until an execution ends or rests, whichever engine acts for it."""
        return await self._rest(execution, until, new=False)

    async def _rest(
        self, execution: str, until: Callable[[Result], bool] | None, *, new: bool
    ) -> Result:
        wanted = until or (lambda result: result.status in REST)
        while True:
            if not self.engine.shards.owns(execution):
                found = await self._follow(execution, wanted, new=new)
                if found is not None:
                    return found
            woken = asyncio.get_running_loop().create_future()
            self._waiting.setdefault(execution, []).append(_Waiter(woken, until is not None))
            entry = await self.engine.entries.load(execution)
            # while it is busy, the state is ahead of what is durable, and nobody may see it
            if not entry.busy:
                result = result_of(entry)
                if wanted(result):
                    return result
            await woken

    async def _follow(
        self, execution: str, wanted: Callable[[Result], bool], *, new: bool
    ) -> Result | None:
        """Look at an execution of another engine now and then; None: this engine acts for it now.

        Of a ``new`` one listeners hear everything from its beginning.
        """
        entries = self.engine.entries
        entry = await (entries.blank(execution) if new else entries.read(execution))
        while not self.engine.shards.owns(execution):
            records = await entries.advance(entry)
            if records:
                self.engine.tell_listeners(entry, records)
                continue
            result = result_of(entry)
            if wanted(result):
                return result
            await self.clock.sleep(FOLLOW_S)
        return None

    def new_id(self) -> str:
        """Make an id for an execution, of our own shards if we have some: then we need not ask others."""
        made = new_id(self.clock)
        for _ in range(ID_TRIES):
            if self.engine.shards.owns(made):
                break
            made = new_id(self.clock)
        return made


async def open_store(where: Path | str, *, readonly: bool = False) -> Store:
    """Open the store at an address: a file, or a PostgreSQL database.

    Raises:
        UsageError: the address is none.
        HeldError: another process owns the file.
        UnavailableError: the database cannot be reached.
    """
    if isinstance(where, Path):
        from petra.store.sqlite import SqliteStore  # noqa: PLC0415 - only the store that is used

        return await SqliteStore.open(where, readonly=readonly)
    if not str(where).startswith(("postgresql://", "postgres://")):
        raise UsageError(f"'{where}' is no store; use postgresql://user@host/database")
    try:
        from petra.store.postgres import PostgresStore  # noqa: PLC0415 - only the store that is used
    except ImportError:
        raise UsageError(
            "PostgreSQL needs 'asyncpg'; install it with pip install 'petra[postgres]'"
        ) from None
    return await PostgresStore.open(where)


def run_file(
    file: Path,
    workload: dict[str, Any] | None = None,
    *,
    home: Path,
    store: str | None = None,
) -> Result:
    """Run a playbook file until it ends or waits for the world.

    Raises:
        InvalidPlaybookError: the playbook has errors.
        HeldError: another process is using ``home``.
    """
    learn_plug_ins()
    playbook = read_bytes(file.read_bytes(), str(file)).checked()

    async def running() -> Result:
        async with Local.open(home, store=store) as local:
            return await local.run(playbook, workload)

    return asyncio.run(running())


def new_name() -> str:
    """Make a name for an engine that no other one has, and that says where it runs."""
    return f"{socket.gethostname()}/{os.getpid()}/{os.urandom(4).hex()}"


def new_id(clock: Clock) -> str:
    """Make an id for an execution: time first, so that ids sort by age."""
    stamp = int(clock.now() * 1000).to_bytes(6, "big").hex()
    return f"{stamp}-{os.urandom(6).hex()}"
