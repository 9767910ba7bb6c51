"""A command that is a forked program (``forks.Forked.command``), for whoever starts commands only.

    python -I -S forked.py SOCKET WORD…

It asks for the program to be forked with its own files, folder and environment, hands on what it is told, and ends as that one.
It imports next to nothing: Python takes longer to start than what it does.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import sys


def main(address: str, *words: str) -> int:
    here = os.getcwd()  # noqa: PTH109 - pathlib takes longer to load than all the rest
    order = {"folder": here, "arguments": words, "environment": dict(os.environ)}
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as connection:
        connection.connect(address)
        socket.send_fds(connection, [json.dumps(order).encode()], [0, 1, 2])
        pid = int(connection.recv(32))
        signal.signal(signal.SIGTERM, lambda *_: os.kill(pid, signal.SIGTERM))
        os.closerange(0, 2)  # who writes to it and reads from it is the other
        return int(connection.recv(32))


if __name__ == "__main__":
    os._exit(main(*sys.argv[1:]) & 0xFF)
