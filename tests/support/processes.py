"""Waits for processes to end, and sees to it."""

from __future__ import annotations

import os
import select
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

PATIENCE_S = 30
PORTS = 40
"""So many ports a process may have servers come back to."""
_ports = count()


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


def is_stopped(pid: int) -> bool:
    """Tell whether a process stands still: SIGSTOP takes its time, too."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "T"


@contextmanager
def ending(process: subprocess.Popen[Any]) -> Iterator[None]:
    """Ask a process to end when a test is through with it, and kill it if it does not: no test hangs on what it leaves."""
    with process:
        try:
            yield
        finally:
            process.terminate()
            try:
                process.wait(PATIENCE_S)
            except subprocess.TimeoutExpired:
                process.kill()


def port_to_come_back_to() -> int:
    """Return a port that nobody is given by chance meanwhile: it lies below those that systems give out.

    No other worker of pytest is given it either, nor this one once more, while who comes back to it is away: their processes
    have numbers beside each other, and each has some ports of its own.
    """
    first = 20_000 + os.getpid() % (10_000 // PORTS) * PORTS
    for _ in range(PORTS):
        port = first + next(_ports) % PORTS
        with socket.socket() as tried:
            tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                tried.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise AssertionError("every port is taken")
