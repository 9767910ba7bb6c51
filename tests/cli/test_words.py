"""What the command line says to people: codes, marks, narrow and dumb terminals, exit codes."""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path

import pytest
from cli.processes import on_a_terminal
from click.testing import CliRunner
from support import forks

import petra as library
from petra.cli import petra
from petra.cli.home import EXIT
from petra.errors import UsageError
from petra.playbook.codes import CODES

WARNED = """\
apiVersion: petra/v1
kind: Playbook
metadata: {name: warned}
workflow:
  - step: fetch
    tool:
      kind: http
      url: https://shop.example/orders
      spec: {policy: {rules: [{else: {then: {do: continue, set_ctx: {fetched: true}}}}]}}
"""
BROKEN = WARNED.replace("kind: http", "kind: htpp").replace("else:", "els:")
PARTIAL = """\
apiVersion: petra/v1
kind: Playbook
metadata: {name: partial}
executor: {spec: {policy: {failure: {mode: best_effort}}}}
workflow:
  - step: tries
    tool: {kind: shell, argv: ["false"]}
    next: {arcs: [{step: goes_on}]}
  - step: goes_on
    tool: {kind: noop}
"""


def invoke(*arguments: str) -> tuple[int, str]:
    found = CliRunner().invoke(petra, list(arguments))
    return found.exit_code, found.output


# Codes


@pytest.mark.parametrize("code", CODES)
def test_every_code_is_explained(code: str) -> None:
    exit_code, words = invoke("explain", code)
    assert exit_code == 0
    assert words.startswith(f"{code}: {CODES[code]}\n")
    assert "How to mend it" in words
    assert "](" not in words
    assert "```" not in words


def test_a_code_may_be_written_small_and_asked_for_by_programs() -> None:
    found = json.loads(invoke("explain", "p203", "-o", "json")[1])
    assert (found["code"], found["title"]) == ("P203", CODES["P203"])


def test_an_unknown_code_names_the_nearest() -> None:
    exit_code, words = invoke("explain", "P199")
    assert exit_code == 2
    nearest = min(CODES, key=lambda code: abs(int(code[1:]) - 199))
    assert f"there is no code 'P199'; the nearest is {nearest}: {CODES[nearest]}" in words


# Marks


def test_strict_says_no_where_it_means_no(tmp_path: Path) -> None:
    (tmp_path / "warned.yaml").write_text(WARNED)
    path = str(tmp_path / "warned.yaml")
    exit_code, words = invoke("check", path)
    assert (exit_code, words.splitlines()[-1][0]) == (0, "✓")
    exit_code, words = invoke("check", "--strict", path)
    assert exit_code == 1
    assert words.splitlines()[-1].startswith("✗ ")
    assert "1 warning that --strict does not let pass" in words


# Terminals


@pytest.mark.slow
def test_forty_columns_are_enough(tmp_path: Path) -> None:
    (tmp_path / "broken.yaml").write_text(BROKEN)
    (tmp_path / "good.yaml").write_text(PARTIAL)
    for arguments in (
        ("check", "broken.yaml"),
        ("check", "good.yaml"),
        ("run", "good.yaml"),
        ("explain", "P115"),
        ("ps",),
        ("--help",),
    ):
        written, _ = on_a_terminal(tmp_path, *arguments, columns=40)
        lines = [
            re.sub(r"\x1b\[[?0-9;]*[A-Za-z]", "", line) for line in re.split(r"[\r\n]+", written)
        ]
        long = [line for line in lines if len(line) > 40 and " " in line.strip()]
        code = [line for line in long if line.startswith(("    ", "$"))]  # playbooks are not folded
        assert [line for line in long if line not in code] == [], arguments


@pytest.mark.slow
@pytest.mark.parametrize("term", ["dumb", "unknown"])
def test_a_dumb_terminal_gets_lines_without_codes(tmp_path: Path, term: str) -> None:
    (tmp_path / "good.yaml").write_text(PARTIAL)
    (tmp_path / "broken.yaml").write_text(BROKEN)
    for arguments in (("run", "good.yaml"), ("check", "broken.yaml"), ("ps",)):
        written, _ = on_a_terminal(tmp_path, *arguments, term=term)
        assert "\x1b" not in written, arguments


# Exit codes


@pytest.mark.slow
@pytest.mark.spec("S11")
def test_partial_counts_as_failed(tmp_path: Path) -> None:
    (tmp_path / "partial.yaml").write_text(PARTIAL)
    done = forks.PETRA.run(tmp_path, "run", "partial.yaml")
    assert "◐ partial" in done.stdout + done.stderr
    assert done.returncode == EXIT["partial"] == 1


def test_the_page_of_the_command_line_has_every_exit_code(root: Path) -> None:
    page = (root / "docs/reference/cli.md").read_text("utf-8")
    for status, code in EXIT.items():
        assert f"| `{status}` | {code} |" in page


# Inside a running loop


def test_run_inside_a_running_loop_says_what_to_write(tmp_path: Path) -> None:
    (tmp_path / "p.yaml").write_text(PARTIAL)

    async def notebook() -> None:
        library.run(tmp_path / "p.yaml", home=tmp_path / "home")

    with pytest.raises(UsageError, match=r"async with petra\.open\(\) as local: result = await"):
        asyncio.run(notebook())
