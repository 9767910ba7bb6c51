"""Folders of tests lie in memory, where a sync costs nothing: a third of the time on the clock went into them.

Nothing that a test writes has to outlive the machine, and what a sync is for is tested with disks that fail
(``store/test_sqlite_faults.py``). Who sets ``TMPDIR`` decides; so does a machine with little memory.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

MEMORY = Path("/dev/shm")
ROOM_BYTES = 6 << 30
"""A test of sixteen large executions takes a gigabyte, and two may run at once."""


def settle() -> None:
    """Let temporary folders be made in memory from now on."""
    folder = folder_of_tests(os.environ)
    if folder is not None:
        os.environ["TMPDIR"] = str(folder)  # processes of tests do as we do
        tempfile.tempdir = None  # somebody may have asked already


def folder_of_tests(
    environment: Mapping[str, str],
    memory: Path = MEMORY,
    look: Callable[[Path], os.statvfs_result] = os.statvfs,
) -> Path | None:
    """Return where in memory, if there is room and programs may run there."""
    if "TMPDIR" in environment or not os.access(memory, os.W_OK):
        return None
    system = look(memory)
    enough = system.f_bavail * system.f_frsize >= ROOM_BYTES
    return memory if enough and not system.f_flag & os.ST_NOEXEC else None
