"""The pages of the error codes: each says what Petra says, and its examples do what they claim."""

from __future__ import annotations

import re
import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from petra.net.proof import prove
from petra.playbook import Problem, read, read_bytes
from petra.playbook.codes import CODES
from petra.playbook.documents import kind_in, read_document
from petra.playbook.problems import headline

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "docs/reference/errors"
FENCE = re.compile(r"^```(?P<info>[^\n]*)\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)

# No text brings these about: a missing file, bytes that are no text, and a missing playbook.
WITHOUT_TEXT = ("P001", "P002", "P401")
# Its example is too large to print.
GROWN = ("P003",)
WITH_EXAMPLE = [code for code in CODES if code not in (*WITHOUT_TEXT, *GROWN)]


def page(code: str) -> str:
    return (FOLDER / f"{code}.md").read_text(encoding="utf-8")


def snippet(code: str, info: str) -> str:
    (body,) = (m["body"] for m in FENCE.finditer(page(code)) if m["info"] == info)
    return body


def found(text: str) -> list[Problem]:
    """Return everything that petra check reports."""
    if kind_in(text):
        return list(read_document(text).problems)
    reading = read(text)
    return [*reading.problems, *(prove(reading).problems if reading.ok else ())]


def test_every_code_has_a_page_and_every_page_a_code() -> None:
    pages = {path.stem for path in FOLDER.glob("*.md")} - {"README"}
    assert pages == set(CODES)


@pytest.mark.parametrize("code", CODES)
def test_a_page_is_titled_by_its_code_and_sentence(code: str) -> None:
    assert page(code).startswith(f"# {code}: {CODES[code]}\n")


@pytest.mark.parametrize("code", CODES)
def test_a_page_tells_cause_and_cure_in_that_order(code: str) -> None:
    headings = re.findall(r"^## (.*)$", page(code), re.MULTILINE)
    assert headings == ["How it comes about", "How to mend it"]


@pytest.mark.spec("S1")
@pytest.mark.parametrize("code", WITH_EXAMPLE)
def test_the_wrong_example_has_this_problem_and_no_other_error(code: str) -> None:
    text = snippet(code, "yaml wrong")
    problems = found(text)
    assert code in {problem.code for problem in problems}
    assert {problem.code for problem in problems if problem.severity == "error"} <= {code}
    for problem in problems:
        line = text.splitlines()[problem.line - 1]
        assert 1 <= problem.column <= len(line)


@pytest.mark.spec("S1")
@pytest.mark.parametrize("code", [*GROWN, *WITH_EXAMPLE])
def test_the_right_example_has_no_problem_at_all(code: str) -> None:
    text = snippet(code, "yaml right")
    assert [headline(problem, code) for problem in found(text)] == []
    assert kind_in(text) or read(text).ok


@pytest.mark.parametrize("code", WITHOUT_TEXT)
def test_a_problem_that_no_text_has_is_shown_on_the_command_line(code: str) -> None:
    shown = snippet(code, "console")
    assert shown.startswith("$ petra check ")
    assert f"[{code}]" in shown


@pytest.mark.spec("S1")
def test_the_bytes_of_an_old_encoding_are_reported_as_the_page_shows_it() -> None:
    text = "apiVersion: petra/v1\nkind: Playbook\nmetadata: {name: café}\n"
    (problem,) = read_bytes(text.encode("latin-1")).problems
    assert headline(problem, "orders.yaml") in snippet("P002", "console").splitlines()


@pytest.mark.spec("S1")
def test_the_excerpt_grows_into_a_bomb_two_levels_later() -> None:
    excerpt = snippet("P003", "yaml excerpt")
    assert read(excerpt).ok
    c = next(line for line in excerpt.splitlines() if line.startswith("  c: "))
    d = c.replace("c: &c", "d: &d").replace("*b", "*c")
    e = c.replace("c: &c", "e: &e").replace("*b", "*d")
    (problem,) = read(excerpt.replace(c, f"{c}\n{d}\n{e}")).problems
    assert (problem.code, problem.line) == ("P003", 9)


# The index

Main = Callable[[list[str], Path], int]


@pytest.fixture(scope="module")
def script() -> dict[str, Any]:
    return runpy.run_path(str(ROOT / "scripts/generate_docs.py"))


@pytest.mark.slow
def test_the_generated_pages_are_fresh(script: dict[str, Any]) -> None:
    assert list(script["stale"](ROOT)) == []


def test_the_index_names_every_code_once(script: dict[str, Any]) -> None:
    assert re.findall(
        r"^\| \[(P\d+)\]\(\1\.md\) \|", script["error_index"](), re.MULTILINE
    ) == list(CODES)


@pytest.mark.slow
def test_check_lists_what_is_stale_and_writes_nothing(
    script: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main: Main = script["main"]
    paths = [path for path, _ in script["PAGES"]]
    assert main(["--check"], tmp_path) == 1
    assert capsys.readouterr().out.splitlines() == [f"stale: {path}" for path in paths]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_writing_makes_every_page_fresh(script: dict[str, Any], tmp_path: Path) -> None:
    main: Main = script["main"]
    assert main([], tmp_path) == 0
    assert main(["--check"], tmp_path) == 0
    (tmp_path / script["PAGES"][0][0]).write_text("edited by hand", encoding="utf-8")
    assert main(["--check"], tmp_path) == 1
