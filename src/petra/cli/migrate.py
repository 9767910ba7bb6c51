"""``petra migrate``: an older playbook in canonical words, comments kept."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

import click

from petra.cli.files import load
from petra.cli.output import as_json, count, print_json, print_problem, print_text, tell
from petra.folder_files import FolderFiles
from petra.playbook.migrate import Migration, migrate
from petra.playbook.problems import Problem, problem_data


@click.command("migrate")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--write", is_flag=True, help="Change the file instead of printing the result.")
@as_json
def command(file: Path, *, write: bool, output: str) -> None:
    """Rewrite an older playbook into canonical words; comments and order are kept.

    The new text goes to stdout, the list of changes to stderr.
    """
    reading = load(file)
    migration = (
        migrate(reading.text, str(file), files=FolderFiles(file.parent))
        if reading.text
        else Migration("", (), reading.problems)
    )
    if migration.problems:
        _refuse(file, migration.problems, reading.lines, output)
    if write and migration.changed:
        file.write_text(migration.text, encoding="utf-8")
    if output == "json":
        changes = [
            {
                "line": c.mark.line,
                "column": c.mark.column,
                "kind": c.kind,
                "old": c.old,
                "new": c.new,
            }
            for c in migration.changes
        ]
        print_json({"file": str(file), "changes": changes, "text": migration.text})
        return
    if not write:
        print_text(migration.text, end="")
    for change in migration.changes:
        tell(f"{file}:{change.mark.line}: {change.old} → {change.new}", err=True)
    done = "written" if write else "not written; '--write' changes the file"
    words = (
        f"{count(len(migration.changes), 'change')}, {done}"
        if migration.changed
        else "nothing to change"
    )
    tell(f"{file}: {words}", err=True)


def _refuse(file: Path, problems: Sequence[Problem], lines: Sequence[str], output: str) -> NoReturn:
    """Say what keeps a playbook from being rewritten, and leave."""
    if output == "json":
        told = [problem_data(problem) for problem in problems]
        print_json({"file": str(file), "problems": told})
    else:
        for problem in problems:
            print_problem(problem, lines, str(file))
        tell("\nnothing was changed: mend these first, then migrate", err=True)
    sys.exit(1)
