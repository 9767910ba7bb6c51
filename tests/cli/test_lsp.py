"""``petra lsp`` driven by a real client: pygls's own, over standard input and output."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from support import forks
from support.later import later

from petra.cli.check import check_reading
from petra.library import beside
from petra.playbook import read

if TYPE_CHECKING:
    from lsprotocol import types as lsp
    from pygls.lsp import client as lsp_client
else:
    lsp, lsp_client = later("lsprotocol.types"), later("pygls.lsp.client")

pytestmark = pytest.mark.slow

ORDERS = """\
apiVersion: petra/v1
kind: Playbook
metadata: {name: orders}
workload: {order: 7, shop: {city: Bern}}
workflow:
  - step: fetch
    desc: The order, from the shop.
    tool: {kind: http, url: "https://shop.example/{{ workload.order }}"}
    next:
      arcs:
        - {step: chek, when: "{{ event.result.data.total > 100 }}"}
        - {step: pay}
  - step: check
    tool: {kind: noop}
    next: {arcs: [{step: pay}]}
  - step: pay
    tool: {kind: noop}
"""
GOOD = ORDERS.replace("chek", "check")


class Editor:
    """An editor: opens documents, waits for their problems, asks."""

    def __init__(self) -> None:
        self.client = lsp_client.LanguageClient("editor", "1")
        self._published: asyncio.Queue[lsp.PublishDiagnosticsParams] = asyncio.Queue()
        self.messages: list[Any] = []

        @self.client.feature(lsp.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)  # type: ignore[untyped-decorator]
        def published(params: lsp.PublishDiagnosticsParams) -> None:
            self._published.put_nowait(params)

        @self.client.feature(lsp.WINDOW_SHOW_MESSAGE)  # type: ignore[untyped-decorator]
        def said(params: lsp.ShowMessageParams) -> None:
            self.messages.append(params.message)

        self._versions: dict[str, int] = {}

    async def start(self, folder: Path) -> lsp.InitializeResult:
        await self.client.start_io(*forks.LSP.command("lsp"), cwd=str(folder))
        params = lsp.InitializeParams(
            capabilities=lsp.ClientCapabilities(), root_uri=folder.as_uri()
        )
        answer = await self.client.initialize_async(params)
        self.client.initialized(lsp.InitializedParams())
        return answer

    async def stop(self) -> None:
        await self.client.shutdown_async(None)
        self.client.exit(None)
        await self.client.stop()  # type: ignore[no-untyped-call]

    def open(self, uri: str, text: str) -> None:
        self._versions[uri] = 1
        item = lsp.TextDocumentItem(uri, "yaml", 1, text)
        self.client.text_document_did_open(lsp.DidOpenTextDocumentParams(item))

    def type(self, uri: str, text: str) -> None:
        self._versions[uri] += 1
        self.client.text_document_did_change(
            lsp.DidChangeTextDocumentParams(
                lsp.VersionedTextDocumentIdentifier(uri=uri, version=self._versions[uri]),
                [lsp.TextDocumentContentChangeWholeDocument(text)],
            )
        )

    async def problems(self, uri: str) -> list[lsp.Diagnostic]:
        """Wait for the problems of the text as it is now."""
        while True:
            found = await self._published.get()
            if found.uri == uri and found.version in (None, self._versions[uri]):
                return list(found.diagnostics)

    async def words_at(self, uri: str, text: str, cursor: str = "‸") -> list[str]:
        """Type a text with a cursor in it, and return what is suggested there."""
        line, character = place_of(text, cursor)
        self.type(uri, text.replace(cursor, ""))
        found = await self.client.text_document_completion_async(
            lsp.CompletionParams(lsp.TextDocumentIdentifier(uri), lsp.Position(line, character))
        )
        assert isinstance(found, lsp.CompletionList)
        return [item.label for item in found.items]


def place_of(text: str, words: str) -> tuple[int, int]:
    before = text[: text.index(words)]
    return before.count("\n"), len(before) - before.rfind("\n") - 1


def position_of(text: str, words: str) -> lsp.Position:
    return lsp.Position(*place_of(text, words))


def edited(tmp_path: Path, story: Callable[[Editor, str], Awaitable[None]]) -> None:
    """Run a story with an editor and the address of a document; the server must live to its end."""

    async def whole() -> None:
        editor = Editor()
        await editor.start(tmp_path)
        try:
            await story(editor, (tmp_path / "orders.yaml").as_uri())
            assert editor.messages == []
        finally:
            await editor.stop()

    asyncio.run(whole())


def test_problems_are_those_of_petra_check_with_ranges_codes_and_fixes(tmp_path: Path) -> None:
    async def story(editor: Editor, uri: str) -> None:
        editor.open(uri, ORDERS)
        found = await editor.problems(uri)
        checked = check_reading(read(ORDERS), beside(tmp_path / "orders.yaml")).problems
        assert [(d.code, d.range.start.line + 1, d.range.start.character + 1) for d in found] == [
            (problem.code, problem.line, problem.column) for problem in checked
        ]
        slip = next(d for d in found if d.code == "P104")
        assert slip.range.end == lsp.Position(
            slip.range.start.line, slip.range.start.character + len("chek")
        )
        assert slip.message == "arc leads to unknown step 'chek'; did you mean 'check'?"
        assert slip.severity == lsp.DiagnosticSeverity.Error
        actions = await editor.client.text_document_code_action_async(
            lsp.CodeActionParams(
                lsp.TextDocumentIdentifier(uri), slip.range, lsp.CodeActionContext([slip])
            )
        )
        assert actions is not None
        (action,) = actions
        assert isinstance(action, lsp.CodeAction)
        assert action.edit is not None
        assert action.edit.changes is not None
        (edit,) = action.edit.changes[uri]
        assert (action.title, edit.new_text) == ("Change to 'check'", "check")
        lines = ORDERS.split("\n")
        start, end = edit.range.start, edit.range.end
        line = lines[start.line]
        lines[start.line] = line[: start.character] + edit.new_text + line[end.character :]
        editor.type(uri, "\n".join(lines))
        assert await editor.problems(uri) == []

    edited(tmp_path, story)


def test_hover_tells_keys_steps_names_and_codes(tmp_path: Path) -> None:
    async def story(editor: Editor, uri: str) -> None:
        text = GOOD + "# P203 is ignored here\n"
        editor.open(uri, text)

        async def said(words: str) -> str:
            found = await editor.client.text_document_hover_async(
                lsp.HoverParams(lsp.TextDocumentIdentifier(uri), position_of(text, words))
            )
            assert found is not None
            assert isinstance(found.contents, lsp.MarkupContent)
            return found.contents.value

        assert "How the step ended" in await said("event.result")
        assert "Where the request goes." in await said("url:")
        assert "One HTTP request" in await said("http,")
        step = await said("check, when")
        assert "is a step, written on line 13" in step
        assert "reached from fetch" in step
        assert "A task policy that lets errors pass" in await said("P203")

    edited(tmp_path, story)


def test_completion_knows_keys_by_place_steps_names_kinds_and_filters(tmp_path: Path) -> None:
    async def story(editor: Editor, uri: str) -> None:
        editor.open(uri, GOOD)
        arc = GOOD.replace("        - {step: pay}\n", "        - {step: ‸}\n")
        assert await editor.words_at(uri, arc) == ["fetch", "check", "pay"]
        kinds = await editor.words_at(uri, GOOD + "  - step: x\n    tool: {kind: ‸")
        assert {"http", "python", "shell", "human", "workbook"} <= set(kinds)
        keys = await editor.words_at(uri, GOOD + "  - step: x\n    ‸")
        assert keys == ["desc", "spec", "loop", "tool", "next"]
        of_http = await editor.words_at(
            uri, GOOD + "  - step: x\n    tool:\n      kind: http\n      ‸"
        )
        assert {"url", "headers", "auth", "spec"} <= set(of_http)
        assert "script" not in of_http
        open_template = GOOD.replace("workload.order }}", "workload.‸ }}")
        assert await editor.words_at(uri, open_template) == ["order", "shop"]
        inner = GOOD.replace("workload.order }}", "workload.shop.‸ }}")
        assert await editor.words_at(uri, inner) == ["city"]
        filters = await editor.words_at(uri, GOOD.replace("total > 100", "total | ‸"))
        assert {"default", "length", "tojson"} <= set(filters)

    edited(tmp_path, story)


def test_a_name_leads_to_its_step_and_a_step_to_all_who_name_it(tmp_path: Path) -> None:
    async def story(editor: Editor, uri: str) -> None:
        text = GOOD.replace("> 100", "> 100 and done('pay') and not pay.late")
        editor.open(uri, text)
        document = lsp.TextDocumentIdentifier(uri)
        place = await editor.client.text_document_definition_async(
            lsp.DefinitionParams(document, position_of(text, "pay}\n  - step: check"))
        )
        assert isinstance(place, lsp.Location)
        assert place.range.start == position_of(text, "pay\n    tool: {kind: noop}\n")
        found = await editor.client.text_document_references_async(
            lsp.ReferenceParams(
                lsp.ReferenceContext(include_declaration=True), document, place.range.start
            )
        )
        assert found is not None
        lines = text.split("\n")
        cut = [
            lines[one.range.start.line][one.range.start.character : one.range.end.character]
            for one in found
        ]
        assert cut == ["pay"] * 5
        symbols = await editor.client.text_document_document_symbol_async(
            lsp.DocumentSymbolParams(document)
        )
        assert symbols is not None
        assert [symbol.name for symbol in symbols] == ["fetch", "check", "pay"]

    edited(tmp_path, story)


def test_a_text_on_its_way_to_be_yaml_never_stops_it(tmp_path: Path) -> None:
    async def story(editor: Editor, uri: str) -> None:
        editor.open(uri, "")
        assert await editor.problems(uri) == []
        step = max(1, len(ORDERS) // 60)
        for end in range(0, len(ORDERS), step):
            await editor.words_at(uri, ORDERS[:end] + "‸")
        editor.type(uri, 'kind: Playbook\nworkflow: [{step: "\n')
        (found,) = await editor.problems(uri)
        assert found.code == "P004"

    edited(tmp_path, story)


def test_two_documents_have_their_own_problems_and_closing_one_takes_them_back(
    tmp_path: Path,
) -> None:
    async def story(editor: Editor, uri: str) -> None:
        other = uri.replace("orders", "other")
        editor.open(uri, ORDERS)
        editor.open(other, GOOD)
        first = await editor.problems(uri)
        assert [d.code for d in first][:1] == ["P104"]
        assert await editor.problems(other) == []
        editor.client.text_document_did_close(
            lsp.DidCloseTextDocumentParams(lsp.TextDocumentIdentifier(uri))
        )
        assert await editor.problems(uri) == []

    edited(tmp_path, story)


def test_columns_are_counted_as_the_editor_counts_them(tmp_path: Path) -> None:
    async def story(editor: Editor, uri: str) -> None:
        line = '  - {step: "🚚", tool: {kind: noop}, nxt: 1}\n'
        text = GOOD + line
        editor.open(uri, text)
        slip = next(d for d in await editor.problems(uri) if d.code == "P101")
        before = line[: line.index("nxt")]
        assert slip.range.start.character == len(before.encode("utf-16-le")) // 2

    edited(tmp_path, story)


def test_a_test_file_has_its_problems_and_the_steps_of_its_playbook(tmp_path: Path) -> None:
    (tmp_path / "orders.yaml").write_text(GOOD)
    text = (
        "kind: Test\nplaybook: orders.yaml\ncases:\n  - name: c\n    expect: {status: complete}\n"
    )

    async def story(editor: Editor, uri: str) -> None:
        uri = uri.replace("orders.yaml", "orders.test.yaml")
        editor.open(uri, text)
        (found,) = await editor.problems(uri)
        assert found.code == "P106"
        assert "did you mean 'completed'?" in found.message
        names = await editor.words_at(uri, text + "    tools:\n      ‸")
        assert names == ["fetch", "check", "pay"]
        statuses = await editor.words_at(uri, text.replace("complete}", "‸}"))
        assert "completed" in statuses

    edited(tmp_path, story)


def test_yaml_of_others_is_left_alone(tmp_path: Path) -> None:
    async def story(editor: Editor, uri: str) -> None:
        editor.open(uri, "version: 3\nservices: {db: {image: postgres}}\n")
        assert await editor.problems(uri) == []

    edited(tmp_path, story)


def test_ten_thousand_lines_are_served(tmp_path: Path) -> None:
    head = GOOD.split("workflow:\n")[0] + "workflow:\n"
    steps = [
        f"  - step: s{n}\n    desc: number {n}\n    tool:\n      kind: noop\n    next: {{arcs: [{{step: s{n + 1}}}]}}\n"
        for n in range(2_000)
    ]
    text = head + "".join(steps) + "  - step: s2000\n    tool: {kind: noop}\n"
    assert text.count("\n") > 10_000

    async def story(editor: Editor, uri: str) -> None:
        editor.open(uri, text)
        names = await editor.words_at(uri, text.replace("step: s2000}", "step: ‸}"))
        assert len(names) == 2_001
        await editor.problems(uri)

    edited(tmp_path, story)


def test_without_pygls_it_says_what_to_install(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text("import sys\nsys.modules['pygls'] = None\n")
    found = subprocess.run(
        [sys.executable, "-m", "petra", "lsp"],
        env={"PYTHONPATH": str(tmp_path), "PATH": ""},
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    assert found.returncode == 1
    assert "pip install 'petra[lsp]'" in found.stderr
    assert "Traceback" not in found.stderr
