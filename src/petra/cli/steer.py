"""Verbs that steer an execution: each is one command, carried out here or by the process that has the home open."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from petra.cli.definition import definition, own_playbook
from petra.cli.files import library_option
from petra.cli.home import (
    EXIT,
    find,
    found_id,
    look,
    request,
    request_id,
    result_from,
    shown_data,
    whole_result,
)
from petra.cli.output import as_json, print_json, tell
from petra.cli.place import home_option
from petra.cli.show import hint, summary
from petra.cli.workload import json_value, unknown_keys, workload_of
from petra.clock import SystemClock
from petra.desk import AnyRequest, Ask, ForkRequest
from petra.desk.result import awaited_signals
from petra.desk.starting import beside
from petra.embedded import new_id
from petra.engine.cache import Cache
from petra.errors import UsageError
from petra.kernel import commands as c
from petra.kernel.fold.waits import address
from petra.library import Gathered
from petra.playbook import to_yaml
from petra.store.base import Store
from petra.wire import Error

T = TypeVar("T")

execution_argument = click.argument("execution", metavar="ID")


def carry_out(
    home: Path, asked: AnyRequest, output: str, *, follows: bool = False, note: str = "", **told: Any
) -> None:  # fmt: skip
    """Have a request carried out, and show what the execution has come to.

    Exits with 0 when it was accepted; with ``follows``, as it ended. The note is for people, what is ``told`` for programs.
    """
    reply = request(home, asked)
    result = result_from(reply)
    if output == "json":
        shown = shown_data(whole_result(home, result))
        print_json({**shown, "refused": reply.refused or None, **told})
    else:
        if reply.refused:
            tell(f"refused: {reply.refused}", err=True)
        elif note:
            tell(note, err=True)
        tell(summary(result))
        hint(result)
    sys.exit(1 if reply.refused else EXIT.get(result.status, 1) if follows else 0)


def _steer(home: Path, execution: str, command: c.CallerCommand, output: str) -> None:
    chosen = found_id(home, execution)
    carry_out(home, Ask(id=request_id(), execution=chosen, command=command), output)


_SHOWN_MAX = 3


@click.command("signal")
@execution_argument
@click.argument("name")
@click.option("--payload", metavar="JSON|@FILE", help="What comes with it.")
@click.option("--key", help="Whom it is for.")
@home_option
@as_json
def signal(
    execution: str, name: str, home: Path, output: str, *, payload: str | None, key: str | None
) -> None:
    """Send a signal to an execution; one that nobody waits for yet is kept until somebody does."""
    data = json_value(payload, "--payload") if payload is not None else None
    chosen, note = look(home, lambda store, cache: _unexpected(store, cache, execution, name, key))
    command = c.SendSignal(now=0.0, name=name, key=key, payload=data)
    asked = Ask(id=request_id(), execution=chosen, command=command)
    carry_out(home, asked, output, note=note, waited=not note)


async def _unexpected(
    store: Store, cache: Cache, execution: str, name: str, key: str | None
) -> tuple[str, str]:
    """Return the id of an execution and, where nobody waits for a signal, who waits for which one."""
    state = (await find(store, cache, execution)).state
    awaited = [(one["step"], one["name"], one["key"]) for one in awaited_signals(state)]
    if any(_serves(waited, of, name, key) for _, waited, of in awaited):
        return state.id, ""
    said = [f"step '{step}' waits for {_signal(waited, of)}" for step, waited, of in awaited]
    shown = [*dict.fromkeys(said)][:_SHOWN_MAX]
    return state.id, "; ".join([f"nobody waits for {_signal(name, key)} now", *shown])


def _serves(waited: str, of: Any, name: str, key: str | None) -> bool:
    """Tell whether a signal ends a wait: one without a key takes any, and keys are compared as text (S15)."""
    return waited == name and (of is None or address(waited, of) == address(name, key))


def _signal(name: str, key: Any) -> str:
    return f"'{name}'" + (f" with key '{key}'" if key is not None else " without a key")


@click.command("patch")
@execution_argument
@click.argument("pairs", nargs=-1, required=True, metavar="K=V…")
@click.option("--reason", default="", help="Why.")
@home_option
@as_json
def patch(execution: str, pairs: tuple[str, ...], reason: str, home: Path, output: str) -> None:
    """Change ctx of an execution."""
    values = workload_of("", pairs)
    _steer(
        home,
        execution,
        c.PatchCtx(now=0.0, values=values, reason=reason),
        output,
    )


@click.command("pause")
@execution_argument
@home_option
@as_json
def pause(execution: str, home: Path, output: str) -> None:
    """Stop new firings of an execution."""
    _steer(home, execution, c.Pause(now=0.0), output)


@click.command("resume")
@execution_argument
@home_option
@as_json
def resume(execution: str, home: Path, output: str) -> None:
    """Let a paused execution go on."""
    _steer(home, execution, c.Resume(now=0.0), output)


@click.command("cancel")
@execution_argument
@click.option("--reason", default="cancelled", help="Why.")
@home_option
@as_json
def cancel(execution: str, reason: str, home: Path, output: str) -> None:
    """Stop everything an execution does; it ends aborted."""
    _steer(home, execution, c.Cancel(now=0.0, reason=reason), output)


@click.command("override")
@execution_argument
@click.argument("step")
@click.option(
    "--ok", "result", metavar="JSON|@FILE", help="Let it have succeeded with this result."
)
@click.option("--error", metavar="TEXT", help="Let it have failed with this message.")
@click.option("--reason", required=True, help="Why; it is kept in the log.")
@home_option
@as_json
def override(
    execution: str,
    step: str,
    home: Path,
    output: str,
    *,
    result: str | None,
    error: str | None,
    reason: str,
) -> None:
    """Decide the outcome of a step that runs, waits or is an incident."""
    value = json_value(result, "--ok") if result is not None else None
    failure = Error(message=error) if error is not None else None
    _steer(
        home, execution,
        c.Override(
            now=0.0, step=step, ok=failure is None, result=value, error=failure, reason=reason
        ),
        output,
    )  # fmt: skip


@click.command("retry")
@execution_argument
@click.argument("step")
@click.option("--reason", default="", help="Why; it is kept in the log.")
@home_option
@as_json
def retry(execution: str, step: str, reason: str, home: Path, output: str) -> None:
    """Have a step that is an incident run once more."""
    _steer(home, execution, c.Retry(now=0.0, step=step, reason=reason), output)


# A new execution with an old past


def _renamed(
    _context: click.Context, _option: click.Parameter, pairs: tuple[str, ...]
) -> dict[str, str]:
    """Read OLD=NEW pairs."""
    names = {}
    for pair in pairs:
        old, equals, new = pair.partition("=")
        if not (old and equals and new):
            raise UsageError(f"--map takes OLD=NEW, not '{pair}'")
        names[old] = new
    return names


map_option = click.option(
    "--map", "renamed", metavar="OLD=NEW", multiple=True, callback=_renamed,
    help="A step that is called otherwise in the playbook to go on with.",
)  # fmt: skip


def _changed(command: Callable[..., T]) -> Callable[..., T]:
    """Let a new execution with an old past differ from it."""
    playbook = click.option(
        "--playbook", metavar="FILE|VERSION",
        help="Go on with this playbook, or with a version that is applied; the past must fit it.",
    )  # fmt: skip
    pairs = click.option(
        "--set", "pairs", metavar="K=V", multiple=True, help="Another value of the workload."
    )
    reason = click.option("--reason", default="", help="Why; it is kept in the log.")
    return playbook(map_option(pairs(reason(library_option(command)))))


@click.command("rerun")
@execution_argument
@click.option("--from", "step", metavar="STEP", required=True, help="The step to begin with.")
@_changed
@home_option
@as_json
def rerun(execution: str, step: str, home: Path, output: str, **changed: Any) -> None:
    """Run again from a step: a new execution with the past up to its latest start.

    What the step needs is what it had then: ctx, results, the branch it was in. The old execution stays as it is.
    """
    _branch(home, execution, output, step=step, **changed)


@click.command("fork")
@execution_argument
@click.option(
    "--at", type=click.IntRange(min=1), metavar="SEQ", required=True,
    help="The last record of the past; 'petra events' numbers them.",
)  # fmt: skip
@_changed
@home_option
@as_json
def fork(execution: str, at: int, home: Path, output: str, **changed: Any) -> None:
    """Begin a new execution with the first records of another one.

    What was on its way at that record is handed out again. The old execution stays as it is.
    """
    _branch(home, execution, output, at=at, **changed)


def _branch(
    home: Path,
    execution: str,
    output: str,
    *,
    playbook: str | None,
    library: tuple[Path, ...],
    pairs: tuple[str, ...],
    renamed: dict[str, str],
    **asked: Any,
) -> None:
    """Begin a new execution with an old past; a refusal leaves none behind."""
    origin = found_id(home, execution)
    changed, around = (
        definition(home, origin, playbook, library) if playbook else (None, Gathered())
    )
    workload = workload_of("", pairs) if pairs else None
    for words in unknown_keys(changed or own_playbook(home, origin), workload or {}):
        tell(f"warning: {words}", err=True)
    given = ForkRequest(
        id=request_id(), execution=new_id(SystemClock()), origin=origin,
        playbook=to_yaml(changed) if changed is not None else "", beside=beside(around),
        renamed=renamed, workload=workload, **asked,
    )  # fmt: skip
    carry_out(home, given, output, follows=True)
