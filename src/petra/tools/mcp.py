"""``kind: mcp``: calls one tool of an MCP server, in a session of its own.

Rule 1: a session is for one call: whatever happens, it is closed, and a program that was started for it is ended.
Rule 2: an error that the tool reports is an error outcome, with the ``code`` it gives, if it gives one.
Rule 3: requests pass the gate of the worker, stay with the origin that was asked, and read ``max_bytes`` at most.
"""

from __future__ import annotations

import asyncio
import os
import ssl
import tempfile
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import IO, Any, ClassVar, Final

import httpx2
import mcp_types as types
from mcp import Client, MCPError, StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from pydantic import ValidationError

from petra.kinds import Fields, Mcp, Timeouts
from petra.tools.base import ToolContext, ToolError, ToolSettings, flag, number, ok, secret_of
from petra.tools.egress import GatedTransport
from petra.tools.http import credentials_of, kind_of_status, tls_context, unanswered
from petra.wire import ErrorKind, Outcome

CONNECT_S: Final = 10
READ_S: Final = 60
SAID_MAX: Final = 500
DETAILS_MAX: Final = 4_000
LOG_MAX: Final = 64 * 1024
_LIMITS: Final = httpx2.Limits(max_connections=4, max_keepalive_connections=4)
_KINDS: Final[Mapping[int, ErrorKind]] = {
    types.INVALID_PARAMS: "client_error",
    types.METHOD_NOT_FOUND: "not_found",
    types.INVALID_REQUEST: "client_error",
    types.PARSE_ERROR: "parse",
    types.CONNECTION_CLOSED: "connection",
    types.REQUEST_TIMEOUT: "timeout",
}


class McpTool:
    """Calls a tool of an MCP server."""

    kind: ClassVar[str] = "mcp"
    spec: ClassVar[type[Fields]] = Mcp

    def __init__(self, settings: ToolSettings | None = None) -> None:
        self._settings = settings or ToolSettings()

    async def run(self, fields: Mcp, context: ToolContext) -> Outcome:
        """Call it once."""
        if (fields.url is None) == (fields.command is None):
            raise ToolError("client_error", "give one of url and command")
        most = int(number(fields.max_bytes, "max_bytes", self._settings.max_bytes))
        session = _Session(fields, context, self._settings, most)
        # A task of its own is cancelled once, and then left to close what it opened.
        task = asyncio.create_task(session.call())
        try:
            result = await asyncio.shield(task)
        except asyncio.CancelledError:
            task.cancel()
            await asyncio.wait({task})
            raise
        return _judged(fields, result, most, context)


class _Session:
    """One session: what it says, and what went wrong below it."""

    def __init__(
        self, fields: Mcp, context: ToolContext, settings: ToolSettings, most: int
    ) -> None:
        self._fields = fields
        self._context = context
        self._settings = settings
        self._most = most
        self._status = 0
        self._where = _place(fields)

    async def call(self) -> types.CallToolResult:
        """Open a session, call the tool, close the session."""
        fields = self._fields
        try:
            async with (
                self._transport() as transport,
                Client(transport, read_timeout_seconds=self._limits().read, cache=None) as client,
            ):
                return await client.call_tool(fields.tool, fields.arguments or {})
        except BaseException as error:
            if isinstance(error, asyncio.CancelledError):
                raise
            raise self._error_of(_first(error)) from error

    def _limits(self) -> httpx2.Timeout:
        timeouts = self._fields.timeout
        if not isinstance(timeouts, Timeouts):
            timeouts = Timeouts(
                connect=CONNECT_S if timeouts is None else timeouts,
                read=READ_S if timeouts is None else timeouts,
            )
        read = number(timeouts.read, "timeout.read", READ_S)
        connect = number(timeouts.connect, "timeout.connect", CONNECT_S)
        return httpx2.Timeout(connect=connect, read=read, write=read, pool=None)

    @asynccontextmanager
    async def _transport(self) -> AsyncIterator[Any]:
        if self._fields.url is None:
            with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as said:
                yield stdio_client(_program(self._fields), errlog=said)
                _log_end(said, self._context)
            return
        async with self._http() as http:
            yield streamable_http_client(self._fields.url, http_client=http)

    @asynccontextmanager
    async def _http(self) -> AsyncIterator[httpx2.AsyncClient]:
        fields = self._fields
        headers = {key: str(value) for key, value in (fields.headers or {}).items()}
        params: dict[str, str] = {}
        if fields.auth is not None:
            credentials = credentials_of(fields.auth, await secret_of(self._context, fields.auth))
            headers.update([credentials.header] if credentials.header else [])
            params.update([credentials.query] if credentials.query else [])
        tls = tls_context(verify=flag(fields.verify, "verify"))
        async with httpx2.AsyncClient(
            transport=_Counted(self._connections(tls), self._most), headers=headers, params=params,
            timeout=self._limits(), trust_env=False, event_hooks={"response": [self._noted]},
        ) as http:  # fmt: skip
            yield http

    def _connections(self, tls: ssl.SSLContext) -> httpx2.AsyncBaseTransport:
        if self._settings.refuse_private:
            return GatedTransport(tls, _LIMITS)
        return httpx2.AsyncHTTPTransport(verify=tls, trust_env=False, limits=_LIMITS)

    async def _noted(self, response: httpx2.Response) -> None:
        if response.request.method == "POST":
            self._status = response.status_code

    def _error_of(self, error: BaseException) -> ToolError:
        match error:
            case ToolError():
                return error
            case MCPError() if self._status >= 400:
                kind = kind_of_status(self._status)
                return ToolError(kind, f"{self._where}: {self._status}", code=self._status)
            case MCPError():
                kind = _KINDS.get(error.code, "server_error")
                return ToolError(kind, f"{self._where}: {error.message}", code=error.code)
            case httpx2.HTTPError() | httpx2.InvalidURL() | httpx2.StreamError():
                return unanswered(self._where, error)
            case TimeoutError():
                return ToolError("timeout", f"{self._where}: no answer in time")
            case FileNotFoundError() | PermissionError() | NotADirectoryError():
                return ToolError("not_found", f"{self._where}: {error.strerror}")
            case ValidationError() | ValueError():
                return ToolError("parse", f"{self._where}: the answer is not in its protocol")
            case _:
                return ToolError("connection", f"{self._where}: {type(error).__name__}: {error}")


def _place(fields: Mcp) -> str:
    """Name a server without what its address may hide."""
    if fields.url is None:
        return f"{fields.command} ({fields.tool})"
    try:
        url = httpx2.URL(fields.url)
        shown = url.copy_with(username=None, password=None, query=None, fragment=None)
    except (httpx2.InvalidURL, ValueError):
        raise ToolError("client_error", "url is no http or https URL") from None
    if url.scheme not in {"http", "https"} or not url.host:
        raise ToolError("client_error", "url is no http or https URL")
    return f"{shown} ({fields.tool})"


def _program(fields: Mcp) -> StdioServerParameters:
    env = {key: str(value) for key, value in (fields.env or {}).items()}
    assert fields.command is not None, "one of url and command"
    return StdioServerParameters(
        command=fields.command, args=list(fields.argv or ()), env=env, cwd=fields.cwd
    )


def _log_end(said: IO[str], context: ToolContext) -> None:
    """Log the end of what a program said on standard error."""
    size = said.seek(0, os.SEEK_END)
    said.seek(max(0, size - LOG_MAX))
    if words := said.read().strip():
        context.log(words, "stderr")


def _first(error: BaseException) -> BaseException:
    """Return the first of errors that came in a group."""
    while isinstance(error, BaseExceptionGroup) and error.exceptions:
        error = error.exceptions[0]
    return error


def _judged(fields: Mcp, result: types.CallToolResult, most: int, context: ToolContext) -> Outcome:
    data = result.structured_content
    content = [
        part.model_dump(mode="json", by_alias=True, exclude_none=True) for part in result.content
    ]
    text = "".join(part.text for part in result.content if isinstance(part, types.TextContent))
    size = sum(len(str(part)) for part in content)
    if size > most:
        raise ToolError("limit", f"{_place(fields)}: more than {most:,} bytes")
    if result.is_error:
        code = data.get("code") if isinstance(data, Mapping) else None
        said = context.scrub(text)[:SAID_MAX]
        raise ToolError(
            "client_error", f"{_place(fields)}: {said or 'the tool failed'}",
            code=code if isinstance(code, str | int) else None,
            details={"data": data, "text": text[:DETAILS_MAX]},
        )  # fmt: skip
    return ok({"text": text, "data": data, "content": content})


class _Counted(httpx2.AsyncBaseTransport):
    """Connections whose answers are cut off where they are too large."""

    def __init__(self, below: httpx2.AsyncBaseTransport, most: int) -> None:
        self._below = below
        self._most = most

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        response = await self._below.handle_async_request(request)
        assert isinstance(response.stream, httpx2.AsyncByteStream), "an asynchronous answer"
        response.stream = _CountedStream(response.stream, self._most)
        return response

    async def aclose(self) -> None:
        await self._below.aclose()


class _CountedStream(httpx2.AsyncByteStream):
    def __init__(self, below: httpx2.AsyncByteStream, most: int) -> None:
        self._below = below
        self._left = most

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for piece in self._below:
            self._left -= len(piece)
            if self._left < 0:
                raise ToolError("limit", "the answer of the MCP server is larger than max_bytes")
            yield piece

    async def aclose(self) -> None:
        await self._below.aclose()
