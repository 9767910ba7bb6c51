"""A process that is about to die: it starts executions, keeps a journal of what was acknowledged, and works.

Its arguments: STORE ADDRESS FOLDER NUMBER [POINT AT SIGNAL]

It dies or is interrupted at the crash point, or ends with 0 once every execution of the journal has ended.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path

from engine_support import local
from faults.crash_points import POINTS, arm
from faults.scenario import CHILD, EXECUTIONS, PARENT, open_store

from petra.accounts.audit import Audit, Note

OVER = frozenset({"completed", "partial", "failed", "aborted", "stuck"})


def note(folder: Path, command: str, execution: str) -> None:
    """Write down that a command was acknowledged, and make sure that this is not lost."""
    with (folder / "journal").open("a") as file:
        file.write(f"{command} {execution}\n")
        file.flush()
        os.fsync(file.fileno())


async def work(kind: str, address: str, folder: Path, number: int) -> None:
    store = await open_store(kind, address)
    try:
        async with local(store, holder=f"engine-{os.getpid()}" if kind == "postgres" else "",
                         shard_lease_s=1.0) as petra:  # fmt: skip
            audit = Audit(store.accounts, petra.engine.clock)
            await petra.engine.catalogue.apply(CHILD)
            for each in range(EXECUTIONS):
                name = f"{number}-{each}"
                async with audit.act(Note(actor=f"victim-{number}", act=name)):
                    await petra.engine.start(
                        PARENT, {"ledger": str(folder / "ledger")}, execution=name, command=f"start-{name}"
                    )  # fmt: skip
                note(folder, f"start-{name}", name)
            for line in (folder / "journal").read_text().splitlines():
                await petra.rest(line.split()[1], lambda found: found.status in OVER)
    finally:
        await store.close()


def main() -> None:
    kind, address, folder, number, *crash = sys.argv[1:]
    if crash:
        where = next(point for point in POINTS if point.name == crash[0])
        arm(where, at=int(crash[1]), by=signal.Signals(int(crash[2])))
    asyncio.run(work(kind, address, Path(folder), int(number)))
