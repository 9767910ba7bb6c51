"""``petra task``: work items."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click
import msgspec

from petra.cli.home import act, comes_soon, find, home_option, json_value, look, result_data
from petra.cli.output import as_json, print_json
from petra.cli.run import hint
from petra.cli.show import summary
from petra.embedded import Local, Result
from petra.engine.entries import Entries
from petra.errors import UsageError
from petra.kernel import commands as c
from petra.kernel import events as e
from petra.kernel.human import ANY_ROLE
from petra.store.rows import WorkItemFilter
from petra.store.sqlite import SqliteStore

_OPEN = ("offered", "allocated", "started", "suspended")


@click.group("task")
def command() -> None:
    """Work items: what people are asked to do."""


@command.command("list")
@click.option("--as", "user", help="Only what this user may do.")
@home_option
@as_json
def list_items(user: str | None, home: Path, output: str) -> None:
    """List open work items."""

    async def asking(store: SqliteStore, _entries: Entries) -> list[Any]:
        roles = (ANY_ROLE,) if user else ()
        page = await store.work_items(WorkItemFilter(user=user, roles=roles, states=_OPEN))
        return list(page.rows)

    rows = look(home, asking)
    if output == "json":
        print_json(
            [{**msgspec.to_builtins(row), "body": msgspec.json.decode(row.body)} for row in rows]
        )
        return
    for row in rows:
        who = (
            row.holder
            or ", ".join([*row.users, *(f"role:{role}" for role in row.roles)])
            or "anyone"
        )
        click.echo(f"{row.execution}/{row.step}  {row.state:<9}  {who:<16}  {row.title}")
    if not rows:
        click.echo("nothing to do")


@command.command("act")
@click.argument("execution", metavar="ID")
@click.argument("step")
@click.argument("act_name", metavar="ACT")
@click.option("--as", "actor", default="operator", show_default=True, help="Who acts.")
@click.option("--to", help="delegate, reassign: to whom.")
@click.option("--reason", default="", help="Why.")
@home_option
@as_json
def act_on(
    execution: str, step: str, act_name: str, *, home: Path, output: str, **how: Any
) -> None:
    """Claim, release, start, fail, cancel, delegate, reassign, suspend, resume."""
    _act(home, execution, step, output, act=act_name, **how)


@command.command("complete")
@click.argument("execution", metavar="ID")
@click.argument("step")
@click.argument("action", default="approve")
@click.option("--data", metavar="JSON", help="What the form holds.")
@click.option("--as", "actor", default="operator", show_default=True, help="Who decides.")
@home_option
@as_json
def complete(
    execution: str, step: str, action: str, *, home: Path, output: str, data: str | None, actor: str
) -> None:
    """Complete the work item of a step."""
    given = json_value(data, "--data") if data is not None else None
    _act(home, execution, step, output, act="complete", actor=actor, action=action, data=given)


def _act(home: Path, execution: str, step: str, output: str, **how: Any) -> None:
    async def asking(local: Local) -> tuple[str, Result]:
        entry = await find(local.engine.store, local.engine.entries, execution)
        chosen = entry.state.id
        item = next(
            (one for one in entry.state.items.values() if one.step == step and one.is_open), None
        )
        if item is None:
            raise UsageError(
                f"step '{step}' of {execution} has no open work item; see 'petra task list'"
            )
        refusals: list[str] = []
        local.engine.listeners.append(
            lambda _, records: refusals.extend(
                r.event.reason for r in records if isinstance(r.event, e.ActRefused)
            )
        )
        await local.engine.ask(
            chosen, lambda now: c.Act(now=now, item=item.id, roles=[ANY_ROLE], **how)
        )
        return (refusals or [""])[0], await local.rest(chosen, comes_soon(local))

    refused, result = act(home, asking)
    if output == "json":
        print_json({**result_data(result), "refused": refused or None})
    else:
        if refused:
            click.echo(f"refused: {refused}", err=True)
        click.echo(summary(result))
        hint(result)
    sys.exit(1 if refused else 0)
