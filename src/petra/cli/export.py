"""``petra export``: the log of an execution in the words of other programs."""

from __future__ import annotations

from pathlib import Path

import click

from petra.cli.home import find, look
from petra.cli.output import print_text, tell
from petra.cli.place import home_option
from petra.embedded import records_of
from petra.engine.cache import Cache
from petra.engine.codec import status_of
from petra.errors import UsageError
from petra.export import FORMS, PROFILES, ExportedLog
from petra.store.base import Store


@click.command("export")
@click.argument("execution", metavar="ID")
@click.option(
    "-f", "--format", "form", type=click.Choice(list(FORMS)), default="json", show_default=True, help="The form."
)  # fmt: skip
@click.option(
    "--profile", type=click.Choice(list(PROFILES)), default="activities", show_default=True,
    help="xes: the life of each activity, or the firings of the net, for token replay.",
)  # fmt: skip
@click.option(
    "-o", "--output", type=click.Path(path_type=Path, dir_okay=False), help="A file; stdout without it, and with 'json'."
)  # fmt: skip
@home_option
def command(execution: str, home: Path, *, form: str, profile: str, output: Path | None) -> None:
    """Write the log of an execution for other programs.

    json: every record with its receipt. csv: a row per step run, for a spreadsheet. xes: for process mining;
    'petra graph -f pnml' writes the net that the profile 'firings' fits. ocel: OCEL 2.0.
    """

    async def asking(store: Store, cache: Cache) -> ExportedLog:
        entry = await find(store, cache, execution)
        records = await records_of(store, entry.state.id)
        status, _ = status_of(entry.program, entry.state)
        return ExportedLog(entry.state.id, entry.program.playbook, records, status)

    if output is not None and _no_file(str(output), form):
        output = None
    log = look(home, asking)
    text = PROFILES[profile](log) if form == "xes" else FORMS[form](log)
    if output is None:
        print_text(text, end="")
        return
    # a spreadsheet takes a file for UTF-8 only when it begins like this
    encoding = "utf-8-sig" if form == "csv" else "utf-8"
    try:
        with output.open("w", encoding=encoding, newline="") as file:
            file.write(text)
    except OSError as error:
        raise UsageError(f"{output} cannot be written: {error.strerror or error}") from None
    tell(f"wrote {output}", err=True)


def _no_file(name: str, form: str) -> bool:
    """Tell a form that stands where the file is named: ``-o json`` means the same as with every other verb.

    Raises:
        UsageError: it is not the form that is asked for.
    """
    if name not in (*FORMS, "text"):
        return False
    if name == form == "json":
        return True
    meant = f"write '-f {name}'" if name in FORMS else "leave it out for the terminal"
    raise click.UsageError(f"'-o' names a file here, and '{name}' is a form; {meant}")
