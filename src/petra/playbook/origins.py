"""Where the author wrote the code of a playbook, so that a failure years later can name the line.

A playbook travels and is stored as canonical YAML, whose lines are nobody's. Its last line may be a comment that
says where each text of several lines (``code``, ``command``, ``script``) stood in the author's file.

Rule 1: origins are no part of what a playbook says: not of its digest, and two playbooks that differ only in them are
equal.
Rule 2: the comment counts only under the very text it was written under. Whoever edits that has a file of their own.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from petra.playbook.problems import Mark, lines_of
from petra.playbook.yaml12 import TEXT_BYTES_MAX

if TYPE_CHECKING:
    from petra.playbook.model import Playbook
    from petra.playbook.tree import Places

FIELDS: Final = ("code", "command", "script")
"""The fields of tasks whose lines are worth knowing."""
_COMMENT: Final = "# written in: "
_LAST: Final = re.compile(rf"^{re.escape(_COMMENT)}([0-9a-f]{{16}}) (\{{.*\}})\n?\Z", re.MULTILINE)
_BLOCK: Final = re.compile(r"(?:[&!]\S+\s+)*([|>])")


class WrittenAt(NamedTuple):
    """Where a text was written: a file, the line of its first line, and whether each further line has one too."""

    file: str
    line: int
    by_line: bool

    def line_of(self, number: int) -> int:
        """Return the line of the file that a line of the text is on, both counted from 1."""
        return self.line + (number - 1 if self.by_line else 0)

    def at(self, number: int) -> str:
        """Name a line of the text as an author finds it."""
        return f"{self.file}:{self.line_of(number)}"


class Origins(msgspec.Struct, frozen=True, eq=False):
    """The file of a playbook, and the place in it of every text worth knowing, by its path in the model."""

    file: str = ""
    places: dict[str, tuple[int, bool]] = {}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Origins)

    def __hash__(self) -> int:
        return 0

    @property
    def key(self) -> str:
        """What tells these places from others, which equality does not."""
        return _sum(msgspec.json.encode(self).decode()) if self.places else ""

    def of(self, step: int, task: int, *, compensate: bool = False) -> dict[str, WrittenAt]:
        """Return where the texts of a task were written, by field."""
        if not self.places:
            return {}
        origins = {
            field: self.places.get(_path(step, task, field, compensate=compensate))
            for field in FIELDS
        }
        return {
            field: WrittenAt(self.file, *place)
            for field, place in origins.items()
            if place is not None and self.file
        }


def found_in(playbook: Playbook, places: Places, text: str, name: str) -> Origins:
    """Return where the texts of a playbook were written: as its last line says, else in this very text."""
    if (told := _from_comment(text)) is not None:
        return told
    lines = lines_of(text)
    found: dict[str, tuple[int, bool]] = {}
    for number, step in enumerate(playbook.workflow):
        undo = step.spec.compensate
        for compensate, tasks in ((False, step.tool), (True, undo.tool if undo else [])):
            for index, task in enumerate(tasks):
                for field in FIELDS:
                    if not isinstance(task.fields.get(field), str) or "file" in task.fields:
                        continue
                    path = _path(number, index, field, compensate=compensate)
                    found[path] = _place(lines, places.at(*_parts(path)))
    return Origins(file=re.split(r"[/\\]", name)[-1], places=found)


def _place(lines: Sequence[str], mark: Mark) -> tuple[int, bool]:
    """Return the line that a text begins on, and whether each of its lines is one of the file."""
    written = lines[mark.line - 1] if mark.line <= len(lines) else ""
    block = _BLOCK.match(written, mark.column - 1)
    return (mark.line, False) if block is None else (mark.line + 1, block[1] == "|")


def comment(text: str, origins: Origins) -> str:
    """Return the line that goes under a canonical text to say where the author's is; none where there is no room."""
    if not origins.places or not origins.file:
        return ""
    line = f"{_COMMENT}{_sum(text)} {msgspec.json.encode(origins).decode()}\n"
    size = len(text.encode("utf-8", "surrogatepass")) + len(line.encode("utf-8", "surrogatepass"))
    return line if size <= TEXT_BYTES_MAX else ""


def _from_comment(text: str) -> Origins | None:
    last = _LAST.search(text, max(text.rfind(_COMMENT), 0))
    if last is None or _sum(text[: last.start()]) != last[1]:
        return None
    try:
        return msgspec.json.decode(last[2], type=Origins)
    except msgspec.MsgspecError:
        return None


def _sum(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _path(step: int, task: int, field: str, *, compensate: bool) -> str:
    holder = "spec.compensate.tool" if compensate else "tool"
    return f"workflow.{step}.{holder}.{task}.{field}"


def _parts(path: str) -> tuple[str | int, ...]:
    return tuple(int(part) if part.isdigit() else part for part in path.split("."))
