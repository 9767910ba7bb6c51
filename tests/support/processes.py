"""Waits for processes to end."""

from __future__ import annotations

import os
import select


def ends(pid: int) -> bool:
    """Tell whether a process has ended, or does so soon: a signal takes its time to arrive on a busy machine."""
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        poll = select.poll()
        poll.register(handle, select.POLLIN)
        return bool(poll.poll(60_000))
    finally:
        os.close(handle)
