"""Petra inside one process: a store in a folder, an engine, and a worker beside it.

async with petra.open(".petra") as local:
    done = await local.run("orders.yaml", {"order": 7})

While a process has the folder open, others reach its executions through a socket in it (``petra.control``).
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Collection, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from pathlib import Path
from typing import Any

from petra import event_loop
from petra.clock import Clock, SystemClock
from petra.control import listening
from petra.desk import AnyRequest, Desk, Principal, Reply, Result, carry_out, owner
from petra.desk.whole import has_references, whole
from petra.embedded.folder import CREDENTIALS, Folder
from petra.embedded.hands import Start, begun, starter
from petra.embedded.keeper import Keeper
from petra.embedded.reading import Readings, read_around
from petra.engine import Engine
from petra.engine.limits import LEASE_S, SHARD_LEASE_S
from petra.engine.news import News
from petra.errors import UsageError
from petra.garbage_collector import look_less_often
from petra.kernel import Record
from petra.kernel import commands as c
from petra.library import Gathered
from petra.playbook import Playbook
from petra.store.base import Store
from petra.tools.registry import learn_plug_ins
from petra.worker.child import Child

SLOTS = 64


class Home:
    """An engine with its own store and worker."""

    def __init__(
        self,
        engine: Engine,
        clock: Clock,
        who: Principal | None = None,
        library: Sequence[Path] = (),
    ) -> None:
        """Make one for whoever uses it: the owner of the folder, unless told otherwise."""
        self.library = tuple(library)
        self._readings = Readings(self.library)
        self.who = who or owner()
        self.engine = engine
        self.clock = clock
        self.desk = Desk(engine, clock)
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
        """
        folder = Folder(home, store)
        folder.make()
        clock = SystemClock()
        learn_plug_ins()
        look_less_often()
        kept = starter(
            "--slots", str(slots), "--objects", folder.objects,
            "--credentials", str(folder.home / CREDENTIALS),
        )  # fmt: skip
        async with (
            kept as start,
            _begun(start, workers) as first,
            folder.opened(
                clock, shard_lease_s=shard_lease_s, keep_s=keep_s, only=only, lease_s=lease_s
            ) as engine,
        ):
            local = cls(engine, clock, library=library)
            keeping = local.keeper.keeping(first, start) if first is not None else nullcontext()
            async with keeping, _heard_by_others(folder, local):
                yield local

    # Using it

    async def run(  # noqa: PLR0913 - each is a choice of its own
        self,
        playbook: Playbook | str | Path,
        workload: dict[str, Any] | None = None,
        *,
        execution: str = "",
        until: Callable[[Result], bool] | None = None,
        allow_unsound: bool = False,
        labels: dict[str, str] | None = None,
    ) -> Result:
        """Start an execution and wait until it ends or rests; it may call what lies beside its file.

        A net that is sure to get stuck or to pile up is refused, unless ``allow_unsound``; so is a start without its secrets.
        """
        model, beside = self._read(playbook)
        return await self._whole(
            await self.desk.run(
                self.who, model, workload, execution=execution, until=until, allow_unsound=allow_unsound,
                labels=labels, beside=beside,
            )
        )  # fmt: skip

    def _read(self, playbook: Playbook | str | Path) -> tuple[Playbook, Gathered]:
        if isinstance(playbook, Playbook):
            return playbook, Gathered()
        return self._readings.around(playbook)

    async def apply(
        self, *playbooks: Playbook | str | Path, allow_unsound: bool = False
    ) -> list[dict[str, Any]]:
        """Make playbooks the current ones of their paths, for all that call them; return what became of each.

        Raises:
            UsageError: the net of one is not sound, and that is not allowed; nothing is stored.
        """
        models = [self._read(one)[0] for one in playbooks]
        return await self.desk.apply(self.who, models, allow_unsound=allow_unsound)

    async def start(
        self,
        playbook: Playbook | str | Path,
        workload: dict[str, Any] | None = None,
        *,
        execution: str = "",
        allow_unsound: bool = False,
        labels: dict[str, str] | None = None,
    ) -> str:
        """Start an execution and return its id at once; ``rest`` waits for it.

        Raises:
            UsageError: it was refused; the message says why.
        """
        model, beside = self._read(playbook)
        return await self.desk.start(
            self.who,
            model,
            workload,
            execution=execution,
            allow_unsound=allow_unsound,
            labels=labels,
            beside=beside,
        )

    async def rest(self, execution: str, until: Callable[[Result], bool] | None = None) -> Result:
        """Wait until an execution ends or rests, whichever engine acts for it."""
        return await self._whole(await self.desk.rest(self.who, execution, until))

    async def get(self, execution: str) -> Result:
        """Return what an execution has come to so far."""
        return await self._whole(await self.desk.get(self.who, execution))

    async def _whole(self, result: Result) -> Result:
        """Give callers the data, also where the log holds references (S18)."""
        engine = self.engine
        if engine.objects is None or not has_references(result):
            return result
        entry = await engine.view(result.id)
        return await whole(result, entry.state, engine.store, engine.objects)

    def follow(self, execution: str, after: int = 0) -> AsyncGenerator[News, None]:
        """Yield what happens in an execution: every record behind ``after`` once, in order, whoever acts for it."""
        return self.desk.follow(self.who, execution, after)

    async def signal(
        self, execution: str, name: str, payload: Any = None, *, key: Any = None
    ) -> None:
        """Send a signal."""
        signal = c.SendSignal(now=0.0, name=name, key=key, payload=payload)
        await self.desk.give(self.who, execution, signal)

    async def cancel(self, execution: str, reason: str = "cancelled") -> None:
        """Stop everything an execution does; it ends aborted."""
        await self.desk.give(self.who, execution, c.Cancel(now=0.0, reason=reason))

    async def complete(
        self, execution: str, step: str, action: str, *, actor: str, data: Any = None
    ) -> None:
        """Complete the open work item of a step.

        Raises:
            UsageError: there is none, or the act was refused.
        """
        act = c.Act(now=0.0, item="", act="complete", actor=actor, action=action, data=data)
        await self.desk.act(self.who, execution, step, act)

    async def records(self, execution: str) -> list[Record]:
        """Return the log of an execution."""
        return await self.desk.records(self.who, execution)

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


def run_file(  # noqa: PLR0913 - each is a choice of its own
    file: Path,
    workload: dict[str, Any] | None = None,
    *,
    home: Path,
    store: str | None = None,
    allow_unsound: bool = False,
    library: Sequence[Path] = (),
) -> Result:
    """Run a playbook file until it ends or waits for the world.

    Raises:
        InvalidPlaybookError: the playbook has errors.
        HeldError: another process is using ``home``.
        UsageError: an event loop runs here already.
    """
    _no_loop_here()
    read_around(file, library)  # what is wrong with it is said before anything is opened

    async def running() -> Result:
        async with Home.open(home, store=store, library=library) as local:
            return await local.run(file, workload, allow_unsound=allow_unsound)

    return event_loop.run(running())


def _no_loop_here() -> None:
    """Refuse to start a loop inside one, and say what to write there."""
    with contextlib.suppress(RuntimeError):
        asyncio.get_running_loop()
        raise UsageError(
            "petra.run starts an event loop, and one runs here already (a notebook, or an async function); "
            "write: async with petra.open() as local: result = await local.run(FILE, WORKLOAD)"
        )
