"""``petra dev``: a server for a folder of playbooks that somebody works on."""

from __future__ import annotations

import asyncio
import re
import webbrowser
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from petra.cli.documents import document_in
from petra.cli.files import load
from petra.cli.output import as_json, tell
from petra.cli.place import folder_option
from petra.cli.serve import Serving, serve
from petra.desk.resources import Resources
from petra.desk.schedules import Schedules
from petra.desk.triggers import DeskTriggers
from petra.embedded import Home
from petra.errors import PetraError, UsageError
from petra.library import files_of
from petra.playbook.documents import AnyDocument, DocumentReading
from petra.playbook.schedule import Schedule
from petra.playbook.trigger import Trigger
from petra.playbook.yaml12 import TEXT_BYTES_MAX

LOOK_S = 0.5
"""How often it looks whether a file has changed."""
_SHOWN_LINES = 12
_KIND = re.compile(rb"""\bkind["']?\s*:\s*["']?(Playbook|Schedule|Trigger|Resource)\b""")

Stamp = tuple[int, int]


@click.command("dev")
@click.argument("folder", type=click.Path(path_type=Path), default=Path())
@click.option(
    "--port", type=click.IntRange(0, 65535), default=7777, show_default=True, help="0 takes a free one."
)  # fmt: skip
@click.option("--open", "opens", is_flag=True, help="Open the address in a browser.")
@folder_option
@as_json
def command(folder: Path, port: int, home: Path, output: str, *, opens: bool) -> None:
    """Serve a folder of playbooks on this machine: each is applied, schedules and triggers too, and again when its file changes."""
    if not folder.is_dir():
        raise UsageError(f"{folder} is no folder; give the one that your playbooks are in")

    async def beside(local: Home, url: str) -> None:
        if opens:
            await asyncio.to_thread(webbrowser.open, url)
        await keep_applied(local, folder, told=lambda line: tell(line, err=output == "json"))

    serve(Serving(port=port, home=home, output=output, beside=beside))


async def keep_applied(local: Home, folder: Path, told: Callable[[str], object]) -> None:
    """Apply what is in a folder, and what changes there, for ever."""
    known: dict[Path, Stamp] = {}
    while True:
        try:
            now = await asyncio.to_thread(stamps, folder)
        except OSError as error:  # the folder may be moved and come back
            told(f"{folder} cannot be read: {error.strerror}")
            now = {}
        changed = [file for file, stamp in now.items() if known.get(file) != stamp]
        meant = [file for file in changed if await asyncio.to_thread(is_document, file)]
        held = {file: await asyncio.to_thread(document_in, file) for file in meant}
        for file in sorted(
            meant, key=lambda file: held[file] is not None
        ):  # what they start is there by then
            told(await _applied(local, folder, file, held[file]))
        for file in known.keys() - now.keys():
            told(f"· {file.relative_to(folder)} is gone; what was applied of it stays")
        known = now
        await local.clock.sleep(LOOK_S)


def stamps(folder: Path) -> dict[Path, Stamp]:
    """Return the files of a folder that may hold playbooks, each with what tells one state of it from another."""
    times = {}
    for file in files_of(folder, deep=True):
        try:
            seen = file.stat()
        except OSError:
            continue  # it went while we looked
        times[file] = seen.st_mtime_ns, seen.st_size
    return times


def is_document(file: Path) -> bool:
    """Tell whether a file is meant to hold a playbook or another document, however wrong it may be."""
    try:
        with file.open("rb") as opened:
            return _KIND.search(opened.read(TEXT_BYTES_MAX)) is not None
    except OSError:
        return False  # it went while we looked


async def _kept(local: Home, document: AnyDocument) -> dict[str, Any]:
    """Apply a document that is no playbook."""
    if isinstance(document, Trigger):
        return await DeskTriggers(local.engine).apply(local.who, document)
    if isinstance(document, Schedule):
        return await Schedules(local.engine).apply(local.who, document)
    return await Resources(local.engine).apply(local.who, document)


async def _applied(
    local: Home, folder: Path, file: Path, held: DocumentReading | None = None
) -> str:
    """Apply a file; return what is said of that."""
    name = file.relative_to(folder)
    try:
        if held is not None:
            done = await _kept(local, held.checked())
        else:
            reading = await asyncio.to_thread(load, file)
            playbook = reading.checked()
            own = await local.engine.catalogue.own_text(playbook, reading.text)
            [done] = await local.desk.apply(local.who, [playbook], texts=[own])
    except (PetraError, OSError) as error:
        lines = str(error).splitlines()
        more = [f"  … {len(lines) - _SHOWN_LINES} more lines"] if len(lines) > _SHOWN_LINES else []
        shown = "\n".join([*(f"  {line}" for line in lines[:_SHOWN_LINES]), *more])
        return f"{click.style('✗', fg='red')} {name} is not applied\n{shown}"
    mark = "·" if done["unchanged"] else click.style("✓", fg="green")
    return f"{mark} {name}  {done['path']}"
