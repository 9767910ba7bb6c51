"""The warden of a worker: the process above it, so that nothing a worker starts lives on without it.

It is forked of the stem (``petra.worker.stem``), and the worker of it.

Rule 1: everything below a worker ends with it, however deep and however detached: orphans come to the warden (on
Linux), and the warden kills them before it ends itself, in the way the worker did.
Rule 2: the leash is one end of a pair of sockets. When the other end is closed, on purpose or because whoever held it was
killed, the warden ends the worker and all below it. A worker that holds the interpreter in C code cannot prevent that.
Rule 3: on the leash the warden says which processes it and the worker are, and a worker that cannot start says why.
Rule 4: what reaches the standard output of a worker past the log of its run goes to standard error: the output belongs to
whoever started all this, and may be read by a program.
"""

from __future__ import annotations

import contextlib
import os
import resource
import select
import signal
import sys
import time
import traceback
from typing import NoReturn

SAID_MAX = 4_000
"""Bytes that a worker says about why it cannot start."""
_PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
_IS_LINUX = sys.platform == "linux"


def watch_over(arguments: list[str], *, connection: int, leash: int, parent: int) -> NoReturn:
    """Be a warden: fork a worker with these arguments, and watch over it."""
    prctl(PR_SET_CHILD_SUBREAPER, 1)
    own = os.getpid()
    gate, latch = os.pipe()
    worker = os.fork()
    if worker == 0:
        os.close(latch)
        os.read(
            gate, 1
        )  # until it is shut: a worker that fails at once must not say so before it is known who it is
        os.close(gate)
        _work(["--fd", str(connection), *arguments], leash, own)
    os.close(gate)
    os.close(connection)  # or nobody would notice that the worker is gone
    _watch(worker, leash, latch, parent)


# The worker


def _work(arguments: list[str], leash: int, warden: int) -> NoReturn:
    """Be the worker; what keeps it from starting is said on the leash."""
    die_with(warden, signal.SIGKILL)
    os.set_inheritable(leash, False)  # noqa: FBT003 - so it is called
    with contextlib.suppress(OSError):  # there is none
        os.dup2(2, 1)
    code = 1
    try:
        from petra.worker.__main__ import main as work  # noqa: PLC0415 - the warden needs none of it

        code = work(arguments)
    except BaseException as error:  # noqa: BLE001 - this process ends here, whatever it is
        if isinstance(error, SystemExit) and isinstance(error.code, int):
            code = error.code
        elif not _is_told(error):
            traceback.print_exc()
        said = f"{type(error).__name__}: {error}".encode("utf-8", "replace")[:SAID_MAX]
        with contextlib.suppress(OSError):
            os.write(leash, said)
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)  # threads of tools may still run, and nobody waits for them


def _is_told(error: BaseException) -> bool:
    """Tell whether it is a mistake of whoever started this, with words for them: whoever holds the leash says them."""
    from petra.errors import PetraError  # noqa: PLC0415 - the warden needs none of it

    return isinstance(error, PetraError)


# The warden


def _watch(worker: int, leash: int, latch: int, parent: int) -> NoReturn:
    woken, _ = waker()
    is_over = False

    def over(_number: int, _frame: object) -> None:
        nonlocal is_over
        is_over = True

    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGUSR1, over)
    signal.signal(signal.SIGTERM, lambda number, _: kill(worker, signal.Signals(number)))
    die_with(parent, signal.SIGUSR1)
    with contextlib.suppress(
        OSError
    ):  # whoever held the other end is gone: the leash says so below
        os.write(leash, b"%d %d\n" % (os.getpid(), worker))
    os.close(latch)
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
    while (living := _living()) is not None:
        for pid in living:
            kill(pid, signal.SIGKILL)
        ended |= _reaped()
        time.sleep(0.001)
    return ended


def _living() -> list[int] | None:
    """Return the processes right below; None when there is none left."""
    try:
        if os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None:
            return []  # there is one to be reaped first
    except ChildProcessError:
        return None
    return children()


def children() -> list[int]:
    """Return the processes right below this one, as far as the system tells."""
    own, pids = str(os.getpid()), []
    for name in os.listdir("/proc") if _IS_LINUX else ():  # noqa: PTH208 - little is loaded here
        if name.isdigit():
            with contextlib.suppress(OSError, IndexError), open(f"/proc/{name}/stat") as file:  # noqa: PTH123
                if file.read().rpartition(")")[2].split()[1] == own:
                    pids.append(int(name))
    return pids


def _reaped() -> dict[int, int]:
    """Take leave of those that have ended; return how, by process."""
    codes: dict[int, int] = {}
    with contextlib.suppress(ChildProcessError):
        while True:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if not pid:
                break
            codes[pid] = status
    return codes


def _end_as(status: int) -> NoReturn:
    """End in the way the worker did, so that whoever started us sees it."""
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if number != signal.SIGKILL:
            signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
    os._exit(os.waitstatus_to_exitcode(status) & 0xFF)


# What stem and warden share


def waker() -> tuple[int, int]:
    """Return the two ends of a pipe of which the first can be read once a signal has come."""
    woken, wake = os.pipe()
    for end in (woken, wake):
        os.set_blocking(end, False)
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    return woken, wake


def kill(pid: int, number: signal.Signals) -> None:
    """Send a signal to a process, if it is still there."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, number)


def die_with(parent: int, number: signal.Signals) -> None:
    """Have a signal when the parent dies, or end now if it has died already."""
    prctl(_PR_SET_PDEATHSIG, number)
    if os.getppid() != parent:
        os._exit(1)


def prctl(option: int, value: int) -> None:
    """Ask the system for something about this process, where there is such a thing."""
    if _IS_LINUX:
        import ctypes  # noqa: PLC0415 - where it is not needed it is dear

        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)
