"""``petra trigger``: which events start playbooks (S24)."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import click

from petra.cli.documents import checked_documents, good_document
from petra.cli.home import request, request_id
from petra.cli.output import as_json, count, print_json, tell
from petra.cli.place import home_option
from petra.cli.schedule import applied as applied_schedules
from petra.cli.verbs import Verbs
from petra.clock import SystemClock
from petra.desk import OnTriggers
from petra.playbook.documents import AnyDocument
from petra.playbook.schedule import Schedule
from petra.playbook.trigger import Trigger
from petra.playbook.write import document_yaml

_name = click.argument("name")
_SHOWN = 12


@click.group("trigger", cls=Verbs)
def command() -> None:
    """Triggers: which events start playbooks."""


def _asked(act: str, name: str = "", **more: Any) -> OnTriggers:
    return OnTriggers(id=request_id(), execution="", rest=False, act=act, name=name, **more)


def _ask(home: Path, asked: OnTriggers) -> dict[str, Any]:
    reply = request(home, asked)
    assert reply.result is not None, "a reply without an error has a result"
    return reply.result


def applied_documents(home: Path, documents: Sequence[AnyDocument]) -> list[dict[str, Any]]:
    """Have schedules and triggers applied; return what became of each."""
    schedules = [one for one in documents if isinstance(one, Schedule)]
    triggers = [one for one in documents if isinstance(one, Trigger)]
    texts = [document_yaml(one) for one in triggers]
    done = applied_schedules(home, schedules)
    return [*done, *(_ask(home, _asked("apply", text=text)) for text in texts)]


@command.command("apply")
@click.argument("paths", nargs=-1, required=True, metavar="FILE|DIR…")
@home_option
@as_json
def apply(paths: tuple[str, ...], home: Path, output: str) -> None:
    """Store triggers and let them take events; 'petra apply' does it for playbooks and triggers together."""
    found = [one for one in checked_documents(paths, output) if isinstance(one, Trigger)]
    if not found:
        raise click.UsageError(f"there is no trigger in {', '.join(paths)}")
    done = applied_documents(home, found)
    if output == "json":
        print_json({"applied": done})
        return
    for one in done:
        mark = "· unchanged" if one["unchanged"] else click.style("✓ applied", fg="green")
        tell(f"{mark}  {one['path']}  {one['digest'][:_SHOWN]}")


@command.command("list")
@home_option
@as_json
def list_(home: Path, output: str) -> None:
    """List the triggers: where their events come from, and what came of the last ones."""
    rows = _ask(home, _asked("list"))["triggers"]
    if output == "json":
        print_json(rows)
        return
    for one in rows:
        _line(one)
    if not rows:
        tell("there is no trigger here; 'petra apply FILE' begins one")


def _line(one: dict[str, Any]) -> None:
    marks = "".join(
        "✓" if last["status"] == "completed" else "✗" if last["ended"] else "·"
        for last in reversed(one["last"])
    )
    state = "  paused" if one["paused"] else ""
    tell(f"{one['name']}  {one['playbook']}  {one['words']}{state}  {marks}".rstrip())
    watch = one["watch"] or {}
    if one["dead"]:
        words = (
            f"{count(one['dead'], 'dead letter')}; 'petra trigger dead {one['name']}' lists them"
        )
        tell(f"  {words}")
    if watch.get("trouble"):
        tell(f"  {watch['trouble']}")
    for gap in watch.get("missed", [])[-1:]:
        words = f"nobody listened from {_when(gap['since'])} to {_when(gap['until'])}"
        tell(f"  {words}: what was sent then is lost")


def _when(at: float) -> str:
    return f"{datetime.fromtimestamp(at):%Y-%m-%d %H:%M:%S}"  # noqa: DTZ006 - the reader's own time


@command.command("get")
@_name
@home_option
@as_json
def get(name: str, home: Path, output: str) -> None:
    """Show one trigger, and what it started last."""
    one = _ask(home, _asked("get", name))
    if output == "json":
        print_json(one)
        return
    _line(one)
    for last in one["last"]:
        tell(f"  {_when(last['started'])}  {last['status']}  {last['execution']}  {last['key']}")


@command.command("explain")
@_name
@home_option
@as_json
def explain(name: str, home: Path, output: str) -> None:
    """Say what a trigger waits for, and what keeps events from starting something."""
    told = _ask(home, _asked("explain", name))
    if output == "json":
        print_json(told)
        return
    tell(told["sentence"])
    for line in told["why"] or ["nothing is wrong with it; it waits for events"]:
        tell(f"  {line}")


@command.command("test")
@click.argument("what", metavar="FILE|NAME")
@click.option(
    "--event", required=True, metavar="JSON|@FILE", help="The event, as 'event' is in expressions."
)
@home_option
@as_json
def test(what: str, event: str, home: Path, output: str) -> None:
    """Say what would come of an event: whether it counts, its key, and the workload. Nothing is started."""
    given = _event(event)
    trigger = good_document(Path(what), Trigger)
    if trigger is not None:
        from petra.desk.triggers import tested  # noqa: PLC0415 - only here
        from petra.triggers.rules import TriggerRules  # noqa: PLC0415 - only here

        told = tested(TriggerRules(trigger), given, SystemClock().now())
    else:
        told = _ask(home, _asked("test", what, event=given))
    if output == "json":
        print_json(told)
    else:
        _tell_verdict(told)
    if told["error"]:
        sys.exit(1)


def _tell_verdict(told: dict[str, Any]) -> None:
    if told["error"]:
        tell(f"it would be a dead letter: {told['error']}")
    elif not told["counts"]:
        tell("it does not count: 'when' is false")
    else:
        key = told["key"] or "as its source says"
        again = "; that one was started already" if told.get("known") else ""
        tell(f"it counts, key {key}{again}")
        tell(json.dumps(told["workload"], ensure_ascii=False, indent=2))


def _event(given: str) -> dict[str, Any]:
    try:
        text = Path(given[1:]).read_text("utf-8") if given.startswith("@") else given
        found = json.loads(text)
    except (OSError, ValueError, RecursionError) as error:
        raise click.UsageError(f"--event: {error}") from None
    if not isinstance(found, dict):
        raise click.UsageError("--event is to be an object")
    return found


def _act(home: Path, output: str, asked: OnTriggers, words: str) -> None:
    done = _ask(home, asked)
    if output == "json":
        print_json(done)
    else:
        tell(words.format(**done))


@command.command("pause")
@_name
@click.option("--reason", default="", help="Why.")
@home_option
@as_json
def pause(name: str, reason: str, home: Path, output: str) -> None:
    """Have a trigger start nothing any more; webhooks are told to come again."""
    _act(home, output, _asked("pause", name, reason=reason), f"{name} is paused")


@command.command("resume")
@_name
@home_option
@as_json
def resume(name: str, home: Path, output: str) -> None:
    """Let a trigger go on; events of the pause are not made up for, files apart."""
    _act(home, output, _asked("resume", name), f"{name} goes on")


@command.command("dead")
@click.argument("name", required=False, default="")
@click.option(
    "-n", "number", type=click.IntRange(1, 500), default=100, show_default=True, help="How many."
)
@home_option
@as_json
def dead(name: str, number: int, home: Path, output: str) -> None:
    """List the dead letters of a trigger, or of all: events that could start nothing, and why."""
    letters = _ask(home, _asked("dead", name, number=number))["letters"]
    if output == "json":
        print_json(letters)
        return
    for one in letters:
        tell(f"{one['id']}  {_when(one['updated'])}  {one['trigger']}  {one['key']}")
        tell(f"  {one['error']}")
    if letters:
        tell("'petra trigger replay NAME [ID…]' tries them again", err=True)
    else:
        tell("there are no dead letters")


@command.command("replay")
@_name
@click.argument("letters", nargs=-1, metavar="[ID…]")
@home_option
@as_json
def replay(name: str, letters: tuple[str, ...], home: Path, output: str) -> None:
    """Try dead letters of a trigger again: those that are named, or all."""
    asked = _asked("replay", name, letters=list(letters))
    _act(home, output, asked, "{replayed} of {name} are tried again")


@command.command("rm")
@_name
@home_option
@as_json
def remove(name: str, home: Path, output: str) -> None:
    """Have a trigger take no more events; what it started goes on."""
    _act(home, output, _asked("remove", name), f"{name} is removed")
