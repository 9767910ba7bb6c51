"""Whether the process of a worker is still good for anything: code that runs in it may have used up or forbidden what all need.

Only limits of the process itself count: what another one would find too, a full disk say, is no reason to end this one.
"""

from __future__ import annotations

import errno
import os
import resource
from typing import Final

_FILE_BYTES: Final = resource.getrlimit(resource.RLIMIT_FSIZE)[0]


def why_unfit() -> str:
    """Say why nothing that is begun here can end well; nothing, while files can be opened and written."""
    try:
        os.close(os.open(os.devnull, os.O_RDONLY))
    except OSError as error:
        if error.errno == errno.EMFILE:
            return f"it can open no file: {error.strerror}"
    if resource.getrlimit(resource.RLIMIT_FSIZE)[0] != _FILE_BYTES:
        return "somebody has limited how large its files may be"
    return ""
