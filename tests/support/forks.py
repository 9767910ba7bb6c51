"""``petra`` as a process of its own, forked from one that has imported it: tests run hundreds of them.

Each has its own pid, folder, environment, files and end; only what Python does before ``petra`` begins is shared. What a
start from nothing, a terminal or an interruption does is tested with Python started anew (``cli.processes.started``).

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
from functools import cache
from pathlib import Path

HANG_S = 300
ORDER_BYTES_MAX = 1 << 17
_OUT, _ERR = 1, 2


def run_petra(
    folder: Path, *arguments: str, environment: Mapping[str, str] = os.environ
) -> subprocess.CompletedProcess[str]:
    """Run ``petra`` to its end.

    Raises:
        TimeoutError: it hangs; it was killed.
    """
    out, their_out = os.pipe()
    err, their_err = os.pipe()
    order = {"folder": str(folder), "arguments": arguments, "environment": dict(environment)}
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as connection:
        connection.connect(_address())
        connection.settimeout(HANG_S)
        socket.send_fds(connection, [json.dumps(order).encode()], [their_out, their_err])
        os.close(their_out)
        os.close(their_err)
        pid = int(connection.recv(32))
        with ThreadPoolExecutor(2) as readers:
            reading = [readers.submit(_all_of, end) for end in (out, err)]
            try:
                code = int(connection.recv(32))
            except TimeoutError:
                os.kill(pid, signal.SIGKILL)
                raise
        said, told = (one.result() for one in reading)
    return subprocess.CompletedProcess(arguments, code, said, told)


def _all_of(end: int) -> str:
    with open(end, encoding="utf-8") as file:
        return file.read()


@cache
def _address() -> str:
    """Start the one that forks, once in a process of tests."""
    folder = tempfile.mkdtemp(prefix="petra-forks-")
    address = str(Path(folder) / "socket")
    process = subprocess.Popen(
        [sys.executable, __file__, address], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    atexit.register(
        process.communicate
    )  # closes its stdin; also, the time it took is counted as ours
    return address


# The one that forks


def serve(address: str) -> None:
    """Fork for each who asks; returns in a process that is to be ``petra``."""
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
    message, files, _, _ = socket.recv_fds(connection, ORDER_BYTES_MAX, 2)
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
    nothing = os.open(os.devnull, os.O_RDONLY)
    for file, place in ((nothing, 0), (files[0], _OUT), (files[1], _ERR)):
        os.dup2(file, place)
        os.close(file)
    os.environ.clear()
    os.environ.update(order["environment"])
    os.chdir(order["folder"])
    sys.argv = ["petra", *order["arguments"]]


if __name__ == "__main__":
    sys.path.pop(0)  # this folder, which is not there for petra
    import petra.cli.executions
    import petra.cli.run

    serve(sys.argv[1])
    petra.cli.main()
