"""Frames over a socket, such as a socketpair to a child process.

Reading is the loop's, writing is a thread's: a loop that is blocked, or a peer that does not read, never keeps
the heart from handing over its frame.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import threading
from queue import Empty, SimpleQueue
from typing import Final

from petra.wire.frames import AnyFrame, FrameError, Unpacker, pack
from petra.worker.transport import LostError

SEND_TIMEOUT_S: Final = 60.0
"""A peer that takes nothing for so long counts as gone."""
_PIECE: Final = 256 * 1024
_TOGETHER: Final = 64


class Stream:
    """One end of a socket."""

    def __init__(self, connection: socket.socket) -> None:
        connection.settimeout(0)
        self._socket = connection
        # A second handle on the same socket: with a time limit it polls, and the flag they share stays.
        self._writer = connection.dup()
        self._writer.settimeout(SEND_TIMEOUT_S)
        self._unpacker = Unpacker()
        self._queue: SimpleQueue[bytes | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._write, name="petra-send", daemon=True)
        self._thread.start()

    def send(self, frame: AnyFrame) -> None:
        """Send a frame, in order; from any thread, without waiting.

        Raises:
            FrameError: it is too long.
        """
        self._queue.put(pack(frame))

    async def receive(self) -> list[AnyFrame]:
        """Return the frames that have arrived.

        Raises:
            LostError: the other end is gone, or speaks something else.
        """
        loop = asyncio.get_running_loop()
        frames: list[AnyFrame] = []
        while not frames:
            try:
                piece = await loop.sock_recv(self._socket, _PIECE)
            except OSError as error:
                raise LostError(f"the connection is lost: {error.strerror}") from None
            if not piece:
                raise LostError("the other end has closed the connection")
            try:
                frames = self._unpacker.feed(piece)
            except FrameError as error:
                raise LostError(str(error)) from None
        return frames

    def close(self) -> None:
        """Send what is left, then end the connection."""
        self._queue.put(None)
        self._thread.join(SEND_TIMEOUT_S)
        for end in (self._writer, self._socket):
            end.close()

    def _write(self) -> None:
        """Write until told to end; what is ready together goes out together."""
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
