"""``petra apply`` and ``petra playbooks``: the playbooks that a home keeps, for those that call them (S16)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import click

from petra.cli.document_verbs import apply_documents
from petra.cli.documents import checked_documents, document_in
from petra.cli.files import library_option
from petra.cli.home import act, called, look, request_id, writing
from petra.cli.marks import applied_mark
from petra.cli.moments import local
from petra.cli.output import as_json, count, print_json, print_text, tell
from petra.cli.place import home_option
from petra.cli.ready import checked
from petra.clock import SystemClock
from petra.desk import Apply
from petra.engine.catalogue import Catalogue, applied_data, own_text, read_here
from petra.errors import UsageError
from petra.library import Library, files_of
from petra.playbook import Playbook, Reading, to_yaml
from petra.playbook.yaml12 import TEXT_BYTES_MAX
from petra.store.base import Store
from petra.store.rows import PlaybookRow as Row

_DIGEST = 12
"""So much of a digest is shown."""
_MOST = 1_000
_KIND = re.compile(
    rb"""^["']?kind["']?\s*:\s*["']?(Playbook|Schedule|Trigger|Resource)\b""", re.MULTILINE
)
"""A line that says so; where it begins, nothing but a key of the whole document can stand."""
PIECE_BYTES = 4 * 1024 * 1024
"""So much is sent to a server at once: as JSON it is more, and a body has 16 MiB."""


@click.command("apply")
@click.argument("paths", nargs=-1, required=True, metavar="FILE|DIR…")
@click.option(
    "--allow-unsound", is_flag=True, help="Store them although their nets can get stuck or pile up."
)
@library_option
@home_option
@as_json
def command(
    paths: tuple[str, ...],
    home: Path,
    output: str,
    *,
    allow_unsound: bool,
    library: tuple[Path, ...],
) -> None:
    """Store playbooks in the home, for 'kind: playbook' in any folder; schedules and triggers begin to work, resources count.

    A playbook that is applied again with another text is a new version; the one applied last is the current one.
    What has been started keeps the version it was started with. Nothing is stored if one of them has errors.
    """
    documents = checked_documents(paths, output)
    files = list(_files(paths, others=bool(documents)))
    shelves = [*library, *_dirs(paths)]
    readings = {
        file: checked(file, output, home=home, allow_unsound=allow_unsound, library=shelves).reading
        for file in files
    }
    _refuse_twins({file: reading.checked() for file, reading in readings.items()})
    done = _applied(home, list(readings.values()), allow_unsound=allow_unsound) if files else []
    done += apply_documents(home, documents)
    if output == "json":
        print_json({"applied": done})
        return
    for applied in done:
        mark = applied_mark("applied", unchanged=applied["unchanged"])
        tell(
            f"{mark}  {_named(applied['path'], applied['version'])}  {applied['digest'][:_DIGEST]}"
        )


def _applied(home: Path, readings: list[Reading], *, allow_unsound: bool) -> list[dict[str, Any]]:
    """Store playbooks, with the texts of their authors; return what became of each."""
    books, texts = (
        [reading.checked() for reading in readings],
        [reading.text for reading in readings],
    )

    async def here(store: Store) -> list[dict[str, Any]]:
        catalogue = Catalogue(store, SystemClock())
        done = []
        for book, text in zip(books, texts, strict=True):
            own = await catalogue.own_text(book, text)
            done.append(applied_data(await catalogue.apply(book, text=own)))
        return done

    async def there() -> list[dict[str, Any]]:
        pairs = zip(books, texts, strict=True)
        sent = [await own_text(read_here, *pair) or to_yaml(pair[0]) for pair in pairs]
        done = []
        for piece in pieces(sent):
            request = Apply(
                id=request_id(), execution="", playbooks=piece, texts=[""] * len(piece), allow_unsound=allow_unsound
            )  # fmt: skip
            reply = await called(home, request)
            if reply.error or reply.result is None:
                raise UsageError(reply.error)
            done += list(reply.result["applied"])
        return done

    return act(home, lambda: writing(home, here, there))


def pieces(texts: Sequence[str], most: int = PIECE_BYTES) -> list[list[str]]:
    """Return texts in their order, in pieces of so many bytes at most, or of one text."""
    rounds: list[list[str]] = []
    room = 0
    for text in texts:
        size = len(text.encode())
        if not rounds or size > room:
            rounds.append([])
            room = most
        rounds[-1].append(text)
        room -= size
    return rounds


def _dirs(paths: Iterable[str]) -> list[Path]:
    return [Path(path) for path in paths if Path(path).is_dir()]


def _files(paths: tuple[str, ...], *, others: bool) -> Iterable[Path]:
    """Yield the files that are meant: files as given, and of folders those that hold playbooks."""
    for named in paths:
        path = Path(named)
        if not path.is_dir():
            if document_in(path) is None:
                yield path
            continue
        good = {head.file for head in Library(shelves=[path]).heads()}
        files = [file for file in files_of(path, deep=True) if file in good or _is_broken(file)]
        if not files and not others:
            raise click.UsageError(f"there is no playbook in {named}; they end in .yaml or .yml")
        yield from files


def _is_broken(file: Path) -> bool:
    """Tell whether a file says that it is a document, though nobody can read it as one: what is wrong is to be said."""
    try:
        with file.open("rb") as opened:
            said = _KIND.search(opened.read(TEXT_BYTES_MAX)) is not None
    except OSError:
        return False
    return said and document_in(file) is None


def _refuse_twins(books: dict[Path, Playbook]) -> None:
    known: dict[str, Path] = {}
    for file, book in books.items():
        path = book.metadata.path or book.metadata.name
        if path in known:
            raise click.UsageError(
                f"{known[path]} and {file} are both '{path}'; 'metadata.path' tells them apart"
            )
        known[path] = file


@click.command("playbooks")
@click.argument("path", required=False)
@home_option
@click.option(
    "-o",
    "--output",
    type=click.Choice(["text", "json", "yaml"]),
    default="text",
    help="How to print the result; yaml is the text of PATH as it was applied.",
)
def playbooks(path: str | None, home: Path, output: str) -> None:
    """List the playbooks that are applied; with PATH, all versions of one, the current one first."""
    if output == "yaml":
        print_text(_text(home, path), end="")
        return

    async def asking(store: Store, _: Any) -> list[Row]:
        if path is not None:
            return await store.playbook_versions(path, limit=_MOST)
        return await store.playbooks(limit=_MOST)

    rows = look(home, asking)
    if path is not None and not rows:
        raise _unknown(path)
    if output == "json":
        print_json([_data(row) for row in rows])
        return
    for row in rows:
        shown = _named(row.path, row.version)
        tell(f"{row.digest[:_DIGEST]}  {local(row.applied):%Y-%m-%d %H:%M}  {shown}")
    if not rows:
        tell("no playbook is applied here; 'petra apply FILE' does it")
    elif len(rows) == _MOST:
        tell(f"the first {count(_MOST, 'playbook')}", err=True)


def _text(home: Path, path: str | None) -> str:
    """Return the current text of a playbook as its author wrote it."""
    if path is None:
        raise click.UsageError("'-o yaml' prints one text: name its PATH")

    async def asking(store: Store, _: Any) -> Row | None:
        return await store.find_playbook(path)

    row = look(home, asking)
    if row is None:
        raise _unknown(path)
    return row.written.decode()


def _unknown(path: str) -> UsageError:
    return UsageError(f"no playbook is applied as '{path}'; 'petra playbooks' lists what is")


def _named(path: str, version: str) -> str:
    return f"{path}  version {version}" if version else path


def _data(row: Row) -> dict[str, Any]:
    return {
        "kind": "Playbook",
        "path": row.path,
        "name": row.name,
        "version": row.version,
        "digest": row.digest,
        "applied": row.applied,
    }
