"""Petra inside a program: what the how-to shows is what happens."""

from __future__ import annotations

import asyncio
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from engine_support import playbook
from support.stub_http import reply, serving

import petra
from petra.embedded import Home, Result, read_file
from petra.playbook import InvalidPlaybookError


@pytest.mark.slow
def test_the_programs_of_the_how_to_run_as_written(root: Path, tmp_path: Path) -> None:
    page = (root / "docs/how-to/embed-petra.md").read_text()
    programs = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    (tmp_path / "examples").symlink_to(root / "examples")
    outputs = [
        subprocess.run(
            [sys.executable, "-c", text], cwd=tmp_path, capture_output=True, text=True, check=True
        ).stdout
        for text in programs
    ]
    assert outputs[0].startswith("completed ")
    assert outputs[1] == "['completed', 'completed']\n"
    told = [number for line in outputs[2].splitlines() for number in json.loads(line)]
    assert told == list(range(1, len(told) + 1))
    assert outputs[3].startswith("human [")
    assert outputs[3].splitlines()[1].endswith(" records")


def test_a_playbook_with_errors_is_refused_before_anything_is_made(tmp_path: Path) -> None:
    bad = tmp_path / "bad.yaml"
    bad.write_text("apiVersion: petra/v1\nkind: Playbook\nmetadata: {name: x}\nworkflow: []\n")
    with pytest.raises(InvalidPlaybookError, match="is empty"):
        petra.run(bad, home=tmp_path / "home")
    assert not (tmp_path / "home").exists()


@pytest.mark.slow
def test_a_playbook_that_was_read_runs_as_its_file_does(root: Path, tmp_path: Path) -> None:
    book = petra.read(root / "examples/hello.yaml")
    result = petra.run(book, {"name": "Ada"}, home=tmp_path / "home")
    assert (result.status, result.output) == ("completed", "Hello, Ada!")


async def _asked_for_nobody(home: Path) -> list[str]:
    """Ask for an execution that there is not, in every way there is."""
    async with petra.open(home) as local:
        asked = [
            local.get("x"), local.rest("x"), local.signal("x", "s"), local.cancel("x"),
            local.complete("x", "s", "approve", actor="ada"), local.records("x"), anext(local.follow("x")),
        ]  # fmt: skip
        answers = await asyncio.gather(*asked, return_exceptions=True)
    return [f"{type(answer).__name__}: {answer}" for answer in answers]


def test_whatever_is_asked_of_an_execution_that_there_is_not_says_so(tmp_path: Path) -> None:
    answers = asyncio.run(_asked_for_nobody(tmp_path / "home"))
    assert set(answers) == {"UnknownExecutionError: there is no execution 'x'"}


@pytest.mark.slow
@pytest.mark.spec("S22", "S3")
def test_a_playbook_runs_with_the_files_beside_it_as_they_were_when_it_began(
    root: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "revenue"
    shutil.copytree(root / "examples/revenue", folder)
    book = read_file(folder / "revenue.yaml")
    shutil.rmtree(folder)

    async def scenario() -> None:
        async with Home.open(tmp_path / "home") as petra:
            found = await petra.run(book, {"database": str(tmp_path / "orders.db")})
            assert (found.status, found.output["total"], found.output["line"]) == (
                "completed", 210.0, "2026-10: 210.0 EUR",
            )  # fmt: skip

    asyncio.run(scenario())


@pytest.mark.slow
@pytest.mark.spec("S22")
@pytest.mark.parametrize(
    "task",
    [
        "code: 'def main(alpha): return sum(alpha)'",
        "code: 'result = sum(alpha)'",
        'code: \'def main(context): return sum(context["al" + "pha"])\'',
        "function: 'm:total', modules: {m: 'def total(alpha): return sum(alpha)'}",
    ],
)
def test_code_takes_the_result_of_a_step_however_it_is_written(tmp_path: Path, task: str) -> None:
    book = playbook(
        "  - {step: alpha, tool: {kind: python, code: 'result = [1, 2, 3]'}, next: {arcs: [{step: total}]}}\n"
        f"  - {{step: total, tool: {{kind: python, {task}}}}}\n"
    )

    async def scenario() -> None:
        async with Home.open(tmp_path) as petra:
            assert (await petra.run(book)).output == 6

    asyncio.run(scenario())


@pytest.mark.spec("S22")
def test_code_takes_the_result_of_a_step_by_its_name(tmp_path: Path) -> None:
    book = playbook(
        "  - {step: alpha, tool: {kind: python, code: 'result = [1, 2, 3]'}, next: {arcs: [{step: total}]}}\n"
        "  - {step: total, tool: {kind: python, code: 'def main(alpha): return sum(alpha)'}}\n"
    )

    async def scenario() -> None:
        async with Home.open(tmp_path) as petra:
            assert (await petra.run(book)).output == 6

    asyncio.run(scenario())


@pytest.mark.slow
@pytest.mark.spec("S22")
def test_a_failure_names_the_line_that_the_author_sees_now(tmp_path: Path) -> None:
    text = (
        "apiVersion: petra/v1\nkind: Playbook\nmetadata: {name: prices}\nworkflow:\n  - step: one\n"
        "    tool:\n      kind: python\n      code: |\n        def main():\n            return {}['price']\n"
    )
    one, two = tmp_path / "one.yaml", tmp_path / "two.yaml"
    one.write_text(text)
    two.write_text(f"# the same, further down\n{text}")

    async def scenario() -> list[Result]:
        async with Home.open(tmp_path / "home") as petra:
            return [await petra.run(one), await petra.run(two)]

    first, second = asyncio.run(scenario())
    place = "main, line 2: {}['price']"
    assert first.failures[0]["message"] == f"KeyError: 'price'; one.yaml:10, {place}"
    assert second.failures[0]["message"] == f"KeyError: 'price'; two.yaml:11, {place}"
    assert 'File "two.yaml", line 11, in main' in second.failures[0]["details"]["traceback"]


@pytest.mark.slow
@pytest.mark.spec("S18", "S22")
def test_what_was_downloaded_is_its_value_in_base64_and_only_its_reference_is_kept(
    tmp_path: Path,
) -> None:
    content = bytes(range(256)) * 1000

    async def scenario() -> None:
        async with serving({"/": reply(content)}) as stub, Home.open(tmp_path) as petra:
            book = playbook(
                f"  - {{step: get, tool: {{kind: http, url: '{stub.url()}', download: true}}, next: {{arcs: [{{step: use}}]}}}}\n"
                "  - {step: use, tool: {kind: python, code: 'def main(get): import base64; return len(base64.b64decode(get[\"data\"]))'}}\n"
            )
            found = await petra.run(book)
            assert (found.status, found.output) == ("completed", len(content))

    asyncio.run(scenario())
