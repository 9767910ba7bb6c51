"""Frames over a socket: in order, of any size, from any thread; and an end that never hangs."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Awaitable, Callable

import pytest

from petra.wire import frames as f
from petra.wire.connection import send_together
from petra.worker import LostError, stream
from petra.worker.stream import Stream


def with_pair(play: Callable[[Stream, Stream], Awaitable[None]]) -> None:
    async def run() -> None:
        one, other = map(Stream, socket.socketpair())
        try:
            await play(one, other)
        finally:
            one.close()
            other.close()

    asyncio.run(asyncio.wait_for(run(), 300))


def test_frames_of_many_threads_arrive_whole() -> None:
    async def play(one: Stream, other: Stream) -> None:
        def talk(name: str) -> None:
            for number in range(50):
                one.send(f.PlaybookText(digest=f"{name}{number}", text=name * 10_000))

        threads = [threading.Thread(target=talk, args=(name,)) for name in "abc"]
        for thread in threads:
            thread.start()
        received: list[f.AnyFrame] = []
        while len(received) < 150:
            received += await other.receive()
        for name in "abc":
            own = [frame for frame in received if frame.digest.startswith(name)]  # type: ignore[union-attr]
            assert own == [
                f.PlaybookText(digest=f"{name}{n}", text=name * 10_000) for n in range(50)
            ]

    with_pair(play)


def test_frames_that_go_together_arrive_in_their_order_and_at_once() -> None:
    async def play(one: Stream, other: Stream) -> None:
        send_together(one, [f.Ack(parts=[("a", 1)]), f.Credit(slots=3)])
        assert await other.receive() == [f.Ack(parts=[("a", 1)]), f.Credit(slots=3)]

    with_pair(play)


def test_a_transport_that_sends_one_by_one_sends_them_in_their_order() -> None:
    class Plain:
        def __init__(self) -> None:
            self.sent: list[f.AnyFrame] = []

        def send(self, frame: f.AnyFrame) -> None:
            self.sent.append(frame)

    plain = Plain()
    send_together(plain, [f.Ack(parts=[("a", 1)]), f.Credit(slots=3)])
    assert plain.sent == [f.Ack(parts=[("a", 1)]), f.Credit(slots=3)]


def test_what_was_sent_before_the_end_is_received_and_then_it_is_lost() -> None:
    async def play(one: Stream, other: Stream) -> None:
        one.send(f.Bye(leases=["a"]))
        one.close()
        assert await other.receive() == [f.Bye(leases=["a"])]
        with pytest.raises(LostError):
            await other.receive()

    with_pair(play)


@pytest.mark.spec("S18")
def test_a_frame_that_is_too_long_ends_the_connection_and_not_its_sender(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(f, "MAX_FRAME", 1_000)

    async def play(one: Stream, other: Stream) -> None:
        one.send(f.Bye(leases=["a"]))
        one.send(f.PlaybookText(digest="d", text="x" * 1_000))
        assert await other.receive() == [f.Bye(leases=["a"])]
        for end in (one, other):
            with pytest.raises(LostError):
                await end.receive()

    with_pair(play)


def test_bytes_that_are_no_frames_end_the_connection() -> None:
    async def play(one: Stream, other: Stream) -> None:
        one._queue.put(b"\xff\xff\xff\xff")
        with pytest.raises(LostError, match="at most"):
            await other.receive()

    with_pair(play)


def test_sending_never_waits_and_closing_does_not_hang_on_a_peer_that_never_reads(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(stream, "CLOSE_TIMEOUT_S", 0.05)

    async def play(one: Stream, _other: Stream) -> None:
        for _ in range(50):
            one.send(f.PlaybookText(digest="d", text="x" * 1_000_000))
        one.close()
        one._thread.join(300)
        assert not one._thread.is_alive()

    with_pair(play)


def test_a_reader_that_takes_nothing_makes_the_peer_wait_and_loses_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(stream, "AHEAD_MAX", 3)

    async def play(one: Stream, other: Stream) -> None:
        one.send(f.Bye(leases=["0"]))
        assert await other.receive() == [f.Bye(leases=["0"])]
        for number in range(1, 2_000):
            one.send(f.Bye(leases=[str(number), "x" * 1_000]))
        for _ in range(50):
            await asyncio.sleep(0)
        assert other._watcher is None  # it reads no more
        received: list[f.AnyFrame] = []
        while len(received) < 1_999:
            received += await other.receive()
        assert [frame.leases[0] for frame in received] == [str(n) for n in range(1, 2_000)]  # type: ignore[union-attr]

    with_pair(play)
