"""A small MCP server for tests, on standard input and output; ``python mcp_stub.py FILE`` notes its process there."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from typing import Any

import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server


async def _list(_context: Any, _params: Any) -> types.ListToolsResult:
    schema = {"type": "object"}
    names = ("add", "refuse", "sleep", "large", "die", "whoami")
    return types.ListToolsResult(
        tools=[types.Tool(name=name, input_schema=schema) for name in names]
    )


async def _call(context: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
    given = params.arguments or {}
    match params.name:
        case "add":
            total = given["a"] + given["b"]
            return _said(str(total), {"total": total})
        case "refuse":
            return _said("the till is empty", {"code": "empty-till"}, is_error=True)
        case "sleep":
            await asyncio.Event().wait()
        case "large":
            return _said("x" * int(given["n"]), None)
        case "die":
            os._exit(3)
        case "whoami":
            request = context.request
            return _said(
                request.headers.get("authorization", "") if request else os.environ.get("ME", ""),
                None,
            )
        case _:
            pass
    raise ValueError("no such tool")


def _said(text: str, data: Any, *, is_error: bool = False) -> types.CallToolResult:
    content = [types.TextContent(type="text", text=text)]
    return types.CallToolResult(content=list(content), structured_content=data, is_error=is_error)


def server() -> Server[Any]:
    return Server("stub", on_list_tools=_list, on_call_tool=_call)


async def _main() -> None:
    sys.stderr.write("the stub is here\n")
    made = server()
    async with stdio_server() as (incoming, outgoing):
        if len(sys.argv) > 1:
            Path(sys.argv[1]).write_text(f"{os.getpid()}\n")  # noqa: ASYNC240 - a test's own file
        await made.run(incoming, outgoing, made.create_initialization_options())


if __name__ == "__main__":
    asyncio.run(_main())
