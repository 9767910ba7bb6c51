"""Documents that are no playbooks: schedules, triggers, resources. Read like those, with every problem at its place (S15, S24)."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Collection, Mapping
from types import MappingProxyType
from typing import TypeVar

from msgspec import Struct, field

from petra.calendar import CalendarError, instant, line_of, zone_named
from petra.playbook.decode import Decoder
from petra.playbook.own_keys import OwnKeys
from petra.playbook.problems import (
    START,
    InvalidPlaybookError,
    Problem,
    Problems,
    lines_of,
)
from petra.playbook.schedule import Schedule
from petra.playbook.shared import SharedResource
from petra.playbook.tree import Map, Places, Tree
from petra.playbook.trigger import Trigger
from petra.playbook.trigger_checks import check_trigger
from petra.playbook.yaml12 import parse

AnyDocument = Schedule | Trigger | SharedResource
D = TypeVar("D", Schedule, Trigger, SharedResource)

KINDS: Mapping[str, type[AnyDocument]] = MappingProxyType(
    {"Schedule": Schedule, "Trigger": Trigger, "Resource": SharedResource}
)
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_RHYTHMS = ("cron", "every_s", "at")


class DocumentReading(Struct, frozen=True):
    """What came of reading one text."""

    name: str
    text: str
    document: AnyDocument | None
    problems: tuple[Problem, ...]
    places: Places = field(default_factory=Places)

    @property
    def lines(self) -> tuple[str, ...]:
        """The text in the lines that problems count."""
        return lines_of(self.text)

    def checked(self) -> AnyDocument:
        """Return the document.

        Raises:
            InvalidPlaybookError: it has errors.
        """
        if self.document is None or any(problem.severity == "error" for problem in self.problems):
            raise InvalidPlaybookError(self.problems, self.text, self.name)
        return self.document

    def checked_as(self, wanted: type[D]) -> D:
        """Return the document, which is to be of a kind.

        Raises:
            InvalidPlaybookError: it has errors, or is of another kind.
        """
        document = self.checked()
        if not isinstance(document, wanted):
            problems = Problems()
            kind = next(kind for kind, shape in KINDS.items() if shape is wanted)
            words = f"this is a {document.kind.lower()}, not a {kind.lower()}"
            problems.error("P008", self.places.at("kind"), words, "'petra apply' takes all of them")
            raise InvalidPlaybookError(tuple(problems), self.text, self.name)
        return document


def kind_in(text: str) -> str:
    """Return the kind of document that a text holds, if it is one of those here; else nothing."""
    return _kind_of(text, KINDS)


def is_notify(text: str) -> bool:
    """Tell whether a text holds the channels of a server: those are read where they are used, and checked like others."""
    return _kind_of(text, ("Notify",)) != ""


def _kind_of(text: str, kinds: Collection[str]) -> str:
    if not any(kind in text for kind in kinds):
        return ""
    tree = parse(text, Problems())
    kind = tree.get("kind") if isinstance(tree, Map) else None
    return kind if isinstance(kind, str) and kind in kinds else ""


def read_document(text: str, name: str = "schedule.yaml") -> DocumentReading:
    """Read a document; every problem is in the result, in the order of the text."""
    problems = Problems()
    tree = parse(text, problems)
    kind = tree.get("kind") if isinstance(tree, Map) else None
    if not isinstance(tree, Map) or not isinstance(kind, str) or kind not in KINDS:
        _no_document(tree, problems)
        return DocumentReading(name, text, None, tuple(problems))
    places = Places(tree)
    decoder = Decoder(problems, OwnKeys(problems))
    document = decoder.struct(tree, KINDS[kind], (), tree.mark)
    further = Problems()
    _check(document, tree, further)
    problems.extend(_elsewhere(further, problems, tree))
    return DocumentReading(name, text, document, tuple(problems), places)


def _no_document(tree: Tree, problems: Problems) -> None:
    if problems:
        return
    at = tree.key_at("kind") if isinstance(tree, Map) and "kind" in tree else START
    kinds = " or ".join(f"'kind: {kind}'" for kind in KINDS)
    hint = f"it begins with 'apiVersion: petra/v1', {kinds}, and 'metadata'"
    problems.error("P008", at, "this is no schedule, no trigger and no resource", hint)


def _elsewhere(further: Problems, known: Problems, tree: Map) -> list[Problem]:
    """Return what checks found in parts that could be read; of others they saw a blank."""
    starts = sorted(tree.key_at(key) for key in tree)

    def part(problem: Problem) -> int:
        at = (problem.line, problem.column)
        is_missing = problem.code == "P102" and at == tree.mark
        return 0 if is_missing else bisect_right(starts, at)

    broken = {part(problem) for problem in known if problem.severity == "error"} - {0}
    return [problem for problem in further if part(problem) not in broken]


# Checks


def _check(document: AnyDocument, tree: Map, problems: Problems) -> None:
    _name(document, tree, problems)
    if isinstance(document, Trigger):
        check_trigger(document, tree, problems)
    elif isinstance(document, Schedule):
        _schedule(document, tree, problems)
    elif document.units is None and document.rate is None:
        words = "it is not said how much of it there is"
        problems.error("P102", tree.mark, words, "add 'units', 'rate' or both")


def _schedule(document: Schedule, tree: Map, problems: Problems) -> None:
    _one_rhythm(tree, problems)
    judged: list[tuple[str, Callable[[str], object], str]] = [
        ("timezone", zone_named, document.timezone),
        *(("at", _date, date) for date in document.rhythm.dates),
    ]
    if document.cron is not None:
        judged.append(("cron", line_of, document.cron))
    for key, judge, text in judged:
        try:
            judge(text)
        except CalendarError as error:
            words, _, hint = str(error).partition("; ")
            problems.error("P501", tree.value_at(key), words, hint)


def _date(text: str) -> float:
    return instant(text, "UTC")


def _name(document: AnyDocument, tree: Map, problems: Problems) -> None:
    """It is asked for by its name, in addresses too."""
    metadata = tree.get("metadata")
    if not isinstance(metadata, Map):
        return
    if not _NAME.fullmatch(document.name):
        hint = "letters, digits and ._- , and the first is a letter or a digit"
        problems.error("P502", metadata.value_at("name"), "the name cannot be in an address", hint)
    if document.metadata.path is not None:
        hint = "it is known by its name"
        problems.warn("P208", metadata.key_at("path"), "'path' is ignored", hint)


def _one_rhythm(tree: Map, problems: Problems) -> None:
    """One of the three says when; more than one would be two schedules."""
    rhythms = [key for key in _RHYTHMS if tree.get(key) is not None]
    if not rhythms:
        problems.error(
            "P102",
            tree.mark,
            "it is not said when it is due",
            "add one of 'cron', 'every_s' and 'at'",
        )
    for key in rhythms[1:]:
        problems.error(
            "P122",
            tree.key_at(key),
            f"'{rhythms[0]}' and '{key}' exclude each other",
            "make two schedules",
        )
