"""The files of a folder that a playbook in it names: read once, never from outside of it.

Rule 1: a path is relative, goes down, and leads to a plain file inside the folder, wherever links lead.
Rule 2: a file is text in UTF-8, of at most as many bytes as a playbook.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path, PurePosixPath

from petra.playbook import Reading, read_bytes
from petra.playbook.pins import Module, UnreadableFileError
from petra.playbook.problems import did_you_mean
from petra.playbook.yaml12 import TEXT_BYTES_MAX
from petra.sightings import Sightings

_PYTHON = ".py"


class FolderFiles:
    """The files of one folder."""

    def __init__(self, folder: Path, seen: Sightings | None = None) -> None:
        """Make it; in ``seen`` it is noted what was asked."""
        self._folder = folder
        self._seen = seen if seen is not None else Sightings()
        self._read: dict[str, str] = {}

    def text(self, path: str) -> str:
        """Return what a file says; see ``petra.playbook.pins.Files``."""
        if path not in self._read:
            self._read[path] = self._seen.ask(_text, self._folder, path)
        return self._read[path]

    def module(self, name: str) -> Module | None:
        """Return a module or a package of the folder, if it has one; a folder of modules is a package (``__init__`` or not)."""
        path, ask = name.replace(".", "/"), self._seen.ask
        inner = f"{path}/__init__{_PYTHON}"
        if ask(Path.is_file, self._folder / inner):
            return Module(self.text(inner), is_package=True)
        if ask(Path.is_file, self._folder / f"{path}{_PYTHON}"):
            return Module(self.text(f"{path}{_PYTHON}"), is_package=False)
        if ask(_has_modules, self._folder / path):
            return Module("", is_package=True)
        return None


def _text(root: Path, path: str) -> str:
    shown = f"the file {path[:200]!r}"
    parts = PurePosixPath(path)
    if not path.isprintable() or not parts.parts or "\\" in path:
        raise UnreadableFileError(f"{shown} has no path that can be", "write it with '/'")
    if parts.is_absolute() or ".." in parts.parts:
        raise UnreadableFileError(
            f"{shown} is not below the folder of the playbook", "move it there, and name it from there"
        )  # fmt: skip
    folder = root.resolve()
    file = folder / parts
    if not file.resolve().is_relative_to(folder):
        raise UnreadableFileError(
            f"{shown} is a link that leads out of the folder of the playbook", "copy what it leads to"
        )  # fmt: skip
    try:
        raw = _content(file)
    except OSError as error:
        raise _fault(shown, file, error) from error
    if len(raw) > TEXT_BYTES_MAX:
        raise UnreadableFileError(
            f"{shown} has more than {TEXT_BYTES_MAX // 1024} KiB", "install it on the workers"
        )
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise UnreadableFileError(f"{shown} is not text in UTF-8", "save it as UTF-8") from None


def _fault(shown: str, file: Path, error: OSError) -> UnreadableFileError:
    if error.errno in (errno.ENOENT, errno.ENOTDIR):
        near = (
            [neighbour.name for neighbour in file.parent.glob("*")] if file.parent.is_dir() else []
        )
        hint = did_you_mean(file.name, near) if near else ""
        hint = hint if hint.startswith("did you") else "paths begin at the playbook's folder"
        return UnreadableFileError(f"{shown} is not there", hint)
    if error.errno == errno.EISDIR:
        return UnreadableFileError(f"{shown} is a folder", "name a file in it")
    return UnreadableFileError(
        f"{shown} cannot be read: {error.strerror or error}", "check its permissions"
    )


def _has_modules(folder: Path) -> bool:
    return any(folder.glob(f"*{_PYTHON}"))


def _content(file: Path) -> bytes:
    """Read a plain file, one byte beyond what is allowed at most; a pipe would wait for a writer."""
    with os.fdopen(os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as opened:
        kind = os.fstat(opened.fileno()).st_mode
        if stat.S_ISDIR(kind):
            raise OSError(errno.EISDIR, "it is a folder")
        if not stat.S_ISREG(kind):
            raise OSError(errno.ESPIPE, "it is no plain file")
        return opened.read(TEXT_BYTES_MAX + 1)


def read_file(file: Path, raw: bytes | None = None, seen: Sightings | None = None) -> Reading:
    """Read a playbook and the files beside it that it names; ``raw`` is what the file says, if that is known.

    In ``seen`` it is noted what was looked at.

    Raises:
        OSError: the file of the playbook cannot be read.
    """
    seen = seen if seen is not None else Sightings()
    content = seen.ask(Path.read_bytes, file) if raw is None else raw
    return read_bytes(content, str(file), files=FolderFiles(file.parent, seen))
