"""The language server: the Language Server Protocol on one side, ``petra.editor`` on the other.

Rule 1: a document is text that somebody is typing; no state of it is an error of the server.
Rule 2: problems are those of ``petra check`` and of the reader of test files, found a moment after the last key
        and apart from the loop that answers; what was found for an older text is dropped.
Rule 3: the whole text comes with each change: places then mean the same on both sides, whatever ends a line.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from lsprotocol import types as lsp
from pygls.lsp.server import LanguageServer

from petra import __version__
from petra.cli.files import learn_kinds
from petra.cli.open_document import Document, diagnostics
from petra.editor.complete import Suggestion, complete
from petra.editor.hover import hover
from petra.editor.names import Name
from petra.playbook.codes import CODES

CALM_S = 0.15
"""How long nobody has typed before problems are looked for."""
_ITEM_KINDS = {
    "key": lsp.CompletionItemKind.Property,
    "word": lsp.CompletionItemKind.EnumMember,
    "step": lsp.CompletionItemKind.Function,
    "task": lsp.CompletionItemKind.Method,
    "name": lsp.CompletionItemKind.Variable,
    "filter": lsp.CompletionItemKind.Operator,
}


class PetraServer(LanguageServer):
    """The server of one editor."""

    def __init__(self) -> None:
        super().__init__(
            "petra", __version__, text_document_sync_kind=lsp.TextDocumentSyncKind.Full
        )
        self._checks: dict[str, asyncio.Task[None]] = {}

    def document(self, uri: str) -> Document:
        """Return a document as it is now."""
        source = self.workspace.get_text_document(uri).source
        return Document(uri, source, str(self.workspace.position_encoding or "utf-16"))

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
        problems = await asyncio.to_thread(lambda: diagnostics(document))
        self.text_document_publish_diagnostics(
            lsp.PublishDiagnosticsParams(uri, problems, version=version)
        )


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
    shown = hover(document.text, document.offset(params.position))
    if shown is None:
        return None
    content = lsp.MarkupContent(lsp.MarkupKind.Markdown, shown.words)
    return lsp.Hover(content, document.range(shown.start, shown.end))


def _complete(server: PetraServer, params: lsp.CompletionParams) -> lsp.CompletionList:
    document = server.document(params.text_document.uri)
    offset = document.offset(params.position)
    tested = document.tested()
    suggestions = complete(
        document.text.text, offset, [*tested.steps] if tested is not None else ()
    )
    return lsp.CompletionList(
        is_incomplete=False,
        items=[
            _item(document, suggestion, number) for number, suggestion in enumerate(suggestions)
        ],
    )


def _item(document: Document, suggestion: Suggestion, number: int) -> lsp.CompletionItem:
    return lsp.CompletionItem(
        label=suggestion.label,
        kind=_ITEM_KINDS[suggestion.kind],
        documentation=suggestion.about or None,
        sort_text=f"{number:05}",  # the order of the grammar
        filter_text=suggestion.label,
        text_edit=lsp.TextEdit(document.range(suggestion.start, suggestion.end), suggestion.insert),
    )


def _named(server: PetraServer, uri: str, at: lsp.Position) -> tuple[Document, Name | None]:
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
    symbols: list[lsp.DocumentSymbol] = []
    for name, entry in document.text.steps.items():
        ends = [part.value_end for part in entry.walk()]
        whole = document.range(entry.start, max([entry.end, *ends]))
        written = entry.find("step")
        assert written is not None
        place = document.range(written.value_start, written.value_end)
        symbols.append(lsp.DocumentSymbol(name, lsp.SymbolKind.Function, whole, place))
    return symbols


def _actions(_server: PetraServer, params: lsp.CodeActionParams) -> list[lsp.CodeAction]:
    actions: list[lsp.CodeAction] = []
    for diagnostic in params.context.diagnostics:
        data = diagnostic.data
        if not isinstance(data, dict) or str(diagnostic.code) not in CODES:
            continue
        line, character, last_line, last = data["range"]
        place = lsp.Range(lsp.Position(line, character), lsp.Position(last_line, last))
        edit = lsp.WorkspaceEdit({params.text_document.uri: [lsp.TextEdit(place, data["text"])]})
        actions.append(
            lsp.CodeAction(
                title=data["title"],
                kind=lsp.CodeActionKind.QuickFix,
                diagnostics=[diagnostic],
                edit=edit,
                is_preferred=True,
            )
        )
    return actions


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
