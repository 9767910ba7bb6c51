"""Playbooks as tools: those that say so (a label ``mcp: true``), and those that were named, each with its input schema.

Rule 1: a playbook is a tool where it was applied and whoever asks may start it: what runs is what was applied.
Rule 2: the answer is its output when it ends in time; else its id, what it waits for, and how to ask on.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any, Final

from petra.agents.acting import started
from petra.agents.calling import WAIT_S, Caller, place
from petra.agents.toolbox import AgentTool, Given, Schema
from petra.client.problems import ServerError
from petra.playbook import InvalidPlaybookError, Playbook, read_stored
from petra.references import is_reference

LABEL: Final = "mcp"
PREFIX: Final = "run_"
NAME_MAX: Final = 60
PLAYBOOKS_MAX: Final = 2_000
"""So many applied playbooks are looked at."""
KEPT: Final = 4_000
_PAGE: Final = 500
_AT_ONCE: Final = 8
_OVER: Final = frozenset({"completed", "partial"})
_NO: Final = frozenset({"false", "no", "off", "0", "none", ""})


class ExposedPlaybooks:
    """The playbooks that agents may run by name; what was read of a version is kept."""

    def __init__(self, named: Iterable[str] = (), wait: int = WAIT_S) -> None:
        self._named = frozenset(named)
        self._wait = wait
        self._kept: dict[tuple[str, str], AgentTool | None] = {}

    async def tools(self, api: Caller) -> list[AgentTool]:
        """Return the tools of whoever asks, by path."""
        rows = await _applied(api)
        room = asyncio.Semaphore(_AT_ONCE)
        tools = await asyncio.gather(*(self._tool(api, row, room) for row in rows))
        return _unique([tool for tool in tools if tool is not None])

    async def _tool(
        self, api: Caller, row: Mapping[str, Any], room: asyncio.Semaphore
    ) -> AgentTool | None:
        key = (row["path"], row["digest"])
        if key not in self._kept:
            async with room:
                playbook = await self._read(api, row["path"])
            if len(self._kept) >= KEPT:
                self._kept.clear()
            self._kept[key] = playbook
        return self._kept[key]

    async def _read(self, api: Caller, path: str) -> AgentTool | None:
        where = "/".join(place(part)[1:] for part in path.split("/"))
        text = (await api.get(f"/playbooks/{where}", spaced=True))["text"]
        try:
            playbook = await asyncio.to_thread(read_stored, text, path)
        except (
            InvalidPlaybookError
        ):  # an older one that this version cannot read; the rest is there
            return None
        if path not in self._named and not _says_so(playbook):
            return None
        return _made(playbook, path, self._wait)


async def _applied(api: Caller) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    cursor: str | None = ""
    while cursor is not None and len(rows) < PLAYBOOKS_MAX:
        params = {"limit": _PAGE, "cursor": cursor or None}
        page = await api.get("/playbooks", params, spaced=True)
        rows += page["items"]
        cursor = page["next"]
    return rows


def _says_so(playbook: Playbook) -> bool:
    labels = playbook.metadata.labels
    if isinstance(labels, list):
        return LABEL in labels
    return str(labels.get(LABEL, "")).lower() not in _NO


def _made(playbook: Playbook, path: str, wait: int) -> AgentTool:
    about = playbook.metadata.description or f"Run the playbook '{path}'."
    return AgentTool(
        PREFIX + re.sub(r"[^A-Za-z0-9_-]+", "_", path)[:NAME_MAX],
        f"{about.strip()} (Answers with its output, or with an execution to ask about with wait_for_execution.)",
        input_schema(playbook),
        partial(_run, path, wait),
        "start",
        destroys=True,
        title=path,
    )


def input_schema(playbook: Playbook) -> Schema:
    """Return what a playbook takes: its own schema, else its inputs with their defaults."""
    own = playbook.executor.spec.input_schema
    if own is not None:
        return {**own, "type": "object"}
    inputs = {name: {"default": value} for name, value in playbook.workload.items()}
    return {"type": "object", "properties": inputs, "additionalProperties": False}


def _unique(tools: list[AgentTool]) -> list[AgentTool]:
    """Leave each name to one tool: where two paths come to the same name, to the first."""
    return list({tool.name: tool for tool in reversed(tools)}.values())[::-1]


async def _run(path: str, wait: int, api: Caller, arguments: Given) -> Any:
    return await outcome(api, await started(api, path, arguments, "", wait))


async def outcome(api: Caller, answer: Mapping[str, Any]) -> dict[str, Any]:
    """Return what an execution came to, or how to ask on.

    Raises:
        ServerError: it failed, or was aborted.
    """
    execution, status = answer["id"], answer["status"]
    said = {"execution": execution, "status": status}
    if status in _OVER:
        output = answer["output"]
        if is_reference(output):
            output = await api.get(place("executions", execution, "result"))
        return {**said, "output": output}
    if status in ("failed", "aborted"):
        reason = answer["reason"] or (answer["error"] or {}).get("message", "")
        raise ServerError(
            status,
            f"execution '{execution}' {status}: {reason}",
            hint=f"explain_execution with '{execution}' says more",
        )
    more = {name: answer[name] for name in ("version", "waiting_on", "work_items")}
    return {**said, **more, "next": _next(execution, answer)}


def _next(execution: str, answer: Mapping[str, Any]) -> str:
    ask = f"call wait_for_execution with execution '{execution}' and after_version {answer['version']}"
    if answer["work_items"]:
        return f"a person has to decide (see work_items); {ask} to hear what they did"
    return (
        f"it goes on by itself; {ask}"
        if answer["status"] != "stuck"
        else "explain_execution says why it is stuck"
    )
