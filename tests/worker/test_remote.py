"""Connecting to a server elsewhere: what passes is tried again, what stays as it is is told."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from websockets.exceptions import ConnectionClosedError
from websockets.sync.server import ServerConnection
from websockets.sync.server import serve as served_by
from websockets.typing import Subprotocol

from petra.wire.connection import LostError, NonsenseError
from petra.wire.frames import SUBPROTOCOL, Ack, AnyFrame, encode
from petra.worker import remote
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


def test_a_server_that_dies_before_it_was_asked_is_asked_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def dies(*_: object, **__: object) -> None:
        raise ConnectionClosedError(None, None)

    monkeypatch.setattr(remote, "connect", dies)
    with pytest.raises(LostError, match="cannot be reached"):
        asyncio.run(connected("http://127.0.0.1:1", "petra_x"))


@contextmanager
def server(talk: Callable[[ServerConnection], None]) -> Iterator[str]:
    """Give the address of a server that says something to each worker."""
    with served_by(talk, "127.0.0.1", 0, subprotocols=[Subprotocol(SUBPROTOCOL)]) as listening:
        thread = threading.Thread(target=listening.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{listening.socket.getsockname()[1]}"
        listening.shutdown()
        thread.join()


def acked(number: int) -> AnyFrame:
    return Ack([f"lease {number}"])


async def heard(url: str, count: int) -> list[AnyFrame]:
    """Return the first frames that a server says, in the order in which they are taken."""
    connection, frames = await connected(url, "petra_x"), list[AnyFrame]()
    try:
        while len(frames) < count:
            frames += await connection.receive()
    finally:
        await asyncio.to_thread(connection.close)
    return frames


def test_a_frame_that_comes_in_several_parts_is_one() -> None:
    raw = encode(acked(1))

    def talk(worker: ServerConnection) -> None:
        worker.send(iter([raw[:3], raw[3:7], raw[7:]]))
        worker.send(encode(acked(2)))
        worker.wait_closed()

    with server(talk) as url:
        assert asyncio.run(heard(url, 2)) == [acked(1), acked(2)]


def test_a_server_that_cuts_a_worker_off_is_not_asked_again_at_once() -> None:
    def talk(worker: ServerConnection) -> None:
        worker.close(code=1008, reason="it makes up leases")

    with server(talk) as url, pytest.raises(NonsenseError, match="it makes up leases"):
        asyncio.run(heard(url, 1))


def test_what_is_said_before_nonsense_counts_and_nothing_after_it() -> None:
    def talk(worker: ServerConnection) -> None:
        worker.send(encode(acked(1)))
        worker.send(b"\xc1")
        worker.send(encode(acked(2)))
        worker.wait_closed()

    async def listens(url: str) -> list[AnyFrame]:
        connection = await connected(url, "petra_x")
        frames = await connection.receive()
        with pytest.raises(NonsenseError):
            await connection.receive()
        await asyncio.to_thread(connection.close)
        return frames

    with server(talk) as url:
        assert asyncio.run(listens(url)) == [acked(1)]


def test_a_worker_that_takes_nothing_reads_no_further(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote, "AHEAD_MAX", 3)
    said = threading.Event()

    def talk(worker: ServerConnection) -> None:
        for number in range(50):
            worker.send(encode(acked(number)))
        said.set()
        worker.wait_closed()

    async def counts(url: str) -> tuple[int, list[AnyFrame]]:
        connection, frames, most = await connected(url, "petra_x"), list[AnyFrame](), 0
        await asyncio.to_thread(said.wait)
        while len(frames) < 50:
            some = await connection.receive()
            most = max(most, len(some))
            frames += some
        await asyncio.to_thread(connection.close)
        return most, frames

    with server(talk) as url:
        most, frames = asyncio.run(counts(url))
    assert frames == [acked(number) for number in range(50)]
    assert most <= 4
