"""A document that is open in an editor: its problems and its places in the words of the protocol."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from lsprotocol import types as lsp
from pygls.uris import to_fs_path

from petra.cli.check import check_reading
from petra.editor.fixes import Edit, extent, fix
from petra.editor.names import Text, text_of
from petra.editor.positions import Positions
from petra.folder_files import FolderFiles
from petra.library import beside
from petra.playbook import Problem, read
from petra.playbook.documents import kind_in, read_document
from petra.playbook.problems import line_starts
from petra.testing.suite import suite_problems

EFFORT_S = 0.5
"""How much work a proof may be while somebody types."""
_SEVERITIES = {"error": lsp.DiagnosticSeverity.Error, "warning": lsp.DiagnosticSeverity.Warning}


class Document:
    """One open document at one moment."""

    def __init__(self, uri: str, source: str, encoding: str) -> None:
        self.uri = uri
        self.text = text_of(source)
        self.positions = Positions(source, encoding)

    @property
    def path(self) -> Path:
        """Where it lies, or would."""
        return Path(to_fs_path(self.uri) or "untitled.yaml")

    @property
    def is_ours(self) -> bool:
        """Whether it is a playbook or a test file, or on its way to be one; an editor may send other YAML too."""
        root = self.text.root
        version = root.text("apiVersion")
        return (
            root.text("kind") in ("Playbook", "Test")
            or version.startswith(("petra/", "noetl.io/"))
            or root.find("workflow") is not None
        )

    def problems(self) -> tuple[Problem, ...]:
        """Return everything that is wrong with it."""
        if not self.is_ours:
            return ()
        if self.text.is_test:
            return suite_problems(self.path, self.text.text)
        if kind_in(self.text.text):
            return read_document(self.text.text, str(self.path)).problems
        reading = read(self.text.text, str(self.path), files=FolderFiles(self.path.parent))
        return tuple(check_reading(reading, beside(self.path), EFFORT_S).problems)

    def range(self, start: int, end: int) -> lsp.Range:
        """Return a piece of the text as the editor counts it."""
        return lsp.Range(self._position(start), self._position(end))

    def _position(self, offset: int) -> lsp.Position:
        return lsp.Position(*self.positions.position(offset))

    def offset(self, position: lsp.Position) -> int:
        """Return the offset of a place."""
        return self.positions.offset(position.line, position.character)

    def location(self, start: int, end: int) -> lsp.Location:
        """Return a piece of the text with its document."""
        return lsp.Location(self.uri, self.range(start, end))

    def tested(self) -> Text | None:
        """Return the playbook that a test file names, if it is one beside it."""
        place = self.text.root.text("playbook")
        if not self.text.is_test or not place:
            return None
        try:
            return text_of((self.path.parent / place).read_text("utf-8"))
        except (OSError, ValueError):
            return None


def diagnostics(document: Document) -> list[lsp.Diagnostic]:
    """Return the problems of a document in the words of the protocol."""
    starts = line_starts(document.text.text)
    return [_diagnostic(document, problem, starts) for problem in document.problems()]


def _diagnostic(document: Document, problem: Problem, starts: Sequence[int]) -> lsp.Diagnostic:
    words = f"{problem.message}; {problem.hint}" if problem.hint else problem.message
    return lsp.Diagnostic(
        range=document.range(*extent(document.text, problem, starts)),
        message=words,
        severity=_SEVERITIES[problem.severity],
        code=problem.code,
        source="petra",
        data=_edit_data(document, fix(document.text, problem, starts)),
    )


def _edit_data(document: Document, edit: Edit | None) -> dict[str, object] | None:
    """Send the edit along with its problem, so that it comes back when the editor asks for it."""
    if edit is None:
        return None
    place = document.range(edit.start, edit.end)
    return {
        "title": edit.title,
        "text": edit.text,
        "range": [place.start.line, place.start.character, place.end.line, place.end.character],
    }
