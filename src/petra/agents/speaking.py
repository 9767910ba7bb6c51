"""The Model Context Protocol: tools are listed and called, whatever carries the messages.

The only file besides ``door`` that imports the ``mcp`` library.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, Final

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError

from petra.agents.acting import ACTING
from petra.agents.calling import Caller
from petra.agents.cutting import encoded, fitting
from petra.agents.playbooks import PREFIX, ExposedPlaybooks
from petra.agents.reading import READING
from petra.agents.toolbox import AgentTool, Allowed, among
from petra.client.problems import ServerError
from petra.errors import PetraError

_log = logging.getLogger(__name__)
Context = ServerRequestContext[Any, Any]
Calling = Callable[[Context], AbstractAsyncContextManager[Caller]]
"""Gives whoever calls, for one request."""
WORDS: Final = """\
Petra runs durable workflows: playbooks are started as executions, which go on through crashes and may wait for time, \
signals or people. An execution is 'running', 'waiting', 'stuck', 'paused', or over: 'completed', 'partial', 'failed', \
'aborted'. Ask explain_execution why one waits. A work item is a decision that a person was asked for: do not decide one \
unless you were told to. Long answers are cut; read_value reads the rest."""
HOW: Final = (
    "read_value reads parts: {execution, of: output|ctx|record, pointer}; lists take 'limit'"
)


class Agents:
    """What is offered to agents, and done for them."""

    def __init__(
        self,
        calling: Calling,
        exposed: ExposedPlaybooks,
        allowed: Collection[Allowed],
        hint: str = "",
    ) -> None:
        """Make one; ``hint`` says what would let an agent do what it may not."""
        self._calling = calling
        self._exposed = exposed
        self._hint = hint
        self._allowed = frozenset(allowed)

    def server(self, version: str) -> Server[Any]:
        """Return what speaks the protocol."""
        return Server(
            "petra",
            version=version,
            title="Petra",
            instructions=WORDS,
            get_tool_input_schema=lambda _name: None,
            on_list_tools=self._listed,
            on_call_tool=self._called,
        )

    async def _listed(
        self, context: Context, _params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        try:
            async with self._calling(context) as api:
                offered = await self._offered(api)
        except ServerError as error:  # a list has no errors of its own
            words = f"{error.code}: {error}"
            raise MCPError(types.INTERNAL_ERROR, words) from None
        return types.ListToolsResult(tools=[_described(tool) for tool in offered])

    async def _offered(self, api: Caller) -> list[AgentTool]:
        may = frozenset((await api.get("/me", spaced=True))["may"])
        offered = [tool for tool in (*READING, *ACTING) if self._offers(tool, may)]
        if "start" in self._allowed and {"start", "see"} <= may:
            offered += await self._exposed.tools(api)
        return offered

    def _offers(self, tool: AgentTool, may: frozenset[str]) -> bool:
        return bool(tool.needs & may) and tool.allowed in (None, *self._allowed)

    async def _called(
        self, context: Context, params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        arguments = params.arguments or {}
        try:
            async with self._calling(context) as api:
                tool = await self._meant(api, params.name)
                tool.refuse(arguments)
                return _answer(await tool.run(api, arguments))
        except ServerError as error:
            return _problem(error.code, error.detail, error.hint, error.errors)
        except PetraError as error:
            return _problem("refused", str(error), "", ())
        except Exception:  # noqa: BLE001 - no traceback reaches an agent
            _log.exception("the tool %s", params.name[:100])
            hint = "tell whoever runs this server; its log has the rest"
            return _problem("internal", "this is a bug of Petra", hint, ())

    async def _meant(self, api: Caller, name: str) -> AgentTool:
        known: Sequence[AgentTool] = (*READING, *ACTING)
        if name.startswith(PREFIX) and name not in {tool.name for tool in known}:
            self._must("start", name)
            known = await self._exposed.tools(api)
        tool = among(known, name)
        if tool.allowed is not None:
            self._must(tool.allowed, name)
        return tool

    def _must(self, what: Allowed, name: str) -> None:
        if what not in self._allowed:
            raise ServerError(
                "not-allowed", f"'{name[:100]}' is not allowed here", hint=self._hint.format(what)
            )


def _described(tool: AgentTool) -> types.Tool:
    reads = tool.allowed is None
    return types.Tool(
        name=tool.name,
        title=tool.title or None,
        description=tool.about,
        input_schema=tool.schema,
        annotations=types.ToolAnnotations(
            read_only_hint=reads, destructive_hint=tool.destroys, open_world_hint=not reads
        ),
    )


def _answer(value: Any) -> types.CallToolResult:
    data = fitting(value, HOW)
    kept = data if isinstance(data, dict) else {"value": data}
    content = types.TextContent(type="text", text=encoded(kept))
    return types.CallToolResult(content=[content], structured_content=kept)


def _problem(code: str, detail: str, hint: str, errors: Sequence[Any]) -> types.CallToolResult:
    said: dict[str, Any] = {"code": code, "detail": detail, "hint": hint}
    if errors:
        said["errors"] = list(errors)
    data = fitting(said, HOW)
    content = types.TextContent(type="text", text=encoded(data))
    return types.CallToolResult(content=[content], structured_content=data, is_error=True)
