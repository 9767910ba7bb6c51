"""``/mcp`` of a server: streamable HTTP, one request at a time, each with a token of its own.

Rule 1: there are no sessions to take over: every request says who it is from, and is let in or not.
Rule 2: what a tool does goes through the API of this very server, with the same token, from the same address.
Rule 3: a cookie lets nobody in here, so no page of another site can act through a browser.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping
from contextlib import asynccontextmanager
from typing import Any, Final

import httpx2
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.requests import Request

from petra.agents.calling import Caller
from petra.agents.playbooks import ExposedPlaybooks
from petra.agents.speaking import Agents, Context
from petra.agents.toolbox import ALLOWED
from petra.namespaces import DEFAULT

App = Callable[[Any, Any, Any], Awaitable[None]]
BODY_MAX: Final = 4 * 1024 * 1024
HERE: Final = "http://petra.internal"


class Door:
    """Speaks the protocol for a server, until it is closed."""

    def __init__(self, app: App, base: str, version: str) -> None:
        """Make one; ``app`` answers calls of the API, which is at ``base``."""
        self._app = app
        self._base = base
        agents = Agents(self._calling, ExposedPlaybooks(), ALLOWED, "it needs a role that may {}")
        self._manager = StreamableHTTPSessionManager(
            agents.server(version),
            json_response=True,
            stateless=True,
            max_request_body_size=BODY_MAX,
        )
        self._up = asyncio.Event()
        self._over = asyncio.Event()
        self._task = asyncio.create_task(self._run())

    async def __call__(self, scope: MutableMapping[str, Any], receive: Any, send: Any) -> None:
        """Answer a request of somebody who was let in."""
        await self._up.wait()
        await self._manager.handle_request(scope, receive, send)

    async def close(self) -> None:
        """End what is under way."""
        self._over.set()
        await asyncio.wait({self._task})

    async def _run(self) -> None:
        """Hold the manager open: it must be opened and closed by the same task."""
        async with self._manager.run():
            self._up.set()
            await self._over.wait()

    @asynccontextmanager
    async def _calling(self, context: Context) -> AsyncIterator[Caller]:
        request = context.request
        assert isinstance(request, Request), "it came over HTTP"
        client = request.client
        transport = httpx2.ASGITransport(
            self._app, client=(client.host, client.port) if client else ("127.0.0.1", 0)
        )
        headers = {"Authorization": request.headers.get("authorization", "")}
        namespace = request.query_params.get("namespace") or DEFAULT
        async with httpx2.AsyncClient(
            transport=transport, base_url=f"{HERE}{self._base}", headers=headers, trust_env=False
        ) as http:
            yield Caller(http, namespace)
