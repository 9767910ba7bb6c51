"""Processes that are forked from one which has imported their program: tests start hundreds of them.

Each has its own pid, folder, environment, files and end, whatever kills it; only what Python does before the program
begins is shared. What a start from nothing, a terminal or an interruption does to ``petra`` is tested with Python
started anew (``cli.processes.started``).

The one that forks is this file run as a program: it answers at a socket, and ends when its stdin is closed, which is
when the process that started it has ended.
"""

from __future__ import annotations

import atexit
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
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path

HANG_S = 300
ORDER_BYTES_MAX = 1 << 17
_IN, _OUT, _ERR = 0, 1, 2


@dataclass(frozen=True)
class Forked:
    """A module with a function ``main``, what else is imported beforehand, and where else modules are found."""

    module: str
    others: tuple[str, ...] = ()
    path: str = ""

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


PETRA = Forked("petra.cli", others=("petra.cli.run", "petra.cli.executions", "petra.cli.accounts"))


def _all_of(end: int) -> str:
    with open(end, encoding="utf-8") as file:
        return file.read()


@cache
def _address(program: Forked) -> str:
    """Start the one that forks, once in a process of tests."""
    address = str(Path(tempfile.mkdtemp(prefix="petra-forks-")) / "socket")
    process = subprocess.Popen(
        [sys.executable, __file__, address, program.path, program.module, *program.others],
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
    message, files, _, _ = socket.recv_fds(connection, ORDER_BYTES_MAX, 3)
    pid = os.fork()
    if pid:
        for file in files:
            os.close(file)
        connection.send(str(pid).encode())
        _, status = os.waitpid(pid, 0)
        connection.send(str(os.waitstatus_to_exitcode(status)).encode())
        os._exit(0)
    connection.close()
    order = json.loads(message)
    for file, place in zip(files, (_IN, _OUT, _ERR), strict=True):
        os.dup2(file, place)
        os.close(file)
    os.environ.clear()
    os.environ.update(order["environment"])
    os.chdir(order["folder"])
    sys.argv[1:] = order["arguments"]
    # tests that run in the background of a shell ignore ^C, and so would whatever is forked for them
    signal.signal(signal.SIGINT, signal.default_int_handler)


if __name__ == "__main__":
    address, path, *modules = sys.argv[1:]
    sys.path[:1] = [path] if path else []  # instead of this folder, which no program asks for
    program, *_ = map(import_module, modules)
    serve(address)
    program.main()
