"""``petra bulk``: one act on many executions of a server, counted before it is done."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any
from urllib.parse import quote

import click

from petra.cli.calling import namespace_option, server_option, there
from petra.cli.labels import which_options
from petra.cli.output import as_json, count, print_json, tell
from petra.cli.place import folder_option

ACTS = ("cancel", "pause", "resume", "rerun")
LOOK_S = 0.2
_SHOWN_MAX = 20

Body = dict[str, Any]


@click.command("bulk")
@click.argument("act", type=click.Choice(ACTS))
@click.argument("executions", nargs=-1, metavar="[ID]...")
@which_options
@click.option("--text", default="", metavar="WORDS", help="Only with these words.")
@click.option("--since", metavar="TIME", help="Only those that began then or later.")
@click.option("--until", metavar="TIME", help="Only those that began before.")
@click.option("--from", "step", default="", metavar="STEP", help="rerun: the step to begin with.")
@click.option("--reason", default="", help="Why; it is kept in their logs.")
@click.option("--dry-run", is_flag=True, help="Only say how many there are.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@server_option
@namespace_option
@folder_option
@as_json
def command(
    act: str,
    executions: tuple[str, ...],
    *,
    server: str | None,
    namespace: str,
    home: Path,
    output: str,
    **more: Any,
) -> None:
    """Act on the executions that are named, or on all that the options find; how many is said first.

    A server does it, and goes on with it after a restart: the one that is named, or the one that serves the home.
    Exits with 1 where it failed for one of them.
    """
    body = {"act": act, "reason": more["reason"], "from": more["step"], **_which(executions, more)}

    def ask(*parameters: str) -> Any:
        path = f"/operations?{'&'.join((f'namespace={quote(namespace)}', *parameters))}"
        return asyncio.run(there(home, server, "POST", path, body))

    total = ask("dry_run=true")["total"]
    words = f"{count(total, 'execution')} to {act}"
    if more["dry_run"]:
        print_json({"act": act, "total": total}) if output == "json" else tell(words)
        return
    if not more["yes"]:
        tell(words, err=True)
        click.confirm("do it?", abort=True, err=True)
    done = asyncio.run(_over(home, server, namespace, ask()["id"]))
    print_json(done) if output == "json" else _show(act, done)
    sys.exit(1 if done["failed"] else 0)


def _which(executions: tuple[str, ...], options: Body) -> Body:
    """Return which executions are meant: those that are named, or a filter."""
    filters = {key: options[key] for key in ("playbook", "text", "since", "until") if options[key]}
    if options["status"]:
        filters["status"] = list(options["status"])
    if options["labels"]:
        filters["label"] = [f"{key}:{value}" for key, value in options["labels"].items()]
    if bool(executions) == bool(filters):
        raise click.UsageError(
            "name executions, or say which with --status, --playbook, --label …; not both"
        )
    return {"ids": list(executions)} if executions else {"filter": filters}


def _show(act: str, done: Body) -> None:
    tell(f"{act}: {done['done']} done, {done['failed']} failed")
    for failure in done["failures"][:_SHOWN_MAX]:
        tell(f"  {failure['id']}: {failure['reason']}", err=True)


async def _over(home: Path, server: str | None, namespace: str, operation: str) -> Body:
    """Wait until an operation is over; return what came of it."""
    path = f"/operations/{quote(operation, safe='')}?namespace={quote(namespace)}"
    while True:
        page: Body = await there(home, server, "GET", path, None)
        if page["status"] != "running":
            return page
        await asyncio.sleep(LOOK_S)
