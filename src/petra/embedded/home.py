"""Petra inside one process: a store in a folder, an engine, and a worker beside it.

async with petra.open(".petra") as local:
    done = await local.run("orders.yaml", {"order": 7})

While a process has the folder open, others reach its executions through a socket in it (``petra.control``).
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Collection, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from pathlib import Path
from typing import Any

from petra import event_loop, telemetry
from petra.clock import Clock, SystemClock
from petra.control import listening
from petra.desk import AnyRequest, Desk, Principal, Reply, Result, carry_out, owner
from petra.embedded.folder import Folder
from petra.embedded.hands import Start, begun, starter
from petra.embedded.keeper import Keeper
from petra.embedded.open_home import OpenHome
from petra.embedded.reading import read_around
from petra.engine import Engine
from petra.engine.limits import LEASE_S, SHARD_LEASE_S
from petra.errors import UsageError
from petra.garbage_collector import look_less_often
from petra.playbook import Playbook
from petra.store.base import Store
from petra.tools.registry import learn_plug_ins
from petra.worker.child import Child

SLOTS = 64


class Home(OpenHome):
    """An engine with its own store and worker, for those inside; what programs use of it is ``OpenHome``."""

    def __init__(
        self,
        engine: Engine,
        clock: Clock,
        who: Principal | None = None,
        library: Sequence[Path] = (),
    ) -> None:
        """Make one for whoever uses it: the owner of the folder, unless told otherwise."""
        self.who = who or owner()
        self.desk = Desk(engine, clock)
        super().__init__(self.desk, self.who, library)
        self.engine = engine
        self.clock = clock
        self.keeper = Keeper(engine, clock)

    @classmethod
    @asynccontextmanager
    async def open(  # noqa: PLR0913 - how it may be opened
        cls,
        home: Path,
        *,
        slots: int = SLOTS,
        store: Store | str | None = None,
        shard_lease_s: float = SHARD_LEASE_S,
        keep_s: float | None = None,
        library: Sequence[Path] = (),
        only: Collection[str] | None = None,
        workers: int = 1,
        lease_s: float = LEASE_S,
    ) -> AsyncIterator[Home]:
        """Open the folder (made if it is not there), take up what is left in it, and start a worker.

        With the address of a PostgreSQL database as ``store``, or in ``PETRA_STORE``, executions are kept
        there, and other engines may share it; the folder holds large results only. With ``keep_s``,
        executions that ended so many seconds ago are deleted. Without ``workers``, those elsewhere do all the work; one that
        is silent for ``lease_s`` loses it.

        Raises:
            HeldError: another process has the folder open.
            UnavailableError: the database cannot be reached.
            UsageError: the environment asks for traces, and the extra is missing: no worker could be started.
        """
        telemetry.are_there()
        folder = Folder(home, store)
        folder.make()
        clock = SystemClock()
        learn_plug_ins()
        look_less_often()
        kept = starter("--slots", str(slots), "--objects", folder.objects)
        async with (
            kept as start,
            _begun(start, workers) as first,
            folder.opened(
                clock, shard_lease_s=shard_lease_s, keep_s=keep_s, only=only, lease_s=lease_s
            ) as engine,
        ):
            local = cls(engine, engine.clock, library=library)
            keeping = local.keeper.keeping(first, start) if first is not None else nullcontext()
            async with keeping, _heard_by_others(folder, local):
                yield local

    # For those inside

    def new_id(self) -> str:
        """Make an id for an execution, of our own shards if we have some: then we need not ask others."""
        return self.desk.new_id()

    async def carry_out(self, request: AnyRequest) -> Reply:
        """Do what a request asks for: the same here and for a process that called."""
        return await carry_out(self.desk, self.who, request)


def _begun(start: Start, workers: int) -> AbstractAsyncContextManager[asyncio.Task[Child] | None]:
    return begun(start) if workers else nullcontext()


def _heard_by_others(folder: Folder, local: Home) -> AbstractAsyncContextManager[None]:
    """Listen in the folder, if it is ours alone; engines that share a database speak through that."""
    return nullcontext() if folder.shared else listening(folder.home, local.carry_out)


def run_playbook(  # noqa: PLR0913 - each is a choice of its own
    playbook: Playbook | str | Path,
    workload: dict[str, Any] | None = None,
    *,
    home: Path,
    store: str | None = None,
    allow_unsound: bool = False,
    library: Sequence[Path] = (),
) -> Result:
    """Run a playbook until it ends or waits for the world.

    Raises:
        InvalidPlaybookError: the playbook has errors.
        HeldError: another process is using ``home``.
        UsageError: an event loop runs here already.
    """
    _no_loop_here()
    if not isinstance(playbook, Playbook):
        read_around(
            Path(playbook), library
        )  # what is wrong with it is said before anything is opened

    async def running() -> Result:
        async with Home.open(home, store=store, library=library) as local:
            return await local.run(playbook, workload, allow_unsound=allow_unsound)

    return event_loop.run(running())


def _no_loop_here() -> None:
    """Refuse to start a loop inside one, and say what to write there."""
    with contextlib.suppress(RuntimeError):
        asyncio.get_running_loop()
        raise UsageError(
            "petra.run starts an event loop, and one runs here already (a notebook, or an async function); "
            "write: async with petra.open() as local: result = await local.run(FILE, WORKLOAD)"
        )
