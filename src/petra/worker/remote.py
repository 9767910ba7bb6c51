"""A connection to a server elsewhere: frames over a WebSocket, one in each binary message.

Threads of their own read and write, as with a socket to a child process: a loop that is blocked, or a server that does not
read, never keeps the heart from handing over its frame.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from http import HTTPStatus
from queue import SimpleQueue
from typing import Final

from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidStatus, InvalidURI
from websockets.sync.client import ClientConnection, connect
from websockets.typing import Subprotocol

from petra.wire.connection import LostError, NonsenseError
from petra.wire.frames import MAX_FRAME, SUBPROTOCOL, AnyFrame, FrameError, decode, encode
from petra.worker.transport import ClosedError

AHEAD_MAX: Final = 1_000
"""Frames that have arrived and nobody took, at which reading stops: the server has to wait."""
OPEN_S: Final = 10.0
PING_S: Final = 20.0
PONG_S: Final = 20.0
"""A server that does not answer for so long counts as gone."""
CLOSE_S: Final = 2.0
"""How long a connection that ends waits for its last frames to be taken."""
_REFUSED: Final = frozenset(
    {
        HTTPStatus.BAD_REQUEST,
        HTTPStatus.UNAUTHORIZED,
        HTTPStatus.FORBIDDEN,
        HTTPStatus.NOT_FOUND,
        HTTPStatus.METHOD_NOT_ALLOWED,
    }
)
"""Answers that stay the same however often one asks."""


class Socket:
    """The worker's end of a connection to a server."""

    def __init__(self, connection: ClientConnection) -> None:
        self._connection = connection
        self._loop = asyncio.get_running_loop()
        self._queue: SimpleQueue[bytes | None] = SimpleQueue()
        self._arrived: deque[AnyFrame] = deque()
        self._room = threading.Semaphore(AHEAD_MAX)
        self._lost: LostError | None = None
        self._waiter: asyncio.Future[None] | None = None
        self._threads = [
            threading.Thread(target=self._write, name="petra-send", daemon=True),
            threading.Thread(target=self._read, name="petra-hear", daemon=True),
        ]
        for thread in self._threads:
            thread.start()

    def send(self, frame: AnyFrame) -> None:
        """Send a frame, in order; from any thread, without waiting."""
        self._queue.put(encode(frame))

    def _write(self) -> None:
        try:
            while (raw := self._queue.get()) is not None:
                self._connection.send(raw)
        except ConnectionClosed:
            pass  # the reader finds out
        self._connection.close()

    async def receive(self) -> list[AnyFrame]:
        """Return the frames that have arrived.

        Raises:
            LostError: the server is gone, or speaks something else.
        """
        while not self._arrived:
            if self._lost is not None:
                raise self._lost
            self._waiter = self._loop.create_future()
            await self._waiter
        frames = [self._arrived.popleft() for _ in range(len(self._arrived))]
        self._room.release(len(frames))
        return frames

    def _read(self) -> None:
        while self._lost is None:
            try:
                raw = self._connection.recv()
                self._arrived.append(decode(raw if isinstance(raw, bytes) else raw.encode()))
                self._room.acquire()
            except ConnectionClosed as error:
                self._lost = LostError(f"the connection is lost: {error}")
            except FrameError as error:
                self._lost = NonsenseError(str(error))
            if not self._loop.is_closed():
                self._loop.call_soon_threadsafe(self._wake)

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def close(self) -> None:
        """Send what is left, if the server takes it, then end the connection."""
        self._queue.put(None)
        self._threads[0].join(CLOSE_S)
        self._connection.close_timeout = 0
        self._lost = self._lost or LostError("the connection is closed")
        self._room.release(AHEAD_MAX)
        self._wake()


async def connected(url: str, token: str) -> Socket:
    """Connect to the server at an address.

    Raises:
        ClosedError: it will not have us, and asking again is no use; the message says why.
        LostError: it cannot be reached now.
    """
    return Socket(await asyncio.to_thread(_open, socket_address(url), token))


def socket_address(url: str) -> str:
    """Return where a server listens for workers.

    Raises:
        ClosedError: this is no address of a server.
    """
    scheme, separator, rest = url.rstrip("/").partition("://")
    if not separator or scheme not in {"http", "https"} or not rest:
        raise ClosedError(
            f"'{url}' is no address of a server; write https://host or http://host:7777"
        )
    return f"{'wss' if scheme == 'https' else 'ws'}://{rest}/api/v1/worker"


def _open(address: str, token: str) -> ClientConnection:
    try:
        connection = connect(
            address,
            additional_headers={"Authorization": f"Bearer {token}"},
            subprotocols=[Subprotocol(SUBPROTOCOL)],
            compression=None,
            max_size=MAX_FRAME,
            open_timeout=OPEN_S,
            ping_interval=PING_S,
            ping_timeout=PONG_S,
            close_timeout=CLOSE_S,
        )
    except InvalidStatus as error:
        status = error.response.status_code
        if status in _REFUSED:
            raise ClosedError(_why(status)) from None
        raise LostError(f"the server answers {status}") from None
    except InvalidURI as error:
        raise ClosedError(str(error)) from None
    except InvalidHandshake as error:
        if isinstance(error.__cause__, EOFError):  # it died, or was not up yet, before it answered
            raise LostError("the server hung up before it answered") from None
        raise ClosedError(f"there is no Petra server, or one of another version: {error}") from None
    except (OSError, TimeoutError, EOFError, ConnectionClosed) as error:
        raise LostError(f"the server cannot be reached: {error}") from None
    if connection.subprotocol != SUBPROTOCOL:
        connection.close()
        raise ClosedError("the server speaks to workers of another version; update one of them")
    return connection


def _why(status: int) -> str:
    match status:
        case HTTPStatus.UNAUTHORIZED:
            return "the server does not know this token, or it has expired"
        case HTTPStatus.FORBIDDEN:
            return "this token may not work; make one with 'petra token create --role worker --pool POOL'"
        case _:
            return f"there is no Petra server at this address (it answers {status})"
