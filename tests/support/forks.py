"""Processes that are forked from one which has imported their program: tests start hundreds of them.

Each has its own pid, folder, environment, files and end, whatever kills it; only what Python does before the program
begins is shared, and it does nothing after the program has ended. What a start from nothing, a terminal or an interruption
does to ``petra`` is tested with Python started anew (``cli.processes.started``), and so is what it says while it ends.

The one that forks is this file run as a program: it answers at a socket, and ends when its stdin is closed, which is
when the process that started it has ended.
"""

from __future__ import annotations

import asyncio
import atexit
import ctypes
import fcntl
import gc
import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from petra import early_stem

HANG_S = 300
ORDER_BYTES_MAX = 1 << 17
FILES_MAX = 8
_IN, _OUT, _ERR = 0, 1, 2
_PR_SET_CHILD_SUBREAPER = 36


@dataclass(frozen=True)
class Forked:
    """A module with a function ``main``, and what else is imported beforehand."""

    module: str
    others: tuple[str, ...] = ()

    def run(
        self,
        folder: Path,
        *arguments: str,
        typed: str = "",
        environment: Mapping[str, str] = os.environ,
    ) -> subprocess.CompletedProcess[str]:
        """Run it to its end; what is ``typed`` it finds at its stdin.

        Raises:
            TimeoutError: it hangs; it was killed.
        """
        out, their_out = os.pipe()
        err, their_err = os.pipe()
        told, tells = os.pipe()
        os.write(tells, typed.encode())  # a few lines: a pipe takes them before anybody reads
        os.close(tells)
        order = {"folder": str(folder), "arguments": arguments, "environment": dict(environment)}
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as connection:
            connection.connect(_address(self))
            connection.settimeout(HANG_S)
            socket.send_fds(connection, [json.dumps(order).encode()], [told, their_out, their_err])
            for end in (told, their_out, their_err):
                os.close(end)
            pid = int(connection.recv(32))
            with ThreadPoolExecutor(2) as readers:
                reading = [readers.submit(_all_of, end) for end in (out, err)]
                try:
                    code = int(connection.recv(32))
                except TimeoutError:
                    os.kill(pid, signal.SIGKILL)
                    raise
            said, wrong = (one.result() for one in reading)
        return subprocess.CompletedProcess([self.module, *arguments], code, said, wrong)

    def start(self, *arguments: str, **more: Any) -> subprocess.Popen[str]:
        """Start it and leave it running; the rest is as for ``Popen``."""
        return _Going(self, [self.module, *arguments], text=True, **more)

    def command(self, *arguments: str) -> list[str]:
        """Return a command that is it, for whoever starts commands only."""
        program = Path(__file__).with_name("forked.py")
        return [sys.executable, "-I", "-S", str(program), _address(self), *arguments]


class _Going(subprocess.Popen[str]):
    """A forked program that goes on: a child of this process, as any that is started anew.

    The one that forks it is its grandparent; its parent ends at once, and this process takes the orphan in, as it asks
    the system to do for that moment. So it can be waited for, and no other orphan of a test comes here.
    """

    def __init__(self, program: Forked, args: list[str], **more: Any) -> None:
        self._program = program
        super().__init__(args, **more)

    def _execute_child(self, args: list[str], *rest: Any) -> None:
        more, folder, environment, pipes, alone = rest[3], rest[4], rest[5], rest[9:15], rest[20]
        theirs = (pipes[0], pipes[3], pipes[5])  # -1 is for one of our own
        order = {
            "folder": str(folder or Path.cwd()),
            "arguments": args[1:],
            "environment": dict(environment or os.environ),
            "left": True,
            "more": more,
            "alone": alone,
            "umask": _umask(),
        }
        files = [own if end == -1 else end for own, end in enumerate(theirs)] + list(more)
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as connection, _takes_orphans():
            connection.connect(_address(self._program))
            socket.send_fds(connection, [json.dumps(order).encode()], files)
            self.pid = int(connection.recv(32))
            self._child_created = True
            while _parent_of(self.pid) != os.getpid():
                time.sleep(0.0005)  # its parent has said all, and is about to end
        self._close_pipe_fds(*pipes)  # type: ignore[attr-defined] # what Popen does itself


@contextmanager
def _takes_orphans() -> Iterator[None]:
    libc = ctypes.CDLL(None, use_errno=True)
    assert libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0, os.strerror(ctypes.get_errno())
    try:
        yield
    finally:
        libc.prctl(_PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)


def _parent_of(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def _umask() -> int:
    """Return that of this process, without changing it for its threads."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("Umask:")).split()[1], 8)


class _Own(_Going):
    """The same, forked of this very process: of a program that has begun just now, and has loaded what is asked for."""

    def _execute_child(self, args: list[str], *rest: Any) -> None:
        kept, environment, nothing = {_OUT, _ERR, *rest[3]}, rest[5], rest[9]
        self.pid = os.fork()
        if self.pid:
            self._child_created = True
            os.close(nothing)
            return
        os.setsid()
        os.dup2(nothing, _IN)
        for name in os.listdir("/proc/self/fd"):  # noqa: PTH208 - the names alone
            if int(name) > _ERR and int(name) not in kept:
                with suppress(OSError):
                    os.close(int(name))
        os.environ.clear()
        os.environ.update(environment)
        sys.argv[1:] = args[1:]
        sys.path.insert(0, str(Path.cwd()))  # as for every module that is run
        import_module("petra.worker.stem").main(args[1:])


_TESTS = str(Path(__file__).parents[1])
_WORKERS = (
    "petra.worker.stem",
    "petra.worker.__main__",
    "petra.event_loop",
    "petra.tools.python",
    "uvloop",
)
_STORE = ("petra.store.sqlite", *_WORKERS)
_VERBS = (
    "accounts", "apply", "catalogue", "check", "db", "definition", "diff", "doctor", "executions", "explain", "export",
    "follow", "going_on", "graph", "left", "live", "live_group", "logs", "migrate_execution", "notifications", "ps", "remove",
    "replay", "resource", "run", "schedule", "show", "simulate", "start", "steer", "tail", "task", "trigger", "verify",
)  # fmt: skip
_GO_ON = {"task", "signal", "resume", "override", "retry", "group", "rerun", "fork", "watch", "start"}  # fmt: skip
"""Verbs after which tasks may run here, beside those that begin with it."""
_LATER = (
    "petra.desk.branching",
    "petra.desk.proving",
    "petra.kernel.redecide",
    "petra.notify.sender",
)
PETRA = Forked(
    "petra.cli",
    others=(*(f"petra.cli.{verb}" for verb in _VERBS), *_LATER, *_STORE, "support.warm"),
)
SERVER = Forked(
    "support.server_program",
    others=(
        "petra.accounts.oidc",
        "petra.cli.dev",
        "petra.cli.serve",
        "petra.cli.worker",
        "petra.server.app",
        "petra.worker.remote",
        *_STORE,
        "litestar.middleware._internal.exceptions",
        "litestar.plugins.attrs",
        "litestar.plugins.pydantic",
        "litestar._kwargs",
        "uvicorn.protocols.http.httptools_impl",
        "uvicorn.protocols.websockets.websockets_sansio_impl",
    ),
)


LSP = Forked("petra.cli", others=("petra.cli.lsp", "petra.cli.language_server"))
MCP = Forked("petra.cli", others=("petra.cli.mcp", "petra.cli.agent_pipe", "mcp", *SERVER.others))
STEM = Forked("support.stem", others=_WORKERS)
_PYTHON = (sys.executable, {k: v for k, v in os.environ.items() if k.startswith("PYTHON")})
stem_started_anew = early_stem.started


def stem_started(environ: Mapping[str, str] | None = None) -> early_stem.Stem:
    """Fork a stem of workers instead of starting Python for it, unless another Python is asked for."""
    surroundings = dict(os.environ if environ is None else environ)
    python = {k: v for k, v in surroundings.items() if k.startswith("PYTHON")}
    if (sys.executable, python) != _PYTHON or (__name__ == "__main__" and _is_busy()):
        return stem_started_anew(environ)
    ours, theirs = socket.socketpair()
    with theirs:
        words = ("--control", str(theirs.fileno()), "--parent", str(os.getpid()))
        kind = _Own if __name__ == "__main__" else _Going
        process = kind(
            STEM, [STEM.module, *words], stdin=subprocess.DEVNULL, pass_fds=(theirs.fileno(),),
            env=surroundings, start_new_session=True, text=True,
        )  # fmt: skip
    return process, ours  # type: ignore[return-value] # nobody reads from it


def _is_busy() -> bool:
    """Tell whether there is more in this process than a fork takes along."""
    return threading.active_count() > 1 or asyncio._get_running_loop() is not None


def _all_of(end: int) -> str:
    with open(end, encoding="utf-8") as file:
        return file.read()


@cache
def _address(program: Forked) -> str:
    """Start the one that forks, once in a process of tests."""
    address = str(Path(tempfile.mkdtemp(prefix="petra-forks-")) / "socket")
    process = subprocess.Popen(
        [sys.executable, __file__, address, program.module, *program.others],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    atexit.register(process.communicate)  # closes its stdin; the time it took is counted as ours
    return address


# The one that forks


def serve(address: str) -> None:
    """Fork for each who asks; returns in a process that is to be the program."""
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    listener.bind(address)
    listener.listen()
    assert threading.active_count() == 1, "a fork takes no threads along"
    gc.freeze()
    os.write(_OUT, b"ready\n")
    while True:
        ready, _, _ = select.select([listener, sys.stdin], [], [])
        if sys.stdin in ready:
            _bury()
            Path(address).unlink()
            Path(address).parent.rmdir()
            os._exit(0)
        connection, _ = listener.accept()
        if os.fork() == 0:
            listener.close()
            become(connection)
            return
        connection.close()
        _bury()


def _bury() -> None:
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def become(connection: socket.socket) -> None:
    """Fork once more: the child returns as what was asked for, and its parent tells how it ended."""
    message, files, _, _ = socket.recv_fds(connection, ORDER_BYTES_MAX, FILES_MAX)
    order = json.loads(message)
    between = os.getpid()
    pid = os.fork()
    if pid:
        for file in files:
            os.close(file)
        connection.send(str(pid).encode())
        if order.get("left"):
            os._exit(0)
        status = _end_of(pid, connection)
        with suppress(BrokenPipeError):
            connection.send(str(os.waitstatus_to_exitcode(status)).encode())
        os._exit(0)
    connection.close()
    if order.get("alone"):
        os.setsid()
    if "umask" in order:
        os.umask(order["umask"])
    _place(files, (_IN, _OUT, _ERR, *order.get("more", ())))
    sys.stdout.reconfigure(line_buffering=os.isatty(_OUT))  # type: ignore[union-attr] # as at a start
    early_stem.started = stem_started
    while order.get("left") and os.getppid() == between:
        time.sleep(0.0005)  # who starts it is its parent in a moment
    os.environ.clear()
    os.environ.update(order["environment"])
    os.chdir(order["folder"])
    sys.argv[1:] = order["arguments"]
    # tests that run in the background of a shell ignore ^C, and so would whatever is forked for them
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if set(order["arguments"][:1]) & _GO_ON:
        early_stem.begin()  # once it is busy Python would have to be started for it


def _end_of(pid: int, connection: socket.socket) -> int:
    """Wait for a program to end, and kill it when whoever asked for it is gone."""
    ended = os.pidfd_open(pid)
    ready, _, _ = select.select([ended, connection.fileno()], [], [])
    os.close(ended)
    if connection.fileno() in ready:
        os.kill(pid, signal.SIGKILL)
    return os.waitpid(pid, 0)[1]


def _place(files: list[int], places: tuple[int, ...]) -> None:
    """Put files where they are looked for, wherever they came."""
    high = [fcntl.fcntl(file, fcntl.F_DUPFD, 1 + max(places)) for file in files]
    for file in files:
        os.close(file)
    for file, place in zip(high, places, strict=True):
        os.dup2(file, place)
        os.close(file)


def to_the_end(main: Callable[[], None]) -> None:
    """Run a program and end as it does, but take nothing apart that the system takes away: that is longer than most verbs."""
    try:
        main()
    except SystemExit as end:
        if not isinstance(end.code, int | None):
            raise  # it has words to say
        code = end.code or 0
    else:
        code = 0
    threading._shutdown()  # type: ignore[attr-defined] # waits for its threads
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    address, *modules = sys.argv[1:]
    sys.path[0] = _TESTS
    program, *_ = map(import_module, modules)
    del sys.path[0]  # no program asks for it
    serve(address)
    to_the_end(program.main)
