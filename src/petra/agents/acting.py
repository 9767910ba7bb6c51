"""Tools that act: start, steer, approve. Each is signed with the name that the token stands for."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Final

from petra.agents.calling import WAIT_S, Caller, place
from petra.agents.reading import PATH, TEXT_MAX
from petra.agents.toolbox import (
    EXECUTION,
    KEY,
    REASON,
    WAIT,
    AgentTool,
    Given,
    name_of,
    takes,
    text,
)
from petra.client.problems import ServerError

VIA: Final = {"via": "mcp"}
"""The label of what agents started."""
_WORKLOAD: Final = {"type": "object", "description": "The inputs of the playbook."}


async def started(api: Caller, playbook: Any, workload: Given, key: str, wait: int) -> Any:
    """Start an execution and wait for it a while."""
    body = {"playbook": playbook, "workload": workload, "labels": VIA}
    return await api.post("/executions", body, key=key, wait=wait, spaced=True)


async def _start(api: Caller, arguments: Given) -> Any:
    if ("path" in arguments) == ("text" in arguments):
        raise ServerError(
            "invalid-input", "give exactly one of 'path' and 'text'", hint="list_playbooks says which paths there are"
        )  # fmt: skip
    playbook = arguments["path"] if "path" in arguments else {"text": arguments["text"]}
    wait = arguments.get("wait", WAIT_S)
    return await started(
        api, playbook, arguments.get("workload", {}), arguments.get("key", ""), wait
    )


async def _signal(api: Caller, arguments: Given) -> Any:
    path = place("executions", arguments["execution"], "signals", arguments["name"])
    body = {"payload": arguments.get("payload"), "key": arguments.get("for_key")}
    return await api.post(path, body, key=arguments.get("key", ""))


def _steering(act: str) -> Callable[[Caller, Given], Awaitable[Any]]:
    async def steer(api: Caller, arguments: Given) -> Any:
        body = None if act == "resume" else {"reason": arguments.get("reason", "")}
        path = place("executions", arguments["execution"], act)
        return await api.post(path, body, key=arguments.get("key", ""))

    return steer


async def _complete(api: Caller, arguments: Given) -> Any:
    path = place("work-items", arguments["execution"], arguments["item"], "complete")
    body = {name: arguments[name] for name in ("action", "data", "reason") if name in arguments}
    return await api.post(
        path, body, key=arguments.get("key", ""), wait=arguments.get("wait", WAIT_S)
    )


ACTING: Final = (
    AgentTool(
        "start_execution",
        "Start an execution: of a playbook that was applied, by its path, or of a text. Waits a while for its end.",
        takes(
            path=PATH["path"], text=text("A playbook, YAML, that was not applied.", TEXT_MAX), workload=_WORKLOAD,
            wait=WAIT, key=KEY,
        ),
        _start,
        "start",
    ),
    AgentTool(
        "signal_execution",
        "Send a signal to an execution; 'waited' says whether anybody waited for it.",
        takes(
            {**EXECUTION, "name": name_of("The name of the signal.")},
            payload={"description": "What it carries."}, for_key={"description": "Only for whoever waits with this key."},
            key=KEY,
        ),
        _signal,
        "act",
    ),
    AgentTool("pause_execution", "Stop new firings of an execution.", takes(EXECUTION, reason=REASON, key=KEY), _steering("pause"), "act"),
    AgentTool("resume_execution", "Let a paused execution go on.", takes(EXECUTION, key=KEY), _steering("resume"), "act"),
    AgentTool(
        "cancel_execution",
        "Stop everything an execution does; it ends aborted. This cannot be taken back.",
        takes(EXECUTION, reason=REASON, key=KEY), _steering("cancel"), "act", destroys=True,
    ),
    AgentTool(
        "complete_work_item",
        "Decide a work item under your own name: one of its actions, with the data of its form.",
        takes(
            {**EXECUTION, "item": name_of("The id of the work item."), "action": text("One of its actions.", 200)},
            data={"description": "What its form asks for."}, reason=REASON, wait=WAIT, key=KEY,
        ),
        _complete,
        "approve",
        destroys=True,
    ),
)  # fmt: skip
