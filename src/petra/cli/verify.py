"""``petra verify``: prove that a log is as it was written, or name the first record that is not."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import apsw
import click
import msgspec

from petra.cli.held_against import (
    Again,
    OnNet,
    Stored,
    decided_again,
    definitions,
    on_net,
    read_all,
)
from petra.cli.home import full_id, look, objects_for
from petra.cli.output import as_json, count, print_json, tell
from petra.cli.place import home_option, remote
from petra.desk.proving import Held, noting, objects_hold, prove
from petra.engine.cache import Cache
from petra.engine.codec import DamagedError
from petra.errors import UsageError
from petra.kernel.replay import BadRecord
from petra.objects import ObjectStore
from petra.store.anchor import Lost
from petra.store.base import Store
from petra.store.errors import StoreError
from petra.store.rows import ExecutionFilter
from petra.store.rows import RecordRow as Row
from petra.store.sqlite import SqliteStore

_PAGE = 5_000


class Finding(msgspec.Struct, frozen=True):
    """What came of one execution; ``lost`` are records that somebody accepted to be lost."""

    execution: str
    records: int
    bad: BadRecord | None = None
    objects: int = 0
    lost: list[Lost] = []
    net: OnNet | None = None
    again: Again | None = None


@click.command("verify")
@click.argument("execution", metavar="[ID]", required=False)
@click.option("--net", is_flag=True, help="Replay every record as a firing of the playbook's net.")
@click.option("--redecide", is_flag=True, help="Decide every recorded input again, and compare.")
@home_option
@as_json
def command(execution: str | None, home: Path, output: str, *, net: bool, redecide: bool) -> None:
    """Prove that logs are as they were written: one, or all of them and the store itself.

    Recomputes the hash chain and the markings and names the first bad record; looks for records that had been
    stored and are lost; reads every object that a log refers to. With --net and --redecide the log is also held against
    the net of its playbook, and against what is decided today; the first record that does not fit is named. The store of
    a server is verified on its own machine.
    """
    own_store = execution is None and remote(home) is None

    async def asking(store: Store, cache: Cache) -> tuple[list[Finding], list[str]]:
        lost = await store.lost() if isinstance(store, SqliteStore) else []
        at = _Place(home, store, cache, lost)
        if execution is not None:
            verdicts = [await _judged(at, execution)]
        else:
            verdicts = [finding async for finding in _all(at)]
        if net or redecide:
            verdicts = [
                await _held_against(at, finding, net=net, again=redecide) for finding in verdicts
            ]
        return verdicts, await store.verify() if own_store else []

    findings, problems = look(home, asking)
    bad = [finding for finding in findings if finding.bad is not None]
    if output == "json":
        shown = [msgspec.to_builtins(finding) for finding in findings]
        print_json(
            shown[0]
            if execution is not None
            else {"executions": shown, "store": problems if own_store else None}
        )
    else:
        for finding in findings if execution is not None else bad:
            _show(finding)
        for problem in problems:
            tell(f"{click.style('✗', fg='red')} {problem}")
        if execution is None and not bad and not problems:
            total = count(sum(finding.records for finding in findings), "record")
            mark = click.style("✓", fg="green")
            tell(f"{mark} {count(len(findings), 'execution')}, {total}: every chain holds")
    sys.exit(1 if bad or problems else 0)


def _show(finding: Finding) -> None:
    if finding.bad is not None:
        mark = click.style("✗", fg="red")
        tell(f"{mark} {finding.execution}: record {finding.bad.seq}: {finding.bad.reason}")
        return
    mark = click.style("✓", fg="green")
    objects = f", {count(finding.objects, 'object')}" if finding.objects else ""
    tell(
        f"{mark} {finding.execution}: {count(finding.records, 'record')}{objects}, the chain holds"
    )
    for words in (finding.net, finding.again):
        if words is not None:
            tell(f"  {words}")
    for lost in finding.lost:
        when = datetime.fromtimestamp(lost.at or 0.0, UTC)
        tell(f"  {lost}; that was accepted on {when:%Y-%m-%d %H:%M} UTC")


class _Place(NamedTuple):
    """Where logs are, and what they refer to."""

    home: Path
    store: Store
    cache: Cache
    lost: Sequence[Lost]

    def objects(self, execution: str, held: Held) -> ObjectStore:
        """Return the large values of an execution; those of a server are in a store that only its log names."""
        objects = objects_for(self.home, execution)
        if remote(self.home) is not None:
            objects.name = next((reference.store for _, reference in held.values()), objects.name)
        return objects


async def _held_against(at: _Place, finding: Finding, *, net: bool, again: bool) -> Finding:
    """Hold a log whose chain holds against the net of its playbook, and against what is decided today."""
    if finding.bad is not None or not finding.records:
        return finding
    held: Held = {}
    records = await read_all(at.store, finding.execution, held)
    programs = await definitions(at.cache, records)
    if net:
        walked, bad = await asyncio.to_thread(on_net, records, programs)
        finding = msgspec.structs.replace(finding, bad=bad, net=walked)
    if again and finding.bad is None:
        objects = at.objects(finding.execution, held)
        shelf = Stored(objects, finding.execution, asyncio.get_running_loop())
        made, bad = await asyncio.to_thread(
            decided_again, finding.execution, records, programs, shelf
        )
        finding = msgspec.structs.replace(finding, bad=bad, again=made)
    return finding


async def _judged(at: _Place, execution: str) -> Finding:
    """Prove one execution, given by the beginning of its id; one that is wholly lost is found, too."""
    try:
        chosen = await full_id(at.store, execution)
    except UsageError:
        gone = [loss for loss in at.lost if loss.execution.startswith(execution) and not loss.kept]
        if len(gone) != 1:
            raise
        return Finding(gone[0].execution, 0, BadRecord(seq=1, reason=str(gone[0])))
    return await _proved(at, chosen)


async def _all(at: _Place) -> AsyncIterator[Finding]:
    cursor: str | None = None
    while True:
        page = await at.store.executions(ExecutionFilter(), cursor=cursor)
        for stored in page.rows:
            yield await _proved(at, stored.row.id)
        cursor = page.cursor
        if cursor is None:
            return


async def _proved(at: _Place, chosen: str) -> Finding:
    stored = await at.store.execution(chosen)
    assert stored is not None, "it was found by its id"
    held: Held = {}
    rows = noting(_rows(asyncio.get_running_loop(), at.store, chosen), held)
    bad = await asyncio.to_thread(prove, chosen, rows, stored.version, stored.head)
    for loss in at.lost:
        if bad is None and loss.execution == chosen:
            bad = BadRecord(seq=min(loss.kept + 1, loss.version), reason=str(loss))
    if bad is None and held:
        entry = await at.cache.read(chosen)
        bad = await objects_hold(at.objects(chosen, held), at.store, entry, held)
    accepted = await at.store.accepted() if isinstance(at.store, SqliteStore) else []
    return Finding(
        execution=chosen,
        records=stored.version,
        bad=bad,
        objects=len(held),
        lost=[loss for loss in accepted if loss.execution == chosen],
    )


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
