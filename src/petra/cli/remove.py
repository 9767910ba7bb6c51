"""``petra rm`` and ``petra prune``: executions that nobody needs any more."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
import msgspec

from petra.cli.home import act, called, either, full_id, look, request_id, writing
from petra.cli.labels import which_options
from petra.cli.marks import status_text
from petra.cli.output import as_json, count, print_json, tell
from petra.cli.place import home_option, looked_for_in
from petra.clock import SystemClock
from petra.desk import Remove, Reply
from petra.desk.removing import refuse_live
from petra.embedded import LOGS, Home, home_objects
from petra.engine.logs import LogFiles, RunLogs
from petra.engine.removal import family_of, remove
from petra.errors import PetraError, UsageError
from petra.store.base import Store
from petra.store.rows import ExecutionFilter, ExecutionRow

_ENDED = ("completed", "partial", "failed", "aborted")
_UNITS = {"s": 1.0, "m": 60.0, "h": 3_600.0, "d": 86_400.0, "w": 604_800.0}
_AGE = re.compile(r"(\d+(?:\.\d+)?)([smhdw])")
_PAGE = 500
_SHOWN = 20


@click.command("rm")
@click.argument("executions", nargs=-1, required=True, metavar="ID…")
@click.option("--force", is_flag=True, help="Cancel first what has not ended.")
@home_option
@as_json
def rm(executions: tuple[str, ...], home: Path, output: str, *, force: bool) -> None:
    """Remove executions, each with its sub-playbooks, and what they stored.

    One that has not ended is refused, and so is a sub-playbook that somebody still waits for. Nothing is removed if one
    is refused. What forks of them refer to stays.
    """

    async def asking(store: Store, _: Any) -> list[str]:
        return list(dict.fromkeys([await full_id(store, execution) for execution in executions]))

    gone = _removed(home, look(home, asking), force=force)
    if output == "json":
        print_json({"removed": gone})
    else:
        tell(f"removed {count(len(gone), 'execution')}")


def _age(_context: click.Context, _option: click.Parameter, written: str) -> float:
    """Read an age such as 30d."""
    match = _AGE.fullmatch(written)
    if match is None:
        raise click.UsageError(
            f"'--older {written}' must be a number and one of s, m, h, d, w: 30d"
        )
    return float(match[1]) * _UNITS[match[2]]


@click.command("prune")
@click.option(
    "--older", "age_s", metavar="AGE", required=True, callback=_age,
    help="Those that ended longer ago than that: 12h, 30d, 8w.",
)  # fmt: skip
@which_options
@click.option("--dry-run", is_flag=True, help="Say what would be removed.")
@home_option
@as_json
def prune(
    age_s: float,
    status: tuple[str, ...],
    home: Path,
    output: str,
    *,
    playbook: str | None,
    labels: dict[str, str],
    dry_run: bool,
) -> None:
    """Remove executions that ended long ago, each with its sub-playbooks, and what they stored.

    A sub-playbook goes with the execution that called it; where something below one still runs, all of it stays.
    """
    if bad := [state for state in status if state not in _ENDED]:
        raise click.UsageError(f"'{bad[0]}' has not ended; --status takes {', '.join(_ENDED)}")

    async def asking(store: Store, _: Any) -> tuple[list[ExecutionRow], int]:
        wanted = ExecutionFilter(
            statuses=status or _ENDED, playbook=playbook, labels=tuple(labels.items()),
            ended_until=await store.now() - age_s,
        )  # fmt: skip
        return await _old(store, await looked_for_in(home, store, wanted))

    rows, kept = look(home, asking)
    gone = [row.id for row in rows]
    if not dry_run:
        gone = []
        for start in range(0, len(rows), _PAGE):
            gone += _removed(home, [row.id for row in rows[start : start + _PAGE]], force=False)
    if output == "json":
        print_json({"removed": gone, "kept": kept, "dry_run": dry_run})
        return
    if dry_run:
        for row in rows[:_SHOWN]:
            tell(f"{row.id}  {row.playbook}  {status_text(row.status)}")
        if len(rows) > _SHOWN:
            tell(f"and {count(len(rows) - _SHOWN, 'more execution')}")
    tell(_sum(rows, len(gone), "would remove" if dry_run else "removed"))
    if kept:
        words = "stays" if kept == 1 else "stay"
        tell(f"{count(kept, 'execution')} {words}: something below still runs")


def _sum(rows: list[ExecutionRow], gone: int, words: str) -> str:
    by_status = Counter(row.status for row in rows)
    shown = ", ".join(f"{number} {word}" for word, number in sorted(by_status.items()))
    below = f" and {count(gone - len(rows), 'sub-playbook')}" if gone > len(rows) else ""
    return f"{words} {count(len(rows), 'execution')}{below}{f': {shown}' if shown else ''}"


async def _old(store: Store, wanted: ExecutionFilter) -> tuple[list[ExecutionRow], int]:
    """Return what may be removed, from the top of each family, and how many stay since something below still runs."""
    rows: list[ExecutionRow] = []
    kept = 0
    cursor: str | None = None
    while True:
        page = await store.executions(wanted, cursor=cursor, limit=_PAGE)
        for row in (stored.row for stored in page.rows):
            if row.parent and await store.execution(row.parent) is not None:
                continue  # it goes with that one
            if (await family_of(store, row.id)).live:
                kept += 1
            else:
                rows.append(row)
        cursor = page.cursor
        if cursor is None:
            return rows, kept


def _removed(home: Path, executions: Sequence[str], *, force: bool) -> list[str]:
    """Have executions removed: by the store alone, by an engine that cancels them first, or by whoever has the home open.

    Somebody who had it open may have removed them, and left before saying so: what is gone already is gone.
    """
    request = Remove(id=request_id(), execution="", executions=list(executions), force=force)

    async def left(store: Store) -> list[str]:
        return [
            execution for execution in executions if await store.execution(execution) is not None
        ]

    async def here(store: Store) -> Reply:
        families = [await family_of(store, execution) for execution in await left(store)]
        refuse_live(families)
        members = dict.fromkeys(member for family in families for member in family.members)
        gone = await remove(store, home_objects(home), members)
        logs = RunLogs(LogFiles(home / LOGS, SystemClock()))
        await logs.remove(gone)
        await logs.close()
        return Reply(result={"removed": list(gone)})

    async def cancelled(local: Home) -> Reply:
        try:
            known = await left(local.engine.store)
            return await local.carry_out(msgspec.structs.replace(request, executions=known))
        except PetraError as error:
            return Reply(error=str(error))

    async def there() -> Reply:
        return await called(home, request)

    if force:
        reply = act(home, lambda: either(home, cancelled, there, only=executions))
    else:
        reply = act(home, lambda: writing(home, here, there))
    if reply.error or reply.result is None:
        raise UsageError(reply.error)
    gone: list[str] = reply.result["removed"]
    return list(dict.fromkeys([*gone, *executions]))
