"""The local home of Petra: ``.petra/`` (or ``PETRA_HOME``), where executions live until a server is used.

Rule 1: reading asks nobody: the store can be read while another process writes it.
Rule 2: acting opens the folder, or asks the process that has it open; the request and its effect are the same.
"""

from __future__ import annotations

import asyncio
import os
import secrets
import signal
from collections.abc import AsyncIterator, Awaitable, Callable, Collection
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar, cast

from petra import event_loop
from petra.cli.place import remote, store_of
from petra.control import GoneError, call
from petra.desk import AnyRequest, Begin, ForkRequest, Reply
from petra.desk.whole_values import has_references, whole
from petra.embedded import Folder, Home, Result, home_objects
from petra.engine.cache import Cache, Entry
from petra.errors import PetraError, UsageError
from petra.objects import ObjectStore
from petra.store.base import Store
from petra.store.errors import HeldError
from petra.store.rows import ExecutionFilter

T = TypeVar("T")
Opened = TypeVar("Opened")

EXIT = {
    "completed": 0, "partial": 1, "failed": 1, "aborted": 1, "refused": 1, "waiting": 3, "paused": 3, "stuck": 4,
}  # fmt: skip
INTERRUPTED = 130
HASTE_S = 3.0
"""Seconds that closing may take before another interruption ends the process."""
PATIENCE_S = 10.0
"""How long a process that opens or closes the folder is waited for."""
_PAUSE_S = 0.1


def look(home: Path, ask: Callable[[Any, Cache], Awaitable[T]]) -> T:
    """Read from the home without touching it; another process may be using it.

    Raises:
        UsageError: nothing has been run here yet.
    """
    return asyncio.run(reading(home, ask))


async def reading(home: Path, ask: Callable[[Any, Cache], Awaitable[T]]) -> T:
    """Do as ``look`` does, inside a loop."""
    async with store_of(home) as store:
        return await ask(store, Cache(store))


async def writing(
    home: Path, here: Callable[[Store], Awaitable[T]], there: Callable[[], Awaitable[T]]
) -> T:
    """Change something in the store that concerns no live execution: nothing is taken up, and no worker started.

    While another process has the home open, that one is asked; so is a server that was named.
    """
    if remote(home) is not None:
        return await there()
    folder = Folder(home)
    folder.make()

    @asynccontextmanager
    async def opened() -> AsyncIterator[Store]:
        store = await folder.open_store()
        try:
            yield store
        finally:
            await store.close()

    return await _either(home, opened, here, there)


def act(home: Path, ask: Callable[[], Awaitable[T]]) -> T:
    """Do something in the home; a signal to end is an interruption.

    The first one has everything closed. Those that come while it closes change nothing, or they would break it off where it
    happens to be; for somebody who still waits after ``HASTE_S``, the next one ends the process, and nothing is lost.

    Raises:
        UsageError: the home cannot be used.
    """

    async def acting() -> T:
        task, loop, since = asyncio.current_task(), asyncio.get_running_loop(), list[float]()
        assert task is not None

        def interrupt() -> None:
            if not since:
                since.append(loop.time())
                task.cancel()
            elif loop.time() - since[0] > HASTE_S:
                os._exit(INTERRUPTED)

        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, interrupt)
        return await ask()

    try:
        return event_loop.run(acting())
    except OSError as error:
        raise UsageError(
            f"{home} cannot be used: {error.strerror or error}; choose another --home"
        ) from None
    except asyncio.CancelledError:
        raise KeyboardInterrupt from None


def request(home: Path, asked: AnyRequest) -> Reply:
    """Have a request carried out, here or by the process that has the home open.

    Raises:
        UsageError: it cannot be done, and why.
    """
    reply = act(home, lambda: requested(home, asked))
    if reply.error:
        raise UsageError(reply.error)
    return reply


async def requested(home: Path, asked: AnyRequest) -> Reply:
    """Do as ``request`` does, inside a loop; what was due while nothing ran acts first, and is told about."""
    from petra.cli.left import left_here  # noqa: PLC0415 - it reads by way of this module

    only = [] if isinstance(asked, Begin | ForkRequest) else [asked.execution]
    left = await left_here(home) if only else None

    async def here(local: Home) -> Reply:
        if left is not None:
            left.tell_late(only)
        try:
            return await local.carry_out(asked)
        except PetraError as error:
            return Reply(error=str(error))

    only = [] if isinstance(asked, Begin | ForkRequest) else [asked.execution]
    return await either(home, here, lambda: called(home, asked), only=only)


async def called(home: Path, asked: AnyRequest) -> Reply:
    """Have a request carried out by whoever has the executions: the server that was named, or a process with the home open.

    Raises:
        GoneError: nobody has.
    """
    where = remote(home)
    return await (where.request(asked) if where is not None else call(home, asked))


async def either(
    home: Path,
    here: Callable[[Home], Awaitable[T]],
    there: Callable[[], Awaitable[T]],
    *,
    only: Collection[str] | None = None,
) -> T:
    """Do something with the home open; while another process has it, ask that one.

    A server that was named is asked. With ``only``, nothing else that was left in the home goes on meanwhile.
    A process that dies meanwhile leaves the home to us: then it is done here, under the same id.
    """
    if remote(home) is not None:
        return await there()
    return await _either(home, lambda: Home.open(home, only=only), here, there)


async def _either(
    home: Path,
    opened: Callable[[], AbstractAsyncContextManager[Opened]],
    here: Callable[[Opened], Awaitable[T]],
    there: Callable[[], Awaitable[T]],
) -> T:
    waited = 0.0
    while True:
        try:
            async with opened() as local:
                return await here(local)
        except HeldError as error:
            held = error
        try:
            return await there()
        except GoneError:
            if waited >= PATIENCE_S:
                words = f"another petra is using {home}: {held}".partition(";")[0]
                raise UsageError(
                    f"{words}, and does not listen; wait for it, stop it, or choose another --home"
                ) from None
        await asyncio.sleep(_PAUSE_S)
        waited += _PAUSE_S


def request_id() -> str:
    """Make an id for a request: asked again with it, the same thing happens once."""
    return f"cli-{os.getpid()}-{secrets.token_hex(8)}"


def result_from(reply: Reply) -> Result:
    """Return what a reply says about its execution."""
    assert reply.result is not None, "a reply without an error has a result"
    return Result(**{key: item for key, item in reply.result.items() if key != "waiting_on"})


def found_id(home: Path, execution: str) -> str:
    """Return the whole id of an execution, given by its beginning.

    Raises:
        UsageError: none begins like that, or several do.
    """
    return look(home, lambda store, _: full_id(store, execution))


async def full_id(store: Store, execution: str) -> str:
    """Do as ``found_id`` does, with a store."""
    if not execution.isprintable():
        raise UsageError(f"there is no execution that begins with {execution!a}")
    if await store.execution(execution) is not None:
        return execution
    page = await store.executions(ExecutionFilter(text=execution), limit=50)
    ids = [stored.row.id for stored in page.rows if stored.row.id.startswith(execution)]
    if len(ids) != 1:
        shown = ", ".join(ids[:3]) if ids else "'petra ps' lists what there is"
        words = "several executions begin" if ids else "there is no execution that begins"
        raise UsageError(f"{words} with '{execution}'; {shown}")
    return ids[0]


async def find(store: Store, cache: Cache, execution: str) -> Entry:
    """Load an execution by its id, or by the beginning of it.

    Raises:
        UsageError: none begins like that, or several do.
    """
    return await cache.load(await full_id(store, execution))


def whole_result(home: Path, result: Result) -> Result:
    """Return an answer with what its references lead to, as far as that can be shown (S18)."""
    if not has_references(result):
        return result

    async def asking(store: Store, cache: Cache) -> Result:
        entry = await cache.read(result.id)
        return await whole(result, entry.state, store, objects_for(home, result.id))

    return look(home, asking)


def objects_for(home: Path, execution: str) -> ObjectStore:
    """Return the large values that an execution has."""
    where = remote(home)
    return home_objects(home) if where is None else cast("ObjectStore", where.objects(execution))


def shown_data(result: Result) -> dict[str, Any]:
    """Return what ``-o json`` prints of an execution."""
    return {
        "id": result.id,
        "playbook": result.playbook,
        "status": result.status,
        "output": result.output,
        "ctx": result.ctx,
        "counts": result.counts,
        "failures": result.failures,
        "waiting_on": result.waiting_on,
        "error": result.error,
    }
