"""``petra verify``: prove that a log is as it was written, or name the first record that is not."""

from __future__ import annotations

import sys
from pathlib import Path

import click
import msgspec

from petra.cli.home import full_id, home_option, look
from petra.cli.output import as_json, count, print_json
from petra.engine.codec import DamagedError, proved
from petra.engine.entries import Entries
from petra.kernel import Record, verify
from petra.kernel.replay import BadRecord
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

    async def asking(store: SqliteStore, _entries: Entries) -> tuple[str, int, BadRecord | None]:
        chosen = await full_id(store, execution)
        records, bad = await _proved(store, chosen)
        return chosen, len(records), verify(chosen, records) or bad

    chosen, number, bad = look(home, asking)
    if output == "json":
        print_json({"execution": chosen, "records": number, "bad": msgspec.to_builtins(bad)})
    elif bad is None:
        mark = click.style("✓", fg="green")
        click.echo(f"{mark} {chosen}: {count(number, 'record')}, the chain holds")
    else:
        click.echo(f"{click.style('✗', fg='red')} {chosen}: record {bad.seq}: {bad.reason}")
    sys.exit(0 if bad is None else 1)


async def _proved(store: SqliteStore, execution: str) -> tuple[list[Record], BadRecord | None]:
    """Return the records up to the first that is damaged by itself, and what is wrong with that one."""
    rows, unread = await _rows(store, execution)
    records: list[Record] = []
    for number, row in enumerate(rows, start=1):
        try:
            records.append(proved(row))
        except DamagedError as error:
            return records, BadRecord(seq=number, reason=error.reason)
    if unread is not None:
        return records, unread
    stored = await store.execution(execution)
    assert stored is not None, "it was found by its id"
    last = records[-1].hash if records else ""
    if stored.version > len(records):
        return records, BadRecord(seq=len(records) + 1, reason="it is missing")
    if stored.version < len(records) or stored.head.hex() != last:
        return records, BadRecord(seq=len(records), reason="it is not the last one that was stored")
    return records, None


async def _rows(store: SqliteStore, execution: str) -> tuple[list[Row], BadRecord | None]:
    """Read all rows; where the file itself is damaged, those before the damage."""
    found: list[Row] = []
    limit = _PAGE
    while True:
        after = found[-1].seq if found else 0
        try:
            page = await store.read(execution, after=after, limit=limit)
        except StoreError as error:
            if limit == 1:
                return found, BadRecord(seq=after + 1, reason=f"it cannot be read: {error}")
            limit = 1  # one by one, to find out which
            store = await SqliteStore.open(store.path, readonly=True)
            continue
        found += page
        if len(page) < limit:
            return found, None
