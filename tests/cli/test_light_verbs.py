"""What is asked often imports little: a verb that reads a row no engine, and a small run nothing that it does not need.

A start costs what it imports: half a millisecond for a module, and nearly one for every dataclass in it.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from cli.processes import petra

PROGRAM = """
import dataclasses, sys
made, made_of = [], dataclasses._process_class
def counted(cls, *more):
    made.append(cls.__module__)
    return made_of(cls, *more)
dataclasses._process_class = counted
{what}
print("dataclasses", *(name for name in made if name.startswith("petra.")), file=sys.stderr)
print(*sorted(sys.modules), sep="\\n", file=sys.stderr)
"""
VERB = """
from petra.cli import petra
try:
    petra(sys.argv[1:], standalone_mode=False)
except SystemExit as over:
    assert not over.code
"""
ENGINE = (
    "petra.engine", "petra.kernel", "petra.playbook", "petra.net", "petra.embedded", "petra.desk",
)  # fmt: skip
RARE = (
    "calendar", "cronsim", "ctypes", "difflib", "email", "httpx", "jsonschema", "litestar", "pkgutil", "smtplib", "xml", "zipfile",
    "zoneinfo", "petra.agents", "petra.calendar", "petra.client", "petra.desk.branching", "petra.desk.looking",
    "petra.desk.moving", "petra.desk.schedules", "petra.editor", "petra.engine.documents", "petra.export",
    "petra.kernel.explain", "petra.kernel.migration", "petra.keychain.keychain", "petra.keychain.oauth2",
    "petra.keychain.providers", "petra.keychain.sources", "petra.net.pnml", "petra.net.position", "petra.notify.post",
    "petra.playbook.documents", "petra.playbook.schedule", "petra.playbook.schema", "petra.server", "petra.store.postgres",
    "petra.story", "petra.testing",
)  # fmt: skip
NOT_FOR_WORKERS = (
    "calendar", "cronsim", "difflib", "email", "httpx", "litestar", "pkgutil", "smtplib", "zoneinfo", "petra.desk", "petra.embedded",
    "petra.engine", "petra.kernel", "petra.net", "petra.notify", "petra.server", "petra.store",
)  # fmt: skip
DATACLASSES = 3
"""So many of ours may be made at a start: those whose fields are not all compared."""


def imported(folder: Path, what: str, *arguments: str) -> tuple[str, list[str], list[str]]:
    """Run a program; return what it wrote, the dataclasses that it made and the modules that it imported."""
    command = [sys.executable, "-c", PROGRAM.format(what=what), *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    lines = done.stderr.splitlines()
    first = next(number for number, line in enumerate(lines) if line.startswith("dataclasses"))
    return done.stdout, lines[first].split()[1:], lines[first + 1 :]


def among(modules: list[str], unwanted: tuple[str, ...]) -> list[str]:
    """Return those of some modules, and of what is in them, that are there."""
    return [name for name in modules if f"{name}.".startswith(tuple(f"{one}." for one in unwanted))]


@pytest.mark.slow
def test_ps_imports_the_store_and_nothing_of_the_engine(tmp_path: Path) -> None:
    petra(tmp_path, "init", "hello")
    petra(tmp_path, "run", "hello.yaml")
    shown, _, modules = imported(tmp_path, VERB, "ps")
    assert "✓ completed" in shown
    assert "petra.store.sqlite" in modules
    assert among(modules, ENGINE) == []
    assert among(modules, RARE) == []


@pytest.mark.slow
def test_a_small_run_imports_only_what_it_needs(tmp_path: Path) -> None:
    petra(tmp_path, "init", "hello")
    shown, dataclasses, modules = imported(tmp_path, VERB, "run", "hello.yaml")
    assert "✓ completed" in shown
    assert "petra.engine.engine" in modules
    assert among(modules, RARE) == []
    assert len(dataclasses) <= DATACLASSES, dataclasses


@pytest.mark.parametrize(
    ("what", "needed", "unwanted"),
    [
        ("import petra", "petra.lazy_names", (*ENGINE, *RARE)),
        ("import petra.embedded", "petra.engine.engine", (*RARE, "click", "petra.cli")),
        ("import petra.worker.__main__", "petra.worker.worker", NOT_FOR_WORKERS),
        ("from petra.cli import main", "click", (*ENGINE, *RARE, "asyncio", "msgspec", "yaml")),
    ],
    ids=("petra", "embedded", "worker", "cli"),
)
def test_what_is_imported_at_a_start(
    tmp_path: Path, what: str, needed: str, unwanted: tuple[str, ...]
) -> None:
    _, dataclasses, modules = imported(tmp_path, what)
    assert needed in modules
    assert among(modules, unwanted) == []
    assert len(dataclasses) <= DATACLASSES, dataclasses
