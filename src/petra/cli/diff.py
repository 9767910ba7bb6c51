"""``petra diff``: where two executions part, and what came of it: the first record, the paths, ctx."""

from __future__ import annotations

import sys
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any, NamedTuple

import click
import msgspec

from petra.cli.home import find, look
from petra.cli.output import as_json, cut, print_json, tell
from petra.cli.place import home_option
from petra.cli.show import short
from petra.embedded import records_of
from petra.engine.cache import Cache, Entry
from petra.engine.codec import status_of
from petra.kernel import Record
from petra.kernel import events as e
from petra.kernel.compare import is_id, sameness, timeless
from petra.kernel.fork import lived
from petra.net.compare import Equivalence
from petra.store.base import Store
from petra.testing.story import told

_MISSING = object()
_SENSE = {
    Equivalence.IDENTITY: "the same events in the same order (E0)",
    Equivalence.CAUSAL: "the same but for the order of what does not depend on each other (E1)",
    Equivalence.OUTCOME: "the same outcome by other ways (E2)",
    Equivalence.MARKING: "the same data in the same places (E3)",
    Equivalence.NONE: "another outcome",
}
_FIELDS_MAX = 10


class _Field(NamedTuple):
    """A part of an event in which two executions differ."""

    path: str
    left: Any
    right: Any


class _Difference(NamedTuple):
    """The first event in which two lives differ, counted from 0, and where; nowhere, when one has ended."""

    number: int
    fields: list[_Field]


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
        found = [await find(store, cache, execution) for execution in (one, other)]
        return [(entry, await records_of(store, entry.state.id)) for entry in found]

    left, right = look(home, asking)
    found = compared(left, right)
    if output == "json":
        print_json(found)
    else:
        _print(found)
    sys.exit(0 if found["same"] else 1)


def compared(left: tuple[Entry, list[Record]], right: tuple[Entry, list[Record]]) -> dict[str, Any]:
    """Return how two executions differ, as plain data."""
    lives = [[event for _, _, event in lived(records)] for _, records in (left, right)]
    first = _first_difference(*lives)
    paths = [_path(events) for events in lives]
    states = [entry.state for entry, _ in (left, right)]
    ctx = _changes(states[0].ctx, states[1].ctx)
    statuses = [status_of(entry.program, entry.state)[0] for entry, _ in (left, right)]
    output = [states[0].output, states[1].output] if states[0].output != states[1].output else None
    same = first is None and not ctx and output is None and statuses[0] == statuses[1]
    return {
        "executions": [state.id for state in states],
        "playbooks": [state.playbook for state in states],
        "same_playbook": states[0].digest == states[1].digest,
        "status": statuses,
        "same": same,
        "equivalence": sameness(left[1], right[1]).value,
        "first_difference": None if first is None else _shown(first, lives),
        "path": _path_changes(*paths),
        "ctx": ctx,
        "output": output,
    }


def _first_difference(left: list[e.AnyEvent], right: list[e.AnyEvent]) -> _Difference | None:
    renamed: dict[str, str] = {}
    for number in range(max(len(left), len(right))):
        if number >= len(left) or number >= len(right):
            return _Difference(number, [])
        fields = _unlike(_data(left[number]), _data(right[number]), renamed, "")
        if fields:
            return _Difference(number, fields)
    return None


def _data(event: e.AnyEvent) -> Any:
    return timeless(msgspec.to_builtins(event))


def _unlike(left: Any, right: Any, renamed: dict[str, str], path: str) -> list[_Field]:
    """Return where two values differ, but for ids: they are derived, and so differ between executions."""
    if isinstance(left, dict) and isinstance(right, dict):
        found: list[_Field] = []
        for key in sorted(left.keys() | right.keys()):
            values = left.get(key, _MISSING), right.get(key, _MISSING)
            found += _unlike(*values, renamed, f"{path}.{key}" if path else key)
        return found
    if isinstance(left, list) and isinstance(right, list) and len(left) == len(right):
        pairs = enumerate(zip(left, right, strict=True))
        return [one for n, (a, b) in pairs for one in _unlike(a, b, renamed, f"{path}[{n}]")]
    if left != right and is_id(left) and is_id(right):
        return [] if renamed.setdefault(left, right) == right else [_Field(path, left, right)]
    return [] if left == right else [_Field(path, left, right)]


def _shown(first: _Difference, lives: list[list[e.AnyEvent]]) -> dict[str, Any]:
    number = first.number
    events = [events[number] if number < len(events) else None for events in lives]
    return {
        "record": number + 1,
        "events": [None if event is None else told(event) for event in events],
        "fields": {
            field.path: {
                side: value
                for side, value in (("left", field.left), ("right", field.right))
                if value is not _MISSING
            }
            for field in first.fields[:_FIELDS_MAX]
        },
    }


def _path(events: list[e.AnyEvent]) -> list[str]:
    """Return the steps in the order in which they ended, with how."""
    return [
        f"{event.step} failed" if isinstance(event, e.StepFailed) else event.step
        for event in events
        if isinstance(event, e.StepEnded)
    ]


def _path_changes(left: list[str], right: list[str]) -> list[dict[str, Any]]:
    matcher = SequenceMatcher(a=left, b=right, autojunk=False)
    return [
        {"left": left[a:b], "right": right[c:d]}
        for kind, a, b, c, d in matcher.get_opcodes()
        if kind != "equal"
    ]


def _changes(left: dict[str, Any], right: dict[str, Any]) -> dict[str, Any]:
    found = {}
    for key in sorted(left.keys() | right.keys()):
        a, b = left.get(key, _MISSING), right.get(key, _MISSING)
        if a is _MISSING or b is _MISSING or a != b:
            found[key] = {
                side: value for side, value in (("left", a), ("right", b)) if value is not _MISSING
            }
    return found


def _print(found: dict[str, Any]) -> None:
    left, right = found["executions"]
    tell(f"- {left}  {found['playbooks'][0]}  {found['status'][0]}")
    tell(f"+ {right}  {found['playbooks'][1]}  {found['status'][1]}")
    if not found["same_playbook"]:
        tell("the playbooks are not the same")
    if found["same"]:
        tell("no difference but times and ids")
        return
    tell(_SENSE[Equivalence(found["equivalence"])])
    if (first := found["first_difference"]) is not None:
        tell(f"first difference, record {first['record']}:")
        _sides(*(words or "(the log has ended)" for words in first["events"]))
        if first["events"][0] == first["events"][1]:
            _fields(first["fields"])
    if found["path"]:
        tell("steps:")
    for change in found["path"]:
        _sides(", ".join(change["left"]), ", ".join(change["right"]))
    _fields({f"ctx.{key}": sides for key, sides in found["ctx"].items()})
    if found["output"] is not None:
        tell("output:")
        _sides(*(short(value, 300) for value in found["output"]))


def _fields(fields: dict[str, dict[str, Any]]) -> None:
    for name, sides in fields.items():
        tell(f"{name}:")
        shown = (short(sides[s], 300) if s in sides else "(not there)" for s in ("left", "right"))
        _sides(*shown)


def _sides(left: str, right: str) -> None:
    for sign, words, colour in (("-", left, "red"), ("+", right, "green")):
        if words:
            tell(click.style(cut(f"  {sign} {words}"), fg=colour))
