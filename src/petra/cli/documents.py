"""Files that hold no playbook but a document of another kind: a schedule, a trigger, a resource. Finding and reading them."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click

from petra.cli.output import print_json, print_problem
from petra.library import Library, files_of
from petra.playbook import Reading
from petra.playbook.problems import Problem, Problems, problem_data
from petra.playbook.yaml12 import TEXT_BYTES_MAX

if TYPE_CHECKING:  # who runs a playbook loads no calendar
    from petra.playbook.documents import AnyDocument, DocumentReading
    from petra.playbook.schedule import Schedule
    from petra.playbook.trigger import Trigger

D = TypeVar("D", "Schedule", "Trigger")


def document_in(path: Path) -> DocumentReading | None:
    """Read a document; None where the file holds none, or cannot be read."""
    from petra.playbook.documents import kind_in, read_document  # noqa: PLC0415 - see above

    text = _text_in(path)
    return read_document(text, str(path)) if kind_in(text) else None


def _text_in(path: Path) -> str:
    """Return the text of a file; nothing where it cannot be read: that is for others to say."""
    if not path.is_file():
        return ""  # a pipe would wait for a writer
    try:
        with path.open("rb") as file:
            raw = file.read(TEXT_BYTES_MAX + 1)
        text = raw.decode("utf-8-sig")
    except (OSError, UnicodeDecodeError):
        return ""
    return text if len(raw) <= TEXT_BYTES_MAX else ""


def documents_of(paths: Iterable[str]) -> Iterator[DocumentReading]:
    """Yield the documents that are meant: files as given, and those below folders."""
    for place in map(Path, paths):
        for path in files_of(place, deep=True) if place.is_dir() else [place]:
            if path.is_file() and (document := document_in(path)) is not None:
                yield document


def checked_documents(paths: Iterable[str], output: str) -> list[AnyDocument]:
    """Return the documents that are meant; where one has errors, say so and leave."""
    documents = list(documents_of(paths))
    wrong = [
        document
        for document in documents
        if any(problem.severity == "error" for problem in document.problems)
    ]
    if output == "json" and wrong:
        files = [
            {
                "file": document.name,
                "problems": [problem_data(problem) for problem in document.problems],
            }
            for document in wrong
        ]
        print_json({"files": files})
    for document in wrong if output != "json" else ():
        for problem in document.problems:
            print_problem(problem, document.lines, document.name)
    if wrong:
        sys.exit(1)
    return [document.checked() for document in documents]


def good_document(path: Path, kind: type[D]) -> D | None:
    """Return the document in a file; where it has errors, say so and leave. None: what is given is no file, but a name.

    Raises:
        click.UsageError: the file holds no document of that kind.
    """
    reading = document_in(path) if path.is_file() else None
    if reading is None:
        if path.suffix in (".yaml", ".yml"):
            raise click.UsageError(f"there is no {kind.__name__.lower()} in {path}")
        return None
    if any(problem.severity == "error" for problem in reading.problems):
        for problem in reading.problems:
            print_problem(problem, reading.lines, reading.name, err=True)
        sys.exit(1)
    return reading.checked_as(kind)


def checked_in(path: Path, library: Library, home: Path) -> Reading | None:
    """Read a document with all that is wrong with it; None where the file holds none."""
    from petra.playbook.documents import is_notify  # noqa: PLC0415 - see above

    text = _text_in(path)
    if is_notify(text):
        from petra.notify.channels import notify_problems  # noqa: PLC0415 - few folders have one

        return Reading(str(path), text, None, notify_problems(text))
    document = document_in(path)
    if document is None:
        return None
    return Reading(document.name, document.text, None, _problems(document, library, home))


def _problems(document: DocumentReading, library: Library, home: Path) -> tuple[Problem, ...]:
    """Return what is wrong with a document; a playbook that is not there yet is warned of: it may be when it is due."""
    playbook = getattr(document.document, "playbook", "")
    if not playbook or library.find(playbook) is not None:
        return document.problems
    from petra.cli.catalogue import catalogue_of  # noqa: PLC0415 - most lie beside it

    catalogue = catalogue_of(home)
    if catalogue is not None and catalogue(playbook, None):
        return document.problems
    problems = Problems()
    problems.extend(document.problems)
    words = f"there is no playbook '{playbook}' beside it, and none is applied here"
    problems.warn(
        "P401", document.places.at("playbook"), words, "'petra apply' it before it is due"
    )
    return tuple(problems)
