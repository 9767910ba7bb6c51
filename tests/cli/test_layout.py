"""How words are laid out: in one place, in lines that fit the terminal, at eighty columns and at forty."""

from __future__ import annotations

import json
import re
import shlex
import sys
from pathlib import Path

import click
import pytest
from cli.processes import on_a_terminal, petra
from click.testing import CliRunner
from docs.test_error_pages import WITH_EXAMPLE, found, snippet
from hypothesis import given
from hypothesis import strategies as st

from petra.cli import petra as command_line
from petra.cli.output import Quoted, fold, print_json, print_problem, tell

ROOT = Path(__file__).parents[2]
CODES = re.compile(r"\x1b\[[?0-9;]*[A-Za-z]")
COLUMNS = pytest.mark.parametrize("columns", [80, 40])
WIDE = '        return [{"city": row["city"], "total": float(row["total"])} for row in rows if row["total"] is not None]'
BOOK = f"""\
apiVersion: petra/v1
kind: Playbook
metadata: {{name: a_playbook_of_some_length}}
workload: {{rows: [{{city: Oslo, total: none}}]}}
workflow:
  - step: transform
    tool:
      kind: python
      args: {{rows: "{{{{ workload.rows }}}}"}}
      code: |
        def main(rows):
        {WIDE.removeprefix("    ")}
"""


def too_wide(text: str, columns: int) -> list[str]:
    """Return the lines that are wider than a terminal; a name is not broken, or nobody could copy it."""
    lines = re.split(r"[\r\n]+", CODES.sub("", text))
    return [
        line for line in lines if len(line) > columns and len(line.removesuffix(" \\").split()) > 1
    ]


# One place


def test_nothing_but_the_layout_writes_to_the_terminal() -> None:
    written = re.compile(r"click\.s?echo\(|textwrap|std(?:out|err)\.write\(|(?<![\w.])print\(")
    allowed = {"output.py": 4, "__init__.py": 2, "init.py": 1}  # a version, ^C; code of a playbook
    for path in sorted((ROOT / "src/petra/cli").glob("*.py")):
        found = written.findall(path.read_text("utf-8"))
        assert len(found) <= allowed.get(path.name, 0), path.name


def test_nothing_that_is_told_steers_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    steers = "\x1b[2J\x1b]0;title\x07\r\b\x00\x9b8m\u202eabc\u2069"
    tell(f"failed: {steers}")
    tell(f"failed: {steers}", err=True)
    spelled = r"\x1b[2J\x1b]0;title\x07\x0d\x08\x00\x9b8m\u202eabc\u2069"
    written = capsys.readouterr()
    assert written.out == written.err == f"failed: {spelled}\n"
    print_json({"a": steers, "b": "é\x7f"})
    text = capsys.readouterr().out
    assert text.replace("\n", "").isprintable()
    assert json.loads(text) == {"a": steers, "b": "é\x7f"}
    assert '"b": "é' in text


def test_a_colour_of_somebody_else_ends_with_what_they_said(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(click.utils, "should_strip_ansi", lambda *_: False)
    tell("failed: \x1b[31mred and \x1b[8mhidden")
    tell(click.style("bold", bold=True) + " and not")
    assert capsys.readouterr().out == (
        "failed: \x1b[31mred and \\x1b[8mhidden\x1b[0m\n\x1b[1mbold\x1b[0m and not\x1b[0m\n"
    )


WORDS = st.lists(st.text("abcdef'", min_size=1, max_size=30), min_size=1, max_size=30)


@given(words=WORDS, indent=st.integers(0, 8), columns=st.integers(20, 100))
def test_a_fold_keeps_every_word_and_every_line_fits(words: list[str], indent: int, columns: int) -> None:  # fmt: skip
    line = " " * indent + "  ".join(words)
    lines = fold(line, columns).split("\n")
    assert " ".join(lines).split() == words
    assert not too_wide("\n".join(lines), columns)
    assert all(one.startswith(" " * indent) for one in lines)


def test_colours_take_no_room() -> None:
    coloured = "\x1b[32m✓\x1b[0m " + "x" * 38
    assert fold(coloured, 40) == coloured


@COLUMNS
def test_a_folded_command_can_still_be_pasted(columns: int) -> None:
    command = 'petra task complete 01a1e2eb218c-8c09cfacb418/ask approve --as boss --data \'{"note": "a b"}\''
    shown = fold(f"    {command}", columns)
    assert "\n" in shown
    assert shlex.split(shown.replace("\\\n", "")) == shlex.split(command)


@pytest.mark.parametrize("columns", [60, 80, 100])
def test_a_command_inside_a_sentence_is_not_broken(columns: int) -> None:
    said = f"  {'x' * (columns - 25)} 'petra watch 01a1f48309e8-243f930cd24d' goes on."
    lines = fold(said, columns).split("\n")
    assert any("'petra watch 01a1f48309e8-243f930cd24d'" in line for line in lines)
    assert max(map(len, lines)) <= columns


def test_carets_go_with_the_line_that_they_are_under(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    monkeypatch.setenv("COLUMNS", "40")
    quoted = Quoted()
    assert quoted.line("│ one  ", "short") == "│ one  short"
    assert quoted.line("│ one  ", "^^^^^") == "│ one  ^^^^^"
    shown = quoted.line("│ one  ", "    return " + "longer " * 8)
    assert shown is not None
    assert shown.splitlines()[1].startswith("             longer")
    assert quoted.line("│ one  ", "           ^^^^^^") is None
    assert quoted.line("│ one  ", "KeyError: 'a'") == "│ one  KeyError: 'a'"


# Everything that is said about a playbook


@COLUMNS
@pytest.mark.parametrize("code", WITH_EXAMPLE)
def test_every_problem_fits(code: str, columns: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:  # fmt: skip
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    monkeypatch.setenv("COLUMNS", str(columns))
    text = snippet(code, "yaml wrong")
    problems = found(text)
    assert problems
    for problem in problems:
        print_problem(problem, text.split("\n"), "a_folder/a_playbook.yaml")
    shown = [
        line for line in capsys.readouterr().out.split("\n") if not re.match(r" *\d* \| ", line)
    ]
    assert not too_wide("\n".join(shown), columns)


@COLUMNS
@pytest.mark.parametrize(
    "page",
    [
        "how-to/understand-what-petra-says.md",
        "tutorial/first-hour.md",
    ],
)
def test_everything_that_the_pages_show_fits_when_it_is_folded(page: str, columns: int) -> None:
    text = (ROOT / "docs" / page).read_text("utf-8")
    told = [
        line
        for fence in re.findall(r"^```console\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
        for line in fence.splitlines()
        if not line.startswith("$ ")
    ]
    assert len(told) > 30
    assert not too_wide(fold("\n".join(told), columns), columns)


# Real terminals


@pytest.mark.slow
@COLUMNS
def test_a_failure_with_wide_lines_fits_wherever_it_is_shown(tmp_path: Path, columns: int) -> None:
    (tmp_path / "wide.yaml").write_text(BOOK)
    written, code = on_a_terminal(tmp_path, "run", "wide.yaml", columns=columns)
    assert code == 1
    assert not too_wide(written, columns)
    (execution,) = re.findall(r"\S+", petra(tmp_path, "ps"))[:1]
    for verb in ("get", "logs", "explain", "events", "ps"):
        arguments = (verb,) if verb == "ps" else (verb, execution)
        written, _ = on_a_terminal(tmp_path, *arguments, columns=columns)
        assert not too_wide(written, columns), verb
        assert verb == "ps" or "could not convert string to float" in re.sub(r"\s+", " ", written)
    assert "failed" in on_a_terminal(tmp_path, "ps", columns=columns)[0]
    assert WIDE.strip() in petra(tmp_path, "logs", execution)  # a pipe gets it whole


@pytest.mark.slow
@COLUMNS
def test_a_tree_says_the_status_and_the_next_move(tmp_path: Path, columns: int) -> None:
    (tmp_path / "wide.yaml").write_text(BOOK)
    written, _ = on_a_terminal(tmp_path, "run", "wide.yaml", columns=columns)
    assert re.search(r"failed \d", CODES.sub("", written))
    typed = re.sub(r"[\\\s]+", " ", CODES.sub("", written))
    assert re.search(r"when mended: petra rerun \S+ --from transform --playbook wide\.yaml", typed)


# Help


@pytest.mark.parametrize("group", ["task", "db", "secret", "user", "token", "audit"])
def test_a_group_alone_shows_its_verbs(group: str) -> None:
    found = CliRunner().invoke(command_line, [group])
    assert found.output.startswith(f"Usage: petra {group} ")
    assert "Error" not in found.output


def test_an_unknown_verb_of_a_group_names_the_nearest() -> None:
    assert (
        "did you mean 'complete'?" in CliRunner().invoke(command_line, ["task", "complet"]).output
    )
    assert "see 'petra task --help'" in CliRunner().invoke(command_line, ["task", "zzz"]).output


def test_help_at_forty_columns_has_one_column(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    for arguments in (["run"], ["task", "complete"], []):
        words = CliRunner().invoke(command_line, [*arguments, "--help"]).output
        assert not too_wide(words, 40)
        assert not re.search(r"^\s{20,}\S", words, re.MULTILINE)
