"""Which tool runs a kind: the built-in ones, and plug-ins found through entry points.

A package adds a tool with an entry point in the group ``petra.tools``: its name is the kind, its value a class
that is called without arguments. A module is imported when its kind is first used, so a missing extra
(``petra[postgres]``) costs only the tasks that need it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Coroutine, Iterator, Mapping
from importlib import import_module
from importlib.util import find_spec
from inspect import isawaitable
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, cast

from petra.errors import UsageError
from petra.kinds import KINDS, SERVER_KINDS, Fields, add_kind
from petra.plug_ins import entry_points
from petra.tools.base import Blocking, Tool, ToolContext, ToolError, ToolSettings, attempt, failed
from petra.wire import Outcome

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP: Final = "petra.tools"
BUILT_IN: Final = MappingProxyType(
    {
        "noop": "petra.tools.noop:NoopTool",
        "http": "petra.tools.http:HttpTool",
        "postgres": "petra.tools.postgres:PostgresTool",
        "sqlite": "petra.tools.sqlite:SqliteTool",
        "duckdb": "petra.tools.duckdb:DuckdbTool",
        "python": "petra.tools.python:PythonTool",
        "shell": "petra.tools.shell:ShellTool",
        "artifact": "petra.tools.artifact:ArtifactTool",
        "transfer": "petra.tools.transfer:TransferTool",
        "llm": "petra.tools.llm:LlmTool",
        "mcp": "petra.tools.mcp:McpTool",
    }
)
"""Where the built-in tools are."""
NEEDS: Final = MappingProxyType({"postgres": "asyncpg", "duckdb": "duckdb", "mcp": "mcp"})
"""The packages that built-in tools need, by their kinds: each comes with the extra of that name."""


class Registry:
    """The tools of one worker, each made when it is first used, and closed together."""

    def __init__(self, settings: ToolSettings | None = None, *, plug_ins: bool = True) -> None:
        self._settings = settings or ToolSettings()
        self._made: dict[str, Tool] = {}
        self._counts: list[Callable[[], int]] = []
        """Ask each tool that has threads how many of them are stuck."""
        self._plug_ins = _plug_ins() if plug_ins else {}

    def __iter__(self) -> Iterator[str]:
        """Yield the kinds that tasks can have here: not those whose packages are missing, nor plug-ins that cannot be loaded."""
        known = {*BUILT_IN, *self._plug_ins, *self._made}
        yield from sorted(kind for kind in known if self._is_there(kind))

    def _is_there(self, kind: str) -> bool:
        if kind in self._made:
            return True
        if kind in BUILT_IN:
            return kind not in NEEDS or _is_installed(NEEDS[kind])
        with contextlib.suppress(ToolError):
            self.tool(kind)
        return kind in self._made

    def add(self, tool: Tool) -> None:
        """Add a tool of one's own.

        Raises:
            UsageError: its kind is taken.
        """
        if tool.kind in SERVER_KINDS or tool.kind in self:
            raise UsageError(f"the kind '{tool.kind}' is taken; choose another name")
        self._keep(tool.kind, tool)

    def __contains__(self, kind: object) -> bool:
        return kind in BUILT_IN or kind in self._plug_ins or kind in self._made

    def specs(self) -> Mapping[str, type[Fields]]:
        """Return the struct of every kind, the server's own included."""
        own = {kind: self.tool(kind).spec for kind in self if kind not in BUILT_IN}
        return {**KINDS, **own}

    def tool(self, kind: str) -> Tool:
        """Return the tool of a kind.

        Raises:
            ToolError: there is none, or what it needs is not installed.
        """
        tool = self._made.get(kind)
        if tool is None:
            tool = self._keep(kind, self._make(kind))
        return tool

    def _keep(self, kind: str, tool: Tool) -> Tool:
        self._made[kind] = tool
        count = getattr(tool, "stuck", None)
        if count is not None:
            self._counts.append(count)
        return tool

    def blocking(self, kind: str) -> Blocking | None:
        """Return the tool of a kind, if it is one that holds a thread while it runs."""
        try:
            tool = self.tool(kind)
        except ToolError:
            return None
        return cast("Blocking", tool) if hasattr(tool, "in_thread") else None

    def stuck(self) -> int:
        """Return how many threads run on for tasks that were given up."""
        total = 0
        for count in self._counts:
            total += count()
        return total

    def reads(self, kind: str, fields: Mapping[str, Any]) -> frozenset[str] | None:
        """Return the names that a task takes from its args and its scope beside its fields; None: all of them."""
        try:
            reads = getattr(self.tool(kind), "reads", None)
        except ToolError:
            return frozenset()
        if reads is None:
            return frozenset({"args"})
        names: frozenset[str] | None = reads(fields)
        return names

    def attempt(
        self, kind: str, fields: Mapping[str, Any], context: ToolContext
    ) -> Coroutine[Any, Any, Outcome]:
        """Run one attempt of a task of this kind."""
        try:
            tool = self.tool(kind)
        except ToolError as error:
            return _refused(error, context)
        return attempt(tool, fields, context)

    async def close(self) -> None:
        """Close what the tools hold open: connections, pools, threads."""
        tools, self._made, self._counts = list(self._made.values()), {}, []
        for tool in tools:
            close = getattr(tool, "close", None)
            closing = close() if close is not None else None
            if isawaitable(closing):
                await closing

    def _make(self, kind: str) -> Tool:
        try:
            if kind in BUILT_IN:
                module, _, name = BUILT_IN[kind].partition(":")
                tool: Tool = getattr(import_module(module), name)(self._settings)
                return tool
            if kind in self._plug_ins:
                return _checked(kind, self._plug_ins[kind].load()())
        except Exception as error:
            message = f"kind {kind} cannot be loaded: {type(error).__name__}: {error}"
            if isinstance(error, ModuleNotFoundError) and kind in NEEDS:
                message = f"kind {kind} needs '{error.name}'; install petra[{kind}] at its worker"
            raise ToolError("client_error", message) from error
        from difflib import get_close_matches  # noqa: PLC0415 - only for a slip

        close = get_close_matches(kind, list(self), n=1)
        hint = f"did you mean '{close[0]}'?" if close else f"known kinds: {', '.join(self)}"
        raise ToolError("client_error", f"no tool of kind '{kind}'; {hint}")


def _is_installed(package: str) -> bool:
    try:
        return find_spec(package) is not None
    except (ImportError, ValueError):  # something of that name is there, and is no package
        return False


async def _refused(error: ToolError, context: ToolContext) -> Outcome:
    return failed(error.kind, error.message, scrub=context.scrub)


def learn_plug_ins() -> None:
    """Let playbooks use the kinds of the plug-ins that are installed; one that cannot be loaded stays unknown."""
    points = _plug_ins()
    if not points:
        return
    registry = Registry()
    for kind in points:
        with contextlib.suppress(ToolError):
            add_kind(kind, registry.tool(kind).spec)


def _plug_ins() -> dict[str, EntryPoint]:
    points = {point.name: point for point in entry_points(GROUP)}
    if taken := sorted(points.keys() & {*BUILT_IN, *SERVER_KINDS}):
        point = points[taken[0]]
        raise UsageError(f"the plug-in {point.value} claims the built-in kind '{point.name}'")
    return points


def _checked(kind: str, tool: Tool) -> Tool:
    if tool.kind != kind:
        raise UsageError(f"the entry point '{kind}' leads to a tool of kind '{tool.kind}'")
    return tool
