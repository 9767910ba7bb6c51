"""``petra ps``: what executions there are.

It is asked often and by scripts, so it imports the store and nothing of the engine.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import click
import msgspec

from petra.cli.labels import which_options
from petra.cli.marks import status_text
from petra.cli.moments import local
from petra.cli.output import as_json, print_json, tell, width
from petra.cli.place import home_option, looked_for_in, store_of
from petra.own_labels import scheduled_by
from petra.store.rows import ExecutionFilter

_NAME_MAX = 18
_LIST_WIDTH = 72
_ID_WIDTH = 25


@click.command("ps")
@which_options
@click.option(
    "--limit", type=click.IntRange(1, 1000), default=20, show_default=True, help="How many."
)
@home_option
@as_json
def command(
    status: tuple[str, ...],
    limit: int,
    home: Path,
    output: str,
    *,
    playbook: str | None,
    labels: dict[str, str],
) -> None:
    """List executions, latest first."""
    wanted = ExecutionFilter(statuses=status, playbook=playbook, labels=tuple(labels.items()))

    rows, more, now = asyncio.run(_found(home, wanted, limit))
    if output == "json":
        print_json(
            [{**msgspec.to_builtins(row), "schedule": scheduled_by(row.labels)} for row in rows]
        )
        return
    for row in rows:
        tell(_listed(row, now))
    if more:
        tell(f"these are the latest {limit}; --limit shows more", err=True)
    if not rows and wanted != ExecutionFilter():
        tell("no execution is like that; 'petra ps' lists all")
    elif not rows:
        tell("nothing here; 'petra run FILE' starts an execution")
    elif any(row.status == "running" for row in rows):
        from petra.cli.executions import asked_there  # noqa: PLC0415 - it imports the engine

        for trouble in (asked_there(home) or {}).get("troubles", ()):
            tell(trouble, err=True)


async def _found(home: Path, wanted: ExecutionFilter, limit: int) -> tuple[list[Any], bool, float]:
    """Return the latest, whether there are more of them, and the store's time."""
    async with store_of(home) as store:
        wanted = await looked_for_in(home, store, wanted)
        page = await store.executions(wanted, limit=limit)
        return [stored.row for stored in page.rows], page.cursor is not None, await store.now()


def _listed(row: Any, now: float) -> str:
    """Say an execution in one line, in two where a line is too short for it."""
    name = row.playbook
    name = name if len(name) <= _NAME_MAX else name[: _NAME_MAX - 1] + "…"
    shown, when = status_text(row.status, row.reason), _when(row.started, now)
    if width() < _LIST_WIDTH:
        return f"{row.id}  {when}".rstrip() + f"\n  {name}  {shown}"
    return f"{row.id:<{_ID_WIDTH}}  {when}  {name:<{_NAME_MAX}}  {shown}"


def _when(at: float, now: float) -> str:
    """Say a moment in eleven characters, local time: the day only when it is another one."""
    moment, today = local(at), local(now)
    if moment.date() == today.date():
        return f"{moment:%H:%M:%S}   "
    return f"{moment:%m-%d %H:%M}" if moment.year == today.year else f"{moment:%Y-%m-%d} "
