"""Where in a command an error of SQL comes from: the statement, the line, and what stands there."""

from __future__ import annotations

import re
from typing import Final

from petra.kinds import Sql
from petra.playbook.origins import WrittenAt
from petra.tools.base import MESSAGE_MAX, ToolContext, ToolError, cut

SOURCE_MAX: Final = 120
"""Characters of a line that are shown."""
_PIECES: Final = re.compile(
    r"""'(?:[^']|'')*'|"(?:[^"]|"")*"|--[^\n]*|/\*.*?\*/|(\$\w*\$).*?\1|;|\s+|.""", re.DOTALL
)


def written_of(fields: Sql, context: ToolContext) -> WrittenAt | None:
    """Return where a command was written: in a file of its own, or where the playbook says."""
    if fields.file is not None:
        return WrittenAt(fields.file, 1, by_line=True)
    return context.written.get("command")


def starts(command: str) -> list[int]:
    """Return where each statement of a command begins."""
    places: list[int] = []
    begins = True
    for piece in _PIECES.finditer(command):
        text = piece[0]
        if text == ";":
            begins = True
        elif begins and not text.isspace() and not text.startswith(("--", "/*")):
            places.append(piece.start())
            begins = False
    return places


def placed(
    error: ToolError,
    command: str,
    offset: int | None,
    written: WrittenAt | None,
    *,
    statement: int | None = None,
) -> ToolError:
    """Return an error that says where in its command it comes from; ``offset`` counts characters, None: nobody knows."""
    at = _place(command, offset, written, statement)
    if not at:
        return error
    details = {"at": at, **(error.details if isinstance(error.details, dict) else {})}
    message = f"{cut(error.message, MESSAGE_MAX - len(at) - 2)}; {at}"
    return ToolError(error.kind, message, code=error.code, details=details, more=error.more)


def _place(
    command: str, offset: int | None, written: WrittenAt | None, statement: int | None
) -> str:
    begins = starts(command)
    if offset is None and statement is not None and statement <= len(begins):
        offset = begins[statement - 1]
    if offset is None:
        return written.at(1) if written is not None else ""
    offset = max(0, min(offset, len(command)))
    number = statement or sum(1 for begin in begins if begin <= offset)
    line = command.count("\n", 0, offset) + 1
    start = command.rfind("\n", 0, offset) + 1
    end = command.find("\n", offset)
    text = command[start : end if end >= 0 else len(command)].strip()
    words = [
        written.at(line) if written is not None else "",
        f"statement {number}" if len(begins) > 1 and number else "",
        f"line {line}, column {offset - start + 1}",
    ]
    return ", ".join(word for word in words if word) + (
        f": {cut(text, SOURCE_MAX)}" if text else ""
    )
