"""Verbs about executions: what there is, what happened, why it waits, and steering it."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click
import msgspec

from petra.cli.home import EXIT, act, comes_soon, find, home_option, json_value, look, result_data
from petra.cli.output import as_json, print_json
from petra.cli.run import hint
from petra.cli.show import status_text, summary
from petra.cli.workload import workload_of
from petra.embedded import Local, Result, result_of
from petra.engine import Make
from petra.engine.codec import from_row
from petra.engine.entries import Entries
from petra.kernel import Record, verify
from petra.kernel import commands as c
from petra.kernel.explain import explain
from petra.store.rows import ExecutionFilter
from petra.store.sqlite import SqliteStore
from petra.wire import Error

_PAGE = 1_000
execution_argument = click.argument("execution", metavar="ID")


@click.command("ps")
@click.option("--status", multiple=True, help="Only these.")
@click.option(
    "--limit", type=click.IntRange(1, 1000), default=20, show_default=True, help="How many."
)
@home_option
@as_json
def ps(status: tuple[str, ...], limit: int, home: Path, output: str) -> None:
    """List executions, latest first."""

    async def asking(store: SqliteStore, _entries: Entries) -> list[Any]:
        page = await store.executions(ExecutionFilter(statuses=status), limit=limit)
        return [stored.row for stored in page.rows]

    rows = look(home, asking)
    if output == "json":
        print_json([msgspec.to_builtins(row) for row in rows])
        return
    for row in rows:
        started = datetime.fromtimestamp(row.started, UTC).strftime("%Y-%m-%d %H:%M:%S")
        click.echo(
            f"{row.id}  {started}  {row.playbook:<20}  {status_text(row.status, row.reason)}"
        )
    if not rows:
        click.echo("nothing here; 'petra run FILE' starts an execution")


def _result(home: Path, execution: str) -> Result:
    async def asking(store: SqliteStore, entries: Entries) -> Result:
        return result_of(await find(store, entries, execution))

    return look(home, asking)


@click.command("get")
@execution_argument
@home_option
@as_json
def get(execution: str, home: Path, output: str) -> None:
    """Show an execution: its status, output, ctx and counts."""
    result = _result(home, execution)
    if output == "json":
        print_json(result_data(result))
        return
    click.echo(summary(result))
    for key, value in sorted(result.ctx.items()):
        click.echo(f"  ctx.{key} = {msgspec.json.encode(value).decode()[:100]}")
    counts = ", ".join(f"{number} {word}" for word, number in result.counts.items())
    click.echo(f"  steps: {counts or 'none'}")


@click.command("result")
@execution_argument
@home_option
def result(execution: str, home: Path) -> None:
    """Print the output of an execution as JSON."""
    found = _result(home, execution)
    print_json(found.output)
    sys.exit(EXIT.get(found.status, 1))


async def _records(store: SqliteStore, execution: str) -> list[Record]:
    records: list[Record] = []
    while True:
        rows = await store.read(execution, after=len(records), limit=_PAGE)
        records += [from_row(row) for row in rows]
        if len(rows) < _PAGE:
            return records


@click.command("events")
@execution_argument
@home_option
@as_json
def events(execution: str, home: Path, output: str) -> None:
    """Show the log of an execution."""

    async def asking(store: SqliteStore, entries: Entries) -> list[Record]:
        return await _records(store, (await find(store, entries, execution)).state.id)

    records = look(home, asking)
    if output == "json":
        print_json([msgspec.to_builtins(record) for record in records])
        return
    for record in records:
        kind = type(record.event).__struct_config__.tag
        step = getattr(record.event, "step", "")
        at = datetime.fromtimestamp(record.at, UTC).strftime("%H:%M:%S.%f")[:-3]
        click.echo(f"{record.seq:>5}  {at}  {kind:<24} {step:<20} {record.hash[:12]}")


@click.command("explain")
@execution_argument
@home_option
@as_json
def explain_command(execution: str, home: Path, output: str) -> None:
    """Say why an execution waits: every token, its rule, and what would unblock it."""

    async def asking(store: SqliteStore, entries: Entries) -> Any:
        entry = await find(store, entries, execution)
        return explain(entry.program, entry.state)

    found = look(home, asking)
    if output == "json":
        print_json(msgspec.to_builtins(found))
        return
    click.echo(found.sentence)
    for waiting in found.waiting:
        click.echo(f"  {waiting.sentence}")
        if waiting.unblocked_by:
            click.echo(f"    unblocked by: {waiting.unblocked_by}")


@click.command("verify")
@execution_argument
@home_option
@as_json
def verify_command(execution: str, home: Path, output: str) -> None:
    """Recompute the hash chain and the markings of a log; name the first bad record."""

    async def asking(store: SqliteStore, entries: Entries) -> tuple[str, list[Record]]:
        stored = await store.execution(execution)
        chosen = (
            execution if stored is not None else (await find(store, entries, execution)).state.id
        )
        return chosen, await _records(store, chosen)

    chosen, records = look(home, asking)
    bad = verify(chosen, records)
    if output == "json":
        print_json({"execution": chosen, "records": len(records), "bad": msgspec.to_builtins(bad)})
    elif bad is None:
        click.echo(
            f"{click.style('✓', fg='green')} {chosen}: {len(records)} records, the chain holds"
        )
    else:
        click.echo(f"{click.style('✗', fg='red')} {chosen}: record {bad.seq}: {bad.reason}")
    sys.exit(0 if bad is None else 1)


# Steering


def _steer(home: Path, execution: str, make: Make, output: str) -> None:
    async def asking(local: Local) -> tuple[str, Result]:
        chosen = (await find(local.engine.store, local.engine.entries, execution)).state.id
        answered = await local.engine.ask(chosen, make)
        return answered.refused, await local.rest(chosen, comes_soon(local))

    refused, found = act(home, asking)
    if output == "json":
        print_json({**result_data(found), "refused": refused or None})
    else:
        if refused:
            click.echo(f"refused: {refused}", err=True)
        click.echo(summary(found))
        hint(found)
    sys.exit(1 if refused else 0)


@click.command("signal")
@execution_argument
@click.argument("name")
@click.option("--payload", metavar="JSON", help="What comes with it.")
@click.option("--key", help="Whom it is for.")
@home_option
@as_json
def signal(
    execution: str, name: str, home: Path, output: str, *, payload: str | None, key: str | None
) -> None:
    """Send a signal to an execution."""
    data = json_value(payload, "--payload") if payload is not None else None
    _steer(
        home, execution, lambda now: c.SendSignal(now=now, name=name, key=key, payload=data), output
    )


@click.command("patch")
@execution_argument
@click.argument("pairs", nargs=-1, required=True, metavar="K=V…")
@click.option("--reason", default="", help="Why.")
@home_option
@as_json
def patch(execution: str, pairs: tuple[str, ...], reason: str, home: Path, output: str) -> None:
    """Change ctx of an execution."""
    values = workload_of("", pairs)
    _steer(
        home,
        execution,
        lambda now: c.PatchCtx(now=now, values=values, actor="operator", reason=reason),
        output,
    )


@click.command("pause")
@execution_argument
@home_option
@as_json
def pause(execution: str, home: Path, output: str) -> None:
    """Stop new firings of an execution."""
    _steer(home, execution, lambda now: c.Pause(now=now, actor="operator"), output)


@click.command("resume")
@execution_argument
@home_option
@as_json
def resume(execution: str, home: Path, output: str) -> None:
    """Let a paused execution go on."""
    _steer(home, execution, lambda now: c.Resume(now=now, actor="operator"), output)


@click.command("cancel")
@execution_argument
@click.option("--reason", default="cancelled", help="Why.")
@home_option
@as_json
def cancel(execution: str, reason: str, home: Path, output: str) -> None:
    """Stop everything an execution does; it ends aborted."""
    _steer(home, execution, lambda now: c.Cancel(now=now, reason=reason, actor="operator"), output)


@click.command("override")
@execution_argument
@click.argument("step")
@click.option("--ok", "result", metavar="JSON", help="Let it have succeeded with this result.")
@click.option("--error", metavar="TEXT", help="Let it have failed with this message.")
@click.option("--reason", required=True, help="Why; it is kept in the log.")
@home_option
@as_json
def override(
    execution: str,
    step: str,
    home: Path,
    output: str,
    *,
    result: str | None,
    error: str | None,
    reason: str,
) -> None:
    """Decide the outcome of a step that runs, waits or is an incident."""
    value = json_value(result, "--ok") if result is not None else None
    failure = Error(message=error) if error is not None else None
    _steer(
        home, execution,
        lambda now: c.Override(
            now=now, step=step, ok=failure is None, result=value, error=failure, actor="operator", reason=reason
        ),
        output,
    )  # fmt: skip
