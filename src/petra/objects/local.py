"""Objects in a local folder: one file each, in a folder per execution.

A file appears under its name only when its content is on disk: written beside, synced, renamed, and the
folder synced. An error of ``fsync`` is an error, never tried again.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import hashlib
import os
import shutil
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from petra.errors import ObjectError
from petra.objects.base import (
    ByContent,
    checked,
    checked_key,
    decode,
    encode,
    inside,
    sum_in,
    sum_of,
)
from petra.private import FILE, make_folder
from petra.references import Reference

BLOCK = 1024 * 1024
"""Bytes of a file that are read at a time."""


class LocalObjects(ByContent):
    """Objects in a folder."""

    def __init__(self, folder: Path, *, name: str = "local") -> None:
        self.name = name
        self._folder = folder

    async def write(self, key: str, content: bytes) -> None:
        """Store content under the key that was made of it; durable when this returns."""
        try:
            await asyncio.to_thread(_write, self._folder / checked_key(key), content)
        except OSError as error:
            raise _unstored(key, error) from error

    async def keep(self, key: str, file: Path) -> None:
        """Store the content of a file under the key that was made of it, block by block."""
        path = self._folder / checked_key(key)
        try:
            _, checksum = await asyncio.to_thread(sum_of, file)
            if checksum != sum_in(key):
                raise ObjectError("parse", f"{key}: the content does not match its checksum")
            await asyncio.to_thread(_copy, path.parent, file, path.suffix)
        except OSError as error:
            raise _unstored(key, error) from error

    async def join(self, execution: str, pieces: Sequence[Reference]) -> Reference:
        """Store the elements of several lists as one list, one after the other."""
        own = self._folder / encode(execution, None)[0].partition("/")[0]
        paths = [self._folder / checked(piece, self.name).key for piece in pieces]
        try:
            checksum, size = await asyncio.to_thread(
                _join, own, list(zip(pieces, paths, strict=True))
            )
        except FileNotFoundError as error:
            raise ObjectError("not_found", f"{execution}: a piece is not in the store") from error
        except OSError as error:
            raise _unstored(execution, error) from error
        key = f"{own.name}/{checksum}.json"
        return Reference(store=self.name, key=key, checksum=checksum, size=size)

    async def put_file(
        self, execution: str, file: Path, *, schema_hint: str | None = None
    ) -> Reference:
        """Store the bytes of a file, block by block."""
        own = self._folder / encode(execution, None)[0].partition("/")[0]
        try:
            size, checksum = await asyncio.to_thread(_copy, own, file)
        except OSError as error:
            raise _unstored(execution, error) from error
        key = f"{own.name}/{checksum}.bin"
        return Reference(
            store=self.name, key=key, checksum=checksum, size=size, schema_hint=schema_hint
        )

    async def get(self, reference: Reference) -> Any:
        """Return the bytes or the JSON value a reference leads to."""
        path = self._folder / checked(reference, self.name).key
        try:
            content = await asyncio.to_thread(_read, path, reference.size)
        except FileNotFoundError as error:
            raise ObjectError("not_found", f"{reference.key}: is not in the store") from error
        except OSError as error:
            raise ObjectError("connection", f"{reference.key}: {error.strerror}") from error
        return decode(reference, content)

    async def check(self, reference: Reference) -> None:
        """Read what a reference leads to, piece by piece, and compare.

        Raises:
            ObjectError: it is missing, or not what was stored.
        """
        path = self._folder / checked(reference, self.name).key
        try:
            size, checksum = await asyncio.to_thread(sum_of, path)
        except FileNotFoundError as error:
            raise ObjectError("not_found", f"{reference.key}: is not in the store") from error
        except OSError as error:
            raise ObjectError("connection", f"{reference.key}: {error.strerror}") from error
        if (size, checksum) != (reference.size, reference.checksum):
            raise ObjectError("parse", f"{reference.key}: is not what was stored")

    async def blocks(self, reference: Reference) -> AsyncIterator[bytes]:
        """Read the content that a reference leads to, block by block."""
        path = self._folder / checked(reference, self.name).key
        try:
            with await asyncio.to_thread(path.open, "rb") as file:
                while block := await asyncio.to_thread(file.read, BLOCK):
                    yield block
        except FileNotFoundError as error:
            raise ObjectError("not_found", f"{reference.key}: is not in the store") from error
        except OSError as error:
            raise ObjectError("connection", f"{reference.key}: {error.strerror}") from error

    async def remove(self, execution: str) -> int:
        """Remove every object of an execution; return how many there were."""
        return await asyncio.to_thread(_remove, self._folder, encode(execution, None)[0])

    async def delete(self, key: str) -> None:
        """Remove one object, and the folder of its execution when that was the last."""
        try:
            await asyncio.to_thread(_delete, self._folder / checked_key(key))
        except OSError as error:
            raise ObjectError("connection", f"{key}: {error.strerror}") from error


def _unstored(what: str, error: OSError) -> ObjectError:
    """Return what came in between: a full disk has room again some day, and nothing else is waited for."""
    kind = "quota" if error.errno in (errno.ENOSPC, errno.EDQUOT) else "connection"
    return ObjectError(kind, f"{what}: cannot be stored: {error.strerror}")


def _write(path: Path, content: bytes) -> None:
    """Write a file whose name says its content; one that is there already is on disk already."""
    if not path.exists():
        _write_all(path.parent, iter([content]), lambda: path)


def _join(folder: Path, pieces: list[tuple[Reference, Path]]) -> tuple[str, int]:
    """Write the elements of several lists as one; return its checksum and its size."""
    checksum, size = hashlib.sha256(), 0

    def parts() -> Iterator[bytes]:
        yield b"["
        first = True
        for reference, path in pieces:
            content = inside(reference, _read(path, reference.size))
            if content:
                yield content if first else b"," + content
                first = False
        yield b"]"

    def counted() -> Iterator[bytes]:
        nonlocal size
        for part in parts():
            checksum.update(part)
            size += len(part)
            yield part

    _write_all(folder, counted(), lambda: folder / f"{checksum.hexdigest()}.json")
    return checksum.hexdigest(), size


def _copy(folder: Path, file: Path, suffix: str = ".bin") -> tuple[int, str]:
    """Copy a file under the name that its content has; return its size and its checksum."""
    checksum, size = hashlib.sha256(), 0

    def blocks() -> Iterator[bytes]:
        nonlocal size
        with file.open("rb") as opened:
            while block := opened.read(BLOCK):
                checksum.update(block)
                size += len(block)
                yield block

    _write_all(folder, blocks(), lambda: folder / f"{checksum.hexdigest()}{suffix}")
    return size, checksum.hexdigest()


def _write_all(folder: Path, parts: Iterator[bytes], name: Callable[[], Path]) -> None:
    """Write a file beside, and give it its name when all of it is on disk."""
    make_folder(folder.parent)
    make_folder(folder)
    handle, beside = tempfile.mkstemp(dir=folder)
    try:
        with os.fdopen(handle, "wb") as file:
            os.fchmod(handle, FILE)
            for part in parts:
                file.write(part)
            file.flush()
            os.fsync(file.fileno())
        Path(beside).rename(name())
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            Path(beside).unlink()
        raise
    for place in (folder, folder.parent):
        _sync(place)


def _sync(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _read(path: Path, size: int) -> bytes:
    with path.open("rb") as file:
        # One byte more tells a longer file without reading all of it.
        return file.read(max(size, 0) + 1)


def _remove(folder: Path, key: str) -> int:
    own = folder / key.partition("/")[0]
    if not own.is_dir():
        return 0
    count = sum(1 for path in own.iterdir() if path.suffix)
    shutil.rmtree(own)
    return count


def _delete(path: Path) -> None:
    path.unlink(missing_ok=True)
    with contextlib.suppress(OSError):  # others are in it, or it is gone
        path.parent.rmdir()
