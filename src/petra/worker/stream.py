"""Frames over a socket, such as a socketpair to a child process.

A frame goes out at once where the socket takes it; what it does not take is left to a thread. So a loop that
is blocked, or a peer that does not read, never keeps the heart from handing over its frame.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
import threading
from collections.abc import Sequence
from queue import Empty, SimpleQueue
from typing import Final

from petra.wire.connection import LostError, NonsenseError
from petra.wire.frames import AnyFrame, FrameError, Unpacker, pack

SEND_TIMEOUT_S: Final = 60.0
"""A peer that takes nothing for so long counts as gone."""
CLOSE_TIMEOUT_S: Final = 2.0
"""How long a connection that ends waits for its last frames to be taken."""
AHEAD_MAX: Final = 1_000
"""Frames that have arrived and nobody took, at which reading stops: the peer has to wait."""
_PIECE: Final = 256 * 1024
_TOGETHER: Final = 64

_log = logging.getLogger("petra.worker")


class Stream:
    """One end of a socket."""

    def __init__(self, connection: socket.socket) -> None:
        connection.settimeout(0)
        self._socket = connection
        # A second handle on the same socket: with a time limit it polls, and the flag they share stays.
        self._writer = connection.dup()
        self._writer.settimeout(SEND_TIMEOUT_S)
        self._order = threading.Lock()
        self._left = 0
        self._queue: SimpleQueue[bytes | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._write, name="petra-send", daemon=True)
        self._thread.start()
        # Made once: to make a piece of this size for each reading costs more than to read what most of them have.
        self._room = memoryview(bytearray(_PIECE))
        self._unpacker = Unpacker()
        self._arrived: list[AnyFrame] = []
        self._lost = ""
        self._nonsense = ""
        self._watcher: asyncio.AbstractEventLoop | None = None
        self._waiter: asyncio.Future[None] | None = None

    # Sending

    def send(self, frame: AnyFrame) -> None:
        """Send a frame, in order; from any thread, without waiting.

        One that is too long is a bug of the sender. It ends this connection, and nothing beside it.
        """
        self.send_together((frame,))

    def send_together(self, frames: Sequence[AnyFrame]) -> None:
        """Send frames that follow each other: with one call of the system, and the other end wakes once."""
        try:
            raw = pack(frames[0]) if len(frames) == 1 else b"".join(map(pack, frames))
        except FrameError:
            names = ", ".join(type(frame).__name__ for frame in frames)
            _log.exception("%s: not sent, and the connection ends", names)
            with contextlib.suppress(OSError):
                self._writer.shutdown(socket.SHUT_RDWR)  # the reader finds out
            return
        with self._order:
            if not self._left:
                raw = self._send_now(raw)
            if raw:
                self._left += 1
                self._queue.put(raw)

    def _send_now(self, raw: bytes) -> bytes:
        """Send what the socket takes without waiting; return the rest."""
        try:
            return raw[self._socket.send(raw) :]
        except BlockingIOError:
            return raw
        except OSError:
            return b""  # the reader finds out

    def _write(self) -> None:
        """Write what was left until told to end; what is ready together goes out together."""
        while True:
            pieces = [self._queue.get()]
            with contextlib.suppress(Empty):
                while pieces[-1] is not None and len(pieces) < _TOGETHER:
                    pieces.append(self._queue.get_nowait())
            try:
                self._writer.sendall(b"".join(piece for piece in pieces if piece is not None))
            except OSError:
                pieces.append(None)
            if pieces[-1] is None:
                with contextlib.suppress(OSError):
                    self._writer.shutdown(socket.SHUT_RDWR)  # the reader finds out
                return
            with self._order:
                self._left -= len(pieces)

    # Receiving

    async def receive(self) -> list[AnyFrame]:
        """Return the frames that have arrived.

        Raises:
            LostError: the other end is gone, or speaks something else.
        """
        while not self._arrived:
            if self._nonsense:
                raise NonsenseError(self._nonsense)
            if self._lost:
                raise LostError(self._lost)
            self._watch()
            self._waiter = asyncio.get_running_loop().create_future()
            await self._waiter
        frames, self._arrived = self._arrived, []
        return frames

    def _watch(self) -> None:
        if self._watcher is None:
            self._watcher = asyncio.get_running_loop()
            self._watcher.add_reader(self._socket, self._readable)

    def _unwatch(self) -> None:
        if self._watcher is not None:
            self._watcher.remove_reader(self._socket)
            self._watcher = None

    def _readable(self) -> None:
        try:
            size = self._socket.recv_into(self._room)
            if size:
                self._arrived += self._unpacker.feed(self._room[:size])
            else:
                self._lost = "the other end has closed the connection"
        except BlockingIOError:
            return
        except OSError as error:
            self._lost = f"the connection is lost: {error.strerror}"
        except FrameError as error:
            self._lost = self._nonsense = str(error)
        if self._lost or len(self._arrived) >= AHEAD_MAX:
            self._unwatch()
        if self._lost or self._arrived:
            self._wake()

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def close(self) -> None:
        """Send what is left, if the other end takes it, then end the connection."""
        self._unwatch()
        self._lost = self._lost or "the connection is closed"
        self._wake()
        self._queue.put(None)
        self._thread.join(CLOSE_TIMEOUT_S)
        with contextlib.suppress(OSError):
            self._writer.shutdown(socket.SHUT_RDWR)  # wakes a writer that still waits
        for end in (self._writer, self._socket):
            end.close()
