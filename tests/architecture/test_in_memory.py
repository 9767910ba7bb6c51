"""Where the folders of tests lie."""

from __future__ import annotations

import os
from pathlib import Path

from support.in_memory import ROOM_BYTES, folder_of_tests

BLOCK = 4096


def found(room: int, flag: int = 0) -> os.statvfs_result:
    free = room // BLOCK
    return os.statvfs_result((BLOCK, BLOCK, free, free, free, 0, 0, 0, flag, 255))


def test_folders_lie_in_memory_where_there_is_room(tmp_path: Path) -> None:
    assert folder_of_tests({}, tmp_path, lambda _: found(ROOM_BYTES)) == tmp_path


def test_folders_lie_where_the_machine_says_otherwise(tmp_path: Path) -> None:
    enough = found(ROOM_BYTES)
    assert folder_of_tests({}, tmp_path, lambda _: found(ROOM_BYTES - BLOCK)) is None
    assert folder_of_tests({}, tmp_path, lambda _: found(ROOM_BYTES, os.ST_NOEXEC)) is None
    assert folder_of_tests({}, tmp_path / "none", lambda _: enough) is None
    assert folder_of_tests({"TMPDIR": "/elsewhere"}, tmp_path, lambda _: enough) is None
