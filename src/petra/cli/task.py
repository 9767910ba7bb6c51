"""``petra task``: work items."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import click
import msgspec
from click.decorators import FC

from petra.cli.home import find, look, request_id
from petra.cli.output import as_json, cut, print_json, tell, width
from petra.cli.place import home_option, looked_for_in, remote
from petra.cli.steer import carry_out
from petra.cli.values import short
from petra.cli.verbs import Verbs
from petra.cli.workload import json_value
from petra.desk import Ask, login_name
from petra.embedded import meant_item, open_item
from petra.engine.cache import Cache
from petra.kernel import commands as c
from petra.kernel.human import ANY_ROLE
from petra.kernel.waiting import WorkItem
from petra.store.base import Store
from petra.store.due import DUE_WORDS, due_of
from petra.store.rows import ItemSort, WorkItemFilter, WorkItemRow

_OPEN = ("offered", "allocated", "started", "suspended")


@click.group("task", cls=Verbs)
def command() -> None:
    """Work items: what people are asked to do."""


def _role_option(what: str) -> Callable[[FC], FC]:
    """Make the option that says which roles the user has; without it, any role is taken for granted."""
    return click.option("--role", "roles", multiple=True, metavar="ROLE", help=what)


@command.command("list")
@click.option("--as", "user", help="Only what this user may do.")
@_role_option("A role of that user; may be given several times. Without it, every role.")
@click.option("--playbook", help="Only what executions of this playbook ask.")
@click.option(
    "--due", type=click.Choice(DUE_WORDS), help="Only what is due by then, or has no due date."
)
@click.option(
    "--sort",
    type=click.Choice(get_args(ItemSort)),
    default="priority",
    show_default=True,
    help="Which comes first.",
)
@click.option("--limit", type=click.IntRange(min=1), help="Show so many at most.")
@home_option
@as_json
def list_items(
    user: str | None,
    roles: tuple[str, ...],
    limit: int | None,
    home: Path,
    output: str,
    *,
    playbook: str | None,
    due: str | None,
    sort: ItemSort,
) -> None:
    """List open work items."""
    their_roles = roles or ((ANY_ROLE,) if user else ())
    asked = WorkItemFilter(user=user, roles=their_roles, states=_OPEN, playbook=playbook, sort=sort)

    async def asking(store: Store, _cache: Cache) -> tuple[list[WorkItemRow], int]:
        wanted = msgspec.structs.replace(asked, **due_of(due, await store.now()))
        wanted = await looked_for_in(home, store, wanted)
        rows: list[WorkItemRow] = []
        page = await store.work_items(wanted)
        rows += page.rows
        while page.cursor is not None and (limit is None or len(rows) < limit):
            page = await store.work_items(wanted, cursor=page.cursor)
            rows += page.rows
        shown = rows[:limit]
        if page.cursor is None and len(shown) == len(rows):
            return shown, 0
        counted = await store.count_work_items(wanted)
        return shown, max(0, sum(counted.values()) - len(shown))

    rows, left = look(home, asking)
    if output == "json":
        print_json(
            [{**msgspec.to_builtins(row), "body": msgspec.json.decode(row.body)} for row in rows]
        )
    else:
        _print(rows, narrowed=playbook is not None or due is not None)
    if left:
        tell(f"{left:,} more are not shown; --limit says how many are", err=True)


_LIST_WIDTH = 72
"""Where a line is too short for a work item, it gets several."""


def _print(rows: list[WorkItemRow], *, narrowed: bool) -> None:
    """Print a line for each; where a step has several, they are told apart by their ids."""
    several = Counter((row.execution, row.step) for row in rows)
    for row in rows:
        alone = several[row.execution, row.step] == 1
        name = f"{row.execution}/{row.step if alone else row.id[:12]}"
        who = (
            row.holder
            or ", ".join([*row.users, *(f"role:{role}" for role in row.roles)])
            or "anyone"
        )
        if width() < _LIST_WIDTH:
            tell(f"{name}\n  {row.state}  {who}\n  {row.title}")
        else:
            tell(f"{name}  {row.state:<9}  {who:<16}  {row.title}")
    if not rows:
        tell("no open work item is like that" if narrowed else "nothing to do")


@command.command("get")
@click.argument("target", metavar="ID/STEP|ID/ITEM")
@home_option
@as_json
def get(target: str, home: Path, output: str) -> None:
    """Show a work item: what is asked, of whom, and what was said about it."""
    execution, step, _ = _meant(target, ())

    async def asking(store: Store, cache: Cache) -> WorkItem:
        return open_item(await find(store, cache, execution), step)

    item = look(home, asking)
    if output == "json":
        print_json(msgspec.to_builtins(item))
        return
    spec = item.spec
    tell(f"{spec.get('title') or item.step}  ({item.state})")
    assignees = spec.get("assignees") or {}
    rows = [
        ("asked", spec.get("description")),
        ("held by", item.holder),
        ("users", assignees.get("users")),
        ("roles", assignees.get("roles")),
        ("actions", spec.get("actions") or ["approve", "reject"]),
        ("form", spec.get("form")),
        ("proposal", spec.get("proposal")),
        ("draft", item.draft),
    ]
    for name, value in rows:
        if value:
            tell(cut(f"  {name}: {value if isinstance(value, str) else short(value)}"))
    for comment in item.comments:
        tell(cut(f"  {short(comment)}"))


def _verb(act: str, words: str) -> click.Command:
    """Make the verb of an act."""

    @click.argument("target", metavar="ID[/STEP|/ITEM]")
    @click.argument("step", required=False)
    @click.option("--as", "actor", show_default="you", help="Who acts.")
    @_role_option("A role of whoever acts; may be given several times. Without it, every role.")
    @click.option("--on-behalf-of", metavar="USER", help="For whom.")
    @click.option("--to", help="delegate, reassign: to whom.")
    @click.option("--data", metavar="JSON|@FILE", help="save: the draft of the form.")
    @click.option("--reason", default="", help="Why; what a comment says.")
    @click.option("--admin", is_flag=True, help="Act as an administrator.")
    @home_option
    @as_json
    def acting(
        target: str, step: str | None, *, home: Path, output: str, data: str | None, **how: Any
    ) -> None:
        execution, chosen, _ = _meant(target, (step,) if step else ())
        value = json_value(data, "--data") if data is not None else None
        said = how["reason"] if act == "comment" else value
        _act(home, execution, chosen, output, act=act, data=said, **how)

    return click.command(act, help=words)(acting)


for _act_name, _words in {
    "claim": "Take a work item; the second to do so is refused.",
    "release": "Give it back.",
    "start": "Begin to work on it.",
    "save": "Keep a draft of the form.",
    "fail": "Say that it cannot be done.",
    "cancel": "Call it off.",
    "delegate": "Let somebody else do it, and have it back.",
    "reassign": "Give it to somebody else.",
    "suspend": "Put it aside.",
    "resume": "Take it up again.",
    "comment": "Say something about it.",
}.items():
    command.add_command(_verb(_act_name, _words))


@command.command("complete")
@click.argument("target", metavar="ID[/STEP|/ITEM]")
@click.argument("words", nargs=-1, metavar="[STEP] [ACTION]")
@click.option("--data", metavar="JSON|@FILE", help="What the form holds.")
@click.option("--as", "actor", show_default="you", help="Who decides.")
@_role_option("A role of whoever decides; may be given several times. Without it, every role.")
@click.option("--on-behalf-of", metavar="USER", help="For whom.")
@home_option
@as_json
def complete(
    target: str, words: tuple[str, ...], *, home: Path, output: str, data: str | None, **how: Any
) -> None:
    """Complete a work item: petra task complete ID/STEP ACTION.

    ID/STEP means your own open item of that step; ID/ITEM one that 'petra task list' shows. The same answer
    given again is the same answer.
    """
    execution, item, action = _meant(target, words)
    value = json_value(data, "--data") if data is not None else None
    _act(home, execution, item, output, act="complete", action=action or None, data=value, **how)


def _meant(target: str, words: tuple[str, ...]) -> tuple[str, str, str]:
    """Read ID/STEP and ID STEP alike; what follows is the action."""
    execution, _, rest = target.partition("/")
    wanted = [rest, *words] if rest else list(words)
    if not wanted:
        raise click.UsageError(
            f"which step? It is named with the execution: '{execution}/STEP'; 'petra task list' shows what is open"
        )
    if len(wanted) > 2:
        raise click.UsageError(f"'{wanted[2]}' is one word too many; a text goes into --data")
    return execution, wanted[0], wanted[1] if len(wanted) > 1 else ""


def _myself(home: Path) -> tuple[str, list[str]]:
    """Return who acts if nobody is named: you, with every role in your own folder, and with yours at a server."""
    where = remote(home)
    return (login_name(), [ANY_ROLE]) if where is None else asyncio.run(where.me())


def _act(home: Path, execution: str, name: str, output: str, **how: Any) -> None:
    name_there, roles_there = _myself(home)
    how["actor"] = how["actor"] or name_there
    how["roles"] = list(how["roles"]) or roles_there

    async def asking(store: Store, cache: Cache) -> tuple[str, str]:
        entry = await find(store, cache, execution)
        admin = how.get("admin", False)
        item = meant_item(entry, name, how["actor"], how["roles"], admin=admin)
        return entry.state.id, item.id

    chosen, item = look(home, asking)
    act = c.Act(now=0.0, item=item, **how)
    carry_out(home, Ask(id=request_id(), execution=chosen, command=act), output)
