"""An agent at the other end of a pipe: its messages come on standard input, answers go to standard output.

Rule 1: in a folder we are its server, unless one runs there already; then we are its client, and when it goes away we are
the server. So several agents share a folder, and what they started goes on.
Rule 2: when the agent goes, we go: what runs is taken up again by whoever opens the folder next.
Rule 3: nothing but messages goes to standard output.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
from collections.abc import AsyncGenerator, AsyncIterator, Collection, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final, Protocol, cast

import httpx2
from mcp.server.stdio import stdio_server

from petra import __version__
from petra.agents.calling import Caller
from petra.agents.playbooks import ExposedPlaybooks
from petra.agents.speaking import Agents, Context
from petra.agents.toolbox import Allowed
from petra.cli.calling import server_of
from petra.cli.remote import Remote
from petra.cli.serve import Serving, address_of, serve_until
from petra.client import ServerError
from petra.control import GoneError
from petra.embedded import Home
from petra.errors import UsageError
from petra.namespaces import DEFAULT
from petra.store.errors import HeldError

LINE_MAX: Final = 16 * 1024 * 1024
TRIES: Final = 50
PAUSE_S: Final = 0.1
"""Another process may just be opening the folder: so often it is looked for the address of its server."""


class AgentPlace(Protocol):
    """Where the executions are that an agent asks about."""

    def calling(self, context: Context) -> contextlib.AbstractAsyncContextManager[Caller]:
        """Give whoever calls the API there."""
        ...

    async def keep(self) -> None:
        """Look after it until it is closed."""
        ...

    def close(self) -> None:
        """Look after it no longer."""
        ...


def _client(url: str, token: str) -> httpx2.AsyncClient:
    headers = {"Authorization": f"Bearer {token}"}
    return httpx2.AsyncClient(base_url=f"{url}/api/v1", headers=headers)


class ServerPlace:
    """A server that was named."""

    def __init__(self, there: Remote) -> None:
        self._there = there
        self._http = _client(there.url, there.token)
        self._over = asyncio.Event()

    @asynccontextmanager
    async def calling(self, _context: Context) -> AsyncIterator[Caller]:
        """Give whoever calls it."""
        yield Caller(self._http, self._there.namespace)

    async def keep(self) -> None:
        """Hold the connections until it is over."""
        async with self._http:
            await self._over.wait()

    def close(self) -> None:
        """Hold them no longer."""
        self._over.set()


class FolderPlace:
    """A folder: its server is another process, or we are."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._http: httpx2.AsyncClient | None = None
        self._told = asyncio.Event()
        self._lost = asyncio.Event()
        self._over = asyncio.Event()
        self._why = ""

    @asynccontextmanager
    async def calling(self, _context: Context) -> AsyncIterator[Caller]:
        """Give whoever calls its server; one that is lost is looked for again, for the next call."""
        await self._told.wait()
        if self._http is None:
            self._look_again()
            await self._told.wait()
        if self._http is None:
            hint = "wait until that process is done, or stop it, and ask again"
            raise ServerError("held", self._why, hint=hint)
        try:
            yield Caller(self._http, DEFAULT)
        except ServerError as error:
            if error.code == "unreachable":
                self._look_again()
            raise

    def _look_again(self) -> None:
        self._told.clear()
        self._lost.set()

    async def keep(self) -> None:
        """Be the server of the folder, or know who is, until it is over."""
        over = asyncio.create_task(self._over.wait())
        try:
            while not self._over.is_set():
                self._lost.clear()
                try:
                    return await self._serve()
                except HeldError as error:
                    await self._find(str(error).partition(";")[0])
                lost = asyncio.create_task(self._lost.wait())
                await asyncio.wait({lost, over}, return_when=asyncio.FIRST_COMPLETED)
                lost.cancel()
                await self._forget()
        finally:
            over.cancel()
            await self._forget()

    async def _serve(self) -> None:
        async def up(_local: Home, _url: str) -> None:
            self._http = _client(*server_of(self._home))
            self._told.set()

        wanted = Serving(home=self._home, output="text", port=0, quiet=True, grace_s=1.0, beside=up)
        await serve_until(wanted, self._over)

    async def _find(self, held: str) -> None:
        """Find the server of whoever has the folder open."""
        self._why = held
        for _ in range(TRIES):
            with contextlib.suppress(GoneError):
                if url := address_of(self._home, held):
                    self._http = _client(url, server_of(self._home)[1])
                    break
            await asyncio.sleep(PAUSE_S)
        self._told.set()

    async def _forget(self) -> None:
        http, self._http = self._http, None
        if http is not None:
            await http.aclose()

    def close(self) -> None:
        """Be the server no longer."""
        self._over.set()


def speak(
    place: AgentPlace, allowed: Collection[Allowed], playbooks: Iterable[str], wait: int
) -> None:
    """Answer the agent at the other end until it goes.

    Raises:
        UsageError: the folder cannot be used.
    """
    hint = "whoever started 'petra mcp' can add --allow {}"
    agents = Agents(place.calling, ExposedPlaybooks(playbooks, wait), allowed, hint)
    try:
        asyncio.run(_both(place, agents))
    except ModuleNotFoundError as error:
        raise UsageError(f"{error.name} is missing; install petra[server]") from None
    except OSError as error:
        raise UsageError(f"the folder cannot be used: {error.strerror or error}") from None


async def _both(place: AgentPlace, agents: Agents) -> None:
    """Look after the place and speak to the agent; when one of them ends, so does the other."""
    ours = asyncio.Event()
    speaking = asyncio.create_task(_speak(agents, ours))
    keeping = asyncio.create_task(_kept(place, ours))
    try:
        await asyncio.wait({keeping, speaking}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        place.close()
        ours.set()
        speaking.cancel()
        await asyncio.wait({keeping, speaking})
    for task in (keeping, speaking):
        if not task.cancelled():
            task.result()


async def _kept(place: AgentPlace, ours: asyncio.Event) -> None:
    """Look after a place, but start no process before standard output is ours alone."""
    await ours.wait()
    await place.keep()


async def _speak(agents: Agents, ours: asyncio.Event) -> None:
    server = agents.server(__version__)
    lines = await _lines()
    async with (
        contextlib.aclosing(lines),
        stdio_server(stdin=cast("Any", lines)) as (incoming, outgoing),
    ):
        ours.set()
        await server.run(incoming, outgoing, server.create_initialization_options())


async def _lines() -> AsyncGenerator[str, None]:
    """Return the lines of standard input, which nobody else reads from then on; a thread could not be interrupted."""
    own = os.dup(sys.stdin.fileno())
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    reader = asyncio.StreamReader(limit=LINE_MAX)
    protocol = asyncio.StreamReaderProtocol(reader)
    loop = asyncio.get_running_loop()
    transport, _ = await loop.connect_read_pipe(lambda: protocol, os.fdopen(own, "rb"))

    async def each() -> AsyncGenerator[str, None]:
        try:
            while True:
                try:
                    line = await reader.readline()
                except ValueError:  # longer than the limit: no message, and answered as none
                    line = b"{\n"
                if not line:
                    return
                yield line.decode("utf-8", "replace")
        finally:
            transport.close()

    return each()
