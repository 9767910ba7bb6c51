"""Secrets that a folder keeps: made once, whoever comes at the same time."""

from __future__ import annotations

import fcntl
import stat
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from petra.private import kept

pytestmark = pytest.mark.spec("S20")


def test_a_secret_is_made_once_and_then_read(tmp_path: Path) -> None:
    assert kept(tmp_path / "key", lambda: b"first") == b"first"
    assert kept(tmp_path / "key", lambda: b"second") == b"first"
    assert stat.S_IMODE((tmp_path / "key").stat().st_mode) == 0o600


def test_two_who_come_at_once_have_the_same_secret(tmp_path: Path) -> None:
    both = threading.Barrier(8)

    def come(number: int) -> bytes:
        both.wait()
        return kept(tmp_path / "key", lambda: b"%d" % number)

    with ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(come, range(8)))) == 1


def test_while_one_makes_it_others_wait(tmp_path: Path) -> None:
    path = tmp_path / "key"

    def make() -> bytes:
        with path.open("r+b") as other, pytest.raises(BlockingIOError):
            fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return b"first"

    assert kept(path, make) == b"first"


def test_a_file_that_a_death_left_empty_is_filled(tmp_path: Path) -> None:
    (tmp_path / "key").touch()
    assert kept(tmp_path / "key", lambda: b"new") == b"new"
