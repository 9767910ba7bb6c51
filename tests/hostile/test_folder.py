"""The folder of executions: for its owner only, whatever the umask is and whoever made it."""

from __future__ import annotations

import asyncio
import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner
from engine_support import playbook

from petra import private
from petra.cli import petra
from petra.control import SOCKET
from petra.embedded import Home
from petra.errors import UsageError

BIG = """
  - step: a
    tool:
      kind: python
      code: |
        def main():
            print("a line for the log")
            return "x" * 100_000
"""
UMASKS = [0o000, 0o022, 0o077, 0o277, 0o777]


@pytest.fixture
def umask() -> Iterator[None]:
    before = os.umask(0o022)
    yield
    os.umask(before)


def modes(folder: Path) -> dict[str, str]:
    """Everything that others could reach, by its name."""
    found = [folder, *sorted(folder.rglob("*"))]
    return {
        path.relative_to(folder.parent).as_posix(): oct(stat.S_IMODE(path.stat().st_mode))
        for path in found
        if stat.S_IMODE(path.stat().st_mode) != (0o700 if path.is_dir() else 0o600)
    }


def names(home: Path) -> set[str]:
    return {path.name for path in home.rglob("*")}


async def used(home: Path) -> set[str]:
    """Use a folder for everything there is; return the kinds of files that were in it meanwhile."""
    async with Home.open(home) as local:
        done = await local.run(playbook(BIG), execution="x")
        assert done.status == "completed", done
        assert modes(home) == {}
        return names(home)


@pytest.mark.slow
@pytest.mark.usefixtures("umask")
@pytest.mark.parametrize("mask", UMASKS, ids=oct)
def test_nobody_else_can_read_a_folder_whatever_the_umask(tmp_path: Path, mask: int) -> None:
    home = tmp_path / ".petra"
    os.umask(mask)
    seen = asyncio.run(used(home))
    assert {"petra.db", "petra.db-wal", "petra.db-shm", "petra.db.owner", SOCKET} <= seen
    assert any(name.endswith(".json") for name in seen)
    # what a task printed may come after its result, and is there at the end
    assert {"x.jsonl", "objects", "logs", "closed-in-order"} <= names(home)
    assert modes(home) == {}


def older(home: Path) -> None:
    """Make a folder as it was made before folders were closed."""
    (home / "objects" / "x").mkdir(parents=True)
    for name in ("petra.db", "petra.db.owner", "closed-in-order", "objects/x/y.json"):
        (home / name).touch()
    for path in (home, *home.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)


def test_a_folder_that_was_open_is_closed_when_it_is_taken(tmp_path: Path) -> None:
    home = tmp_path / ".petra"
    older(home)
    (home / "a note of mine").touch()
    private.take(home)
    assert modes(home) == {}


def test_a_folder_with_other_things_in_it_stays_as_it_is_but_for_what_is_ours(
    tmp_path: Path,
) -> None:
    home = tmp_path / "work"
    older(home)
    (home / "report.txt").touch(0o644)
    home.chmod(0o755)
    (home / "report.txt").chmod(0o644)
    private.take(home)
    assert modes(home) == {"work": "0o755", "work/report.txt": "0o644"}


def test_a_link_in_the_folder_closes_nothing_elsewhere(tmp_path: Path) -> None:
    home, elsewhere = tmp_path / ".petra", tmp_path / "elsewhere"
    older(home)
    elsewhere.mkdir()
    elsewhere.chmod(0o755)
    (home / "logs").symlink_to(elsewhere)
    private.take(home)
    assert stat.S_IMODE(elsewhere.stat().st_mode) == 0o755


def test_a_folder_of_somebody_else_is_refused_and_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / ".petra"
    older(home)
    before = modes(home)
    me = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: me + 1)
    with pytest.raises(UsageError, match=r"belongs to '.*', and you are .*--home"):
        private.take(home)
    assert modes(home) == before
    for words in (["ps"], ["db", "migrate"], ["verify", "x"]):
        done = CliRunner().invoke(petra, [*words, "--home", str(home)])
        assert isinstance(done.exception, UsageError)
        assert "belongs to" in str(done.exception)
    assert modes(home) == before


@pytest.mark.usefixtures("umask")
def test_a_backup_is_for_its_owner_only(tmp_path: Path) -> None:
    home = tmp_path / ".petra"
    run = CliRunner()
    assert run.invoke(petra, ["db", "migrate", "--home", str(home)]).exit_code == 0
    copy = tmp_path / "copy.db"
    assert run.invoke(petra, ["db", "backup", str(copy), "--home", str(home)]).exit_code == 0
    assert modes(copy) == {}
