"""Files of playbooks: finding them and reading them, with a problem instead of an exception."""

from __future__ import annotations

import errno
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

import click

from petra.folder_files import read_file
from petra.playbook import Reading
from petra.playbook.problems import START, Problems
from petra.playbook.yaml12 import TEXT_BYTES_MAX
from petra.plug_ins import entry_points

_SUFFIXES = frozenset({".yaml", ".yml"})
_SKIPPED = frozenset({".git", ".venv", "node_modules", "__pycache__", ".petra"})


def playbook_files(paths: Iterable[str]) -> Iterator[Path]:
    """Yield the files that are meant: files as given, and the playbooks below folders, sorted."""
    for named in paths:
        path = Path(named)
        if path.is_dir():
            yield from sorted(file for file in path.rglob("*") if _is_playbook(file))
        else:
            yield path


def _is_playbook(path: Path) -> bool:
    return (
        path.suffix in _SUFFIXES
        and not path.name.endswith((".test.yaml", ".test.yml"))
        and not _SKIPPED & set(path.parts)
        and path.is_file()
    )


library_option = click.option(
    "--library", type=click.Path(exists=True, file_okay=False, path_type=Path), multiple=True, metavar="DIR",
    help="Where playbooks that are called may lie too; with the folders in it.",
)  # fmt: skip


@cache
def learn_kinds() -> None:
    """Find the kinds of plug-ins, once; without any installed the tools are not even imported."""
    if entry_points("petra.tools"):
        from petra.tools.registry import learn_plug_ins  # noqa: PLC0415 - only where there are some

        learn_plug_ins()


def load(path: Path) -> Reading:
    """Read a playbook file; what keeps it from being read is a problem like any other."""
    learn_kinds()
    try:
        return read_file(path, _content(path))
    except OSError as error:
        problems = Problems()
        problems.error("P001", START, *_words(path, error))
        return Reading(str(path), "", None, tuple(problems))


def _content(path: Path) -> bytes:
    if path.is_fifo() or path.is_socket():  # opening it would wait for a writer
        raise OSError(errno.ESPIPE, "it is a pipe")
    with path.open("rb") as file:
        return file.read(TEXT_BYTES_MAX + 1)


_SHOWN = 3


def _words(path: Path, error: OSError) -> tuple[str, str]:
    if error.errno == errno.ENOENT:
        there = sorted(path.parent.glob("*.y*ml")) if path.parent.is_dir() else []
        names = [file.name for file in there if not file.name.endswith(".test.yaml")]
        from difflib import get_close_matches  # noqa: PLC0415 - only for a slip

        near = get_close_matches(path.name, names, n=1, cutoff=0.75)
        if near:
            return "there is no such file", f"did you mean {path.parent / near[0]}?"
        some = ", ".join(names[:_SHOWN]) + (" …" if len(names) > _SHOWN else "")
        return "there is no such file", f"there is {some}" if names else "check the path"
    if error.errno == errno.EISDIR:
        return "this is a folder", "name a file in it"
    if error.errno == errno.EACCES:
        return "the file may not be read", "check its permissions"
    return f"the file cannot be read: {error.strerror or error}", "check the path"
