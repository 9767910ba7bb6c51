"""The warden of a worker: the process above it, so that nothing a worker starts lives on without it.

    python -m petra.worker.warden --leash N --parent PID …   # the rest is for ``petra.worker``, a fork of this process

Rule 1: everything below a worker ends with it, however deep and however detached: orphans come to the warden (on
Linux), and the warden kills them before it ends itself, in the way the worker did.
Rule 2: the leash is one end of a pair of sockets. When the other end is closed, on purpose or because whoever held it was
killed, the warden ends the worker and all below it. A worker that holds the interpreter in C code cannot prevent that.
Rule 3: on the leash the warden says the id of the worker's process, and a worker that cannot start says why.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
import select
import signal
import sys
import time
from typing import NoReturn

SAID_MAX = 4_000
"""Bytes that a worker says about why it cannot start."""
_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_IS_LINUX = sys.platform == "linux"


def main(argv: list[str]) -> NoReturn:
    """Fork the worker and watch over it."""
    leash, parent = int(argv[1]), int(argv[3])
    if _IS_LINUX:
        _prctl(_PR_SET_CHILD_SUBREAPER, 1)
    own = os.getpid()
    worker = os.fork()
    if worker == 0:
        _work(argv[4:], leash, own)
    _watch(worker, leash, parent, connection=int(argv[argv.index("--fd") + 1]))


# The worker


def _work(arguments: list[str], leash: int, warden: int) -> NoReturn:
    """Be the worker; what keeps it from starting is said on the leash."""
    _die_with(warden, signal.SIGKILL)
    os.set_inheritable(leash, False)  # noqa: FBT003 - so it is called
    code = 1
    try:
        from petra.worker.__main__ import main as work  # noqa: PLC0415 - the warden needs none of it

        code = work(arguments)
    except BaseException as error:
        said = f"{type(error).__name__}: {error}".encode("utf-8", "replace")[:SAID_MAX]
        with contextlib.suppress(OSError):
            os.write(leash, said)
        raise
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        if code == 0:
            os._exit(0)  # threads of tools may still run, and nobody waits for them
    sys.exit(code)


# The warden


def _watch(worker: int, leash: int, parent: int, *, connection: int) -> NoReturn:
    os.close(connection)  # or nobody would notice that the worker is gone
    woken, wake = os.pipe()
    for end in (woken, wake):
        os.set_blocking(end, False)
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    is_over = False

    def over(_number: int, _frame: object) -> None:
        nonlocal is_over
        is_over = True

    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGUSR1, over)
    signal.signal(signal.SIGTERM, lambda number, _: _kill(worker, signal.Signals(number)))
    _die_with(parent, signal.SIGUSR1)
    with contextlib.suppress(
        OSError
    ):  # whoever held the other end is gone: the leash says so below
        os.write(leash, b"%d\n" % worker)
    poll = select.poll()
    poll.register(leash, select.POLLIN | select.POLLHUP)
    poll.register(woken, select.POLLIN)
    status = None
    while status is None and not is_over:
        for fd, _ in poll.poll():
            if fd == leash:
                is_over = True  # nothing is ever said to us: this is the end
            else:
                os.read(woken, 4096)
        status = _reaped().get(worker)
    ended = _end_all()
    _end_as(status if status is not None else ended.get(worker, signal.SIGKILL))


def _end_all() -> dict[int, int]:
    """Kill everything below; what a dead process leaves behind comes to us, and is killed in turn."""
    ended: dict[int, int] = {}
    while (living := _children()) is not None:
        for pid in living:
            _kill(pid, signal.SIGKILL)
        ended |= _reaped()
        time.sleep(0.001)
    return ended


def _children() -> list[int] | None:
    """Return the processes right below; None when there is none left."""
    try:
        if os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None:
            return []  # there is one to be reaped first
    except ChildProcessError:
        return None
    own, found = str(os.getpid()), []
    for name in os.listdir("/proc") if _IS_LINUX else ():  # noqa: PTH208 - little is loaded here
        if name.isdigit():
            with contextlib.suppress(OSError, IndexError), open(f"/proc/{name}/stat") as file:  # noqa: PTH123
                if file.read().rpartition(")")[2].split()[1] == own:
                    found.append(int(name))
    return found


def _reaped() -> dict[int, int]:
    """Take leave of those that have ended; return how, by process."""
    found: dict[int, int] = {}
    with contextlib.suppress(ChildProcessError):
        while True:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if not pid:
                break
            found[pid] = status
    return found


def _end_as(status: int) -> NoReturn:
    """End in the way the worker did, so that whoever started us sees it."""
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if number != signal.SIGKILL:
            signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
    os._exit(os.waitstatus_to_exitcode(status) & 0xFF)


def _kill(pid: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, number)


def _die_with(parent: int, number: signal.Signals) -> None:
    """Have a signal when the parent dies, or end now if it has died already."""
    if _IS_LINUX:
        _prctl(_PR_SET_PDEATHSIG, number)
    if os.getppid() != parent:
        os._exit(1)


def _prctl(option: int, value: int) -> None:
    ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


if __name__ == "__main__":
    main(sys.argv[1:])
