"""One owner per file: a lock that the system releases when its holder dies, however it dies."""

from __future__ import annotations

import contextlib
import fcntl
import os
import socket
from pathlib import Path

from petra.private import open_file
from petra.store.errors import HeldError


class Ownership:
    """The exclusive right to write a store's file, held until ``release`` or the end of the process."""

    def __init__(self, path: Path) -> None:
        """Take the lock.

        Raises:
            HeldError: somebody else has it; the message says who.
        """
        self._file = path.with_name(path.name + ".owner")
        self._descriptor = open_file(self._file, os.O_RDWR)
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.read(self._descriptor, 200).decode(errors="replace").strip()
            os.close(self._descriptor)
            raise HeldError(
                f"{path} is in use by {holder or 'another process'}; stop it first, or open the store"
                " for reading only"
            ) from None
        with contextlib.suppress(OSError):  # a full disk: it is ours, only nobody can read whose
            os.ftruncate(self._descriptor, 0)
            name = f"process {os.getpid()} on {socket.gethostname()}\n"
            os.write(self._descriptor, name.encode())

    def release(self) -> None:
        """Let others have the file. The lock file stays: removing it would race with the next owner."""
        os.close(self._descriptor)
