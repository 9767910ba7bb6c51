"""``petra run`` and ``petra watch``: start a playbook here, or take one up, and follow it."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import NoReturn

import click
import msgspec
from msgspec import Struct, field

from petra.cli.files import library_option
from petra.cli.follow import Showing, follow, is_live, telling
from petra.cli.going_on import go_on, say
from petra.cli.home import (
    EXIT,
    INTERRUPTED,
    act,
    called,
    either,
    found_id,
    request_id,
    result_from,
    shown_data,
    whole_result,
)
from petra.cli.labels import label_option, priority_option
from petra.cli.left import Left, left_here
from petra.cli.output import as_json, print_json, tell
from petra.cli.place import home_option, remote
from petra.cli.ready import ready
from petra.cli.workload import unknown_keys, with_workload, workload_of
from petra.clock import SystemClock
from petra.desk import Begin
from petra.desk.starting import beside
from petra.embedded import STORE, Home, Result, new_id
from petra.engine.feed import Subscription
from petra.errors import UsageError
from petra.net.proof import Proof
from petra.playbook import Playbook, to_yaml
from petra.playbook.write import to_plain
from petra.values import digest


@click.command("run")
@click.argument("file", type=click.Path(path_type=Path), required=False)
@with_workload
@click.option("--detach", is_flag=True, help="Start it and leave; 'petra watch' goes on with it.")
@click.option(
    "--wait", "waits", is_flag=True, help="Stay while it waits: for a person, a signal, or time."
)
@click.option("--only", is_flag=True, help="Leave alone what an earlier process left here.")
@click.option("--resume", is_flag=True, help="Go on with what an earlier process left.")
@click.option(
    "--allow-unsound", is_flag=True, help="Start it although its net can get stuck or pile up."
)
@label_option
@priority_option
@library_option
@home_option
@as_json
def command(
    file: Path | None,
    home: Path,
    output: str,
    *,
    labels: dict[str, str],
    priority: int | None,
    library: tuple[Path, ...],
    workload: str,
    sets: tuple[str, ...],
    detach: bool,
    waits: bool,
    only: bool,
    resume: bool,
    allow_unsound: bool,
) -> None:
    """Start a playbook here, durably, and follow it until it ends or waits.

    Without FILE it goes on with what an earlier process left, until nothing can go on; with --wait until all of it has
    ended. Exit codes: 0 completed, 1 failed, 3 waiting, 4 stuck, 130 interrupted; what is interrupted goes on with
    'petra watch ID'.
    """
    if file is None or resume:
        if file is not None:
            raise click.UsageError("either a FILE or --resume; 'petra run' alone goes on too")
        if only or detach:
            raise click.UsageError("--only and --detach go with a FILE to start")
        if remote(home) is not None:
            raise click.UsageError("a server goes on by itself; give a FILE to start")
        go_on(home, output, waits=waits)
    values = workload_of(workload, sets)
    playbook, proof, around = ready(
        file, output, home=home, allow_unsound=allow_unsound, library=library
    )
    for words in unknown_keys(playbook, values):
        tell(f"warning: {words}", err=True)
    begin = Begin(
        id=request_id(), execution="", playbook=to_yaml(playbook), workload=values, rest=False,
        allow_unsound=allow_unsound, labels=labels, beside=beside(around), priority=priority,
    )  # fmt: skip
    starting = Starting(
        home, begin, playbook, proof, detach=detach, waits=waits, only=only, output=output, file=file
    )  # fmt: skip
    start_and_follow(starting)


def start_and_follow(starting: Starting) -> NoReturn:
    """Start it, say what came of it and leave."""
    home, output = starting.home, starting.output
    with _interruptible(starting.named):
        result = act(home, starting.go)
    if not starting.detach:
        _finish(home, result, output, file=starting.file)
    _finish(home, result, output, code=0, detached=starting.here)


def _say_detached(home: Path, execution: str) -> None:
    """Say that something must go on with what was only started."""
    words = (
        f"  nothing goes on with it unless a petra has {home} open: 'petra watch {execution}' goes on with it,"
        " 'petra run' with everything here"
    )
    tell(words)


class Starting(Struct):
    """Starts an execution with the home open, or in the process that has it open, and follows it.

    ``named`` has its id, once there is one: of our engine's own shards, where several engines share a store.
    """

    home: Path
    begin: Begin
    playbook: Playbook
    proof: Proof | None
    detach: bool
    waits: bool
    only: bool
    output: str
    file: Path | None = None
    """What was read, where it was a file."""
    here: bool = False
    """Whether nobody else has the home open."""
    named: list[str] = field(default_factory=list)

    async def go(self) -> Result:
        """Start it and follow it."""
        left = await left_here(self.home)
        opened = partial(self._here, left)
        only: list[str] | None = [] if self.only or self.detach else None
        result = await either(self.home, opened, self._there, only=only)
        if result is None:
            if remote(self.home) is None:
                words = f"another petra has {self.home} open and runs it; this one looks on"
                tell(words, err=True)
            with telling(self.named[0], self.output, self.playbook.metadata.name) as view:
                result = await follow(self.home, self.named[0], view, waits=self.waits, fresh=True)
        return result

    def _begun(self, execution: str) -> Begin:
        self.named[:] = self.named or [execution]
        return msgspec.structs.replace(self.begin, execution=self.named[0])

    async def _here(self, left: Left, local: Home) -> Result | None:
        if not self.only and not self.detach:
            left.tell_late()
            left.tell_going("'--only' leaves them alone")
        if self.proof is not None:
            local.engine.proofs.know(digest(to_plain(self.playbook)), self.proof)
        begin = self._begun(local.new_id())
        execution = begin.execution
        fresh = await local.engine.store.execution(execution) is None
        with local.engine.feed.subscribe(
            execution
        ) as heard:  # its first step may be over before we look
            reply = await local.carry_out(begin)
            if reply.refused or self.detach:
                self.here = not os.environ.get(STORE)
                return result_from(reply)
            return await self._shown(local, execution, heard, fresh=fresh)

    async def _shown(
        self, local: Home, execution: str, heard: Subscription, *, fresh: bool
    ) -> Result:
        with telling(execution, self.output, self.playbook.metadata.name) as view:
            showing = Showing(execution, view, fresh=fresh)
            async with showing.of(local.engine.feed, local.engine.store, heard):
                result = await local.desk.rest_for_long(local.who, execution, over=self.waits)
                await showing.reached(result.version)
            view.finish(result.status)
            return result

    async def _there(self) -> Result | None:
        reply = await called(self.home, self._begun(new_id(SystemClock())))
        if reply.error:
            raise UsageError(reply.error)
        return result_from(reply) if reply.refused or self.detach else None


@contextmanager
def _interruptible(named: list[str]) -> Iterator[None]:
    """Say how to go on after an interruption; ``named`` has the id, once there is one."""
    try:
        yield
    except KeyboardInterrupt:
        words = f"; nothing is lost: 'petra watch {named[0]}' goes on" if named else ""
        tell(f"\ninterrupted{words}", err=True)
        sys.exit(INTERRUPTED)


def _finish(
    home: Path,
    result: Result,
    output: str,
    code: int | None = None,
    *,
    detached: bool = False,
    file: Path | None = None,
) -> NoReturn:
    if output == "json":
        print_json(shown_data(whole_result(home, result)))
    else:
        drawn = is_live() and code is None and result.status != "refused"
        say(result, drawn=drawn, file=file)
        if detached and result.status not in EXIT:
            _say_detached(home, result.id)
    sys.exit(EXIT.get(result.status, 1) if code is None else code)


@click.command("watch")
@click.argument("execution", metavar="ID")
@click.option(
    "--wait",
    "--follow",
    "waits",
    is_flag=True,
    help="Stay while it waits: for a person, a signal, or time.",
)
@home_option
@as_json
def watch(execution: str, home: Path, output: str, *, waits: bool) -> None:
    """Go on with an execution that was interrupted or detached, and follow it.

    What else was left here is left alone. While another process has the home open, this one only looks on.
    """
    chosen = found_id(home, execution)

    async def following() -> Result:
        (await left_here(home)).tell_late([chosen])
        with telling(chosen, output) as view:
            return await follow(home, chosen, view, waits=waits)

    with _interruptible([chosen]):
        result = act(home, following)
    _finish(home, result, output)
