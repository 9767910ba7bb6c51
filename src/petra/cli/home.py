"""The local home of Petra: ``.petra/`` (or ``PETRA_HOME``), where executions live until a server is used."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from petra.embedded import DATABASE, REST, STORE, Local, Result
from petra.engine.entries import Entries, Entry
from petra.errors import UsageError
from petra.store.base import Store
from petra.store.errors import HeldError
from petra.store.opening import open_store

T = TypeVar("T")

EXIT = {
    "completed": 0,
    "partial": 1,
    "failed": 1,
    "aborted": 1,
    "refused": 1,
    "waiting": 3,
    "paused": 3,
    "stuck": 4,
}


def _use_store(_context: click.Context, _option: click.Parameter, address: str | None) -> None:
    """Take a store as if it stood in the environment, where everything that opens one looks for it."""
    if address:
        os.environ[STORE] = address


_home = click.option(
    "--home", type=click.Path(path_type=Path), default=Path(".petra"), envvar="PETRA_HOME", show_envvar=True,
    help="Where executions are kept.",
)  # fmt: skip
_store = click.option(
    "--store", metavar="ADDRESS", envvar=STORE, show_envvar=True, expose_value=False, callback=_use_store,
    help="Keep them in PostgreSQL instead: postgresql://user@host/database.",
)  # fmt: skip


def home_option(command: Callable[..., T]) -> Callable[..., T]:
    """Let a verb be told where executions are: in a folder, or in a database."""
    return _home(_store(command))


def look(home: Path, ask: Callable[[Any, Entries], Awaitable[T]]) -> T:
    """Read from the home without touching it; another process may be using it.

    Raises:
        UsageError: nothing has been run here yet.
    """
    address = os.environ.get(STORE)
    if not address and not (home / DATABASE).exists():
        raise UsageError(f"there is nothing in {home} yet; 'petra run FILE' starts an execution")

    async def reading() -> T:
        store = await open_store(address or home / DATABASE, readonly=True)
        try:
            return await ask(store, Entries(store))
        finally:
            await store.close()

    return asyncio.run(reading())


def act(home: Path, ask: Callable[[Local], Awaitable[T]]) -> T:
    """Do something in the home, with an engine and a worker.

    Raises:
        UsageError: the home cannot be used, or another process is using it.
    """

    async def acting() -> T:
        task = asyncio.current_task()
        assert task is not None
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
        async with Local.open(home) as local:
            return await ask(local)

    try:
        return asyncio.run(acting())
    except HeldError as error:
        words = f"another petra is using {home}: {error}".partition(";")[0]
        raise UsageError(f"{words}; wait for it, stop it, or choose another --home") from None
    except OSError as error:
        raise UsageError(
            f"{home} cannot be used: {error.strerror or error}; choose another --home"
        ) from None
    except asyncio.CancelledError:
        raise KeyboardInterrupt from None


FOLLOWED_S = 60.0
"""A timer that is due so soon is waited for; nobody else would fire it."""


def comes_soon(local: Local) -> Callable[[Result], bool]:
    """Tell when to stop following: at the end, or at a rest that time will not soon end."""

    def rests(result: Result) -> bool:
        if result.status not in REST:
            return False
        if (result.status, result.reason) != ("waiting", "timer"):
            return True
        entry = local.engine.entries.cached(result.id)
        due = entry.state.next_due() if entry is not None else None
        return due is None or due - local.clock.now() > FOLLOWED_S

    return rests


def json_value(text: str, option: str) -> Any:
    """Read the JSON of an option.

    Raises:
        click.UsageError: it is none.
    """
    try:
        return json.loads(text)
    except ValueError as error:
        raise click.UsageError(f"{option} is not JSON: {error}") from None


async def find(store: Store, entries: Entries, execution: str) -> Entry:
    """Load an execution by its id, or by the beginning of it.

    Raises:
        UsageError: none begins like that, or several do.
    """
    from petra.store.rows import ExecutionFilter  # noqa: PLC0415

    if await store.execution(execution) is not None:
        return await entries.load(execution)
    page = await store.executions(ExecutionFilter(text=execution), limit=50)
    found = [stored.row.id for stored in page.rows if stored.row.id.startswith(execution)]
    if len(found) != 1:
        shown = ", ".join(found[:3]) if found else "'petra ps' lists what there is"
        words = "several executions begin" if found else "there is no execution that begins"
        raise UsageError(f"{words} with '{execution}'; {shown}")
    return await entries.load(found[0])


def result_data(result: Result) -> dict[str, Any]:
    """Return what ``-o json`` prints of an execution."""
    return {
        "id": result.id,
        "playbook": result.playbook,
        "status": result.status,
        "output": result.output,
        "ctx": result.ctx,
        "counts": result.counts,
        "failures": result.failures,
        "waiting_on": result.reason if result.status in ("waiting", "stuck") else None,
        "error": result.error,
    }
