"""``kind: Test`` files: cases that run a playbook in virtual time and say what must come of it (S21)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from petra.errors import PetraError
from petra.folder_files import FolderFiles, read_file
from petra.library import Gathered, gather
from petra.playbook import Playbook, Problem, Reading
from petra.playbook.decode import Decoder, plain
from petra.playbook.grammar import fields_of
from petra.playbook.problems import START, Mark, Problems, did_you_mean, headline
from petra.playbook.read import read_tree
from petra.playbook.tree import Map, Tree
from petra.playbook.yaml12 import TEXT_BYTES_MAX, parse
from petra.testing.case_names import CaseNames
from petra.testing.words import Expect, Happening, TestCase, TestFile


class TestError(PetraError):
    """A test file cannot be used; the message holds every problem."""

    __test__ = False  # not a test of pytest's


@dataclass(frozen=True, slots=True)
class Case:
    """One case, ready to run."""

    file: str
    name: str
    line: int
    playbook: Reading
    library: dict[str, Playbook]
    workload: dict[str, Any]
    seed: int
    stop_at_s: float | None
    tools: dict[str, Any]
    world: list[dict[str, Any]]
    expect: Expect
    readings: tuple[Reading, ...] = ()
    """The playbooks it names: its own, then the library."""
    beside: Gathered = field(default_factory=Gathered)
    """What lies beside its playbook, and may be called too."""


INLINE = "inline playbook"
"""The name of a playbook that stands inside a test file."""


@dataclass(slots=True)
class Suite:
    """A test file that was read."""

    file: str
    cases: list[Case] = field(default_factory=list)


_ROOT = tuple(fields_of(TestFile))
_CASE = tuple(fields_of(TestCase))
_Types = Mapping[str, tuple[tuple[type, ...], str]]
_TYPES: _Types = {
    "workload": ((dict,), "a mapping"),
    "seed": ((int,), "a whole number"),
    "stop_at_s": ((int, float), "a number of seconds"),
    "tools": ((dict,), "a mapping of steps to outcomes"),
    "world": ((list,), "a list of what happens"),
    "library": ((list,), "a list of playbooks"),
}
_WORLD_TYPES: _Types = {
    "at_s": ((int, float), "a number of seconds"),
    "when_open": ((str,), "the name of a step"),
    "when_waiting": ((str,), "the name of a step"),
    "patch_ctx": ((dict,), "a mapping of keys to values"),
    "group": ((dict,), "a mapping such as {step: NAME, add: ITEM}"),
    "override": ((dict,), "a mapping such as {step: NAME, ok: RESULT}"),
    "roles": ((list,), "a list of roles"),
}
_NEEDED = ("at_s", "when_open", "when_waiting", "patch_ctx", "group", "override")
TRIGGERS = ("at_s", "when_open", "when_waiting")
_BESIDE = ("as", "roles", "item", "step", "execution", "desc")
_WORLD = tuple(fields_of(Happening))
ACTS = tuple(word for word in _WORLD if word not in (*TRIGGERS, *_BESIDE))


class _NoExtraKeys:
    """Test files have no keys of other grammars."""

    foreign = False

    def __init__(self, problems: Problems) -> None:
        self.problems = problems

    def enter(self, struct: type[msgspec.Struct], node: Map, path: Any, at: Mark) -> None:
        """Nothing to look at beforehand."""

    def take(
        self, _decoder: Decoder, struct: type[msgspec.Struct], node: Map, key: str, _path: Any
    ) -> bool:
        """Report every key that has no field."""
        self.problems.error(
            "P101", node.key_at(key), f"unknown key '{key}'", did_you_mean(key, fields_of(struct))
        )
        return False


def load_suite(path: Path, shelves: Sequence[Path] = ()) -> Suite:
    """Read a test file; playbooks may call what lies beside them, and what is in ``shelves``.

    Raises:
        TestError: it cannot be read, or has problems.
    """
    try:
        with path.open("rb") as file:
            text = file.read(TEXT_BYTES_MAX + 1).decode("utf-8-sig")
    except OSError as error:
        raise TestError(f"{path}: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise TestError(f"{path}: not text in UTF-8") from None
    return _Reader(path, text, shelves).suite()


def suite_problems(path: Path, text: str) -> tuple[Problem, ...]:
    """Return what is wrong with the text of a test file that would stand there, in the order of the text."""
    reader = _Reader(path, text)
    with suppress(TestError):
        reader.suite()
    for at, words in reader.broken:
        reader.problems.error("P008", at, f"the playbook cannot run: {words}", "mend it first")
    return tuple(reader.problems)


class _Reader:
    """Reads one test file and the playbooks it names."""

    def __init__(self, path: Path, text: str, shelves: Sequence[Path] = ()) -> None:
        self.path = path
        self.shelves = shelves
        self.text = text
        self.problems = Problems()
        self.broken: list[tuple[Mark, str]] = []
        self.readings: dict[Path, Reading] = {}
        self.inline: dict[int, Reading] = {}
        """By the node that holds the playbook: a reading rewrites it, so it is read once."""

    def suite(self) -> Suite:
        tree = parse(self.text, self.problems)
        suite = Suite(str(self.path))
        if isinstance(tree, Map):
            self._root(tree, suite)
        elif not self.problems:
            self.problems.error(
                "P008", START, "this is not a test file", "it needs 'kind: Test' and 'cases'"
            )
        self._raise()
        return suite

    def _raise(self) -> None:
        found = [
            headline(problem, str(self.path))
            for problem in self.problems
            if problem.severity == "error"
        ]
        found += [f"{self.path}:{at.line}:{at.column}: {words}" for at, words in self.broken]
        if found:
            raise TestError("\n".join(found))

    def _root(self, tree: Map, suite: Suite) -> None:
        self._known(tree, _ROOT, "a test file")
        self._typed(tree, _TYPES)
        if tree.get("kind") != "Test":
            self.problems.error(
                "P107", tree.value_at("kind"), "this is not a test file", "write 'kind: Test'"
            )
            return
        cases = tree.get("cases")
        if not isinstance(cases, list) or not cases:
            self.problems.error(
                "P102", tree.mark, "a test file needs 'cases'", "add at least one case"
            )
            return
        for index, node in enumerate(cases):
            at = cases.item_at(index)  # type: ignore[attr-defined]
            if isinstance(node, Map):
                case = self._case(tree, node, index, at)
                if case is not None:
                    suite.cases.append(case)
            else:
                self.problems.error(
                    "P103", at, "a case must be a mapping", "give it a 'name' and 'expect'"
                )

    def _known(self, node: Map, known: tuple[str, ...], what: str) -> None:
        for key in node:
            if key not in known:
                self.problems.error(
                    "P101",
                    node.key_at(key),
                    f"unknown key '{key}' in {what}",
                    did_you_mean(key, known),
                )

    def _case(self, root: Map, node: Map, index: int, at: Mark) -> Case | None:
        self._known(node, _CASE, "a case")
        self._typed(node, _TYPES)
        holder = node if "playbook" in node else root
        if "playbook" not in holder:
            self.problems.error(
                "P102", at, "the case has no 'playbook'", "name one here or at the head of the file"
            )
            return None
        reading = self._playbook(holder["playbook"], holder.value_at("playbook"))
        expect = self._expect(node, at)
        world = node.get("world") or []
        for number, item in enumerate(world):
            self._world(item, world.item_at(number) if hasattr(world, "item_at") else at)
        if reading is None or reading.playbook is None:
            return None
        library = (reading, *self._library(node if "library" in node else root))
        beside = self._beside(holder["playbook"], reading.playbook, holder.value_at("playbook"))
        named = [("", one.playbook) for one in library if one.playbook is not None]
        CaseNames([*named, *beside.playbooks.items()], self.problems).check(node)
        return Case(
            file=str(self.path),
            name=str(node.get("name") or f"case {index + 1}"),
            line=at.line,
            playbook=reading,
            library=_by_path(library),
            workload=plain(node.get("workload") or {}),
            seed=node.get("seed") or 0,
            stop_at_s=node.get("stop_at_s"),
            tools=plain(node.get("tools") or {}),
            world=plain(world),
            expect=expect,
            readings=library,
            beside=beside,
        )

    def _typed(self, node: Map, known: _Types) -> None:
        """Report what is of the wrong type, and read on as if it were empty."""
        for key, (types, words) in known.items():
            given = node.get(key)
            if given is not None and (not isinstance(given, types) or isinstance(given, bool)):
                self.problems.error("P103", node.value_at(key), f"'{key}' must be {words}", "")
                node[key] = None

    def _expect(self, node: Map, at: Mark) -> Expect:
        given = node.get("expect")
        decoder = Decoder(self.problems, _NoExtraKeys(self.problems))
        return decoder.struct(given if given is not None else Map(at), Expect, ("expect",), at)

    def _world(self, item: Tree, at: Mark) -> None:
        if not isinstance(item, Map):
            self.problems.error("P103", at, "what happens must be a mapping", "e.g. '- at_s: 10'")
            return
        self._known(item, _WORLD, "what happens from outside")
        for key in _NEEDED:
            if key in item and item[key] is None:
                self.problems.error(
                    "P103", item.key_at(key), f"'{key}' has no value", "give it one"
                )
        self._typed(item, _WORLD_TYPES)
        if sum(word in item for word in TRIGGERS) != 1:
            self.problems.error(
                "P122",
                at,
                "say when: exactly one of 'at_s', 'when_open', 'when_waiting'",
                "add one",
            )
        if sum(word in item for word in ACTS) != 1:
            self.problems.error(
                "P122", at, "say what: exactly one act", "one of " + ", ".join(ACTS)
            )

    # Playbooks

    def _playbook(self, given: Tree, at: Mark) -> Reading | None:
        if isinstance(given, Map):
            return self._usable(self._inline(given), at)
        if not isinstance(given, str):
            self.problems.error(
                "P103", at, "a playbook is a file or the playbook itself", "write its file name"
            )
            return None
        return self._usable(self._file(self.path.parent / given), at)

    def _inline(self, given: Map) -> Reading:
        """Read a playbook that stands inside the test file: its problems are told where they stand there."""
        known = self.inline.get(id(given))
        if known is None:
            files = FolderFiles(self.path.parent)
            known = read_tree(given, self.text, INLINE, Problems(), files=files)
            self.inline[id(given)] = known
        return known

    def _file(self, path: Path) -> Reading:
        known = self.readings.get(path)
        if known is None:
            try:
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
            self.broken += [one for one in told if one not in self.broken]
        return None

    def _beside(self, given: Tree, playbook: Playbook, at: Mark) -> Gathered:
        """Gather what lies beside a playbook; one that stands in the test file is taken to lie there."""
        file = self.path.parent / given if isinstance(given, str) else self.path
        found = gather(file, playbook, self.shelves, read=self._file)
        for reading in found.faulty:
            self._usable(reading, at)
        return found

    def _library(self, holder: Map) -> list[Reading]:
        found = [
            self._playbook(given, holder.value_at("library"))
            for given in holder.get("library") or ()
        ]
        return [reading for reading in found if reading is not None]


def _by_path(readings: Iterable[Reading]) -> dict[str, Playbook]:
    """Index playbooks by name and by path; a path wins, and the case's own playbook comes first."""
    books = [reading.playbook for reading in readings if reading.playbook is not None]
    found: dict[str, Playbook] = {}
    for book in books:
        found.setdefault(book.metadata.name, book)
    for book in books:
        if book.metadata.path:
            found[book.metadata.path] = book
    return found
