"""Verbs that steer an execution: each is one command, carried out here or by the process that has the home open."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeGuard, TypeVar

import click

from petra.cli.home import (
    EXIT,
    found_id,
    home_option,
    json_value,
    look,
    request,
    request_id,
    result_from,
    shown_data,
    whole_result,
)
from petra.cli.output import as_json, print_json
from petra.cli.show import hint, summary
from petra.cli.workload import workload_of
from petra.clock import SystemClock
from petra.desk import AnyRequest, Ask, Branch, Reply
from petra.embedded import Result, new_id, read_file, records_of
from petra.errors import UsageError
from petra.kernel import commands as c
from petra.kernel.events import AnyEvent, SignalReceived
from petra.playbook import to_yaml
from petra.store.base import Store
from petra.wire import Error

T = TypeVar("T")

execution_argument = click.argument("execution", metavar="ID")


def carry_out(home: Path, given: AnyRequest, output: str, *, follows: bool = False) -> None:
    """Have a request carried out, and show what the execution has come to.

    Exits with 0 when it was accepted; with ``follows``, as the execution ended.
    """
    reply = request(home, given)
    found = _tell(home, reply, output)
    sys.exit(1 if reply.refused else EXIT.get(found.status, 1) if follows else 0)


def _tell(home: Path, reply: Reply, output: str, came: Mapping[str, bool] | None = None) -> Result:
    """Show what the execution has come to; of a signal that ``came``, whether anybody waited for it."""
    found = result_from(reply)
    if output == "json":
        told = shown_data(whole_result(home, found))
        print_json({**told, "refused": reply.refused or None, **(came or {})})
        return found
    if reply.refused:
        click.echo(f"refused: {reply.refused}", err=True)
    if came and not came["waited"]:
        then = "it is kept for the first that does" if came["kept"] else "it is lost"
        click.echo(f"nobody waits for this signal now; {then}", err=True)
    click.echo(summary(found))
    hint(found)
    return found


def _steer(home: Path, execution: str, command: c.CallerCommand, output: str) -> None:
    chosen = found_id(home, execution)
    carry_out(home, Ask(id=request_id(), execution=chosen, command=command), output)


@click.command("signal")
@execution_argument
@click.argument("name")
@click.option("--payload", metavar="JSON", help="What comes with it.")
@click.option("--key", help="Whom it is for.")
@home_option
@as_json
def signal(
    execution: str, name: str, home: Path, output: str, *, payload: str | None, key: str | None
) -> None:
    """Send a signal to an execution."""
    data = json_value(payload, "--payload") if payload is not None else None
    chosen = found_id(home, execution)
    before = look(home, lambda store, _: _version(store, chosen))
    sent = c.SendSignal(now=0.0, name=name, key=key, payload=data)
    reply = request(home, Ask(id=request_id(), execution=chosen, command=sent))
    news = look(home, lambda store, _: records_of(store, chosen, before))
    came = next((one.event for one in news if _is_that(one.event, sent)), None)
    _tell(
        home,
        reply,
        output,
        {} if came is None else {"waited": came.run is not None, "kept": came.kept},
    )
    sys.exit(1 if reply.refused else 0)


async def _version(store: Store, execution: str) -> int:
    stored = await store.execution(execution)
    return stored.version if stored is not None else 0


def _is_that(event: AnyEvent, sent: c.SendSignal) -> TypeGuard[SignalReceived]:
    return isinstance(event, SignalReceived) and (event.name, event.key) == (sent.name, sent.key)


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
@click.option("--ok", "result", metavar="JSON", help="Let it have succeeded with this result.")
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
    made = {}
    for pair in pairs:
        old, equals, new = pair.partition("=")
        if not (old and equals and new):
            raise UsageError(f"--map takes OLD=NEW, not '{pair}'")
        made[old] = new
    return made


map_option = click.option(
    "--map", "renamed", metavar="OLD=NEW", multiple=True, callback=_renamed,
    help="A step that is called otherwise in the playbook to go on with.",
)  # fmt: skip


def _changed(command: Callable[..., T]) -> Callable[..., T]:
    """Let a new execution with an old past differ from it."""
    playbook = click.option(
        "--playbook", type=click.Path(exists=True, dir_okay=False, path_type=Path), metavar="FILE",
        help="Go on with this playbook; the past must fit it.",
    )  # fmt: skip
    pairs = click.option(
        "--set", "pairs", metavar="K=V", multiple=True, help="Another value of the workload."
    )
    reason = click.option("--reason", default="", help="Why; it is kept in the log.")
    return playbook(map_option(pairs(reason(command))))


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
    playbook: Path | None,
    pairs: tuple[str, ...],
    renamed: dict[str, str],
    **asked: Any,
) -> None:
    """Begin a new execution with an old past; a refusal leaves none behind."""
    given = Branch(
        id=request_id(), execution=new_id(SystemClock()), origin=found_id(home, execution),
        playbook=to_yaml(read_file(playbook)) if playbook is not None else "",
        renamed=renamed, workload=workload_of("", pairs) if pairs else None, **asked,
    )  # fmt: skip
    carry_out(home, given, output, follows=True)
