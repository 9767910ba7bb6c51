"""A connection to a server elsewhere: frames over a WebSocket, one in each binary message.

Threads of their own read and write, as with a socket to a child process: a loop that is blocked, or a server that does not
read, never keeps the heart from handing over its frame. A frame is decoded by the thread that read it: each hand-over from
thread to thread is waited for by whoever waits for the step.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Callable
from http import HTTPStatus
from queue import SimpleQueue
from typing import Any, Final, cast
from urllib.parse import quote

from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidStatus, InvalidURI
from websockets.frames import DATA_OPCODES, CloseCode
from websockets.frames import Frame as Part
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


class Messages(ClientConnection):
    """A WebSocket that leaves the frames in its messages where they are looked for; ``recv`` only tells of its end."""

    def __init__(self, *given: Any, **options: Any) -> None:
        self.arrived: deque[AnyFrame] = deque()
        self.nonsense: FrameError | None = None
        self.room = threading.Semaphore(AHEAD_MAX)
        self.tell: Callable[[], None] = lambda: None
        """Called by the thread that reads, when something has arrived."""
        self._parts: list[bytes] = []
        super().__init__(*given, **options)

    def process_event(self, event: Any) -> None:
        """Take what has been read: an answer, a ping, or a message, which may come in several parts."""
        if not isinstance(event, Part) or event.opcode not in DATA_OPCODES:
            super().process_event(event)
            return
        self._parts.append(bytes(event.data))
        if event.fin and self.nonsense is None:
            message = b"".join(self._parts)
            self._parts.clear()
            self._take(message)

    def _take(self, message: bytes) -> None:
        try:
            self.arrived.append(decode(message))
        except FrameError as error:
            self.nonsense = error
        self.tell()
        self.room.acquire()


class Socket:
    """The worker's end of a connection to a server."""

    def __init__(self, connection: Messages) -> None:
        self._connection = connection
        self._loop = asyncio.get_running_loop()
        self._queue: SimpleQueue[bytes | None] = SimpleQueue()
        self._lost: LostError | None = None
        self._waiter: asyncio.Future[None] | None = None
        connection.tell = self._wake_soon
        self._threads = [
            threading.Thread(target=self._write, name="petra-send", daemon=True),
            threading.Thread(target=self._watch, name="petra-hear", daemon=True),
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
            pass  # the watcher finds out
        self._connection.close()

    async def receive(self) -> list[AnyFrame]:
        """Return the frames that have arrived.

        Raises:
            LostError: the server is gone, or speaks something else.
        """
        arrived = self._connection.arrived
        while not arrived:
            if (nonsense := self._connection.nonsense) is not None:
                raise NonsenseError(str(nonsense))
            if self._lost is not None:
                raise self._lost
            self._waiter = self._loop.create_future()
            await self._waiter
        frames = [arrived.popleft() for _ in range(len(arrived))]
        self._connection.room.release(len(frames))
        return frames

    def _watch(self) -> None:
        """Wait for the end of the connection: what arrives on it goes another way."""
        try:
            self._connection.recv()
        except ConnectionClosed as error:
            self._lost = self._lost or _end_of(error)
        self._wake_soon()

    def _wake_soon(self) -> None:
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._wake)

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def close(self) -> None:
        """Send what is left, if the server takes it, then end the connection."""
        self._lost = self._lost or LostError("the connection is closed")
        self._queue.put(None)
        self._threads[0].join(CLOSE_S)
        self._connection.close_timeout = 0
        self._connection.room.release(AHEAD_MAX)
        self._wake()


def _end_of(error: ConnectionClosed) -> LostError:
    """Return how a connection ended: a server that cuts a worker off would do it at once again."""
    said = error.rcvd
    if said is not None and said.code == CloseCode.POLICY_VIOLATION:
        return NonsenseError(f"the server cut it off: {said.reason}")
    return LostError(f"the connection is lost: {error}")


async def connected(url: str, token: str, pool: str = "") -> Socket:
    """Connect to the server at an address, for the runs of a pool; a token that is for another one is refused at the door.

    Raises:
        ClosedError: it will not have us, and asking again is no use; the message says why.
        LostError: it cannot be reached now.
    """
    address = socket_address(url) + (f"?pool={quote(pool, safe='')}" if pool else "")
    return Socket(await asyncio.to_thread(_open, address, token, pool))


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


def _open(address: str, token: str, pool: str) -> Messages:
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
            create_connection=Messages,
        )
    except InvalidStatus as error:
        status = error.response.status_code
        if status in _REFUSED:
            raise ClosedError(_why(status, pool or "POOL")) from None
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
    # who uses it closes it: for the library this is what a block begins with, and nothing else
    return cast(Messages, connection.__enter__())


def _why(status: int, pool: str) -> str:
    match status:
        case HTTPStatus.UNAUTHORIZED:
            return "the server does not know this token, or it has expired"
        case HTTPStatus.FORBIDDEN:
            may = "" if pool == "POOL" else f" for pool '{pool}'"
            return f"this token may not work{may}; make one with 'petra token create --role worker --pool {pool}'"
        case _:
            return f"there is no Petra server at this address (it answers {status})"
