"""The examples in the help of every verb: each is there, fits a terminal, and is read by its verb as it stands."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import click
import pytest
from cli.test_one_document import leaves
from click.testing import CliRunner

from petra.cli import petra
from petra.cli.examples import EXAMPLES

VERBS = dict(leaves(petra))
FILES = ("order.json", "event.json", "token")


def test_every_verb_has_examples() -> None:
    assert set(EXAMPLES) == set(VERBS)


@pytest.mark.parametrize(
    ("name", "example"), [(name, one) for name, some in EXAMPLES.items() for one in some]
)
def test_an_example_is_read_by_its_verb(
    name: str, example: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for file in FILES:
        (tmp_path / file).write_text("{}")
    command = example.partition(" > ")[0].partition(" < ")[0]
    words = shlex.split(command)[len(name.split()) :]
    assert example.split()[: len(name.split())] == name.split()
    assert len(f"  petra {example}") <= 80
    with VERBS[name].make_context(
        name, words, parent=click.Context(petra, **petra.context_settings)
    ) as context:
        assert not context.args


def test_a_verb_of_a_group_has_its_own_examples_whoever_asks_for_it() -> None:
    """There is a 'resume' of executions, too, and a verb keeps the end of its help that it was given first."""
    task = petra.get_command(click.Context(petra, **petra.context_settings), "task")
    assert isinstance(task, click.Group)
    resume = task.commands["resume"]
    before, resume.epilog = resume.epilog, None
    try:
        task.get_command(click.Context(petra, info_name="petra"), "resume")
        assert str(resume.epilog).splitlines()[1:] == [f"petra {EXAMPLES['task resume'][0]}"]
    finally:
        resume.epilog = before


@pytest.mark.parametrize("columns", [80, 40])
def test_the_help_of_a_verb_ends_with_its_examples(
    columns: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    words = CliRunner().invoke(petra, ["task", "complete", "--help"]).stdout
    commands = [f"  petra {example}" for example in EXAMPLES["task complete"]]
    whole = re.sub(r" \\\n +", " ", words)  # a command that is too long goes on in the next line
    assert whole.splitlines()[-3:] == ["Examples:", *commands]
    assert max(map(len, words.splitlines())) <= columns


def test_no_name_is_broken_at_its_hyphens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    for name in VERBS:
        words = CliRunner().invoke(petra, [*name.split(), "--help"]).stdout
        assert not [line for line in words.splitlines() if line.endswith("-")], name
