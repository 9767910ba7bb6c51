"""Text to playbook: the front door of the language.

    text ─yaml12→ tree ─dialects, legacy→ canonical tree ─shapes→ one shape ─decode→ model ─checks→ problems

Reading never raises for what an author wrote: it returns a playbook, or problems, or both.
"""

from __future__ import annotations

import msgspec
from msgspec import Struct, field

from petra.playbook.checks import Document, check
from petra.playbook.decode import Decoder, name_of
from petra.playbook.dialects import rewrite_renamed
from petra.playbook.growth import growth
from petra.playbook.legacy import Legacy
from petra.playbook.model import API_VERSIONS, Playbook
from petra.playbook.notes import Change, Notes
from petra.playbook.origins import found_in
from petra.playbook.pins import Files, pin
from petra.playbook.problems import (
    START,
    InvalidPlaybookError,
    Mark,
    Problem,
    Problems,
    did_you_mean,
    lines_of,
)
from petra.playbook.shapes import name_kinds, normalise
from petra.playbook.tree import Map, Places, Tree
from petra.playbook.unknown import UnknownKeys
from petra.playbook.walk import is_foreign
from petra.playbook.write import to_yaml
from petra.playbook.yaml12 import NODES_MAX, TEXT_BYTES_MAX, parse

_ROOT_KEYS = frozenset(
    {"apiVersion", "metadata", "workflow", "workload", "keychain", "executor", "workbook"}
)


class Reading(Struct, frozen=True):
    """What came of reading one text."""

    name: str
    text: str
    playbook: Playbook | None
    problems: tuple[Problem, ...]
    places: Places = field(default_factory=Places)
    changes: tuple[Change, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether the playbook may run: it has no errors, though perhaps warnings."""
        return self.playbook is not None and not any(p.severity == "error" for p in self.problems)

    @property
    def lines(self) -> tuple[str, ...]:
        """The text in the lines that problems count."""
        return lines_of(self.text)

    def checked(self) -> Playbook:
        """Return the playbook.

        Raises:
            InvalidPlaybookError: it has errors.
        """
        if self.playbook is None or not self.ok:
            raise InvalidPlaybookError(self.problems, self.text, self.name)
        return self.playbook

    def at(self, *path: str | int) -> Mark:
        """Where a part of the playbook was written, or the nearest part around it."""
        return self.places.at(*path)


def read_stored(text: str, name: str) -> Playbook:
    """Read a playbook that was checked when it was stored: what is checked today is not its business.

    Raises:
        InvalidPlaybookError: it is none.
    """
    return read(text, name, checks=False).checked()


def read(
    text: str, name: str = "playbook.yaml", *, checks: bool = True, files: Files | None = None
) -> Reading:
    """Read a playbook; every problem is in the result, in the order of the text.

    Without ``checks`` only what cannot be read is a problem. ``files`` are those beside the playbook.
    """
    problems = Problems()
    return read_tree(parse(text, problems), text, name, problems, checks=checks, files=files)


def read_tree(  # noqa: PLR0913 - what a reading needs
    tree: Tree,
    text: str,
    name: str,
    problems: Problems,
    *,
    checks: bool = True,
    files: Files | None = None,
) -> Reading:
    """Read a playbook that was parsed from ``text``, or from a part of it; the tree is rewritten on the way."""
    if not isinstance(tree, Map) or not _is_playbook(tree, problems):
        _not_a_playbook(tree, problems)
        return Reading(name, text, None, tuple(problems))
    if growth(tree) > NODES_MAX:
        _too_large(problems)
        return Reading(name, text, None, tuple(problems))
    _header(tree, problems)
    foreign = is_foreign(tree)
    notes = Notes(foreign=foreign)
    keys = UnknownKeys(problems, foreign=foreign)
    keys.mend_early(tree)
    name_kinds(tree, problems)
    canonicalise(tree, notes)
    _tell(notes, problems)
    normalise(tree, problems)
    pinned = pin(tree, files, problems)
    playbook = Decoder(problems, keys).struct(tree, Playbook, (), tree.mark)
    places = Places(tree)
    shown = name.encode("utf-8", "backslashreplace").decode()  # names of files are bytes
    origins = found_in(playbook, places, text, shown)
    playbook = msgspec.structs.replace(playbook, origins=origins)
    if pinned is not None and len(to_yaml(playbook).encode()) > TEXT_BYTES_MAX:
        problems.error(
            "P003", pinned, f"with its files the playbook is larger than {TEXT_BYTES_MAX // 1024} KiB",
            "install what is large on the workers, and import it",
        )  # fmt: skip
    if checks:
        check(Document(playbook, places, problems, text))
    return Reading(name, text, playbook, tuple(problems), places, tuple(notes.changes))


def read_bytes(raw: bytes, name: str = "playbook.yaml", *, files: Files | None = None) -> Reading:
    """Read a playbook from a file's bytes."""
    try:
        return read(raw.decode("utf-8-sig"), name, files=files)
    except UnicodeDecodeError as error:
        before = raw[: error.start].decode("utf-8", "replace")
        mark = Mark(before.count("\n") + 1, len(before) - before.rfind("\n"))
        problems = Problems()
        problems.error("P002", mark, "the file is not text in UTF-8", "save it as UTF-8")
        return Reading(name, "", None, tuple(problems))


def canonicalise(tree: Tree, notes: Notes) -> None:
    """Rewrite the dialects into canonical words, in place; serves ``petra migrate`` too."""
    rewrite_renamed(tree, notes)
    Legacy(tree, notes).rewrite()


def _is_playbook(tree: Map, problems: Problems) -> bool:
    kind = tree.get("kind")
    if kind == "Test":
        problems.error(
            "P008",
            tree.key_at("kind"),
            "this is a test file, not a playbook",
            "run it with 'petra test'",
        )
        return False
    if kind == "Schedule":
        problems.error(
            "P008",
            tree.key_at("kind"),
            "this is a schedule, not a playbook",
            "'petra apply' stores it, 'petra schedule preview' shows when it is due",
        )
        return False
    if kind == "Trigger":
        problems.error(
            "P008",
            tree.key_at("kind"),
            "this is a trigger, not a playbook",
            "'petra apply' stores it, 'petra trigger test' shows what an event would start",
        )
        return False
    return bool(_ROOT_KEYS & set(tree)) and (kind in (None, "Playbook") or "workflow" in tree)


def _too_large(problems: Problems) -> None:
    problems.error(
        "P003",
        START,
        f"more than {NODES_MAX:,} nodes once short forms are written out",
        "repeat less: the workbook, and 'input' and 'set' of steps, are copied to each task",
    )


def _not_a_playbook(tree: Tree, problems: Problems) -> None:
    if problems:
        return
    hint = "a playbook has 'apiVersion: petra/v1', 'kind: Playbook', 'metadata' and 'workflow'; see 'petra init'"
    if tree is None:
        problems.error("P008", START, "the file is empty", hint)
    elif isinstance(tree, Map) and tree.get("kind") == "Playbook":
        lacks = [f"'{key}'" for key in ("apiVersion", "metadata", "workflow") if key not in tree]
        words = f"this playbook has no {', '.join(lacks[:-1])} and no {lacks[-1]}"
        problems.error("P008", tree.key_at("kind"), words, hint)
    elif isinstance(tree, Map) and isinstance(tree.get("kind"), str):
        problems.error("P008", tree.key_at("kind"), f"'{tree['kind']}' is no playbook", hint)
    elif isinstance(tree, Map):
        problems.error("P008", START, "this mapping is not a playbook", hint)
    else:
        problems.error("P008", START, f"a playbook is a mapping, not {name_of(tree)}", hint)


def _header(tree: Map, problems: Problems) -> None:
    version = tree.get("apiVersion")
    if "apiVersion" in tree and version not in API_VERSIONS:
        at = tree.value_at("apiVersion")
        if version == "noetl.io/v1":
            problems.warn(
                "P207", at, "'noetl.io/v1' is read as 'noetl.io/v2'", "run 'petra migrate'"
            )
            tree["apiVersion"] = "noetl.io/v2"
        else:
            hint = did_you_mean(str(version), API_VERSIONS)
            problems.error("P107", at, f"unknown apiVersion '{version}'", hint)
            tree["apiVersion"] = "petra/v1"
    if "kind" in tree and tree["kind"] != "Playbook":
        problems.error(
            "P107",
            tree.value_at("kind"),
            f"unknown kind '{tree['kind']}'",
            "write 'kind: Playbook'",
        )
        tree["kind"] = "Playbook"


def _tell(notes: Notes, problems: Problems) -> None:
    for change in notes.changes:
        if change.kind == "legacy":
            problems.warn(
                "P207",
                change.mark,
                f"'{change.old}' is an older way of writing",
                f"now: {change.new}; 'petra migrate' rewrites it",
            )
    for mark, message, hint in notes.refused:
        problems.error("P117" if "written to" in message else "P113", mark, message, hint)
    for mark, message, hint in notes.ignored:
        problems.warn("P208", mark, message, hint)
