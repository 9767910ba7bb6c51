"""The pages about tools: their examples are good playbooks, and the tool of the how-to works as a plug-in."""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import sys
import typing
from pathlib import Path

import pytest
from support.attempts import bad, good

from petra.errors import UsageError
from petra.kinds import KINDS
from petra.playbook import read
from petra.playbook.problems import headline
from petra.tools.base import ToolContext
from petra.tools.registry import Registry
from petra.wire import ErrorKind

ROOT = Path(__file__).parents[2]
FENCE = re.compile(r"^```(?P<info>\w+)\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)
HEAD = """
apiVersion: petra/v1
kind: Playbook
metadata: {name: example}
workload: {price: 2}
keychain:
  - {name: key, kind: env, var: KEY}
  - {name: api, kind: bearer, token: key}
  - {name: db, kind: postgres_credential, url: "postgresql://localhost/shop"}
workflow:
"""


def snippets(path: str, info: str) -> list[str]:
    page = (ROOT / path).read_text(encoding="utf-8")
    return [match["body"] for match in FENCE.finditer(page) if match["info"] == info]


@pytest.mark.spec("S22")
@pytest.mark.parametrize("kind", KINDS)
def test_the_examples_of_a_kind_are_good_playbooks(kind: str) -> None:
    examples = snippets(f"docs/reference/tools/{kind}.md", "yaml")
    assert examples
    for example in examples:
        assert f"kind: {kind}" in example
        reading = read(HEAD + example)
        assert [headline(p, kind) for p in reading.problems if p.severity == "error"] == []


@pytest.mark.spec("S5", "S22")
@pytest.mark.parametrize("kind", KINDS)
def test_a_page_names_only_kinds_of_errors_that_exist(kind: str) -> None:
    page = (ROOT / f"docs/reference/tools/{kind}.md").read_text(encoding="utf-8")
    table = page.partition("## Errors")[2].partition("## ")[0]
    named = re.findall(r"^\|[^|]+\| (\w+)", table, re.MULTILINE)
    known = {*typing.get_args(ErrorKind), "error"}
    assert [word for word in named if word not in known] == []


def install(folder: Path, name: str, code: str, entry: str) -> None:
    """Put a module into a folder, and beside it what an installer would write."""
    (folder / f"{name}.py").write_text(code, encoding="utf-8")
    about = folder / f"{name}-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(entry)


def test_the_tool_of_the_how_to_has_25_lines_of_code() -> None:
    code, _ = snippets("docs/how-to/write-a-tool.md", "python")
    assert len([line for line in code.splitlines() if line.strip()]) <= 25


@pytest.mark.spec("S22")
def test_the_tool_of_the_how_to_is_found_through_its_entry_point(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code, _ = snippets("docs/how-to/write-a-tool.md", "python")
    (toml,) = snippets("docs/how-to/write-a-tool.md", "toml")
    name, _, target = toml.splitlines()[1].partition(" = ")
    install(tmp_path, "csv_tool", code, f"[petra.tools]\n{name} = {target.strip(chr(34))}\n")
    monkeypatch.syspath_prepend(tmp_path)
    registry = Registry()
    assert registry.specs()["csv"].__name__ == "Csv"
    fields = {"text": "a;b\n1;2", "delimiter": ";"}
    outcome = asyncio.run(registry.attempt("csv", fields, ToolContext()))
    assert good(outcome) == [{"a": "1", "b": "2"}]
    wrong = asyncio.run(registry.attempt("csv", {**fields, "delimiter": "--"}, ToolContext()))
    assert bad(wrong).kind == "client_error"


@pytest.mark.slow
@pytest.mark.spec("S22")
def test_a_playbook_may_use_the_tool_of_the_how_to_as_any_other(tmp_path: Path) -> None:
    code, _ = snippets("docs/how-to/write-a-tool.md", "python")
    install(tmp_path, "csv_tool", code, "[petra.tools]\ncsv = csv_tool:CsvTool\n")
    (tmp_path / "rows.yaml").write_text(
        "apiVersion: petra/v1\nkind: Playbook\nmetadata: {name: rows}\nworkflow:\n"
        '  - step: rows\n    tool: {kind: csv, text: "{{ workload.text }}"}\n'
    )
    environ = {**os.environ, "PYTHONPATH": str(tmp_path)}
    command = [
        sys.executable,
        "-m",
        "petra",
        "run",
        "rows.yaml",
        "-o",
        "json",
        "--set",
        "text=a\n1",
    ]
    ran = subprocess.run(
        command, cwd=tmp_path, env=environ, capture_output=True, text=True, check=False
    )
    assert json.loads(ran.stdout)["output"] == [{"a": "1"}], ran.stderr
    (tmp_path / "typo.yaml").write_text(
        (tmp_path / "rows.yaml").read_text().replace("text:", "txt:")
    )
    checked = subprocess.run(
        [sys.executable, "-m", "petra", "check", "typo.yaml"],
        cwd=tmp_path, env=environ, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert "unknown key 'txt' in this task; did you mean 'text'?" in checked.stdout


def test_the_last_snippet_of_the_how_to_prints_what_it_says(tmp_path: Path) -> None:
    tool, trial = snippets("docs/how-to/write-a-tool.md", "python")
    (printed,) = snippets("docs/how-to/write-a-tool.md", "text")
    (tmp_path / "csv_tool.py").write_text(tool, encoding="utf-8")
    ran = subprocess.run(
        [sys.executable, "-c", trial], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert ran.stdout == printed


CLUSTER = "docs/how-to/run-on-a-cluster.md"


def test_the_tool_for_a_cluster_has_30_lines_of_code() -> None:
    (code,) = snippets(CLUSTER, "python")
    assert len([line for line in code.splitlines() if line.strip()]) <= 30


@pytest.mark.slow
@pytest.mark.spec("S22")
def test_the_tool_for_a_cluster_calls_a_function_per_item_in_other_processes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (code,), (toml,) = snippets(CLUSTER, "python"), snippets(CLUSTER, "toml")
    name, _, target = toml.splitlines()[1].partition(" = ")
    install(tmp_path, "cluster_tool", code, f"[petra.tools]\n{name} = {target.strip(chr(34))}\n")
    (tmp_path / "pricing.py").write_text(
        "import os\ndef price(row): return [row['n'] * 2, os.getpid()]\n"
    )
    monkeypatch.syspath_prepend(tmp_path)

    async def scenario() -> None:
        registry = Registry()
        try:
            fields = {"function": "pricing:price", "items": [{"n": n} for n in range(20)]}
            found = good(await registry.attempt("cluster", fields, ToolContext()))
            assert [price for price, _ in found] == [n * 2 for n in range(20)]
            assert os.getpid() not in {process for _, process in found}
            wrong = await registry.attempt("cluster", {**fields, "items": [{}]}, ToolContext())
            assert (bad(wrong).kind, bad(wrong).message) == ("unknown", "KeyError: 'n'")
            none = await registry.attempt("cluster", {**fields, "items": 7}, ToolContext())
            assert bad(none).message == "items takes a list"
        finally:
            await registry.close()

    asyncio.run(scenario())


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ("http = other_tool:OtherTool", "claims the built-in kind 'http'"),
        ("wait = other_tool:OtherTool", "claims the built-in kind 'wait'"),
    ],
)
def test_a_plug_in_cannot_take_over_a_built_in_kind(
    entry: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(tmp_path, "other_tool", "", f"[petra.tools]\n{entry}\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(UsageError, match=said):
        Registry()


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("import no_such_module", "no_such_module"),
        ("", "has no attribute 'T'"),
        ("class T:\n    kind = 'even'", "leads to a tool of kind 'even'"),
        ("class T:\n    def __init__(self): raise KeyError('no setting')", "no setting"),
    ],
)
def test_a_plug_in_that_is_broken_is_an_outcome(
    code: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(tmp_path, "broken_tool", code, "[petra.tools]\nodd = broken_tool:T\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "broken_tool", raising=False)
    error = bad(asyncio.run(Registry().attempt("odd", {}, ToolContext())))
    assert (error.kind, said in error.message) == ("client_error", True)
