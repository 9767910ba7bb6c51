"""Whether the process of a worker is still good for anything: code that runs in it may have used up or forbidden what all need.

Only limits of the process itself count: what another one would find too, a full disk say, is no reason to end this one.
"""

from __future__ import annotations

import errno
import os
import resource
from typing import Final

_LIMITED: Final = {
    resource.RLIMIT_FSIZE: "how large its files may be",
    resource.RLIMIT_AS: "its memory",
    resource.RLIMIT_DATA: "its memory",
    resource.RLIMIT_NPROC: "how many threads and processes there may be",
}
_BEFORE: Final = {
    kind: resource.getrlimit(kind)
    for name, kind in vars(resource).items()
    if name.startswith("RLIMIT_")
}


def why_unfit() -> str:
    """Say why nothing that is begun here can end well; nothing, while files can be opened and nobody set a limit."""
    try:
        os.close(os.open(os.devnull, os.O_RDONLY))
    except OSError as error:
        if error.errno == errno.EMFILE:
            return f"it can open no file: {error.strerror}"
    for kind, what in _LIMITED.items():
        if resource.getrlimit(kind)[0] != _BEFORE[kind][0]:
            return f"somebody has limited {what}"
    return ""


def lift_limits() -> None:
    """Take back the limits that code has set here: a process that comes in the place of this one has them from it.

    Raises:
        ValueError: one cannot be taken back; whoever set it has seen to that.
    """
    for kind, before in _BEFORE.items():
        if resource.getrlimit(kind) != before:
            resource.setrlimit(kind, before)
