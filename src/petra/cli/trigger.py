"""``petra trigger``: which events start playbooks (S24)."""

from __future__ import annotations

import json
import sys
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
from petra.cli.workload import json_value
from petra.clock import SystemClock
from petra.playbook.trigger import Trigger


@click.group("trigger", cls=Verbs)
def command() -> None:
    """Triggers: which events start playbooks."""


triggers = DocumentVerbs(command, "Trigger")
triggers.add_apply(
    "Store triggers and let them take events; 'petra apply' does it for playbooks and triggers together."
)


@triggers.verb("list")
def list_(home: Path, output: str) -> None:
    """List the triggers: where their events come from, and what came of the last ones."""
    show(triggers.ask(home, "list")["triggers"], output, _say_rows)


def _say_rows(rows: list[dict[str, Any]]) -> None:
    for trigger in rows:
        _say_row(trigger)
    if not rows:
        tell("there is no trigger here; 'petra apply FILE' begins one")


def _say_row(trigger: dict[str, Any]) -> None:
    name, marks = trigger["name"], outcome_marks(trigger["last"])
    state = "  paused" if trigger["paused"] else ""
    tell(f"{name}  {trigger['playbook']}  {trigger['words']}{state}  {marks}".rstrip())
    watch = trigger["watch"] or {}
    if trigger["dead"]:
        letters = count(trigger["dead"], "dead letter")
        tell(f"  {letters}; 'petra trigger dead {name}' lists them")
    if watch.get("trouble"):
        tell(f"  {watch['trouble']}")
    for gap in watch.get("missed", [])[-1:]:
        words = f"nobody listened from {_when(gap['since'])} to {_when(gap['until'])}"
        tell(f"  {words}: what was sent then is lost")


def _when(at: str) -> str:
    return f"{datetime.fromisoformat(at).astimezone():%Y-%m-%d %H:%M:%S}"


@triggers.verb("get", name_argument)
def get(name: str, home: Path, output: str) -> None:
    """Show one trigger, and what it started last."""
    show(triggers.ask(home, "get", name), output, _say_trigger)


def _say_trigger(trigger: dict[str, Any]) -> None:
    _say_row(trigger)
    for last in trigger["last"]:
        tell(f"  {_when(last['started'])}  {last['status']}  {last['execution']}  {last['key']}")


@triggers.verb("explain", name_argument)
def explain(name: str, home: Path, output: str) -> None:
    """Say what a trigger waits for, and what keeps events from starting something."""
    show(triggers.ask(home, "explain", name), output, _say_explanation)


def _say_explanation(explanation: dict[str, Any]) -> None:
    tell(explanation["sentence"])
    for line in explanation["why"] or ["nothing is wrong with it; it waits for events"]:
        tell(f"  {line}")


@triggers.verb(
    "test",
    click.argument("what", metavar="FILE|NAME"),
    click.option(
        "--event",
        "typed",
        required=True,
        metavar="JSON|@FILE",
        help="The event, as 'event' is in expressions.",
    ),
)
def test(what: str, typed: str, home: Path, output: str) -> None:
    """Say what would come of an event: whether it counts, its key, and the workload. Nothing is started."""
    event = _event(typed)
    trigger = good_document(Path(what), Trigger)
    if trigger is not None:
        from petra.desk.triggers import tested  # noqa: PLC0415 - only here
        from petra.triggers.rules import TriggerRules  # noqa: PLC0415 - only here

        verdict = tested(TriggerRules(trigger), event, SystemClock().now())
    else:
        verdict = triggers.ask(home, "test", what, event=event)
    show(verdict, output, _say_verdict)
    if verdict["error"]:
        sys.exit(1)


def _say_verdict(verdict: dict[str, Any]) -> None:
    if verdict["error"]:
        tell(f"it would be a dead letter: {verdict['error']}")
    elif not verdict["counts"]:
        tell("it does not count: 'when' is false")
    else:
        key = verdict["key"] or "as its source says"
        again = "; that one was started already" if verdict.get("known") else ""
        tell(f"it counts, key {key}{again}")
        tell(json.dumps(verdict["workload"], ensure_ascii=False, indent=2))


def _event(typed: str) -> dict[str, Any]:
    event = json_value(typed, "--event")
    if not isinstance(event, dict):
        raise click.UsageError(
            "--event is to be an object, as 'event' is in expressions: '{\"body\": {\"id\": 7}}'"
        )
    return event


triggers.add_act(
    "pause",
    "Have a trigger start nothing any more; webhooks are told to come again.",
    "{name} is paused",
    reason_option,
)
triggers.add_act(
    "resume",
    "Let a trigger go on; events of the pause are not made up for, files apart.",
    "{name} goes on",
)


@triggers.verb(
    "dead",
    click.argument("name", required=False, default=""),
    click.option(
        "-n",
        "number",
        type=click.IntRange(1, 500),
        default=100,
        show_default=True,
        help="How many.",
    ),
)
def dead(name: str, number: int, home: Path, output: str) -> None:
    """List the dead letters of a trigger, or of all: events that could start nothing, and why."""
    show(triggers.ask(home, "dead", name, number=number)["letters"], output, _say_letters)


def _say_letters(letters: list[dict[str, Any]]) -> None:
    for letter in letters:
        tell(f"{letter['id']}  {_when(letter['updated'])}  {letter['trigger']}  {letter['key']}")
        tell(f"  {letter['error']}")
    if letters:
        tell("'petra trigger replay NAME [ID…]' tries them again", err=True)
    else:
        tell("there are no dead letters")


triggers.add_act(
    "replay",
    "Try dead letters of a trigger again: those that are named, or all.",
    "tried again: {replayed} of {name}",
    click.argument(
        "letters", nargs=-1, metavar="[ID…]", callback=lambda _context, _argument, ids: list(ids)
    ),
)
triggers.add_act(
    "rm",
    "Have a trigger take no more events; what it started goes on.",
    "{name} is removed",
    act="remove",
)
