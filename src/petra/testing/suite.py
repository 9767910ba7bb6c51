"""``kind: Test`` files: cases that run a playbook in virtual time and say what must come of it (S21)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from petra.errors import PetraError
from petra.folder_files import FolderFiles, read_file
from petra.kinds import BUILT_IN, KINDS
from petra.library import Gathered, gather
from petra.playbook import Playbook, Problem, Reading
from petra.playbook.decode import Decoder, plain
from petra.playbook.own_keys import OwnKeys
from petra.playbook.problems import START, Mark, Problems, did_you_mean, headline
from petra.playbook.read import read_tree
from petra.playbook.tree import Map, Seq, Tree
from petra.playbook.yaml12 import TEXT_BYTES_MAX, parse
from petra.testing.case_names import CaseNames
from petra.testing.case_sense import Sense
from petra.testing.words import ADDED, Expect, Happening, TestCase, TestFile


class TestError(PetraError):
    """A test file cannot be used; the message holds every problem."""

    __test__ = False  # not a test of pytest's


@dataclass(frozen=True, slots=True)
class Case:
    """One case, ready to run."""

    file: str
    name: str
    line: int
    playbook: Reading = field(repr=False)
    library: dict[str, Playbook] = field(repr=False)
    workload: dict[str, Any]
    seed: int
    stop_at_s: float | None
    """Virtual seconds after which it is looked at, whatever still goes on."""
    tools: dict[str, Any] = field(repr=False)
    """What tasks come to, by step."""
    world: list[Happening] = field(repr=False)
    expect: Expect = field(repr=False)
    readings: tuple[Reading, ...] = field(default=(), repr=False)
    """The playbooks it names: its own, then the library."""
    beside: Gathered = field(default_factory=Gathered, repr=False)
    """What lies beside its playbook, and may be called too."""


INLINE = "inline playbook"
"""The name of a playbook that stands inside a test file."""


@dataclass(slots=True)
class Suite:
    """A test file that was read."""

    file: str
    cases: list[Case] = field(default_factory=list)


class _Place(NamedTuple):
    """Where a case stands."""

    number: int
    at: Mark


class CaseLine(NamedTuple):
    """The name of a case, and the line where it begins."""

    name: str
    line: int


class _Outline(NamedTuple):
    """A test file whose playbooks nobody has read."""

    tree: Map
    cases: Seq
    file: TestFile

    def places(self) -> Iterator[tuple[Tree, TestCase, _Place]]:
        for index, (node, case) in enumerate(zip(self.cases, self.file.cases, strict=True)):
            yield node, case, _Place(index + 1, self.cases.item_at(index))


class _Keys(OwnKeys):
    """Test files have no keys of other grammars, but for what tools add to an outcome."""

    def __init__(self, problems: Problems) -> None:
        super().__init__(problems)
        self.any_kind = not KINDS.keys() <= BUILT_IN  # plug-ins may add what they like

    def is_free(self, struct: type[msgspec.Struct], key: str) -> bool:
        """Tell whether a key is what a kind adds to an outcome: that belongs to its script."""
        return super().is_free(struct, key) and (key in ADDED or self.any_kind)


def load_suite(
    path: str | Path, shelves: Sequence[str | Path] = (), *, confined: bool = False
) -> Suite:
    """Read a test file; playbooks may call what lies beside them, and what is in ``shelves``.

    One that is ``confined`` names nothing outside of its folder.

    Raises:
        TestError: it cannot be read, or has problems.
    """
    file, folders = Path(path), [Path(shelf) for shelf in shelves]
    return SuiteReader(file, _text(file), folders, confined=confined).suite()


def open_suite(path: Path) -> SuiteReader:
    """Read a test file in two steps: the names of its cases now, its playbooks when they are asked for.

    Raises:
        TestError: it cannot be read.
    """
    return SuiteReader(path, _text(path))


def _text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return file.read(TEXT_BYTES_MAX + 1).decode("utf-8-sig")
    except FileNotFoundError:
        names = sorted(file.name for file in path.parent.glob("*.test.y*ml"))
        known = f"; {hint}" if (hint := did_you_mean(path.name, names)) else ""
        raise TestError(f"{path}: there is no such file{known}") from None
    except OSError as error:
        raise TestError(f"{path}: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise TestError(f"{path}: not text in UTF-8") from None


def suite_problems(path: Path, text: str) -> tuple[Problem, ...]:
    """Return what is wrong with the text of a test file that would stand there, in the order of the text."""
    reader = SuiteReader(path, text)
    with suppress(TestError):
        reader.suite()
    for at, words in reader.broken:
        reader.problems.error("P008", at, f"the playbook cannot run: {words}", "mend it first")
    return tuple(reader.problems)


class SuiteReader:
    """Reads one test file and the playbooks it names."""

    def __init__(
        self, path: Path, text: str, shelves: Sequence[Path] = (), *, confined: bool = False
    ) -> None:
        self.path = path
        self.confined = confined
        self.shelves = shelves
        self.text = text
        self.problems = Problems()
        self.broken: list[tuple[Mark, str]] = []
        self.readings: dict[Path, Reading] = {}
        self.inline: dict[int, Reading] = {}
        """By the node that holds the playbook: a reading rewrites it, so it is read once."""

    def lines(self) -> list[CaseLine]:
        """Return its cases by name; the playbooks, and what has to fit them, are not looked at.

        Raises:
            TestError: the file has problems.
        """
        outline = self._outline
        self._raise()
        assert outline is not None, "otherwise there is a problem"
        return [CaseLine(_name(case, place), place.at.line) for _, case, place in outline.places()]

    def suite(self) -> Suite:
        """Read all of it, once, whoever asks again.

        Raises:
            TestError: the file, or a playbook, has problems.
        """
        suite = self._suite
        self._raise()
        return suite

    @cached_property
    def _suite(self) -> Suite:
        suite, outline = Suite(str(self.path)), self._outline
        if outline is not None:
            for node, case, place in outline.places():
                if isinstance(node, Map):
                    self._case(suite, outline.tree, node, case, place)
            self._unused(outline.tree, outline.cases)
        return suite

    def _raise(self) -> None:
        problems = [
            headline(problem, str(self.path))
            for problem in self.problems
            if problem.severity == "error"
        ]
        problems += [f"{self.path}:{at.line}:{at.column}: {words}" for at, words in self.broken]
        if problems:
            raise TestError("\n".join(problems))

    @cached_property
    def _outline(self) -> _Outline | None:
        tree = parse(self.text, self.problems)
        if isinstance(tree, Map):
            return self._root(tree)
        if not self.problems:
            self.problems.error(
                "P008", START, "this is not a test file", "it needs 'kind: Test' and 'cases'"
            )
        return None

    def _no_test(self, kind: Tree) -> tuple[str, str]:
        """Say what stands here instead of a test, and where the test is."""
        if kind != "Playbook":
            return "this is not a test file", "write 'kind: Test'"
        beside = self.path.with_name(f"{self.path.stem}.test.yaml")
        hint = f"that is {beside}" if beside.is_file() else "it has a file of its own: 'kind: Test'"
        return "this is a playbook, not a test of one", hint

    def _root(self, tree: Map) -> _Outline | None:
        if tree.get("kind") != "Test":
            self.problems.error("P107", tree.value_at("kind"), *self._no_test(tree.get("kind")))
            return None
        cases = tree.get("cases")
        if not isinstance(cases, Seq) or not cases:
            self.problems.error(
                "P102", tree.mark, "a test file needs 'cases'", "add at least one case"
            )
            return None
        Sense(self.problems).prepare(cases)
        decoder = Decoder(self.problems, _Keys(self.problems))
        return _Outline(tree, cases, decoder.struct(tree, TestFile, (), tree.mark))

    def _case(self, suite: Suite, root: Map, node: Map, case: TestCase, place: _Place) -> None:
        holder = node if node.get("playbook") is not None else root
        if holder.get("playbook") is None:
            self.problems.error(
                "P102",
                place.at,
                "the case has no 'playbook'",
                "name one here or at the head of the file",
            )
            return
        Sense(self.problems).check(node, case)
        at = holder.value_at("playbook")
        reading = self._playbook(holder["playbook"], at)
        library = self._library(node if node.get("library") is not None else root)
        if reading is None or reading.playbook is None:
            return
        beside = self._beside(holder["playbook"], reading.playbook, at)
        others = [("", reading.playbook) for reading in library if reading.playbook is not None]
        books = [*others, *beside.playbooks.items()]
        CaseNames(reading.playbook, books, self.problems).check(node)
        suite.cases.append(self._made(node, case, (reading, *library), beside, place))

    def _made(
        self,
        node: Map,
        case: TestCase,
        library: tuple[Reading, ...],
        beside: Gathered,
        place: _Place,
    ) -> Case:
        return Case(
            file=str(self.path),
            name=_name(case, place),
            line=place.at.line,
            playbook=library[0],
            library=_by_path(library),
            workload=case.workload or {},
            seed=case.seed or 0,
            stop_at_s=case.stop_at_s,
            tools=plain(node.get("tools") or {}),
            world=list(case.world or ()),
            expect=case.expect or Expect(),
            readings=library,
            beside=beside,
        )

    def _unused(self, root: Map, cases: Seq) -> None:
        """Report what stands at the head of the file, and every case has for itself."""
        for key in ("playbook", "library"):
            own = [isinstance(case, Map) and case.get(key) is not None for case in cases]
            if root.get(key) is not None and all(own):
                words = f"no case uses this '{key}': each has its own"
                self.problems.warn("P215", root.key_at(key), words, "remove it")

    # Playbooks

    def _playbook(self, written: Tree, at: Mark) -> Reading | None:
        if isinstance(written, Map):
            return self._usable(self._inline(written), at)
        if not isinstance(written, str):
            return None  # the grammar has said so
        return self._usable(self._file(self.path.parent / written), at)

    def _inline(self, written: Map) -> Reading:
        """Read a playbook that stands inside the test file: its problems are told where they stand there."""
        known = self.inline.get(id(written))
        if known is None:
            files = FolderFiles(self.path.parent)
            known = read_tree(written, self.text, INLINE, Problems(), files=files)
            self.inline[id(written)] = known
        return known

    def _file(self, path: Path) -> Reading:
        known = self.readings.get(path)
        if known is None:
            try:
                if self.confined and not path.resolve().is_relative_to(self.path.parent.resolve()):
                    raise FileNotFoundError(2, "it is outside of the folder")
                known = read_file(path)
            except OSError as error:
                problem = Problem(
                    severity="error",
                    code="P001",
                    line=1,
                    column=1,
                    message=f"cannot be read: {error.strerror}",
                )
                known = Reading(str(path), "", None, (problem,))
            self.readings[path] = known
        return known

    def _usable(self, reading: Reading, at: Mark) -> Reading | None:
        if reading.ok:
            return reading
        errors = [problem for problem in reading.problems if problem.severity == "error"]
        if reading.name == INLINE:  # their places are places in this file
            self.problems.extend(errors)
        else:
            told = [(at, headline(problem, reading.name)) for problem in errors]
            self.broken += [problem for problem in told if problem not in self.broken]
        return None

    def _beside(self, written: Tree, playbook: Playbook, at: Mark) -> Gathered:
        """Gather what lies beside a playbook; one that stands in the test file is taken to lie there."""
        file = self.path.parent / written if isinstance(written, str) else self.path
        gathered = gather(file, playbook, self.shelves, read=self._file)
        for reading in gathered.faulty:
            self._usable(reading, at)
        return gathered

    def _library(self, holder: Map) -> list[Reading]:
        listed = holder.get("library")
        problems = [
            self._playbook(written, holder.value_at("library"))
            for written in (listed if isinstance(listed, Seq) else ())
        ]
        return [reading for reading in problems if reading is not None]


def _name(case: TestCase, place: _Place) -> str:
    return case.name or f"case {place.number}"


def _by_path(readings: Iterable[Reading]) -> dict[str, Playbook]:
    """Index playbooks by name and by path; a path wins, and the case's own playbook comes first."""
    books = [reading.playbook for reading in readings if reading.playbook is not None]
    playbooks: dict[str, Playbook] = {}
    for book in books:
        playbooks.setdefault(book.metadata.name, book)
    for book in books:
        if book.metadata.path:
            playbooks[book.metadata.path] = book
    return playbooks
