"""Files and folders that only their owner can read, whatever the umask says.

Rule 1: a file is 0600 and a folder 0700 from the moment they exist.
Rule 2: what an older version left open is closed when it is taken, the folder first: whatever lies behind a closed
folder cannot be reached any more.
Rule 3: what belongs to somebody else is refused, also by the administrator: files that he made there would be lost
to their owner.
"""

from __future__ import annotations

import contextlib
import fcntl
import logging
import os
import pwd
import stat
from collections.abc import Callable
from pathlib import Path

from petra.errors import UsageError

FOLDER = 0o700
FILE = 0o600
HOME = ".petra"
"""What a folder is called that nobody but us has any business in."""
ADDRESS = "petra.address"
"""A file that says where the server of a folder answers."""
OWNER_TOKEN = "owner-token"  # noqa: S105 - the name of a file
OURS = frozenset({"objects", "logs", "closed-in-order", OWNER_TOKEN, "session-key", ADDRESS})

_log = logging.getLogger(__name__)


def make_folder(path: Path) -> None:
    """Make a folder that only we can enter; one that is there stays as it is."""
    if path.is_dir():
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        path.mkdir(FOLDER)
    except FileExistsError:
        if path.is_dir():  # somebody else was quicker
            return
        raise
    path.chmod(FOLDER)  # the umask may have taken away what we need ourselves


def open_file(path: Path | str, flags: int) -> int:
    """Open a file, made if need be, that only we can read; return its descriptor."""
    descriptor = os.open(path, flags | os.O_CREAT | os.O_CLOEXEC, FILE)
    if stat.S_IMODE(os.fstat(descriptor).st_mode) != FILE:
        with contextlib.suppress(PermissionError):  # not ours: ``take`` has the words for it
            os.fchmod(descriptor, FILE)
    return descriptor


def make_file(path: Path) -> None:
    """Make an empty file that only we can read; one that is there keeps its content."""
    os.close(open_file(path, os.O_RDWR))


def kept(path: Path, make: Callable[[], bytes]) -> bytes:
    """Return what a file holds; an empty one gets what ``make`` returns, once, whoever else comes meanwhile."""
    with os.fdopen(open_file(path, os.O_RDWR), "r+b") as file:
        fcntl.flock(file, fcntl.LOCK_EX)  # until it is closed
        content = file.read()
        if not content:
            content = make()
            file.write(content)
            file.flush()
            os.fsync(file.fileno())  # what it opens may outlast a power cut
    return content


def append(path: Path, body: bytes) -> None:
    """Append to a file, made if need be: all of it, or nothing.

    Raises:
        OSError: it could not be written.
    """
    file = open_file(path, os.O_WRONLY | os.O_APPEND)
    try:
        before = os.fstat(file).st_size
        try:
            while body:
                body = body[os.write(file, body) :]
        except OSError:
            os.ftruncate(file, before)
            raise
    finally:
        os.close(file)


def take(home: Path) -> None:
    """Make a folder for executions, or close one that is open to others.

    A folder of another name that holds other things too is somebody's choice: then only what is ours in it is closed.

    Raises:
        UsageError: it belongs to somebody else.
    """
    make_folder(home)
    refuse_foreign(home)
    inside = sorted(home.iterdir())
    known = [path for path in inside if _is_ours(path)]
    try:
        if home.name == HOME or len(known) == len(inside):
            _close(home.resolve())
        else:
            for path in known:
                _close(path)
    except OSError as error:  # some file systems know no modes
        _log.warning("others may be able to read %s: %s", home, error)


def refuse_foreign(home: Path) -> None:
    """Refuse a folder of somebody else's.

    Raises:
        UsageError: it is, or something of ours in it is.
    """
    try:
        paths = [home, *(path for path in home.iterdir() if _is_ours(path))]
    except OSError:  # it is not there, or not for us
        paths = [home]
    for path in paths:
        with contextlib.suppress(FileNotFoundError):  # gone meanwhile
            owner = path.lstat().st_uid if path != home else path.stat().st_uid
            if owner != os.geteuid():
                raise UsageError(
                    f"{path} belongs to {_name(owner)}, and you are {_name(os.geteuid())}; choose a folder of"
                    " your own with --home, or have it given to you (chown -R)"
                )


def _close(path: Path) -> None:
    """Close something to others; a folder that is closed already hides what is in it. Links lead elsewhere."""
    mode = path.lstat().st_mode
    is_folder = stat.S_ISDIR(mode)
    wanted = FOLDER if is_folder else FILE
    if stat.S_ISLNK(mode) or stat.S_IMODE(mode) == wanted:
        return
    path.chmod(wanted)
    for inner in path.iterdir() if is_folder else ():
        with contextlib.suppress(FileNotFoundError):
            _close(inner)


def _is_ours(path: Path) -> bool:
    """Whether something in a folder is what Petra puts there: the store, its socket, results, logs, marks."""
    return path.name.startswith("petra.") or path.name in OURS


def _name(user: int) -> str:
    try:
        return f"'{pwd.getpwuid(user).pw_name}'"
    except KeyError:
        return f"user {user}"
