"""``petra simulate``: a walk through a playbook, firing by firing, with outcomes by dice or by hand."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import click

from petra.cli.files import library_option, load
from petra.cli.output import as_json, fold, print_json, print_problem, tell, width
from petra.cli.workload import parsed, unknown_keys, with_workload, workload_of
from petra.kernel.explain import explain
from petra.kernel.human import actions_of
from petra.kernel.waiting import Awaited, WorkItem
from petra.library import gather
from petra.playbook import Playbook, Reading
from petra.playbook.problems import problem_data
from petra.testing.scripts import Scripted
from petra.testing.story import value
from petra.testing.walk import (
    HOUR_S,
    Chance,
    EndOfWalkError,
    Sight,
    Walk,
    WalkReply,
    failure,
    ok,
)

_COLUMNS = 80
_INDENT = " " * 17


@click.command("simulate")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--seed", type=int, default=0, show_default=True, help="Another seed, another walk.")
@click.option(
    "--steps",
    type=click.IntRange(min=1),
    default=200,
    show_default=True,
    metavar="N",
    help="Stop after N firings.",
)
@click.option("-i", "--interactive", is_flag=True, help="Ask for every outcome.")
@with_workload
@library_option
@as_json
def command(
    file: Path,
    *,
    seed: int,
    steps: int,
    interactive: bool,
    workload: str,
    sets: tuple[str, ...],
    library: tuple[Path, ...],
    output: str,
) -> None:
    """Walk through a playbook, showing the marking after each firing. No tool is run.

    Outcomes of tools, answers of people and signals are made up, by dice with a seed, or asked for with -i.
    """
    if interactive and output == "json":
        raise click.UsageError("'-i' talks to a person; leave '-o json' out")
    values = workload_of(workload, sets)
    playbook = _usable(load(file), output)
    beside = gather(file, playbook, library, read=load)
    for reading in beside.faulty:
        _usable(reading, output)
    for words in unknown_keys(playbook, values):
        tell(f"warning: {words}", err=True)
    seen: list[dict[str, Any]] = []
    silent = output == "json"
    walk = Walk(
        playbook,
        PersonAtTerminal() if interactive else Chance(playbook, seed),
        seed=seed,
        firings_max=steps,
        see=(lambda sight: seen.append(sight.as_data())) if silent else _print_sight,
        note=(lambda _at_s, _words: None) if silent or interactive else _print_note,
        beside=beside,
    )
    stopped = walk.go(values)
    if silent:
        print_json(_as_data(walk, seed, stopped, seen))
    else:
        _print_end(walk, stopped)
    sys.exit(1 if walk.root.refused else 0)


def _usable(reading: Reading, output: str) -> Playbook:
    """Return a playbook that can run; otherwise say why not and leave."""
    if reading.playbook is None or not reading.ok:
        errors = [problem for problem in reading.problems if problem.severity == "error"]
        if output == "json":
            print_json(
                {"file": reading.name, "problems": [problem_data(problem) for problem in errors]}
            )
        else:
            for problem in errors:
                print_problem(problem, reading.lines, reading.name)
        sys.exit(1)
    return reading.playbook


def _as_data(walk: Walk, seed: int, stopped: str, seen: list[dict[str, Any]]) -> dict[str, Any]:
    status, reason = walk.status()
    return {
        "seed": seed,
        "records": seen,
        "firings": walk.firings,
        "status": status,
        "waiting_on": reason or None,
        "stopped": stopped or None,
        "elapsed_s": walk.elapsed_s,
        "output": walk.output,
        "ctx": walk.ctx,
    }


# Text


def _print_sight(sight: Sight) -> None:
    number = str(sight.firing) if sight.firing else ""
    _print(f"{number:>4} {sight.at_s:>8.1f} s  {sight.words}")
    if sight.firing:
        _print(f"{_INDENT}[{_marking(sight)}]", dim=True)
    for key, item in sight.ctx.items():
        _print(f"{_INDENT}ctx.{key} = {value(item)}")
    for sentence in sight.waits:
        _print(f"{_INDENT}{sentence}", colour="yellow")


def _marking(sight: Sight) -> str:
    places = [
        f"{step}.{place}" + (f" ×{number}" if number > 1 else "")
        for place, tokens in (("ready", sight.ready), ("running", sight.running))
        for step, number in tokens.items()
    ]
    return ", ".join(places) or "no tokens"


def _print_note(at_s: float, words: str) -> None:
    _print(f"     {at_s:>8.1f} s  · {words}")


def _print_end(walk: Walk, stopped: str) -> None:
    tell()
    root = walk.root
    if root.refused:
        _print(f"refused: {root.refused}")
        return
    status, reason = walk.status()
    if stopped:
        _print(stopped)
    elif not root.state.terminal:
        _print(explain(root.program, root.state).sentence)
    if root.state.output is not None:
        _print(f"output: {value(walk.output, 400)}")
    end = f"{status} ({reason})" if reason else status
    error = f": {root.state.error.message}" if root.state.error is not None else ""
    _print(f"{end}{error}, after {walk.elapsed_s:g} s and {walk.firings} firings")


def _print(line: str, *, dim: bool = False, colour: str | None = None) -> None:
    """Print a line in 80 columns, its rest further in."""
    indent = f"{_INDENT}  " if line.startswith(" ") else "  "
    for part in fold(line, min(width(), _COLUMNS), indent).split("\n"):
        tell(click.style(part, dim=dim, fg=colour))


# By hand


class PersonAtTerminal:
    """Choices by a person at the terminal; questions go to stderr."""

    asks_again = True

    def outcome(self, step: str, task: str, what: str) -> Scripted:  # noqa: ARG002 - words are enough
        """Ask for the outcome of a task."""
        words = f"{what}: ok [JSON], error [KIND], or quit"
        word, rest = _ask(words, ("ok", "error"), default="ok")
        if word == "error":
            return Scripted(failure(rest or "unknown"))
        return Scripted(ok(_json(rest)))

    def act(self, item: WorkItem) -> WalkReply:
        """Ask for what is done about a work item."""
        actions = [str(action) for action in actions_of(item)]
        title = item.spec.get("title") or "a work item"
        words = f"{item.step}, '{title}': {', '.join(actions)} [JSON], wait, or quit"
        word, rest = _ask(words, (*actions, "wait"), default=actions[0])
        if word == "wait":
            return WalkReply(after_s=HOUR_S)
        return WalkReply(word, _json(rest) if rest else item.spec.get("proposal"))

    def signal(self, step: str, wait: Awaited) -> WalkReply:
        """Ask whether a signal comes."""
        words = f"{step}, signal '{wait.name}': send [JSON], wait, or quit"
        word, rest = _ask(words, ("send", "wait"), default="send")
        return WalkReply("send", _json(rest)) if word == "send" else WalkReply(after_s=HOUR_S)


def _ask(words: str, known: tuple[str, ...], *, default: str) -> tuple[str, str]:
    """Ask until the answer begins with a known word."""
    while True:
        answer = str(click.prompt(f"? {words}", default=default, err=True)).strip()
        word, _, rest = answer.partition(" ")
        if word in ("quit", "q"):
            raise EndOfWalkError("stopped by hand")
        if word in known and _is_json(word, rest):
            return word, rest.strip()
        tell(f"  '{answer}' is none of {', '.join(known)}, or has no JSON after it", err=True)


def _is_json(word: str, rest: str) -> bool:
    if word in ("error", "wait") or not rest.strip():
        return True
    try:
        parsed(rest)
    except ValueError:
        return False
    return True


def _json(text: str) -> Any:
    return json.loads(text) if text else None
