"""Which files lie in a folder or a bucket, as a trigger that watches them sees them (S24).

Rule 1: only what is a file itself counts: links are not followed, and names that begin with a dot are nobody's.
Rule 2: so many files at most; who has more moves those away that are done.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from petra.errors import UsageError
from petra.kernel.scope import timestamp
from petra.playbook.trigger import WatchedFiles

if TYPE_CHECKING:
    from obstore.store import ObjectStore

FILES_MAX: Final = 100_000
DEEP: Final = "**/"
SAID_MAX: Final = 400
"""So many characters of what a bucket says is wrong are shown."""


class SeenFile(NamedTuple):
    """A file: its path from the folder on, and what tells one state of it from another."""

    path: str
    size: int
    modified: float


def is_bucket(folder: str) -> bool:
    """Tell whether a folder is one of a bucket."""
    return "://" in folder


def fits(path: str, pattern: str) -> bool:
    """Tell whether a path from the folder on is one of those that a pattern means."""
    if pattern.startswith(DEEP):
        name, rest = path.rpartition("/")[2], pattern.removeprefix(DEEP)
        return fnmatchcase(name, rest)
    parts, wanted = path.split("/"), pattern.split("/")
    return len(parts) == len(wanted) and all(map(fnmatchcase, parts, wanted))


async def seen_files(watched: WatchedFiles) -> list[SeenFile]:
    """Return the files that a trigger means, by path.

    Raises:
        OSError: the folder cannot be read.
        UsageError: there are too many, or the bucket cannot be read.
    """
    if is_bucket(watched.folder):
        return await in_bucket(open_bucket(watched.folder), watched.pattern)
    return await asyncio.to_thread(in_folder, Path(watched.folder), watched.pattern)


def in_folder(folder: Path, pattern: str) -> list[SeenFile]:
    """Return the files of a folder that fit, by path."""
    deep = pattern.startswith(DEEP) or "/" in pattern
    files: list[SeenFile] = []
    for file in _walk(str(folder), "", deep=deep):
        if fits(file.path, pattern):
            files.append(file)
            _bound(files)
    return sorted(files)


def _walk(folder: str, before: str, *, deep: bool) -> Iterator[SeenFile]:
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.startswith("."):
                continue
            if deep and entry.is_dir(follow_symlinks=False):
                yield from _below(entry.path, f"{before}{entry.name}/")
            elif entry.is_file(follow_symlinks=False):
                try:
                    status = entry.stat(follow_symlinks=False)
                except FileNotFoundError:
                    continue  # it went while we looked
                yield SeenFile(f"{before}{entry.name}", status.st_size, status.st_mtime)


def _below(folder: str, before: str) -> Iterator[SeenFile]:
    try:
        yield from _walk(folder, before, deep=True)
    except (FileNotFoundError, PermissionError):
        return  # of a folder below that we may not read, nothing is ours


def open_bucket(address: str) -> ObjectStore:
    """Open a bucket, with the credentials of the environment.

    Raises:
        UsageError: it cannot be opened.
    """
    try:
        from obstore.store import from_url  # noqa: PLC0415 - few watch a bucket
    except ImportError:
        words = "a bucket needs 'obstore'; install it with pip install 'petra[s3]'"
        raise UsageError(words) from None
    try:
        return from_url(address)
    except Exception as error:  # noqa: BLE001 - its errors have no common class of their own
        raise UsageError(f"'{address}' cannot be opened: {error}") from None


async def in_bucket(bucket: ObjectStore, pattern: str) -> list[SeenFile]:
    """Return the objects of a bucket that fit, by path; of one with too many of them no more is read than shows that."""
    files: list[SeenFile] = []
    try:
        async for page in bucket.list():
            files += [
                SeenFile(item["path"], item["size"], item["last_modified"].timestamp())
                for item in page
                if not _is_hidden(item["path"]) and fits(item["path"], pattern)
            ]
            _bound(files)
    except UsageError:
        raise
    except Exception as error:  # noqa: BLE001 - as above
        raise UsageError(f"the bucket cannot be read: {_in_a_line(error)}") from None
    return sorted(files)


def _is_hidden(path: str) -> bool:
    return any(part.startswith(".") for part in path.split("/"))


def _bound(files: Sequence[SeenFile]) -> None:
    if len(files) > FILES_MAX:
        raise UsageError(f"more than {FILES_MAX:,} files; move those away that are done")


def _in_a_line(error: Exception) -> str:
    """Say what a bucket said, without what its library adds for its own authors."""
    said = str(error).partition("Debug source:")[0]
    return " ".join(said.split())[:SAID_MAX]


def file_event(folder: str, file: SeenFile) -> dict[str, Any]:
    """Return a file as an event."""
    base = folder.rstrip("/") if is_bucket(folder) else str(Path(folder).absolute()).rstrip("/")
    return {
        "kind": "file", "folder": folder, "path": file.path, "name": file.path.rpartition("/")[2], "size": file.size,
        "modified": timestamp(file.modified), "file": f"{base}/{file.path}",
    }  # fmt: skip


def settled(files: Sequence[SeenFile], now: float, settle_s: float) -> list[SeenFile]:
    """Return the files that nobody writes any more, as far as can be seen."""
    return [file for file in files if now - file.modified >= settle_s]
