"""Waits for processes to end."""

from __future__ import annotations

import os
import select


def ends(pid: int) -> bool:
    """Tell whether a process has ended, or does so very soon: a signal takes a moment to arrive."""
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        poll = select.poll()
        poll.register(handle, select.POLLIN)
        return bool(poll.poll(2000))
    finally:
        os.close(handle)
