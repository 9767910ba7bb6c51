"""Verbs that read: what executions there are, what happened in one, why it waits, and whether its log is whole."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from contextlib import aclosing
from pathlib import Path
from typing import Any

import click
import msgspec
from msgspec.structs import replace

from petra.cli.home import (
    EXIT,
    called,
    find,
    full_id,
    look,
    objects_for,
    request_id,
    shown_data,
    whole_result,
)
from petra.cli.moments import Days, clock
from petra.cli.output import Quoted, as_json, cut, print_json, print_text, tell
from petra.cli.place import home_option
from petra.cli.show import summary, trace_of
from petra.cli.values import short
from petra.clock import SystemClock
from petra.control import GoneError
from petra.desk import Look
from petra.desk.whole_values import has_references, whole
from petra.embedded import Result, records_of, result_of
from petra.engine.authority import may_read
from petra.engine.cache import Cache, Entry
from petra.engine.codec import FORKED_FROM
from petra.engine.following import follow as following
from petra.engine.lookout import looking_on
from petra.engine.news import Appended
from petra.errors import ObjectError, UnreadableError, UsageError
from petra.kernel import Record
from petra.kernel.events import StepFailed
from petra.objects import is_reference, read_reference
from petra.own_labels import scheduled_by
from petra.references import look_through, objects_of, walk
from petra.store.base import Store
from petra.store.rows import ExecutionFilter
from petra.testing.story import again, event_in_words
from petra.wire import Error

execution_argument = click.argument("execution", metavar="ID")


@click.command("get")
@execution_argument
@home_option
@as_json
def get(execution: str, home: Path, output: str) -> None:
    """Show an execution: its status, output, ctx and counts."""

    async def asking(store: Store, cache: Cache) -> tuple[Entry, list[str]]:
        entry = await find(store, cache, execution)
        wanted = ExecutionFilter(labels=((FORKED_FROM, entry.state.id),))
        forks = await store.executions(wanted)
        return entry, [stored.row.id for stored in forks.rows]

    entry, forks = look(home, asking)
    result, state = result_of(entry), entry.state
    origin = state.origins[-1] if state.origins else None
    if output == "json":
        print_json(
            {
                **shown_data(whole_result(home, result)),
                "work_items": result.work_items,
                "forked_from": origin,
                "forks": forks,
                "schedule": scheduled_by(state.labels),
            }
        )
        return
    tell(summary(result))
    for line in trace_of(result.error["details"] if result.error else None, "    "):
        tell(line)
    for key, value in sorted(result.ctx.items()):
        tell(cut(f"  ctx.{key} = {_value(result.id, value, f'--ctx {key}')}"))
    counts = ", ".join(f"{number} {word}" for word, number in result.counts.items())
    tell(f"  steps: {counts or 'none'}")
    for step, activation in state.latest.items():
        if activation.done is not None and is_reference(activation.done.result):
            told = _value(result.id, activation.done.result, f"--step {step}")
            tell(f"  result of {step}: {told}")
    if origin is not None:
        tell(f"  forked from {origin}")
    for fork in forks:
        tell(f"  forked into {fork}")


def _value(execution: str, value: Any, option: str) -> str:
    if is_reference(value):
        return f"{value['size']:,} bytes, stored apart: petra result {execution} {option}"
    return short(value, 100)


@click.command("result")
@execution_argument
@click.option("--step", metavar="STEP", help="The latest result of a step instead.")
@click.option("--ctx", "key", metavar="KEY", help="A key of ctx instead.")
@home_option
@as_json
def result(execution: str, home: Path, output: str, *, step: str | None, key: str | None) -> None:
    """Print the output of an execution as JSON; what is stored apart is fetched.

    Bytes are written as they are. While there is no output yet, it is null and the exit code says why: 3 waiting, 4 stuck.
    """
    del output  # it is JSON either way

    async def asking(store: Store, cache: Cache) -> tuple[Result, Any]:
        entry = await find(store, cache, execution)
        found, value = result_of(entry), _chosen(entry, step, key)
        if is_reference(value):
            return found, await fetched(home, store, entry, value)
        holder = replace(found, output=value, ctx={})
        if has_references(holder):
            objects = objects_for(home, entry.state.id)
            holder = await whole(holder, entry.state, store, objects)
        return found, holder.output

    execution_result, value = look(home, asking)
    if isinstance(value, bytes):
        sys.stdout.buffer.write(value)
    else:
        print_json(value)
    sys.exit(0 if step or key else EXIT.get(execution_result.status, 1))


async def fetched(home: Path, store: Store, entry: Entry, value: dict[str, Any]) -> Any:
    """Return what a reference leads to that an execution has.

    Raises:
        UsageError: it is not its own, or cannot be had.
    """
    if "pieces" in value:
        contents = {
            piece["key"]: await fetched(home, store, entry, piece) for piece in objects_of(value)
        }
        return look_through(value, lambda piece: contents[piece["key"]])
    reference = read_reference(value)
    try:
        if not await may_read(store, entry.state, reference.execution):
            raise ObjectError("denied", f"{reference.key} belongs to another execution")
        return walk(value, await objects_for(home, entry.state.id).get(reference))
    except UnreadableError as error:
        raise UsageError(f"the result cannot be fetched: {error.message}") from None


def _chosen(entry: Entry, step: str | None, key: str | None) -> Any:
    state = entry.state
    if key is not None:
        if key not in state.ctx:
            raise UsageError(
                f"ctx has no '{key}'; it has {', '.join(sorted(state.ctx)) or 'nothing'}"
            )
        return state.ctx[key]
    if step is None:
        return state.output
    if step not in entry.program.steps:
        raise UsageError(f"there is no step '{step}'; there are {', '.join(entry.program.steps)}")
    activation = state.latest.get(step)
    if activation is None or activation.done is None:
        raise UsageError(f"step '{step}' is not done")
    return activation.done.result


@click.command("events")
@execution_argument
@click.option("--follow", is_flag=True, help="Go on until the execution is over.")
@home_option
@as_json
def events(execution: str, home: Path, output: str, *, follow: bool) -> None:
    """Show the log of an execution, record by record.

    With --follow and '-o json', each record is a line of its own.
    """
    days = Days()

    async def asking(store: Store, cache: Cache) -> None:
        chosen = await full_id(store, execution)
        if not follow:
            _print_records(await records_of(store, chosen), output, days, lines=False)
            return
        async with looking_on(cache, SystemClock()) as (feed, _):
            messages = following(feed, store, SystemClock(), chosen)
            async with aclosing(messages):
                async for message in messages:
                    if isinstance(message, Appended):
                        _print_records(message.records, output, days, lines=True)
                        if message.head is not None and message.head.over:
                            return

    look(home, asking)


def _print_records(records: Sequence[Record], output: str, days: Days, *, lines: bool) -> None:
    if output == "json" and not lines:
        print_json([msgspec.to_builtins(record) for record in records])
        return
    quoted = Quoted()
    for record in records:
        if output == "json":
            print_text(msgspec.json.encode(record).decode())
            continue
        if day := days.heading(record.at):
            tell(f"{'':7}{day}")
        tell(
            quoted.line(f"{record.seq:>5}  {clock(record.at)}  ", event_in_words(record.event))
            or ""
        )
        error = getattr(record.event, "error", None)
        more = again(record.event)
        if isinstance(record.event, StepFailed) and isinstance(error, Error):
            more += trace_of(error.details)
        for line in more:
            if (shown := quoted.line(" " * 21, line)) is not None:
                tell(shown)


def asked_there(home: Path, execution: str = "") -> dict[str, Any] | None:
    """Ask the process that has the home open what its workers do; None: there is none, or it does not know."""
    try:
        reply = asyncio.run(called(home, Look(id=request_id(), execution=execution)))
    except GoneError:
        return None
    return reply.result
