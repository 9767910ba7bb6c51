"""``petra verify``: prove that a log is as it was written, or name the first record that is not."""

from __future__ import annotations

import sys
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
        rows, unread = await _rows(store, chosen)
        stored = await store.execution(chosen)
        assert stored is not None, "it was found by its id"
        if unread is not None:
            return chosen, len(rows), prove(chosen, rows, len(rows), None) or unread
        return chosen, len(rows), prove(chosen, rows, stored.version, stored.head)

    chosen, number, bad = look(home, asking)
    if output == "json":
        print_json({"execution": chosen, "records": number, "bad": msgspec.to_builtins(bad)})
    elif bad is None:
        mark = click.style("✓", fg="green")
        click.echo(f"{mark} {chosen}: {count(number, 'record')}, the chain holds")
    else:
        click.echo(f"{click.style('✗', fg='red')} {chosen}: record {bad.seq}: {bad.reason}")
    sys.exit(0 if bad is None else 1)


def prove(execution: str, rows: list[Row], version: int, head: bytes | None) -> BadRecord | None:
    """Name the first row that is not as it was written; ``version`` and ``head`` say where the log ends.

    A row that is damaged in itself is named before one that only does not follow from it.
    """
    records: list[Record] = []
    damaged: BadRecord | None = None
    for number, row in enumerate(rows, start=1):
        if row.seq != number:
            damaged = BadRecord(seq=number, reason=f"it is missing; after it comes {row.seq}")
            break
        try:
            records.append(proved(row))
        except DamagedError as error:
            damaged = BadRecord(seq=number, reason=error.reason)
            break
    bad = verify(execution, records) or damaged
    if bad is not None:
        return bad
    if version > len(records):
        return BadRecord(seq=len(records) + 1, reason="it is missing")
    last = bytes.fromhex(records[-1].hash) if records else b""
    if version < len(records) or (head is not None and head != last):
        return BadRecord(seq=len(records), reason="it is not the last one that was stored")
    return None


async def _rows(store: Store, execution: str) -> tuple[list[Row], BadRecord | None]:
    """Read all rows; where the file itself is damaged, those before the damage."""
    found: list[Row] = []
    limit = _PAGE
    while True:
        after = found[-1].seq if found else 0
        try:
            page = await _page(store, execution, after, limit)
        except (StoreError, apsw.Error, msgspec.ValidationError) as error:
            if limit == 1:
                return found, BadRecord(seq=after + 1, reason=f"it cannot be read: {error}")
            limit = 1  # one by one, to find out which
            continue
        found += page
        if len(page) < limit:
            return found, None


async def _page(store: Store, execution: str, after: int, limit: int) -> list[Row]:
    """Read from a file opened anew: a store that has met damage refuses everything after it."""
    if not isinstance(store, SqliteStore):
        return await store.read(execution, after=after, limit=limit)
    fresh = await SqliteStore.open(store.path, readonly=True)
    try:
        return await fresh.read(execution, after=after, limit=limit)
    finally:
        await fresh.close()
