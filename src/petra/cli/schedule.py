"""``petra schedule``: when playbooks are started by the clock (S24)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import click

from petra.cli.document_verbs import (
    DocumentVerbs,
    name_argument,
    outcome_marks,
    reason_option,
    show,
)
from petra.cli.documents import good_document
from petra.cli.output import count, tell
from petra.cli.verbs import Verbs
from petra.clock import SystemClock
from petra.desk.timetables import Timetables, previewed
from petra.engine.cache import Cache
from petra.namespaces import DEFAULT
from petra.playbook.schedule import Schedule
from petra.store.base import Store

_from = click.option(
    "--from", "since", metavar="DATE", help="From when on, by the schedule's zone."
)


@click.group("schedule", cls=Verbs)
def command() -> None:
    """Schedules: when playbooks are started by the clock."""


schedules = DocumentVerbs(command, "Schedule")
schedules.add_apply(
    "Store schedules and let them run; 'petra apply' does it for playbooks and schedules together."
)


def _tables(
    ask: Callable[[Timetables], Awaitable[Any]],
) -> Callable[[Store, Cache], Awaitable[Any]]:
    return lambda store, cache: ask(Timetables(store, cache.load, SystemClock()))


@schedules.verb("list")
def list_(home: Path, output: str) -> None:
    """List the schedules that are kept: what comes next, and what came of the last ones."""
    answer = schedules.read(home, _tables(lambda tables: tables.listed(DEFAULT)), "list")
    show(answer["schedules"] if isinstance(answer, dict) else answer, output, _say_rows)


def _say_rows(rows: list[dict[str, Any]]) -> None:
    for schedule in rows:
        _say_row(schedule)
    if not rows:
        tell("no schedule is kept here; 'petra apply FILE' begins one")


def _say_row(schedule: dict[str, Any]) -> None:
    state = "paused" if schedule["paused"] else f"next {_next(schedule)}"
    rhythm = f"{schedule['words']} ({schedule['timezone']})"
    marks = outcome_marks(schedule["last"])
    tell(f"{schedule['name']}  {schedule['playbook']}  {rhythm}  {state}  {marks}".rstrip())
    if schedule["passed"]:
        words = ", ".join(
            f"{number} {why.replace('_', ' ')}" for why, number in schedule["passed"].items()
        )
        tell(f"  not started: {words}")
    if schedule["trouble"]:
        tell(f"  the last one: {schedule['trouble']}")


def _next(schedule: dict[str, Any]) -> str:
    if schedule["running"] and not schedule["due"]:
        return f"when {schedule['running'][0]} has ended"
    return str(schedule["next"][0]["nominal"]) if schedule["next"] else "never"


@schedules.verb("get", name_argument)
def get(name: str, home: Path, output: str) -> None:
    """Show one schedule."""
    here = _tables(lambda tables: tables.get(DEFAULT, name))
    show(schedules.read(home, here, "get", name), output, _say_schedule)


def _say_schedule(schedule: dict[str, Any]) -> None:
    _say_row(schedule)
    for last in schedule["last"]:
        tell(f"  {last['nominal']}  {last['status']}  {last['execution']}  {_began(last)}")


def _began(last: dict[str, Any]) -> str:
    """Say when one began, by the reader's own clocks; its day only where it is another one."""
    began = datetime.fromisoformat(last["started"]).astimezone()
    due = datetime.fromisoformat(last["nominal"]).astimezone()
    return f"{began:%H:%M:%S}" if began.date() == due.date() else f"{began:%Y-%m-%d %H:%M:%S}"


@schedules.verb(
    "preview",
    click.argument("what", metavar="FILE|NAME"),
    _from,
    click.option(
        "-n",
        "number",
        type=click.IntRange(1, 1000),
        default=10,
        show_default=True,
        help="How many.",
    ),
)
def preview(what: str, number: int, home: Path, output: str, *, since: str | None) -> None:
    """Show when a schedule is due: one in a file, or one that is kept; with a note where clocks change."""
    begin = since or ""
    schedule = good_document(Path(what), Schedule)
    if schedule is not None:
        times = previewed(schedule, SystemClock().now(), begin, number)
    else:
        here = _tables(lambda tables: tables.preview(DEFAULT, what, begin, number))
        times = schedules.read(home, here, "preview", what, since=begin, number=number)
    show(times, output, _say_times)


def _say_times(times: dict[str, Any]) -> None:
    for time in times["next"]:
        tell(f"{time['nominal']}" + (f"  {time['note']}" if "note" in time else ""))
    if not times["next"]:
        tell("it is due no more")


schedules.add_act(
    "pause", "Have a schedule start nothing any more.", "{name} is paused", reason_option
)
schedules.add_act(
    "resume",
    "Let a schedule go on; the times of the pause are not made up for.",
    "{name} goes on",
)
schedules.add_act(
    "run",
    "Start the playbook of a schedule now.",
    "started {execution}; 'petra watch {execution}' follows it",
)


@schedules.verb(
    "backfill",
    name_argument,
    _from,
    click.option(
        "--to", "until", metavar="DATE", required=True, help="Until when, by the schedule's zone."
    ),
    click.option("--yes", is_flag=True, help="Do not ask."),
    click.option("--dry-run", is_flag=True, help="Only say how many there are."),
)
def backfill(
    name: str, until: str, home: Path, output: str, *, since: str | None, yes: bool, dry_run: bool
) -> None:
    """Start the playbook of a schedule for every time of a range in the past; how many is said first."""
    if not since:
        raise click.UsageError("say from when on, with --from")
    times = schedules.ask(home, "backfill", name, since=since, until=until, dry_run=True)
    words = f"{count(times['count'], 'time')} from {times['since']} to {times['until']}"
    if not dry_run and not yes:
        tell(words, err=True)
        click.confirm("start them?", abort=True, err=True)
    if not dry_run:
        schedules.ask(home, "backfill", name, since=since, until=until)
        words += ": they are started one after the other"
    show({**times, "started": not dry_run}, output, lambda _: tell(words))


schedules.add_act(
    "rm",
    "Have a schedule kept no more; what it started goes on.",
    "{name} is removed",
    act="remove",
)
