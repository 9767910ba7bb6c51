"""The language server: the Language Server Protocol on one side, ``petra.editor`` on the other.

Rule 1: a document is text that somebody is typing; no state of it is an error of the server.
Rule 2: problems are those of ``petra check`` and of the reader of test files, found a moment after the last key
        and apart from the loop that answers; what was found for an older text is dropped.
Rule 3: the whole text comes with each change: places then mean the same on both sides, whatever ends a line.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

from lsprotocol import types as lsp
from pygls.lsp.server import LanguageServer
from pygls.uris import to_fs_path

from petra import __version__
from petra.cli.check import check_reading
from petra.cli.files import learn_kinds
from petra.editor.complete import Suggestion, complete
from petra.editor.fixes import Edit, extent, fix
from petra.editor.hover import hover
from petra.editor.names import Name, Text, text_of
from petra.editor.positions import Positions
from petra.playbook import Problem, read
from petra.playbook.codes import CODES
from petra.playbook.problems import line_starts
from petra.testing.suite import suite_problems

CALM_S = 0.15
"""How long nobody has typed before problems are looked for."""
EFFORT_S = 0.5
"""How much work a proof may be while somebody types."""
_SEVERITIES = {"error": lsp.DiagnosticSeverity.Error, "warning": lsp.DiagnosticSeverity.Warning}
_ITEM_KINDS = {
    "key": lsp.CompletionItemKind.Property,
    "word": lsp.CompletionItemKind.EnumMember,
    "step": lsp.CompletionItemKind.Function,
    "task": lsp.CompletionItemKind.Method,
    "name": lsp.CompletionItemKind.Variable,
    "filter": lsp.CompletionItemKind.Operator,
}


class _Document:
    """One open document at one moment."""

    def __init__(self, uri: str, source: str, encoding: str) -> None:
        self.uri = uri
        self.text = text_of(source)
        self.positions = Positions(source, encoding)

    @property
    def path(self) -> Path:
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
        if not self.is_ours:
            return ()
        if self.text.is_test:
            return suite_problems(self.path, self.text.text)
        return tuple(check_reading(read(self.text.text, str(self.path)), EFFORT_S).problems)

    def range(self, start: int, end: int) -> lsp.Range:
        return lsp.Range(self._position(start), self._position(end))

    def _position(self, offset: int) -> lsp.Position:
        return lsp.Position(*self.positions.position(offset))

    def offset(self, position: lsp.Position) -> int:
        return self.positions.offset(position.line, position.character)

    def location(self, start: int, end: int) -> lsp.Location:
        return lsp.Location(self.uri, self.range(start, end))

    def tested(self) -> Text | None:
        """Return the playbook that a test file names, if it is one beside it."""
        given = self.text.root.text("playbook")
        if not self.text.is_test or not given:
            return None
        try:
            return text_of((self.path.parent / given).read_text("utf-8"))
        except (OSError, ValueError):
            return None


class PetraServer(LanguageServer):
    """The server of one editor."""

    def __init__(self) -> None:
        super().__init__(
            "petra", __version__, text_document_sync_kind=lsp.TextDocumentSyncKind.Full
        )
        self._checks: dict[str, asyncio.Task[None]] = {}

    def document(self, uri: str) -> _Document:
        """Return a document as it is now."""
        source = self.workspace.get_text_document(uri).source
        return _Document(uri, source, str(self.workspace.position_encoding or "utf-16"))

    def check_soon(self, uri: str) -> None:
        """Look for the problems of a document, once nobody types."""
        self._stop_check(uri)
        self._checks[uri] = asyncio.get_running_loop().create_task(self._check(uri))

    def forget(self, uri: str) -> None:
        """Take back the problems of a document that was closed."""
        self._stop_check(uri)
        self.text_document_publish_diagnostics(lsp.PublishDiagnosticsParams(uri, []))

    def _stop_check(self, uri: str) -> None:
        if (check := self._checks.pop(uri, None)) is not None:
            check.cancel()

    async def _check(self, uri: str) -> None:
        await asyncio.sleep(CALM_S)
        document = self.document(uri)
        version = self.workspace.get_text_document(uri).version
        found = await asyncio.to_thread(lambda: _diagnostics(document))
        self.text_document_publish_diagnostics(
            lsp.PublishDiagnosticsParams(uri, found, version=version)
        )


def _diagnostics(document: _Document) -> list[lsp.Diagnostic]:
    starts = line_starts(document.text.text)
    return [_diagnostic(document, problem, starts) for problem in document.problems()]


def _diagnostic(document: _Document, problem: Problem, starts: list[int]) -> lsp.Diagnostic:
    words = f"{problem.message}; {problem.hint}" if problem.hint else problem.message
    return lsp.Diagnostic(
        range=document.range(*extent(document.text, problem, starts)),
        message=words,
        severity=_SEVERITIES[problem.severity],
        code=problem.code,
        source="petra",
        data=_edit_data(document, fix(document.text, problem, starts)),
    )


def _edit_data(document: _Document, edit: Edit | None) -> dict[str, object] | None:
    """Send the edit along with its problem, so that it comes back when the editor asks for it."""
    if edit is None:
        return None
    place = document.range(edit.start, edit.end)
    return {
        "title": edit.title,
        "text": edit.text,
        "range": [place.start.line, place.start.character, place.end.line, place.end.character],
    }


def serve() -> None:
    """Serve one editor until it hangs up."""
    learn_kinds()
    made().start_io()


def made() -> PetraServer:
    """Make a server that answers."""
    server = PetraServer()
    for method, answer in _ANSWERS.items():
        server.feature(method)(answer)
    server.feature(
        lsp.TEXT_DOCUMENT_COMPLETION,
        lsp.CompletionOptions(trigger_characters=[".", "|", "{", " "]),
    )(_complete)
    server.feature(
        lsp.TEXT_DOCUMENT_CODE_ACTION,
        lsp.CodeActionOptions(code_action_kinds=[lsp.CodeActionKind.QuickFix]),
    )(_actions)
    return server


# What editors tell


async def _opened(server: PetraServer, params: lsp.DidOpenTextDocumentParams) -> None:
    server.check_soon(params.text_document.uri)


async def _changed(server: PetraServer, params: lsp.DidChangeTextDocumentParams) -> None:
    server.check_soon(params.text_document.uri)


async def _saved(server: PetraServer, params: lsp.DidSaveTextDocumentParams) -> None:
    server.check_soon(params.text_document.uri)


async def _closed(server: PetraServer, params: lsp.DidCloseTextDocumentParams) -> None:
    server.forget(params.text_document.uri)


# What editors ask


def _hover(server: PetraServer, params: lsp.HoverParams) -> lsp.Hover | None:
    document = server.document(params.text_document.uri)
    if not document.is_ours:
        return None
    found = hover(document.text, document.offset(params.position))
    if found is None:
        return None
    content = lsp.MarkupContent(lsp.MarkupKind.Markdown, found.words)
    return lsp.Hover(content, document.range(found.start, found.end))


def _complete(server: PetraServer, params: lsp.CompletionParams) -> lsp.CompletionList:
    document = server.document(params.text_document.uri)
    offset = document.offset(params.position)
    tested = document.tested()
    found = complete(document.text.text, offset, [*tested.steps] if tested is not None else ())
    return lsp.CompletionList(
        is_incomplete=False,
        items=[_item(document, one, number) for number, one in enumerate(found)],
    )


def _item(document: _Document, found: Suggestion, number: int) -> lsp.CompletionItem:
    return lsp.CompletionItem(
        label=found.label,
        kind=_ITEM_KINDS[found.kind],
        documentation=found.about or None,
        sort_text=f"{number:05}",  # the order of the grammar
        filter_text=found.label,
        text_edit=lsp.TextEdit(document.range(found.start, found.end), found.insert),
    )


def _named(server: PetraServer, uri: str, at: lsp.Position) -> tuple[_Document, Name | None]:
    document = server.document(uri)
    return document, document.text.name_at(document.offset(at))


def _definition(server: PetraServer, params: lsp.DefinitionParams) -> lsp.Location | None:
    document, name = _named(server, params.text_document.uri, params.position)
    entry = document.text.definition(name) if name is not None else None
    if entry is None:
        return None
    written = entry.find("step") or entry.find("name")
    if written is not None:
        return document.location(written.value_start, written.value_end)
    return document.location(entry.start, entry.end)


def _references(server: PetraServer, params: lsp.ReferenceParams) -> list[lsp.Location]:
    document, name = _named(server, params.text_document.uri, params.position)
    if name is None:
        return []
    meant = (name.kind, name.name, name.within)
    return [
        document.location(one.start, one.end)
        for one in document.text.names()
        if (one.kind, one.name, one.within) == meant
    ]


def _symbols(server: PetraServer, params: lsp.DocumentSymbolParams) -> list[lsp.DocumentSymbol]:
    document = server.document(params.text_document.uri)
    found: list[lsp.DocumentSymbol] = []
    for name, entry in document.text.steps.items():
        ends = [part.value_end for part in entry.walk()]
        whole = document.range(entry.start, max([entry.end, *ends]))
        written = entry.find("step")
        assert written is not None
        place = document.range(written.value_start, written.value_end)
        found.append(lsp.DocumentSymbol(name, lsp.SymbolKind.Function, whole, place))
    return found


def _actions(_server: PetraServer, params: lsp.CodeActionParams) -> list[lsp.CodeAction]:
    found: list[lsp.CodeAction] = []
    for diagnostic in params.context.diagnostics:
        data = diagnostic.data
        if not isinstance(data, dict) or str(diagnostic.code) not in CODES:
            continue
        line, character, last_line, last = data["range"]
        place = lsp.Range(lsp.Position(line, character), lsp.Position(last_line, last))
        edit = lsp.WorkspaceEdit({params.text_document.uri: [lsp.TextEdit(place, data["text"])]})
        found.append(
            lsp.CodeAction(
                title=data["title"],
                kind=lsp.CodeActionKind.QuickFix,
                diagnostics=[diagnostic],
                edit=edit,
                is_preferred=True,
            )
        )
    return found


_ANSWERS: dict[str, Callable[..., Any]] = {
    lsp.TEXT_DOCUMENT_DID_OPEN: _opened,
    lsp.TEXT_DOCUMENT_DID_CHANGE: _changed,
    lsp.TEXT_DOCUMENT_DID_SAVE: _saved,
    lsp.TEXT_DOCUMENT_DID_CLOSE: _closed,
    lsp.TEXT_DOCUMENT_HOVER: _hover,
    lsp.TEXT_DOCUMENT_DEFINITION: _definition,
    lsp.TEXT_DOCUMENT_REFERENCES: _references,
    lsp.TEXT_DOCUMENT_DOCUMENT_SYMBOL: _symbols,
}
