"""Agents for the tests: real clients of the mcp library, over a pipe and over HTTP."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx2
from support import forks
from support.later import later

if TYPE_CHECKING:
    import mcp
    from mcp.client import streamable_http
else:
    mcp, streamable_http = later("mcp"), later("mcp.client.streamable_http")

PETRA = str(Path(sys.executable).parent / "petra")
HEAD = "apiVersion: petra/v1\nkind: Playbook\n"
ADDS = (
    HEAD
    + """\
metadata: {name: adds, description: Adds one., labels: {mcp: true}}
executor:
  spec:
    input_schema:
      type: object
      properties: {n: {type: integer}}
      required: [n]
workload: {n: 0}
workflow:
  - step: add
    tool: {kind: python, args: {n: '{{ workload.n }}'}, code: 'result = n + 1'}
"""
)
REFUND = (
    HEAD
    + """\
metadata: {name: refund, path: shop/refund, description: Pays money back., labels: {mcp: true}}
workload: {amount: 5}
workflow:
  - step: ask
    tool: {kind: human, title: 'Refund {{ workload.amount }}?', actions: [approve, reject]}
    next: {arcs: [{step: pay}]}
  - step: pay
    tool: {kind: python, args: {by: '{{ ask }}'}, code: 'result = {"paid": True}'}
"""
)
PLAIN = (
    HEAD + "metadata: {name: plain}\nworkflow:\n  - {step: go, tool: {kind: wait, signal: go}}\n"
)
LARGE = (
    HEAD
    + "metadata: {name: large, labels: [mcp]}\nworkflow:\n"
    + '  - {step: big, tool: {kind: python, code: \'result = {"rows": ["x" * 100] * 3000}\'}}\n'
)
BOOKS = {"adds": ADDS, "refund": REFUND, "plain": PLAIN, "large": LARGE}


class Agent:
    """An agent: what it calls comes back as data, or as the problem of the tool."""

    def __init__(self, client: mcp.Client) -> None:
        self.client = client

    async def tools(self) -> dict[str, Any]:
        return {tool.name: tool for tool in (await self.client.list_tools()).tools}

    async def call(self, name: str, /, **given: Any) -> Any:
        done = await self.client.call_tool(name, given)
        assert not done.is_error, done.content
        return self._data(done)

    async def problem(self, name: str, /, **given: Any) -> Any:
        done = await self.client.call_tool(name, given)
        assert done.is_error, done.content
        return self._data(done)

    def _data(self, done: Any) -> Any:
        [content] = done.content
        assert json.loads(content.text) == done.structured_content
        return done.structured_content


@asynccontextmanager
async def over_a_pipe(home: Path, *more: str, **env: str) -> AsyncIterator[Agent]:
    command, *args = forks.MCP.command("mcp", "--home", str(home), *more)
    how = mcp.StdioServerParameters(command=command, args=args, env={**os.environ, **env})
    async with mcp.Client(how) as client:
        yield Agent(client)


@asynccontextmanager
async def over_http(url: str, token: str, query: str = "") -> AsyncIterator[Agent]:
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    async with httpx2.AsyncClient(headers=headers, timeout=60) as http:
        transport = streamable_http.streamable_http_client(f"{url}/mcp{query}", http_client=http)
        async with mcp.Client(transport) as client:
            yield Agent(client)


def apply(home: Path, folder: Path, *names: str) -> None:
    """Apply playbooks in a folder."""
    for name in names:
        file = folder / f"{name}.yaml"
        file.write_text(BOOKS[name])
        applied(file, home)


def applied(file: Path, home: Path) -> None:
    """Apply one playbook."""
    forks.PETRA.run(Path.cwd(), "apply", str(file), "--home", str(home)).check_returncode()
