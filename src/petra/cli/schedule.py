"""``petra schedule``: when playbooks are started by the clock (S24)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import click

from petra.cli.documents import checked_documents, good_document
from petra.cli.home import look, request, request_id
from petra.cli.output import as_json, count, print_json, tell
from petra.cli.place import home_option, remote
from petra.cli.verbs import Verbs
from petra.clock import SystemClock
from petra.desk import OnSchedules
from petra.desk.timetables import Timetables, previewed
from petra.engine.cache import Cache
from petra.namespaces import DEFAULT
from petra.playbook.schedule import Schedule
from petra.playbook.write import document_yaml
from petra.store.base import Store

_name = click.argument("name")
_from = click.option(
    "--from", "since", metavar="DATE", help="From when on, by the schedule's zone."
)


@click.group("schedule", cls=Verbs)
def command() -> None:
    """Schedules: when playbooks are started by the clock."""


def _read(home: Path, asked: OnSchedules, ask: Callable[[Timetables], Awaitable[Any]]) -> Any:
    """Read in the folder, or have a server answer."""
    if remote(home) is not None:
        return request(home, asked).result

    def reading(store: Store, cache: Cache) -> Awaitable[Any]:
        return ask(Timetables(store, cache.load, SystemClock()))

    return look(home, reading)


def _asked(act: str, name: str = "", **more: Any) -> OnSchedules:
    return OnSchedules(id=request_id(), execution="", rest=False, act=act, name=name, **more)


def applied(home: Path, schedules: list[Schedule]) -> list[dict[str, Any]]:
    """Have schedules applied; return what became of each."""
    done = []
    for schedule in schedules:
        reply = request(home, _asked("apply", text=document_yaml(schedule)))
        assert reply.result is not None, "a reply without an error has a result"
        done.append(reply.result)
    return done


@command.command("apply")
@click.argument("paths", nargs=-1, required=True, metavar="FILE|DIR…")
@home_option
@as_json
def apply(paths: tuple[str, ...], home: Path, output: str) -> None:
    """Store schedules and let them run; 'petra apply' does it for playbooks and schedules together."""
    found = [one for one in checked_documents(paths, output) if isinstance(one, Schedule)]
    if not found:
        raise click.UsageError(f"there is no schedule in {', '.join(paths)}")
    done = applied(home, found)
    if output == "json":
        print_json({"applied": done})
        return
    for one in done:
        mark = "· unchanged" if one["unchanged"] else click.style("✓ applied", fg="green")
        tell(f"{mark}  {one['path']}  {one['digest'][:12]}")


@command.command("list")
@home_option
@as_json
def list_(home: Path, output: str) -> None:
    """List the schedules that are kept: what comes next, and what came of the last ones."""
    found = _read(home, _asked("list"), lambda tables: tables.listed(DEFAULT))
    rows = found["schedules"] if isinstance(found, dict) else found
    if output == "json":
        print_json(rows)
        return
    for one in rows:
        _line(one)
    if not rows:
        tell("no schedule is kept here; 'petra apply FILE' begins one")


def _line(one: dict[str, Any]) -> None:
    state = "paused" if one["paused"] else f"next {_when(one)}"
    marks = "".join(
        "✓" if last["status"] == "completed" else "✗" if last["ended"] else "·"
        for last in reversed(one["last"])
    )
    tell(
        f"{one['name']}  {one['playbook']}  {one['words']} ({one['timezone']})  {state}  {marks}".rstrip()
    )
    if one["passed"]:
        words = ", ".join(
            f"{number} {why.replace('_', ' ')}" for why, number in one["passed"].items()
        )
        tell(f"  not started: {words}")
    if one["trouble"]:
        tell(f"  the last one: {one['trouble']}")


def _when(one: dict[str, Any]) -> str:
    if one["running"] and not one["due"]:
        return f"when {one['running'][0]} has ended"
    return str(one["next"][0]["nominal"]) if one["next"] else "never"


@command.command("get")
@_name
@home_option
@as_json
def get(name: str, home: Path, output: str) -> None:
    """Show one schedule."""
    one = _read(home, _asked("get", name), lambda tables: tables.get(DEFAULT, name))
    if output == "json":
        print_json(one)
        return
    _line(one)
    for last in one["last"]:
        began = datetime.fromisoformat(last["started"]).astimezone()  # the reader's own time
        tell(
            f"  {last['nominal']}  {last['status']}  {last['execution']}  {began:%Y-%m-%d %H:%M:%S}"
        )


@command.command("preview")
@click.argument("what", metavar="FILE|NAME")
@_from
@click.option(
    "-n", "number", type=click.IntRange(1, 1000), default=10, show_default=True, help="How many."
)
@home_option
@as_json
def preview(what: str, number: int, home: Path, output: str, *, since: str | None) -> None:
    """Show when a schedule is due: one in a file, or one that is kept; with a note where clocks change."""
    shown = _in_file(Path(what), since or "", number)
    if shown is None:
        asked = _asked("preview", what, since=since or "", number=number)
        shown = _read(
            home, asked, lambda tables: tables.preview(DEFAULT, what, since or "", number)
        )
    if output == "json":
        print_json(shown)
        return
    for one in shown["next"]:
        tell(f"{one['nominal']}" + (f"  {one['note']}" if "note" in one else ""))
    if not shown["next"]:
        tell("it is due no more")


def _in_file(path: Path, since: str, number: int) -> dict[str, Any] | None:
    schedule = good_document(path, Schedule)
    return None if schedule is None else previewed(schedule, SystemClock().now(), since, number)


def _act(home: Path, output: str, asked: OnSchedules, words: str) -> None:
    done = request(home, asked).result or {}
    if output == "json":
        print_json(done)
    else:
        tell(words.format(**done))


@command.command("pause")
@_name
@click.option("--reason", default="", help="Why.")
@home_option
@as_json
def pause(name: str, reason: str, home: Path, output: str) -> None:
    """Have a schedule start nothing any more."""
    _act(home, output, _asked("pause", name, reason=reason), f"{name} is paused")


@command.command("resume")
@_name
@home_option
@as_json
def resume(name: str, home: Path, output: str) -> None:
    """Let a schedule go on; the times of the pause are not made up for."""
    _act(home, output, _asked("resume", name), f"{name} goes on")


@command.command("run")
@_name
@home_option
@as_json
def run(name: str, home: Path, output: str) -> None:
    """Start the playbook of a schedule now."""
    words = "started {execution}; 'petra watch {execution}' follows it"
    _act(home, output, _asked("run", name), words)


@command.command("backfill")
@_name
@_from
@click.option(
    "--to", "until", metavar="DATE", required=True, help="Until when, by the schedule's zone."
)
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option("--dry-run", is_flag=True, help="Only say how many there are.")
@home_option
@as_json
def backfill(
    name: str, until: str, home: Path, output: str, *, since: str | None, yes: bool, dry_run: bool
) -> None:
    """Start the playbook of a schedule for every time of a range in the past; how many is said first."""
    if not since:
        raise click.UsageError("say from when on, with --from")
    counted = request(home, _asked("backfill", name, since=since, until=until, dry_run=True)).result
    assert counted is not None, "a reply without an error has a result"
    words = f"{count(counted['count'], 'time')} from {counted['since']} to {counted['until']}"
    if not dry_run and not yes:
        tell(words, err=True)
        click.confirm("start them?", abort=True, err=True)
    if not dry_run:
        request(home, _asked("backfill", name, since=since, until=until))
    if output == "json":
        print_json({**counted, "started": not dry_run})
    else:
        tell(words if dry_run else f"{words}: they are started one after the other")


@command.command("rm")
@_name
@home_option
@as_json
def remove(name: str, home: Path, output: str) -> None:
    """Have a schedule kept no more; what it started goes on."""
    _act(home, output, _asked("remove", name), f"{name} is removed")
