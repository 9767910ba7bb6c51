"""``petra run`` and ``petra watch``: start a playbook here, or take one up, and follow it."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path

import click
import msgspec

from petra.cli.files import library_option
from petra.cli.follow import Showing, Silent, follow, is_live, telling
from petra.cli.home import (
    EXIT,
    act,
    either,
    found_id,
    home_option,
    request_id,
    result_from,
    shown_data,
    whole_result,
)
from petra.cli.labels import label_option
from petra.cli.output import as_json, count, print_json
from petra.cli.ready import ready
from petra.cli.show import hint, summary
from petra.cli.workload import unknown_keys, with_workload, workload_of
from petra.clock import SystemClock
from petra.control import call
from petra.desk import Begin
from petra.desk.beside import beside
from petra.embedded import STORE, Local, Result, new_id
from petra.errors import UsageError
from petra.net.proof import Proof
from petra.playbook import Playbook, to_yaml
from petra.playbook.write import to_plain
from petra.values import digest

_LEFT = frozenset({"running", "compensating"})
_SHOWN = 5


@click.command("run")
@click.argument("file", type=click.Path(path_type=Path), required=False)
@with_workload
@click.option("--detach", is_flag=True, help="Start it and leave; 'petra watch' goes on with it.")
@click.option("--wait", "waits", is_flag=True, help="Stay while it waits for a person or a signal.")
@click.option("--resume", is_flag=True, help="Go on with what an earlier process left.")
@click.option(
    "--allow-unsound", is_flag=True, help="Start it although its net can get stuck or pile up."
)
@label_option
@library_option
@home_option
@as_json
def command(
    file: Path | None,
    home: Path,
    output: str,
    *,
    labels: dict[str, str],
    library: tuple[Path, ...],
    workload: str,
    sets: tuple[str, ...],
    detach: bool,
    waits: bool,
    resume: bool,
    allow_unsound: bool,
) -> None:
    """Start a playbook here, durably, and follow it until it ends or waits.

    Without FILE it goes on with what an earlier process left. Exit codes: 0 completed, 1 failed, 3 waiting, 4 stuck,
    130 interrupted; what is interrupted goes on with 'petra watch ID'.
    """
    if file is None or resume:
        if file is not None:
            raise click.UsageError("either a FILE or --resume; 'petra run' alone goes on too")
        _resume(home, output, waits=waits)
        return
    given = workload_of(workload, sets)
    playbook, proof, around = ready(
        file, output, home=home, allow_unsound=allow_unsound, library=library
    )
    for words in unknown_keys(playbook, given):
        click.echo(f"warning: {words}", err=True)
    begin = Begin(
        id=request_id(), execution="", playbook=to_yaml(playbook), workload=given, rest=False,
        allow_unsound=allow_unsound, labels=labels, beside=beside(around),
    )  # fmt: skip
    starting = _Starting(home, begin, playbook, proof, detach=detach, waits=waits, output=output)
    with _interruptible(starting.named):
        result = act(home, starting.go)
    _finish(home, result, output, code=0 if detach else None)


@dataclass(slots=True)
class _Starting:
    """Starts an execution with the home open, or in the process that has it open, and follows it.

    ``named`` has its id, once there is one: of our engine's own shards, where several engines share a store.
    """

    home: Path
    begin: Begin
    playbook: Playbook
    proof: Proof
    detach: bool
    waits: bool
    output: str
    named: list[str] = field(default_factory=list)

    async def go(self) -> Result:
        """Start it and follow it."""
        result = await either(self.home, self._here, self._there)
        if result is None:
            words = f"another petra has {self.home} open and runs it; this one looks on"
            click.echo(words, err=True)
            with telling(self.named[0], self.output, self.playbook.metadata.name) as view:
                result = await follow(self.home, self.named[0], view, waits=self.waits, fresh=True)
        return result

    def _begun(self, execution: str) -> Begin:
        self.named[:] = self.named or [execution]
        return msgspec.structs.replace(self.begin, execution=self.named[0])

    async def _here(self, local: Local) -> Result | None:
        if self.output != "json":
            await _tell_left(local)
        local.engine.proofs.know(digest(to_plain(self.playbook)), self.proof)
        begin = self._begun(local.new_id())
        execution = begin.execution
        fresh = await local.engine.store.execution(execution) is None
        reply = await local.carry_out(begin)
        if reply.refused:
            return result_from(reply)
        with telling(execution, self.output, self.playbook.metadata.name) as view:
            if self.detach:
                return result_from(reply)
            showing = Showing(execution, view, fresh=fresh)
            async with showing.of(local.engine.feed, local.engine.store):
                result = await local.desk.rest_for_long(local.who, execution, over=self.waits)
                await showing.reached(result.version)
            view.finish(result.status)
            return result

    async def _there(self) -> Result | None:
        reply = await call(self.home, self._begun(new_id(SystemClock())))
        if reply.error:
            raise UsageError(reply.error)
        return result_from(reply) if reply.refused or self.detach else None


async def _left(local: Local) -> list[str]:
    """Return the executions that an earlier process was not done with."""
    found: list[str] = []
    after = ""
    while page := await local.engine.store.live(after=after):
        found += [
            stored.row.id
            for stored in page
            if stored.row.status in _LEFT or stored.row.reason in ("timer", "child")
        ]
        after = page[-1].row.id
    return found


async def _tell_left(local: Local) -> None:
    if os.environ.get(STORE):
        return  # engines that share a store leave nothing to each other: they are running
    left = await _left(local)
    if left:
        words = f"going on with {count(len(left), 'execution')} that an earlier process left"
        click.echo(
            f"{words}: {', '.join(left[:_SHOWN])}{' …' if len(left) > _SHOWN else ''}", err=True
        )


@contextmanager
def _interruptible(named: list[str]) -> Iterator[None]:
    """Say how to go on after an interruption; ``named`` has the id, once there is one."""
    try:
        yield
    except KeyboardInterrupt:
        words = f"; nothing is lost: 'petra watch {named[0]}' goes on" if named else ""
        click.echo(f"\ninterrupted{words}", err=True)
        sys.exit(130)


def _finish(home: Path, result: Result, output: str, code: int | None = None) -> None:
    if output == "json":
        print_json(shown_data(whole_result(home, result)))
    else:
        _say(result, drawn=is_live() and code is None and result.status != "refused")
    sys.exit(EXIT.get(result.status, 1) if code is None else code)


def _say(result: Result, *, drawn: bool) -> None:
    """Say what it has come to; under a tree that was drawn, only what that does not show."""
    words = summary(result)
    if drawn:
        words = words.partition("\n")[2]
    if words:
        click.echo(words)
    if not drawn or result.reason != "human":
        hint(result)


# Going on


def _resume(home: Path, output: str, *, waits: bool) -> None:
    async def going_on(local: Local) -> list[Result]:
        left = await _left(local)
        if output != "json":
            _say_left(left)
        with telling(left[0], output, "") if len(left) == 1 else nullcontext(Silent()) as view:
            showing = Showing(left[0] if left else "", view)
            shown = showing.of(local.engine.feed, local.engine.store) if left else nullcontext()
            async with shown:
                ended = [local.desk.rest_for_long(local.who, one, over=waits) for one in left]
                results = list(await asyncio.gather(*ended))
                await showing.reached(results[0].version if results else 0)
            view.finish(results[0].status if results else "")
            return results

    async def there() -> list[Result]:
        raise UsageError(f"another petra has {home} open and goes on with everything in it")

    try:
        results = act(home, lambda: either(home, going_on, there))
    except KeyboardInterrupt:
        click.echo("\ninterrupted; nothing is lost: 'petra run' goes on", err=True)
        sys.exit(130)
    if output == "json":
        print_json([shown_data(whole_result(home, result)) for result in results])
    for result in results if output != "json" else ():
        _say(result, drawn=is_live() and len(results) == 1)
    sys.exit(max((EXIT.get(result.status, 1) for result in results), default=0))


def _say_left(left: list[str]) -> None:
    if not left:
        click.echo("nothing is left to go on with; 'petra run FILE' starts an execution")
    else:
        click.echo(f"going on with {count(len(left), 'execution')} that an earlier process left")


@click.command("watch")
@click.argument("execution", metavar="ID")
@click.option(
    "--wait",
    "--follow",
    "waits",
    is_flag=True,
    help="Stay while it waits for a person or a signal.",
)
@home_option
@as_json
def watch(execution: str, home: Path, output: str, *, waits: bool) -> None:
    """Go on with an execution that was interrupted or detached, and follow it.

    While another process has the home open, this one only looks on.
    """
    chosen = found_id(home, execution)

    async def following() -> Result:
        with telling(chosen, output) as view:
            return await follow(home, chosen, view, waits=waits)

    with _interruptible([chosen]):
        result = act(home, following)
    _finish(home, result, output)
