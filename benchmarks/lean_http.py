"""HTTP/1.1 over one connection that stays, with nothing around it: a load client that costs less than what it measures.

It reads every answer whole, by its length, and gives it to whoever asked; answers without a length are none of its own.
"""

from __future__ import annotations

import asyncio
from typing import NamedTuple, cast
from urllib.parse import urlsplit


class Answer(NamedTuple):
    """What came back."""

    status: int
    headers: dict[bytes, bytes]
    body: bytes


class Connection(asyncio.Protocol):
    """One connection: a request, its answer, the next one."""

    def __init__(self) -> None:
        self._arrived = bytearray()
        self._asked: asyncio.Future[Answer] | None = None
        self._transport: asyncio.Transport | None = None

    @classmethod
    async def to(cls, url: str) -> Connection:
        """Connect to a server."""
        parts, loop = urlsplit(url), asyncio.get_running_loop()
        _, made = await loop.create_connection(cls, parts.hostname, parts.port)
        return made

    async def ask(self, request: bytes) -> Answer:
        """Send a request that is written already; return what came back."""
        assert self._transport is not None
        self._asked = asyncio.get_running_loop().create_future()
        self._transport.write(request)
        return await self._asked

    def close(self) -> None:
        """End it."""
        if self._transport is not None:
            self._transport.close()

    # What the event loop calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(
            "asyncio.Transport", transport
        )  # uvloop's is one, and says so of nothing

    def data_received(self, data: bytes) -> None:
        self._arrived += data
        head_end = self._arrived.find(b"\r\n\r\n")
        if head_end < 0:
            return
        status, *lines = bytes(self._arrived[:head_end]).split(b"\r\n")
        headers = dict(line.lower().split(b": ", 1) for line in lines)
        end = head_end + 4 + int(headers[b"content-length"])
        if len(self._arrived) < end:
            return
        body = bytes(self._arrived[head_end + 4 : end])
        del self._arrived[:end]
        assert self._asked is not None, "nobody asked"
        self._asked.set_result(Answer(int(status.split()[1]), headers, body))

    def connection_lost(self, error: Exception | None) -> None:
        if self._asked is not None and not self._asked.done():
            self._asked.set_exception(error or ConnectionResetError("it hung up"))


def written(url: str, method: str, path: str, token: str, body: bytes = b"") -> bytes:
    """Write a request, as it goes over the wire."""
    head = (
        f"{method} {path} HTTP/1.1\r\nHost: {urlsplit(url).netloc}\r\nAuthorization: Bearer {token}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body
