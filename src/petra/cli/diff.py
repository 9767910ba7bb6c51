"""``petra diff``: where two executions part, and what came of it: the first record, the paths, ctx."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from petra.cli.home import find, look
from petra.cli.output import as_json, cut, print_json, tell
from petra.cli.place import home_option
from petra.cli.values import short
from petra.desk.comparing import compared
from petra.embedded import records_of
from petra.engine.cache import Cache, Entry
from petra.kernel import Record
from petra.net.compare import Equivalence
from petra.store.base import Store

_SENSE = {
    Equivalence.IDENTITY: "the same events in the same order (E0)",
    Equivalence.CAUSAL: "the same but for the order of what does not depend on each other (E1)",
    Equivalence.OUTCOME: "the same outcome by other ways (E2)",
    Equivalence.MARKING: "the same data in the same places (E3)",
    Equivalence.NONE: "another outcome",
}


@click.command("diff")
@click.argument("one", metavar="ID")
@click.argument("other", metavar="ID")
@home_option
@as_json
def command(one: str, other: str, home: Path, output: str) -> None:
    """Compare two executions: the first record that differs, then the steps taken, then ctx and output.

    Times, and what follows from the ids of the executions, are not compared. Exits with 1 when they differ.
    """

    async def asking(store: Store, cache: Cache) -> list[tuple[Entry, list[Record]]]:
        entries = [await find(store, cache, execution) for execution in (one, other)]
        return [(entry, await records_of(store, entry.state.id)) for entry in entries]

    left, right = look(home, asking)
    difference = compared(left, right)
    if output == "json":
        print_json(difference)
    else:
        _print(difference)
    sys.exit(0 if difference["same"] else 1)


def _print(difference: dict[str, Any]) -> None:
    left, right = difference["executions"]
    tell(f"- {left}  {difference['playbooks'][0]}  {difference['status'][0]}")
    tell(f"+ {right}  {difference['playbooks'][1]}  {difference['status'][1]}")
    if not difference["same_playbook"]:
        tell("the playbooks are not the same")
    if difference["same"]:
        tell("no difference but times and ids")
        return
    tell(_SENSE[Equivalence(difference["equivalence"])])
    if (first := difference["first_difference"]) is not None:
        tell(f"first difference, record {first['record']}:")
        _sides(*(words or "(the log has ended)" for words in first["events"]))
        if first["events"][0] == first["events"][1]:
            _fields(first["fields"])
    if difference["path"]:
        tell("steps:")
    for change in difference["path"]:
        _sides(", ".join(change["left"]), ", ".join(change["right"]))
    _fields({f"ctx.{key}": sides for key, sides in difference["ctx"].items()})
    if difference["output"] is not None:
        tell("output:")
        _sides(*(short(value, 300) for value in difference["output"]))


def _fields(fields: dict[str, dict[str, Any]]) -> None:
    for name, sides in fields.items():
        tell(f"{name}:")
        shown = (short(sides[s], 300) if s in sides else "(not there)" for s in ("left", "right"))
        _sides(*shown)


def _sides(left: str, right: str) -> None:
    for sign, words, colour in (("-", left, "red"), ("+", right, "green")):
        if words:
            tell(click.style(cut(f"  {sign} {words}"), fg=colour))
