"""A disk that fails on purpose, under SQLite: every write, sync and delete can be the one that goes wrong.

The disk remembers what was written since the last sync of each file. When the machine loses power, only some
of that survives, in the order it was written: what a real disk may do to writes nobody synced.
"""

from __future__ import annotations

import enum
from pathlib import Path
from typing import Any

import apsw


class Mode(enum.Enum):
    CRASH = "the power fails before the operation"
    TORN = "the power fails in the middle of a write"
    FULL = "the disk has no space for this write"
    FSYNC = "the sync reports an error"


KINDS = {
    Mode.CRASH: ("write", "sync", "truncate", "delete"),
    Mode.TORN: ("write",),
    Mode.FULL: ("write",),
    Mode.FSYNC: ("sync",),
}

Undo = tuple[int, bytes, int]  # offset, what was there, size of the file before


class Disk:
    """What goes wrong, when, and what would be lost."""

    def __init__(self, mode: Mode, at: int, *, seed: int = 0) -> None:
        self.mode = mode
        self.at = at
        self.operations = 0
        self.dead = False
        self.fired = False
        self._seed = seed
        self._unsynced: dict[str, list[Undo]] = {}

    def step(self, kind: str) -> bool:
        """Count an operation; return whether it is the one that goes wrong."""
        if self.dead:
            raise apsw.IOError("the power is off")
        if kind not in KINDS[self.mode]:
            return False
        self.operations += 1
        if self.operations != self.at:
            return False
        self.fired = True
        if self.mode in {Mode.CRASH, Mode.TORN}:
            self.dead = True
        if self.mode is Mode.CRASH:
            raise apsw.IOError("the power failed")
        return True

    def wrote(self, path: str, undo: Undo) -> None:
        self._unsynced.setdefault(path, []).append(undo)

    def synced(self, path: str) -> None:
        self._unsynced.pop(path, None)

    def lose_power(self) -> None:
        """Take back what was not synced, from a point of each file on that the seed chooses."""
        for path, undos in self._unsynced.items():
            survive = (0, len(undos), self._seed * 7919 % (len(undos) + 1))[self._seed % 3]
            if not Path(path).exists():
                continue
            with Path(path).open("r+b") as file:
                for offset, before, size in reversed(undos[survive:]):
                    file.seek(offset)
                    file.write(before)
                    file.truncate(size)
        self._unsynced.clear()


class FaultFile(apsw.VFSFile):
    """A file on that disk. Syncing costs nothing here: what counts as synced is what the disk says."""

    def __init__(self, disk: Disk, name: str | apsw.URIFilename, flags: list[int]) -> None:
        self._disk = disk
        self._path = name.filename() if isinstance(name, apsw.URIFilename) else name
        super().__init__("", name, flags)

    def xWrite(self, data: bytes, offset: int) -> None:  # noqa: N802 - SQLite's name
        fails = self._disk.step("write")
        if fails and self._disk.mode is Mode.FULL:
            raise apsw.FullError("no space left")
        size = self.xFileSize()
        kept = max(0, min(len(data), size - offset))
        before = super().xRead(kept, offset) if kept else b""
        self._disk.wrote(self._path, (offset, before, size))
        if fails:
            super().xWrite(bytes(data)[: len(data) // 2], offset)
            raise apsw.IOError("the power failed in the middle of a write")
        super().xWrite(data, offset)

    def xSync(self, flags: int) -> None:  # noqa: N802 - SQLite's name
        del flags
        if self._disk.step("sync"):
            error: Any = apsw.IOError("the disk could not sync")
            error.extendedresult = apsw.SQLITE_IOERR_FSYNC
            raise error
        self._disk.synced(self._path)

    def xTruncate(self, size: int) -> None:  # noqa: N802 - SQLite's name
        self._disk.step("truncate")
        length = self.xFileSize()
        lost = super().xRead(length - size, size) if length > size else b""
        self._disk.wrote(self._path, (size, lost, length))
        super().xTruncate(size)


class FaultVFS(apsw.VFS):
    """The system's files, seen through a disk that may fail. Use it by ``name``."""

    def __init__(self, name: str, disk: Disk) -> None:
        self.disk = disk
        super().__init__(name, base="")

    def xOpen(self, name: str | apsw.URIFilename | None, flags: list[int]) -> apsw.VFSFile:  # noqa: N802
        assert name is not None, "everything temporary is in memory"
        return FaultFile(self.disk, name, flags)

    def xDelete(self, filename: str, syncdir: bool) -> None:  # noqa: FBT001, N802 - SQLite's signature
        self.disk.step("delete")
        self.disk.synced(filename)
        super().xDelete(filename, syncdir)
