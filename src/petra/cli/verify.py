"""``petra verify``: prove that a log is as it was written, or name the first record that is not."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import apsw
import click
import msgspec

from petra.cli.home import full_id, home_option, look
from petra.cli.output import as_json, count, print_json
from petra.engine.codec import DamagedError, proved
from petra.engine.entries import Entries
from petra.kernel import Record, verify
from petra.kernel.replay import BadRecord
from petra.store.base import Store
from petra.store.errors import StoreError
from petra.store.rows import Record as Row
from petra.store.sqlite import SqliteStore

_PAGE = 5_000


@click.command("verify")
@click.argument("execution", metavar="ID")
@home_option
@as_json
def command(execution: str, home: Path, output: str) -> None:
    """Recompute the hash chain and the markings of a log; name the first bad record."""

    async def asking(store: Store, _entries: Entries) -> tuple[str, int, BadRecord | None]:
        chosen = await full_id(store, execution)
        stored = await store.execution(chosen)
        assert stored is not None, "it was found by its id"
        rows = _rows(asyncio.get_running_loop(), store, chosen)
        bad = await asyncio.to_thread(prove, chosen, rows, stored.version, stored.head)
        return chosen, stored.version, bad

    chosen, number, bad = look(home, asking)
    if output == "json":
        print_json({"execution": chosen, "records": number, "bad": msgspec.to_builtins(bad)})
    elif bad is None:
        mark = click.style("✓", fg="green")
        click.echo(f"{mark} {chosen}: {count(number, 'record')}, the chain holds")
    else:
        click.echo(f"{click.style('✗', fg='red')} {chosen}: record {bad.seq}: {bad.reason}")
    sys.exit(0 if bad is None else 1)


def prove(execution: str, rows: Iterable[Row], version: int, head: bytes) -> BadRecord | None:
    """Name the first row that is not as it was written; ``version`` and ``head`` say where the log ends.

    Rows are taken one by one: a log of a million records needs no more memory than one of ten.
    """
    seen, last = 0, b""

    def records() -> Iterator[Record]:
        nonlocal seen, last
        for row in rows:
            if row.seq != seen + 1:
                raise DamagedError(seen + 1, f"it is missing; after it comes {row.seq}")
            record = proved(row)
            seen, last = row.seq, row.hash
            yield record

    try:
        bad = verify(execution, records())
    except DamagedError as error:
        return BadRecord(seq=error.seq, reason=error.reason)
    if bad is not None:
        return bad
    if version > seen:
        return BadRecord(seq=seen + 1, reason="it is missing")
    if version < seen or head != last:
        return BadRecord(seq=seen, reason="it is not the last one that was stored")
    return None


def _rows(loop: asyncio.AbstractEventLoop, store: Store, execution: str) -> Iterator[Row]:
    """Yield the rows of a log, from another thread; where the file itself is damaged, say at which record.

    Raises:
        DamagedError: a row cannot be read.
    """
    after, limit = 0, _PAGE
    while True:
        reading = _page(store, execution, after, limit)
        try:
            page = asyncio.run_coroutine_threadsafe(reading, loop).result()
        except (StoreError, apsw.Error, msgspec.ValidationError) as error:
            if limit == 1:
                raise DamagedError(after + 1, f"it cannot be read: {error}") from error
            limit = 1  # one by one, to find out which
            continue
        yield from page
        if len(page) < limit:
            return
        after = page[-1].seq


async def _page(store: Store, execution: str, after: int, limit: int) -> list[Row]:
    """Read from a file opened anew: a store that has met damage refuses everything after it."""
    if not isinstance(store, SqliteStore):
        return await store.read(execution, after=after, limit=limit)
    fresh = await SqliteStore.open(store.path, readonly=True)
    try:
        return await fresh.read(execution, after=after, limit=limit)
    finally:
        await fresh.close()
