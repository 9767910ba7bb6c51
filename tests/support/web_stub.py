"""A small HTTP server on a real socket that answers as a function says."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import msgspec


@dataclass(slots=True)
class Request:
    method: str
    path: str
    headers: dict[str, str]
    body: str


@dataclass(slots=True)
class Stub:
    url: str = ""
    requests: list[Request] = field(default_factory=list)


Answer = Callable[[Request], tuple[int, object]]


@asynccontextmanager
async def serving(answer: Answer) -> AsyncIterator[Stub]:
    stub = Stub()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        first, *lines = head.split("\r\n")
        method, path, _ = first.split(" ")
        headers = {line.split(": ", 1)[0].lower(): line.split(": ", 1)[1] for line in lines if line}
        body = (await reader.readexactly(int(headers.get("content-length", "0")))).decode()
        request = Request(method, path, headers, body)
        stub.requests.append(request)
        status, data = answer(request)
        raw = msgspec.json.encode(data)
        writer.write(
            f"HTTP/1.1 {status} X\r\nContent-Length: {len(raw)}\r\nConnection: close\r\n\r\n".encode()
            + raw
        )
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    stub.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield stub
    finally:
        server.close()
        await server.wait_closed()
