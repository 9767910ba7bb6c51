"""One measurement of Petra, in a process of its own: python benchmarks/petra_side.py WORK SIZE STORE FOLDER

STORE is ``sqlite`` or the URL of a PostgreSQL database; the worker is a process beside this one. Executions are started by
the path of their playbook, as users do. On PostgreSQL an engine must own its shards: one that does not is an error.
"""

from __future__ import annotations

import asyncio
import atexit
import os
import shutil
import sys
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from processes import measured, memory, show
from workloads import chain_text, fan_text

from petra.embedded import Home
from petra.playbook import Playbook

SQLITE = "sqlite"
BOOKS: list[Path] = []


class NotOwnedError(Exception):
    """Nothing of the database belongs to this engine: what it commits is not fenced."""


@asynccontextmanager
async def opened(store: str, folder: Path) -> AsyncIterator[Home]:
    """Open Petra on either store."""
    async with Home.open(folder, store=None if store == SQLITE else store) as petra:
        yield petra


def pids(petra: Home) -> list[int]:
    assert petra.keeper.worker is not None
    return [os.getpid(), petra.keeper.worker.pid]


def written(name: str, text: str) -> Path:
    """Write a playbook into a folder that goes with this process, and return its file."""
    if not BOOKS:
        BOOKS.append(Path(tempfile.mkdtemp(prefix="petra-books-")))
        atexit.register(shutil.rmtree, BOOKS[0])
    file = BOOKS[0] / f"{name}.yaml"
    file.write_text(text, "utf-8")
    return file


async def completed(petra: Home, book: Playbook | Path) -> None:
    result = await petra.run(book)
    assert result.status == "completed", result


async def chains(petra: Home, times: int) -> None:
    book = written("chain", chain_text(20))
    for _ in range(times):
        await completed(petra, book)


async def at_once(petra: Home, executions: int) -> None:
    book = written("chain", chain_text(5))
    await asyncio.gather(*(completed(petra, book) for _ in range(executions)))


async def fan_out(petra: Home, width: int) -> None:
    await completed(petra, written("fan", fan_text(width)))


Work = Callable[[Home, int], Awaitable[None]]
WORKS: dict[str, tuple[Work, int]] = {"W1": (chains, 20), "W2": (at_once, 5), "W3": (fan_out, 1)}


async def durability(store: Any) -> str:
    """Ask the connections that commit how they are synced.

    Raises:
        NotOwnedError: an engine on PostgreSQL that owns no shards is not what is to be measured.
    """
    if hasattr(store, "_writing"):
        names = ("journal_mode", "synchronous")
        writing = store._writing  # noqa: SLF001 - a setting of the connection, not of the file
        return " ".join(f"{name}={writing.pragma(name)}" for name in names)
    pool = store._pool  # noqa: SLF001
    if not await pool.fetchval("SELECT count(*) FROM shards WHERE holder <> ''"):
        raise NotOwnedError
    return f"synchronous_commit={await pool.fetchval('SHOW synchronous_commit')}"


async def measure(work: str, size: int, store: str, folder: Path) -> dict[str, Any]:
    async with opened(store, folder) as petra:
        await completed(petra, written("first", chain_text(1 if work == "W4" else 20)))
        if work == "W4":
            print("first result", flush=True)
            return {"memory": memory(pids(petra))}
        how = await durability(petra.engine.store)
        run, units = WORKS[work]
        with measured(pids(petra), store) as figures:
            await run(petra, size)
        return {**figures, "units": size * units, "durability": how}


def main() -> None:
    work, size, store, folder = sys.argv[1], int(sys.argv[2]), sys.argv[3], Path(sys.argv[4])
    show(asyncio.run(measure(work, size, store, folder)))


if __name__ == "__main__":
    main()
