"""``petra task``: work items."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import msgspec

from petra.cli.home import find, home_option, json_value, look, request_id
from petra.cli.output import as_json, cut, print_json
from petra.cli.steer import carry_out
from petra.control import Ask
from petra.embedded import open_item
from petra.engine.entries import Entries
from petra.kernel import commands as c
from petra.kernel.human import ANY_ROLE
from petra.store.base import Store
from petra.store.rows import WorkItemFilter

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

    async def asking(store: Store, _entries: Entries) -> list[Any]:
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
        click.echo(cut(f"{row.execution}/{row.step}  {row.state:<9}  {who:<16}  {row.title}"))
    if not rows:
        click.echo("nothing to do")


@command.command("act")
@click.argument("target", metavar="ID[/STEP]")
@click.argument("words", nargs=-1, metavar="[STEP] ACT", required=True)
@click.option("--as", "actor", default="operator", show_default=True, help="Who acts.")
@click.option("--to", help="delegate, reassign: to whom.")
@click.option("--reason", default="", help="Why.")
@home_option
@as_json
def act_on(target: str, words: tuple[str, ...], *, home: Path, output: str, **how: Any) -> None:
    """Claim, release, start, fail, cancel, delegate, reassign, suspend, resume."""
    execution, step, act_name = _meant(target, words)
    if not act_name:
        raise click.UsageError("which act? e.g. 'petra task act ID/STEP claim --as ada'")
    _act(home, execution, step, output, act=act_name, **how)


@command.command("complete")
@click.argument("target", metavar="ID[/STEP]")
@click.argument("words", nargs=-1, metavar="[STEP] [ACTION]")
@click.option("--data", metavar="JSON", help="What the form holds.")
@click.option("--as", "actor", default="operator", show_default=True, help="Who decides.")
@home_option
@as_json
def complete(
    target: str, words: tuple[str, ...], *, home: Path, output: str, data: str | None, actor: str
) -> None:
    """Complete the work item of a step: petra task complete ID/STEP ACTION."""
    execution, step, action = _meant(target, words)
    given = json_value(data, "--data") if data is not None else None
    _act(
        home,
        execution,
        step,
        output,
        act="complete",
        actor=actor,
        action=action or None,
        data=given,
    )


def _meant(target: str, words: tuple[str, ...]) -> tuple[str, str, str]:
    """Read ID/STEP and ID STEP alike; what follows is the action."""
    execution, _, rest = target.partition("/")
    found = [rest, *words] if rest else list(words)
    if not found:
        raise click.UsageError(f"which step? e.g. 'petra task complete {execution}/STEP approve'")
    if len(found) > 2:
        raise click.UsageError(f"'{found[2]}' is one word too many; a text goes into --data")
    return execution, found[0], found[1] if len(found) > 1 else ""


def _act(home: Path, execution: str, step: str, output: str, **how: Any) -> None:
    async def asking(store: Store, entries: Entries) -> tuple[str, str]:
        entry = await find(store, entries, execution)
        return entry.state.id, open_item(entry, step).id

    chosen, item = look(home, asking)
    act = c.Act(now=0.0, item=item, roles=[ANY_ROLE], **how)
    carry_out(home, Ask(id=request_id(), execution=chosen, command=act), output)
