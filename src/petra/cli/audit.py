"""``petra audit``: what was done, by whom, from where, and what came of it; asked as ``petra user`` is."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from petra.accounts import Audit, Register
from petra.accounts.audit import NEWEST
from petra.accounts.shown import moment
from petra.cli.accounts import Body, done, say_rows
from petra.cli.calling import server_option
from petra.cli.output import as_json, print_json, tell
from petra.cli.place import folder_option
from petra.cli.verbs import Verbs


@click.group("audit", cls=Verbs)
def command() -> None:
    """Every act, log-in and refusal, chained by hash."""


@command.command("list")
@click.option("--after", type=click.IntRange(0), help="Those behind this entry, oldest first.")
@click.option("--limit", type=click.IntRange(1, 500), default=100, show_default=True)
@server_option
@folder_option
@as_json
def list_audit(
    after: int | None, limit: int, *, server: str | None, home: Path, output: str
) -> None:
    """List entries, newest first."""

    async def here(_: Register, audit: Audit) -> Body:
        before = NEWEST if after is None else None
        entries = await audit.entries(after=after or 0, before=before, limit=limit)
        return {"items": [{**entry, "at": moment(entry["at"])} for entry in entries]}

    behind = "" if after is None else f"after={after}&"
    call = ("GET", f"/audit?{behind}limit={limit}", None)
    items = done(home, server, here, call)["items"]
    if output == "json":
        print_json(items)
        return
    rows = [
        (
            str(entry["number"]), entry["at"], entry["actor"] or "-",
            f"{entry['act']}  {entry['outcome']} {entry['code'] or ''}".rstrip(),
        )
        for entry in items
    ]  # fmt: skip
    say_rows(rows, "nothing was done yet")


@command.command("verify")
@server_option
@folder_option
@as_json
def verify_audit(server: str | None, home: Path, output: str) -> None:
    """Prove that the audit is as it was written."""

    async def here(_: Register, audit: Audit) -> Body:
        count, wrong = await audit.verify()
        return {"entries": count, "ok": not wrong, "problems": wrong[:100]}

    verdict = done(home, server, here, ("POST", "/audit/verify", {}))
    if output == "json":
        print_json(verdict)
    else:
        for problem in verdict["problems"]:
            tell(problem)
        entries = "1 entry" if verdict["entries"] == 1 else f"{verdict['entries']:,} entries"
        tell(f"{entries}, {'all as written' if verdict['ok'] else 'not all as written'}")
    if not verdict["ok"]:
        sys.exit(1)
