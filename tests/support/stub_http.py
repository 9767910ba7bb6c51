"""A local HTTP server that answers as told, well or badly: raw bytes over asyncio.

A route is a function from a request to the bytes of a whole answer, or to an ``Answer`` that also says how to
treat the connection.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlsplit

from support.listening import listening


@dataclass(frozen=True)
class Asked:
    """A request as it came in."""

    method: str
    path: str
    query: Mapping[str, list[str]]
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True)
class Answer:
    """Bytes to send, and what to do with the connection: ``keep``, ``close``, ``reset``, ``hang``."""

    sent: bytes
    then: str = "keep"
    repeat: int = 1


Route = Callable[[Asked], bytes | Answer]


@dataclass
class Stub:
    """A running stub: what it was asked, and how many requests were open at most."""

    port: int = 0
    asked: list[Asked] = field(default_factory=list)
    connections: int = 0
    open_now: int = 0
    open_most: int = 0
    moved: asyncio.Condition = field(default_factory=asyncio.Condition)

    async def until(self, holds: Callable[[Stub], bool]) -> None:
        """Wait until something holds; it is looked at whenever a request comes in."""
        async with self.moved:
            await self.moved.wait_for(lambda: holds(self))

    def url(self, path: str = "/") -> str:
        """Return the address of a path."""
        return f"http://127.0.0.1:{self.port}{path}"


def reply(
    body: bytes | str = b"",
    status: str = "200 OK",
    headers: Mapping[str, str] | None = None,
    kind: str = "text/plain",
) -> bytes:
    """Make a correct answer."""
    sent = body.encode() if isinstance(body, str) else body
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(sent)}", f"Content-Type: {kind}"]
    lines += [f"{name}: {value}" for name, value in (headers or {}).items()]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + sent


def reply_json(value: Any, status: str = "200 OK", **headers: str) -> bytes:
    """Make a correct answer in JSON."""
    return reply(json.dumps(value), status, headers, "application/json")


def redirect(to: str, status: str = "302 Found") -> bytes:
    """Make an answer that sends the client elsewhere."""
    return reply(b"", status, {"Location": to})


def paging(items: list[Any], size: int, hiccups: Mapping[int, str] | None = None) -> Route:
    """Serve a list in pages of ``?page=n``; the n-th request altogether may get another status."""
    count = 0

    def route(asked: Asked) -> bytes:
        nonlocal count
        count += 1
        if status := (hiccups or {}).get(count):
            return reply_json({"error": status}, status, **{"Retry-After": "2"})
        page = int(asked.query.get("page", ["1"])[0])
        part = items[(page - 1) * size : page * size]
        return reply_json({"items": part, "next": page + 1 if page * size < len(items) else None})

    return route


@asynccontextmanager
async def serving(routes: Mapping[str, Route | bytes | Answer]) -> AsyncIterator[Stub]:
    """Serve routes by path until the block ends; any other path is 404."""
    stub = Stub()

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        stub.connections += 1
        while (asked := await _read(reader)) is not None:
            stub.asked.append(asked)
            stub.open_now += 1
            stub.open_most = max(stub.open_most, stub.open_now)
            async with stub.moved:
                stub.moved.notify_all()
            try:
                if not await _serve(routes, asked, writer):
                    break
            finally:
                stub.open_now -= 1

    async with listening(talk) as stub.port:
        yield stub


async def _serve(
    routes: Mapping[str, Route | bytes | Answer],
    asked: Asked,
    writer: asyncio.StreamWriter,
) -> bool:
    route = routes.get(asked.path, reply_json({"error": "no such page"}, "404 Not Found"))
    answer = route(asked) if callable(route) else route
    if isinstance(answer, bytes):
        answer = Answer(answer)
    for _ in range(answer.repeat):
        writer.write(answer.sent)
        await writer.drain()
    if answer.then == "hang":
        await asyncio.Event().wait()
    if answer.then == "reset":
        writer.transport.abort()
    return answer.then == "keep"


async def _read(reader: asyncio.StreamReader) -> Asked | None:
    head = await reader.readuntil(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")[:-2]
    method, target, _ = first.split(" ")
    headers = {
        name.lower(): value.strip() for name, _, value in (li.partition(":") for li in lines)
    }
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    url = urlsplit(target)
    return Asked(method, url.path, parse_qs(url.query), headers, body)
