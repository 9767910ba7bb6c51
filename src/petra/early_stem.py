"""The stem of workers (``petra.worker.stem``), begun before what needs it is loaded: the two load side by side.

Nothing heavy is imported here. A stem that nobody takes ends with this process, at the latest.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Mapping

Stem = tuple[subprocess.Popen[bytes], socket.socket]
"""The process, and our end of the socket that it is asked over."""
_begun: list[Stem] = []


def begin() -> None:
    """Start a stem, for whoever opens a folder in this process; where it cannot be started they will hear why."""
    if not _begun:
        try:
            _begun.append(started())
        except OSError:
            return


def take() -> Stem | None:
    """Return the stem that was begun, if there is one that has not ended; it is the caller's from now on."""
    if not _begun:
        return None
    process, control = _begun.pop()
    if process.poll() is None:
        return process, control
    control.close()
    return None


def started(environ: Mapping[str, str] | None = None) -> Stem:
    """Start a stem.

    Raises:
        OSError: it cannot be started.
    """
    ours, theirs = socket.socketpair()
    command = [sys.executable, "-m", "petra.worker.stem", "--control", str(theirs.fileno())]
    try:
        process = subprocess.Popen(  # noqa: S603 - our own program
            [*command, "--parent", str(os.getpid())], stdin=subprocess.DEVNULL, pass_fds=(theirs.fileno(),),
            env=None if environ is None else dict(environ), start_new_session=True,
        )  # fmt: skip
    except BaseException:
        ours.close()
        raise
    finally:
        theirs.close()
    return process, ours
