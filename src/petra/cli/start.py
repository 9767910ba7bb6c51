"""``petra start``: a playbook that is applied, by its path."""

from __future__ import annotations

from difflib import get_close_matches
from pathlib import Path

import click

from petra.cli.home import look, request_id
from petra.cli.labels import label_option, priority_option
from petra.cli.output import as_json, tell
from petra.cli.place import home_option, remote
from petra.cli.run import Starting, start_and_follow
from petra.cli.workload import unknown_keys, with_workload, workload_of
from petra.desk import Begin
from petra.errors import UsageError
from petra.playbook import read
from petra.store.address import DATABASE
from petra.store.base import Store
from petra.store.rows import PlaybookRow as Row

_MOST = 1_000
"""Playbooks, or versions of one, that are looked through."""


@click.command("start")
@click.argument("path")
@click.option(
    "--version", "version", metavar="V", help="A version of it; the one applied last when absent."
)
@with_workload
@click.option("--detach", is_flag=True, help="Start it and leave; 'petra watch' goes on with it.")
@click.option(
    "--wait", "waits", is_flag=True, help="Stay while it waits: for a person, a signal, or time."
)
@click.option("--only", is_flag=True, help="Leave alone what an earlier process left here.")
@label_option
@priority_option
@home_option
@as_json
def command(
    path: str,
    home: Path,
    output: str,
    *,
    version: str | None,
    labels: dict[str, str],
    priority: int | None,
    workload: str,
    sets: tuple[str, ...],
    detach: bool,
    waits: bool,
    only: bool,
) -> None:
    """Start a playbook that is applied here, by its path, and follow it as 'petra run' does.

    PATH is its 'metadata.path', or its name where it has none; 'petra playbooks' lists what is applied. What it calls is
    found among what is applied. Exit codes are those of 'petra run'.
    """
    values = workload_of(workload, sets)
    source = _applied(home, path, version)
    playbook = read(source, path, checks=False).checked()
    for words in unknown_keys(playbook, values):
        tell(f"warning: {words}", err=True)
    # It was judged when it was applied: whoever let it in although it is unsound meant that.
    begin = Begin(
        id=request_id(), execution="", playbook=source, workload=values, rest=False, allow_unsound=True, labels=labels,
        priority=priority,
    )  # fmt: skip
    start_and_follow(
        Starting(home, begin, playbook, None, detach=detach, waits=waits, only=only, output=output)
    )


def _applied(home: Path, path: str, version: str | None) -> str:
    """Return the text of a playbook that is applied under a path, or a name; otherwise say what there is."""

    async def asking(store: Store, _: object) -> tuple[list[Row], list[Row]]:
        return await store.playbook_versions(path, limit=_MOST), await store.playbooks(limit=_MOST)

    try:
        versions, all_of_them = look(home, asking)
    except UsageError:
        if remote(home) is not None or (home / DATABASE).exists():
            raise  # it is there, and something is wrong with it
        versions, all_of_them = [], []
    if not versions and (named := [row for row in all_of_them if row.name == path]):
        if len(named) > 1:
            listed = ", ".join(f"'{row.path}'" for row in named)
            raise UsageError(f"several playbooks are called '{path}': {listed}; name the path")
        return _applied(home, named[0].path, version)
    chosen = next((row for row in versions if version in (None, row.version)), None)
    if chosen is not None:
        return chosen.source.decode()
    if versions:
        known = (
            ", ".join(f"'{row.version}'" for row in versions if row.version) or "none with a name"
        )
        raise UsageError(f"'{path}' has no version '{version}' here; there is {known}")
    if Path(path).is_file():
        raise UsageError(
            f"'{path}' is a file: 'petra run {path}' starts it, 'petra apply {path}' stores it"
        )
    near = get_close_matches(path, [row.path for row in all_of_them], n=1)
    hint = f"did you mean '{near[0]}'?" if near else "'petra apply FILE' does it"
    raise UsageError(f"no playbook is applied as '{path}'; {hint}")
