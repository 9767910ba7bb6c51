"""``petra group``: change a fan-out that is under way."""

from __future__ import annotations

from pathlib import Path

import click

from petra.cli.home import found_id, request_id
from petra.cli.output import as_json
from petra.cli.place import home_option
from petra.cli.steer import carry_out, execution_argument
from petra.cli.workload import json_value
from petra.desk import Ask
from petra.errors import UsageError
from petra.kernel import commands as c


@click.command("group")
@execution_argument
@click.argument("group")
@click.argument("change", type=click.Choice(["add", "close", "cancel", "complete"]))
@click.option("--item", metavar="JSON|@FILE", help="add: what is added.")
@home_option
@as_json
def command(
    execution: str, group: str, change: str, home: Path, output: str, *, item: str | None
) -> None:
    """Change a live group of an execution: add an item, let no more come, cancel it, or have it count as complete."""
    if (change == "add") != (item is not None):
        raise UsageError("--item goes with 'add', and 'add' needs it")
    value = json_value(item, "--item") if item is not None else None
    asked = c.ChangeGroup(now=0.0, group=group, change=change, item=value)
    chosen = found_id(home, execution)
    carry_out(home, Ask(id=request_id(), execution=chosen, command=asked), output)
