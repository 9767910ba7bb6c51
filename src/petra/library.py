"""The library: the playbooks in some folders, which others call by path or by name (S16).

Rule 1: a call names ``metadata.path``, else ``metadata.name``; the name of the file says nothing.
Rule 2: of a file in a folder only its head is looked at, and only if it holds the words that are looked for.
Rule 3: whoever keeps playbooks elsewhere says so with a ``Catalogue``; where there is none yet, nobody can say that a
playbook is missing, and a call that leads nowhere is a warning.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from petra.playbook import Playbook, Reading
from petra.playbook.model import Task
from petra.playbook.problems import Problem, Problems, did_you_mean
from petra.playbook.tree import Map
from petra.playbook.yaml12 import TEXT_BYTES_MAX, parse

Catalogue = Callable[[str, str | None], bool]
"""Tells whether a playbook of that path or name, and of that version if one is given, is kept somewhere."""
_TEMPLATE = ("{{", "{%")
_SUFFIXES = (".yaml", ".yml")
_TESTS = (".test.yaml", ".test.yml")


class Head(NamedTuple):
    """What a file says about its playbook."""

    file: Path
    name: str
    path: str | None
    version: str | None

    def answers_to(self, path: str, version: str | None) -> bool:
        """Whether a call of that path means it."""
        return path in (self.path, self.name) and (version is None or version == self.version)


class Call(NamedTuple):
    """A task that calls a playbook whose path is written out."""

    place: tuple[str | int, ...]
    path: str
    version: str | None


class Library:
    """Playbooks in folders; those of an earlier folder come first, and in one folder those of an earlier file name."""

    def __init__(self, *folders: Path) -> None:
        self.folders = folders
        self._heads: dict[Path, Head | None] = {}

    def find(self, path: str, version: str | None = None) -> Path | None:
        """Return the file of the playbook with that path, else with that name, or None."""
        for folder in self.folders:
            found = [head for head in self._holding(folder, path) if head.answers_to(path, version)]
            found.sort(key=lambda head: head.path != path)
            if found:
                return found[0].file
        return None

    def heads(self) -> Iterator[Head]:
        """Yield what every file of the folders says about its playbook."""
        for folder in self.folders:
            yield from self._holding(folder, "")

    def _holding(self, folder: Path, words: str) -> Iterator[Head]:
        for file in sorted(folder.glob("*")):
            if file.suffix in _SUFFIXES and not file.name.endswith(_TESTS) and file.is_file():
                head = self._head(file, words)
                if head is not None:
                    yield head

    def _head(self, file: Path, words: str) -> Head | None:
        """Read the head of a file, once, when it is first seen to hold the words."""
        if file not in self._heads:
            raw = _content(file)
            if words.encode() not in raw:
                return None
            self._heads[file] = _head_of(file, raw)
        return self._heads[file]


def beside(file: Path) -> Library:
    """Return the library of a playbook: what lies in its folder."""
    return Library(file.parent)


def calls(playbook: Playbook) -> Iterator[Call]:
    """Yield the playbooks that a playbook calls; what a template says is known when it runs."""
    for number, step in enumerate(playbook.workflow):
        yield from _calls(step.tool, ("workflow", number, "tool"))
        if step.spec.compensate is not None:
            place = ("workflow", number, "spec", "compensate", "tool")
            yield from _calls(step.spec.compensate.tool, place)


def _calls(tasks: list[Task], place: tuple[str | int, ...]) -> Iterator[Call]:
    for number, task in enumerate(tasks):
        path, version = task.fields.get("path"), _text(task.fields.get("version"))
        if task.kind != "playbook" or not isinstance(path, str):
            continue
        if not any(sign in f"{path} {version}" for sign in _TEMPLATE):
            yield Call((*place, number, "path"), path, version)


def missing(
    reading: Reading, library: Library, catalogue: Catalogue | None = None
) -> list[Problem]:
    """Report every call of a playbook that is neither in the library nor in the catalogue; templates are not judged."""
    if reading.playbook is None:
        return []
    problems = Problems()
    softer = catalogue is None or reading.playbook.api_version.startswith("noetl.io/")
    report = problems.warn if softer else problems.error
    for place, path, version in calls(reading.playbook):
        if _is_itself(reading.playbook, path, version) or library.find(path, version) is not None:
            continue
        if catalogue is None or not catalogue(path, version):
            which = f"'{path}'" if version is None else f"'{path}' of version {version}"
            where = " or ".join(str(folder) for folder in library.folders)
            words = f"there is no playbook {which} in {where}"
            words += "" if catalogue is None else ", and none has been run here"
            report("P401", reading.at(*place), words, _next_move(library, path))
    return list(problems)


def _is_itself(playbook: Playbook, path: str, version: str | None) -> bool:
    meta = playbook.metadata
    head = Head(Path(), meta.name, meta.path, _text(meta.version))
    return head.answers_to(path, version)


def _next_move(library: Library, path: str) -> str:
    """Say what is there, if that may have been meant; else how a playbook gets where it is found."""
    heads = list(library.heads())
    of_file = Path(path).name.removesuffix(".yaml").removesuffix(".yml")
    for head in heads:
        if path in (head.path, head.name):
            return f"{head.file.name} has version {head.version or 'none'}"
        if head.file.stem == of_file:
            return f"the one in {head.file.name} is called '{head.path or head.name}'"
    names = [name for head in heads for name in (head.path, head.name) if name]
    near = did_you_mean(path, names)
    if near.startswith("did you"):
        return near
    return "put its file beside this one, or run it once on its own"


def _content(file: Path) -> bytes:
    try:
        with file.open("rb") as opened:
            return opened.read(TEXT_BYTES_MAX + 1)
    except OSError:
        return b""


def _head_of(file: Path, raw: bytes) -> Head | None:
    """Return what a file says about its playbook; None where it is none, or nobody can read it."""
    try:
        tree = parse(raw.decode("utf-8-sig"), Problems())
    except UnicodeDecodeError:
        return None
    metadata = tree.get("metadata") if isinstance(tree, Map) else None
    if not isinstance(metadata, Map) or tree.get("kind") != "Playbook":
        return None
    path = metadata.get("path")
    name = metadata.get("name")
    return Head(
        file,
        name if isinstance(name, str) else "",
        path if isinstance(path, str) else None,
        _text(metadata.get("version")),
    )


def _text(version: object) -> str | None:
    return None if version is None else str(version)
