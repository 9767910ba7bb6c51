"""What goes wrong has a code, and every code a page that the server itself serves: how it comes about, and the next move."""

from __future__ import annotations

import ast
import subprocess
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest
from bare_app import bare_description
from server.conftest import TRUSTED, Served, get, launch, serve

import petra.server
from petra.client.problems import refusal
from petra.playbook.codes import CODES as PLACES
from petra.server.problem_codes import CODES, PAGES, page_of
from petra.server.problems import _BY_STATUS, _CODE_OF

SOURCE = Path(petra.server.__file__).parent


def _said(tree: ast.AST) -> Iterator[str]:
    """Yield the codes that a file says: those of the problems it raises, and those of its tables."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            first = node.args[0] if node.args else None
            if node.func.id == "ProblemError" and isinstance(first, ast.Constant):
                yield str(first.value)
        if isinstance(node, ast.FunctionDef) and node.name == "_wrong":  # of the gate
            for one in ast.walk(node):
                if isinstance(one, ast.Return) and isinstance(one.value, ast.Tuple):
                    assert isinstance(one.value.elts[0], ast.Constant)
                    yield str(one.value.elts[0].value)
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "_CODES":
            assert isinstance(node.value, ast.Dict)
            yield from (
                str(one.value) for one in node.value.values if isinstance(one, ast.Constant)
            )


def _answered() -> set[str]:
    found = {code for _, code in _CODE_OF} | set(_BY_STATUS.values())
    for path in SOURCE.rglob("*.py"):
        found |= set(_said(ast.parse(path.read_text("utf-8"))))
    return found


def test_the_table_has_every_code_that_is_answered_and_no_other() -> None:
    assert _answered() == set(CODES)


@pytest.mark.parametrize("code", CODES)
def test_a_code_has_a_page_for_strangers_with_its_cause_and_the_next_move(
    server: Served, code: str
) -> None:
    page = get(f"{server.url}{page_of(code)}")
    assert page.status_code == 200
    assert page.headers["content-type"].startswith("text/html")
    assert page.headers["content-security-policy"].startswith("default-src 'none'")
    words = page.text.replace("&#x27;", "'")
    for part in (code, CODES[code].title, CODES[code].cause, CODES[code].hint):
        assert part in words
    assert "src=" not in words
    assert "http://" not in words


@pytest.mark.parametrize("code", ["P001", "P104", "P505"])
def test_a_place_in_a_playbook_has_its_page_too(server: Served, code: str) -> None:
    page = get(f"{server.url}{PAGES}/{code}")
    assert page.status_code == 200
    assert PLACES[code] in page.text
    assert "<h2>How to mend it</h2>" in page.text
    assert "```" not in page.text


def test_all_pages_are_listed_and_no_other_is_there(server: Served) -> None:
    listed = get(f"{server.url}{PAGES}").text
    for code in (*CODES, *PLACES):
        assert f"href='{page_of(code)}'" in listed
    unknown = get(f"{server.url}{PAGES}/none")
    assert (unknown.status_code, unknown.json()["code"]) == (404, "not-found")


def test_the_type_of_a_problem_leads_to_its_page_wherever_it_was_found(server: Served) -> None:
    base = f"{server.url}/api/v1"
    with httpx2.Client(verify=TRUSTED, timeout=300) as http:
        answers = [
            http.get(f"{base}/executions"),  # by the door
            http.get(f"{base}/executions", headers={"Host": "elsewhere"}),  # by the gate
            http.put(f"{base}/executions"),  # by the framework
            http.get(f"{server.url}/nowhere/at/all"),
        ]
    assert [one.json()["code"] for one in answers] == ["no-credentials", "host", "method-not-allowed", "not-found"]  # fmt: skip
    for answer in answers:
        problem = answer.json()
        assert problem["type"] == page_of(problem["code"])
        assert refusal(answer).page == f"{server.url}{problem['type']}" or "elsewhere" in str(answer.request.headers)  # fmt: skip
        assert get(f"{server.url}{problem['type']}").status_code == 200


@pytest.mark.slow
def test_under_a_prefix_it_leads_there_too(tmp_path: Path) -> None:
    with serve(tmp_path / ".petra", "--prefix", "/x") as served:
        root = served.url.removesuffix("/x")
        problem = get(f"{root}/x/api/v1/executions").json()
        assert problem["type"] == "/x/api/docs/problems/no-credentials"
        page = get(f"{root}{problem['type']}")
        assert page.status_code == 200
        assert "href='/x/api/docs/problems'" in page.text


@pytest.mark.slow
def test_the_description_and_the_page_of_the_api_lead_there(server: Served) -> None:
    said = bare_description()["components"]["responses"].values()
    words = " ".join(one["description"] for one in said)
    page = get(f"{server.url}/api/docs").text
    for code in CODES:
        assert f"[`{code}`]({page_of(code)})" in words
        assert f"href='{page_of(code)}'" in page


def test_a_verb_says_where_the_page_is(server: Served) -> None:
    environment = {"PETRA_SERVER": server.url, "PETRA_TOKEN": server.said["token"]}
    words = ("user", "change", "nobody", "--role", "viewer")
    done = launch(*words, env=environment, stderr=subprocess.PIPE)
    assert f"more: {server.url}{PAGES}/not-found\n" in done.communicate()[1]
    assert done.returncode == 1
