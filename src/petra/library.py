"""The library: the playbooks in some folders, which others call (S16).

Rule 1: what a call means is said in ``petra.playbook.company``: a file, seen from the caller's; ``metadata.path``; ``metadata.name``.
Rule 2: of a file in a folder only its head is looked at, and only if it holds the words that are looked for.
Rule 3: whoever keeps playbooks elsewhere says so with a ``Catalogue``; where there is none yet, nobody can say that a
playbook is missing, and a call that leads nowhere is a warning.
Rule 4: what a playbook may call is gathered before it starts: what it names, what those name, and so on; where a template
names it, everything around.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from msgspec import Struct, field

from petra.errors import UsageError
from petra.playbook import Playbook, Reading
from petra.playbook.calls import calls, calls_by_template, version_text
from petra.playbook.company import Companion, Company, fits, meant, places
from petra.playbook.problems import Problem, Problems, did_you_mean
from petra.playbook.tree import Map
from petra.playbook.yaml12 import TEXT_BYTES_MAX, parse
from petra.sightings import Sightings

COMPANY_MAX: Final = 256
"""So many playbooks can be gathered around one."""
Catalogue = Callable[[str, str | None], bool]
"""Tells whether a playbook of that path or name, and of that version if one is given, is kept somewhere."""
_SUFFIXES = (".yaml", ".yml")
_TESTS = (".test.yaml", ".test.yml")
_SKIPPED = frozenset({".git", ".venv", "node_modules", "__pycache__", ".petra"})


class FileHead(NamedTuple):
    """What a file says about its playbook; what it does not say is empty."""

    file: Path
    name: str
    path: str
    version: str


class Library:
    """Playbooks in folders; those of an earlier folder come first, and in one folder those of an earlier file name.

    The first folder is that of whoever calls. ``shelves`` are looked through with the folders in them.
    """

    def __init__(
        self, *folders: Path, shelves: Sequence[Path] = (), seen: Sightings | None = None
    ) -> None:
        """Make one; in ``seen`` it is noted what was looked at."""
        self._seen = seen if seen is not None else Sightings()
        self.folders = folders
        self.shelves = tuple(shelves)
        self._heads: dict[Path, FileHead | None] = {}

    def beside(self, file: Path) -> Library:
        """Return the library of another file, with the same shelves; what was read is not read again."""
        library = Library(file.parent, shelves=self.shelves, seen=self._seen)
        library._heads = self._heads
        return library

    def find(self, path: str, version: str | None = None) -> Path | None:
        """Return the file of the playbook that a call means, or None.

        One that is named and cannot be read is meant if no other is: whoever reads it says what is wrong.
        """
        named = map(Path, places(self.folders[0].as_posix(), path) if self.folders else ())
        files = [file for file in named if file.suffix in _SUFFIXES and self._seen.ask(Path.is_file, file)]  # fmt: skip
        for file in files:
            head = self._head(file, "")
            if head is not None and fits(head, version):
                return file
        for folder in (*self.folders, *self.shelves):
            texts = meant(list(self._holding(folder, path)), path, version)
            if texts is not None:
                return texts.file
        return next((file for file in files if self._head(file, "") is None), None)

    def heads(self) -> Iterator[FileHead]:
        """Yield what every file of the folders says about its playbook."""
        for folder in self.folders:
            yield from self._holding(folder, "")
        yield from self.shelved()

    def shelved(self) -> Iterator[FileHead]:
        """Yield those of the shelves."""
        for folder in self.shelves:
            yield from self._holding(folder, "")

    def _holding(self, folder: Path, words: str) -> Iterator[FileHead]:
        for file in self._seen.ask(_all_of, folder, folder in self.shelves):
            head = self._head(file, words)
            if head is not None:
                yield head

    def _head(self, file: Path, words: str) -> FileHead | None:
        """Read the head of a file, once, when it is first seen to hold the words."""
        if file not in self._heads:
            raw = self._seen.ask(_content, file)
            if words.encode() not in raw:
                return None
            self._heads[file] = _head_of(file, raw)
        return self._heads[file]


def files_of(folder: Path, *, deep: bool) -> Iterator[Path]:
    """Yield the files of a folder, and with ``deep`` of those in it, that may hold playbooks, sorted."""
    for file in sorted(folder.rglob("*") if deep else folder.glob("*")):
        may = file.suffix in _SUFFIXES and not file.name.endswith(_TESTS) and file.is_file()
        if may and not _SKIPPED & set(file.parts):
            yield file


def _all_of(folder: Path, deep: bool) -> list[Path]:  # noqa: FBT001 - as it is asked
    return list(files_of(folder, deep=deep))


def beside(file: Path, shelves: Sequence[Path] = (), seen: Sightings | None = None) -> Library:
    """Return the library of a playbook: what lies in its folder, and on the shelves."""
    return Library(file.parent, shelves=shelves, seen=seen)


class Gathered(Struct, frozen=True):
    """A playbook's place, and what it and those may call, by place: seen from its folder."""

    place: str = ""
    readings: dict[str, Reading] = field(default_factory=dict)
    shelved: frozenset[str] = frozenset()
    """The places of those that all of them find by path or name."""
    faulty: tuple[Reading, ...] = ()
    """What is called by name and cannot run."""
    named: frozenset[str] = frozenset()
    """The places of those that are called by name: a template may call the others, or never."""

    @property
    def playbooks(self) -> dict[str, Playbook]:
        """What may be called, by place."""
        found = self.readings.items()
        return {place: reading.playbook for place, reading in found if reading.playbook is not None}

    def company(self) -> Company | None:
        """Return it as those see it who call; None where there is nobody."""
        from petra.kernel.program import digest_of  # noqa: PLC0415 - who only looks need not know it

        members = [
            Companion(
                place=place, digest=digest_of(book), name=book.metadata.name, path=book.metadata.path or "",
                version=version_text(book.metadata.version) or "", shelved=place in self.shelved,
            )
            for place, book in self.playbooks.items()
        ]  # fmt: skip
        return Company(place=self.place, members=members) if members else None


def gather(
    file: Path, playbook: Playbook, shelves: Sequence[Path] = (), *, read: Callable[[Path], Reading], seen: Sightings | None = None
) -> Gathered:  # fmt: skip
    """Gather what a playbook may call; ``read`` reads a file, and in ``seen`` it is noted what was looked at.

    Raises:
        UsageError: there is too much of it.
    """
    library, readings = beside(file, shelves, seen), dict[str, Reading]()
    named: set[str] = set()
    todo = [(file, playbook)]
    while todo:
        caller, book = todo.pop()
        around = library.beside(caller)
        called = [around.find(path, version) for _, path, version in calls(book)]
        named |= {_place(file, one) for one in called if one is not None}
        every = [head.file for head in around.heads()] if calls_by_template(book) else []
        for callee in filter(None, [*called, *every]):
            if (place := _place(file, callee)) not in readings:
                readings[place] = reading = read(callee)
                todo += [(callee, reading.playbook)] if reading.playbook is not None else []
                if len(readings) > COMPANY_MAX:
                    raise UsageError(_too_many(file))
    good = {
        place: reading
        for place, reading in readings.items()
        if reading.ok and reading.playbook is not None
    }
    faulty = tuple(
        reading for place, reading in readings.items() if place in named and place not in good
    )
    shelved = {_place(file, head.file): None for head in library.shelved()} if good else {}
    order = [*(place for place in shelved if place in good), *sorted(good.keys() - shelved.keys())]
    return Gathered(
        place=file.name if good else "",
        readings={place: good[place] for place in order},
        shelved=frozenset(shelved) & good.keys(),
        faulty=faulty,
        named=frozenset(named & good.keys()),
    )


def _too_many(file: Path) -> str:
    return (
        f"{file} and what it calls may call more than {COMPANY_MAX} playbooks in files; 'petra apply' those that are"
        " called by a template, and keep them in another folder"
    )


def _place(root: Path, file: Path) -> str:
    return Path(os.path.relpath(file, root.parent)).as_posix()


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
            where = " or ".join(str(folder) for folder in (*library.folders, *library.shelves))
            words = f"there is no playbook {which} in {where}"
            words += "" if catalogue is None else ", and none is applied here"
            report("P401", reading.at(*place), words, _next_move(library, path))
    return list(problems)


def _is_itself(playbook: Playbook, path: str, version: str | None) -> bool:
    meta = playbook.metadata
    head = FileHead(Path(), meta.name, meta.path or "", version_text(meta.version) or "")
    return meant([head], path, version) is not None


def _next_move(library: Library, path: str) -> str:
    """Say what is there, if that may have been meant; else how a playbook gets where it is found."""
    heads = list(library.heads())
    of_file = Path(path).name.removesuffix(".yaml").removesuffix(".yml")
    for head in heads:
        if path in (head.path, head.name, head.file.name, head.file.stem):
            return f"{head.file.name} has version {head.version or 'none'}"
        if head.file.stem == of_file:
            return f"the one in {head.file.name} is called '{head.path or head.name}'"
    names = [name for head in heads for name in (head.path, head.name) if name]
    near = did_you_mean(path, names)
    if near.startswith("did you"):
        return near
    return "put its file beside this one, name its folder with --library, or 'petra apply' it"


def _content(file: Path) -> bytes:
    try:
        with file.open("rb") as opened:
            return opened.read(TEXT_BYTES_MAX + 1)
    except OSError:
        return b""


def _head_of(file: Path, raw: bytes) -> FileHead | None:
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
    return FileHead(
        file,
        name if isinstance(name, str) else "",
        path if isinstance(path, str) else "",
        version_text(metadata.get("version")) or "",
    )
