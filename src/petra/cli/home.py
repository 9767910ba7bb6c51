"""The local home of Petra: ``.petra/`` (or ``PETRA_HOME``), where executions live until a server is used."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from petra.embedded import DATABASE, Local, Result
from petra.engine.entries import Entries, Entry
from petra.errors import UsageError
from petra.store.sqlite import SqliteStore

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

home_option = click.option(
    "--home", type=click.Path(path_type=Path), default=Path(".petra"), envvar="PETRA_HOME", show_envvar=True,
    help="Where executions are kept.",
)  # fmt: skip


def look(home: Path, ask: Callable[[SqliteStore, Entries], Awaitable[T]]) -> T:
    """Read from the home without touching it; another process may be using it.

    Raises:
        UsageError: nothing has been run here yet.
    """
    if not (home / DATABASE).exists():
        raise UsageError(f"there is nothing in {home} yet; 'petra run FILE' starts an execution")

    async def reading() -> T:
        store = await SqliteStore.open(home / DATABASE, readonly=True)
        try:
            return await ask(store, Entries(store))
        finally:
            await store.close()

    return asyncio.run(reading())


def act(home: Path, ask: Callable[[Local], Awaitable[T]]) -> T:
    """Do something in the home, with an engine and a worker."""

    async def acting() -> T:
        async with Local.open(home) as local:
            return await ask(local)

    return asyncio.run(acting())


async def find(store: SqliteStore, entries: Entries, execution: str) -> Entry:
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
