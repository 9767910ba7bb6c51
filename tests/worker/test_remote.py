"""Connecting to a server elsewhere: what passes is tried again, what stays as it is is told."""

from __future__ import annotations

import asyncio
import socket
import threading

import pytest

from petra.wire.connection import LostError
from petra.worker.remote import connected
from petra.worker.transport import ClosedError


def answered(answer: bytes) -> type[Exception]:
    """Connect to somebody who takes the request, says this, and hangs up; return how that was taken."""

    def serve(listener: socket.socket) -> None:
        connection, _ = listener.accept()
        with connection:
            connection.recv(65536)
            connection.sendall(answer)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        serving = threading.Thread(target=serve, args=(listener,))
        serving.start()
        with pytest.raises((ClosedError, LostError)) as caught:
            asyncio.run(connected(f"http://127.0.0.1:{listener.getsockname()[1]}", "petra_x"))
        serving.join()
    return caught.type


@pytest.mark.spec("S22")
def test_a_server_that_dies_before_it_answered_is_asked_again() -> None:
    assert answered(b"") is LostError
    assert answered(b"HTTP/1.1 1") is LostError


def test_who_answers_something_else_is_no_server() -> None:
    assert answered(b"SSH-2.0-OpenSSH_9.9\r\n\r\n") is ClosedError
