"""Connections of the ``http`` tool: kept and used again, each by one request at a time.

The pool of the HTTP library looks at every connection for every request, which is most of the work once there are
hundreds. Here each connection has a pool of its own, and those that are idle wait in a list by origin: to take one or to
give one back costs the same however many there are.

Rule 1: at most ``CONNECTIONS`` at a time; a request beyond that waits for one to be free.
Rule 2: at most ``IDLE`` are kept idle; the one idle for longest is closed. The last used is used first.
Rule 3: a connection on which a request failed, or whose answer was not read to its end, is closed by its pool.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import OrderedDict, deque
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Final

import httpx2

CONNECTIONS: Final = 1_000
IDLE: Final = 200
ONE: Final = httpx2.Limits(max_connections=1, max_keepalive_connections=1)
"""The limits of the pool of one connection."""

Origin = tuple[str, str, int | None]


class Connections(httpx2.AsyncBaseTransport):
    """Connections that ``make`` opens, one each."""

    def __init__(self, make: Callable[[], httpx2.AsyncBaseTransport]) -> None:
        self._make = make
        self._room = asyncio.Semaphore(CONNECTIONS)
        self._idle: dict[Origin, deque[httpx2.AsyncBaseTransport]] = {}
        self._age: OrderedDict[httpx2.AsyncBaseTransport, Origin] = OrderedDict()

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request; the connection is free again when its answer is closed."""
        origin = (request.url.scheme, request.url.host, request.url.port)
        await self._room.acquire()
        connection: httpx2.AsyncBaseTransport | None = None
        try:
            connection = self._take(origin)
            response = await connection.handle_async_request(request)
        except BaseException:
            self._room.release()
            if connection is not None:
                with contextlib.suppress(Exception):
                    await connection.aclose()
            raise
        assert isinstance(response.stream, httpx2.AsyncByteStream), "an asynchronous answer"
        used = connection
        response.stream = _Stream(response.stream, lambda: self._give_back(origin, used))
        return response

    async def aclose(self) -> None:
        """Close the idle connections; those in use are closed with their answers."""
        while self._age:
            await self._drop_oldest()

    def _take(self, origin: Origin) -> httpx2.AsyncBaseTransport:
        idle = self._idle.get(origin)
        if not idle:
            return self._make()
        connection = idle.pop()
        if not idle:
            del self._idle[origin]
        del self._age[connection]
        return connection

    async def _give_back(self, origin: Origin, connection: httpx2.AsyncBaseTransport) -> None:
        self._idle.setdefault(origin, deque()).append(connection)
        self._age[connection] = origin
        self._room.release()
        while len(self._age) > IDLE:
            await self._drop_oldest()

    async def _drop_oldest(self) -> None:
        connection, origin = self._age.popitem(last=False)
        idle = self._idle[origin]
        idle.popleft()
        if not idle:
            del self._idle[origin]
        await connection.aclose()


class _Stream(httpx2.AsyncByteStream):
    """An answer that says when it is closed, once."""

    def __init__(
        self, below: httpx2.AsyncByteStream, closed: Callable[[], Awaitable[None]]
    ) -> None:
        self._below = below
        self._closed: Callable[[], Awaitable[None]] | None = closed

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for piece in self._below:
            yield piece

    async def aclose(self) -> None:
        closed, self._closed = self._closed, None
        try:
            await self._below.aclose()
        finally:
            if closed is not None:
                await closed()
