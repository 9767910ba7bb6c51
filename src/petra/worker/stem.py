"""The stem of workers: a process that has loaded what a worker needs, and of which workers are forked in milliseconds.

    python -m petra.worker.stem --control N --parent PID

Rule 1: what it is asked for comes over its socket: a number, the arguments of a worker, and with them the worker's connection and
its leash. It forks a warden for it, which forks the worker (``petra.worker.warden``).
Rule 2: it says how each warden ended once nothing of that one is left: orphans of a killed warden come to the stem (on
Linux), which kills them.
Rule 3: nobody's code runs in it. When the other end of its socket is closed it ends, and all wardens with it.
"""

from __future__ import annotations

import gc
import json
import os
import select
import signal
import socket
import sys
import time
from importlib import import_module
from typing import Any, NoReturn

from petra.worker.warden import (
    PR_SET_CHILD_SUBREAPER,
    children,
    die_with,
    kill,
    prctl,
    waker,
    watch_over,
)

REQUEST_MAX = 65_536
"""Bytes of a request."""
HANDED = 2
"""Files that come with a request: the connection and the leash."""


def main(argv: list[str]) -> NoReturn:
    """Load what workers need, then fork them."""
    control, parent = socket.socket(fileno=int(argv[1])), int(argv[3])
    die_with(parent, signal.SIGKILL)
    prctl(PR_SET_CHILD_SUBREAPER, 1)
    gc.disable()  # what is loaded stays
    try:
        import_module("petra.worker.__main__")
        import_module("petra.event_loop").chosen()
    except BaseException as error:
        control.sendall(json.dumps({"failed": f"{type(error).__name__}: {error}"}).encode() + b"\n")
        raise
    gc.enable()
    gc.freeze()  # and its memory is shared with all that are forked
    _serve(control)


def _serve(control: socket.socket) -> NoReturn:
    woken, wake = waker()
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    poll = select.poll()
    poll.register(control, select.POLLIN | select.POLLHUP)
    poll.register(woken, select.POLLIN)
    wardens: dict[int, int] = {}
    while True:
        for fd, _ in poll.poll():
            if fd == woken:
                os.read(woken, 4096)
                continue
            asked, *handed = _request(control)
            warden = _forked(asked["arguments"], *handed, ours=(control.fileno(), woken, wake))
            if warden is not None:
                wardens[warden] = asked["number"]
        for number, status in _ended(wardens):
            control.sendall(json.dumps({"ended": number, "status": status}).encode() + b"\n")


def _request(control: socket.socket) -> tuple[Any, int, int]:
    """Read a request; the files of it come with its first byte. Ends the process when there is nobody to ask."""
    text, handed, _, _ = socket.recv_fds(control, REQUEST_MAX, HANDED)
    while text and not text.endswith(b"\n"):
        more = control.recv(REQUEST_MAX)
        text = text + more if more else b""
    if not text:
        os._exit(0)
    connection, leash = handed
    return json.loads(text), connection, leash


def _forked(
    arguments: list[str], connection: int, leash: int, *, ours: tuple[int, ...]
) -> int | None:
    """Fork a warden; return its process. Where none can be forked nobody holds the leash, which says so."""
    stem = os.getpid()
    try:
        warden = os.fork()
    except OSError:
        warden = None
    if warden == 0:
        try:
            os.setsid()  # ^C in a terminal is for the engine, which then drains its workers
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            signal.signal(signal.SIGINT, signal.default_int_handler)
            for fd in ours:
                os.close(fd)
            watch_over(arguments, connection=connection, leash=leash, parent=stem)
        finally:
            os._exit(1)
    os.close(connection)
    os.close(leash)
    return warden


def _ended(wardens: dict[int, int]) -> list[tuple[int, int]]:
    """Take leave of wardens that have ended, once nothing of them is left; return their numbers, and how."""
    ended: list[tuple[int, int]] = []
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            pid, status = 0, 0
        if pid == 0:
            if ended and (orphans := [pid for pid in children() if pid not in wardens]):
                for orphan in orphans:
                    kill(orphan, signal.SIGKILL)
                time.sleep(0.001)
                continue
            return ended
        if pid in wardens:
            ended.append((wardens.pop(pid), status))


if __name__ == "__main__":
    main(sys.argv[1:])
