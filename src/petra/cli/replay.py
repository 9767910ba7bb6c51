"""``petra replay``: an execution as it was at a record: marking, ctx, what waited, and the receipt."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
import msgspec

from petra.cli.home import find, look
from petra.cli.marks import status_text
from petra.cli.moments import clock, local
from petra.cli.output import as_json, cut, print_json, tell
from petra.cli.place import home_option
from petra.cli.values import short
from petra.desk import marking
from petra.embedded import records_of
from petra.engine.cache import Cache, Entry
from petra.engine.codec import status_then
from petra.errors import UsageError
from petra.kernel import Record, State, replay
from petra.kernel.explain import explain
from petra.kernel.program import Program
from petra.store.base import Store
from petra.testing.story import event_in_words


@click.command("replay")
@click.argument("execution", metavar="ID")
@click.option(
    "--to", "seq", type=click.IntRange(min=1), metavar="SEQ", help="The record; the last one by default."
)  # fmt: skip
@home_option
@as_json
def command(execution: str, home: Path, output: str, *, seq: int | None) -> None:
    """Show an execution as it was at a record: active steps, tokens, ctx, and what the record did.

    Nothing is run: the state is folded from the log.
    """

    async def asking(store: Store, cache: Cache) -> tuple[Entry, list[Record]]:
        entry = await find(store, cache, execution)
        records = await records_of(store, entry.state.id)
        if seq is not None and seq > len(records):
            raise UsageError(f"the log has {len(records)} records; there is no record {seq}")
        entry.state = replay(entry.state.id, records[: seq or len(records)])
        await cache.fit(entry)
        return entry, records

    entry, records = look(home, asking)
    if output == "json":
        print_json(as_data(entry.program, entry.state, records))
    else:
        _print(entry.program, entry.state, records)


def as_data(program: Program, state: State, records: Sequence[Record]) -> dict[str, Any]:
    """Return an execution at a record as plain data."""
    status, reason = status_then(program, state, records)
    record, total = records[state.seq - 1], len(records)
    return {
        "id": state.id,
        "playbook": state.playbook,
        "seq": record.seq,
        "records": total,
        "at": record.at,
        "event": msgspec.to_builtins(record.event),
        "status": status,
        "waiting_on": reason if status in ("waiting", "stuck") else None,
        "marking": marking(state),
        "tokens": [
            {"id": token.id, "place": f"{token.step}.ready", "args": token.args, "branch": _stack(token.stack)}
            for token in state.ready.values()
        ]
        + [
            {"id": run.id, "place": f"{run.step}.running", "args": run.args, "branch": _stack(run.stack)}
            for run in state.runs.values()
        ],
        "ctx": state.ctx,
        "waiting": [msgspec.to_builtins(wait) for wait in explain(program, state).waiting],
        "receipt": msgspec.to_builtins(record.receipt),
        "hash": record.hash,
        "previous": record.previous,
    }  # fmt: skip


def _stack(stack: tuple[Any, ...]) -> list[list[Any]]:
    return [[group, index] for group, index in stack]


def _print(program: Program, state: State, records: Sequence[Record]) -> None:
    status, reason = status_then(program, state, records)
    record, total = records[state.seq - 1], len(records)
    at = f"{local(record.at):%Y-%m-%d} {clock(record.at)}"
    tell(f"{state.playbook}  {state.id}  {status_text(status, reason)}")
    tell(cut(f"record {record.seq} of {total}  {at}  {event_in_words(record.event, ctx=False)}"))
    places = ", ".join(f"{place} ×{n}" if n > 1 else place for place, n in marking(state).items())
    tell(f"  marking: {places or 'empty'}")
    running = sorted({run.step for run in state.runs.values()})
    if running:
        tell(f"  active: {', '.join(running)}")
    for key, value in sorted(state.ctx.items()):
        tell(cut(f"  ctx.{key} = {short(value, 100)}"))
    for waiting in explain(program, state).waiting:
        if waiting.reason not in ("worker", "ready"):
            tell(cut(f"  {waiting.sentence}"))
    receipt = record.receipt
    if receipt.transition:
        taken, produced = len(receipt.consumed), len(receipt.produced)
        tell(f"  receipt: {receipt.transition} took {taken}, made {produced}; {record.hash[:16]}")
    else:
        tell(f"  receipt: no firing; {record.hash[:16]}")
