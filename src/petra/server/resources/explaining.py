"""Explaining: why an execution waits, with the calls that would end it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

from litestar import Router, get
from litestar.params import FromPath, FromQuery

from petra.desk.looking import looked
from petra.desk.principal import May
from petra.engine.cache import Entry
from petra.kernel.state import State
from petra.playbook.problems import did_you_mean
from petra.server.answers.waits import ExplainedNow
from petra.server.needs import needs
from petra.server.openapi import answers
from petra.server.problems import ProblemError
from petra.server.service import TheService

EACH = 3
"""So many work items or signals of one wait are named."""


@get("/executions/{execution:str}/explain", opt=needs(May.SEE) | answers(ExplainedNow))
async def explained(
    service: TheService, execution: FromPath[str], step: FromQuery[str | None] = None
) -> dict[str, Any]:
    """Say what an execution waits for, and why, with what can be done about it; of all steps, or of one."""
    answer = await looked(service.engine, execution)
    entry = await service.engine.view(execution)
    answer["explanation"] = with_acts(answer["explanation"], entry, service.base, step)
    return answer


def with_acts(
    explanation: dict[str, Any], entry: Entry, base: str, step: str | None = None
) -> dict[str, Any]:
    """Add to what waits the calls that would end it, and leave out other steps than one that is named.

    Raises:
        ProblemError: the playbook has no such step.
    """
    if step is not None and step not in entry.program.steps:
        hint = did_you_mean(step, entry.program.steps)
        raise ProblemError("not-found", f"there is no step '{step[:100]}'; {hint}")
    waiting = [
        {**wait, "acts": list(_acts(wait, entry.state, base))}
        for wait in explanation["waiting"]
        if step in (None, wait["step"])
    ]
    return {**explanation, "waiting": waiting}


def _acts(waiting: dict[str, Any], state: State, base: str) -> Iterator[dict[str, str]]:
    here = f"{base}/executions/{quote(state.id, safe='')}"
    step = quote(waiting["step"], safe="")
    run = state.runs.get(waiting["token"])
    if waiting["reason"] == "human" and run is not None:
        own = [item for item in state.items.values() if item.run == run.id and item.is_open]
        for item in own[:EACH]:
            path = (
                f"{base}/work-items/{quote(state.id, safe='')}/{quote(item.id, safe='')}/complete"
            )
            yield {"act": "complete", "method": "POST", "path": path}
    elif waiting["reason"] == "signal" and run is not None:
        waits = [*run.waits, *(wait for chunk in run.chunks.values() for wait in chunk.waits)]
        for name in list(dict.fromkeys(w.name for w in waits if w.kind == "signal"))[:EACH]:
            yield {
                "act": "signal",
                "method": "POST",
                "path": f"{here}/signals/{quote(name, safe='')}",
            }
    elif waiting["reason"] == "incident":
        yield {"act": "retry", "method": "POST", "path": f"{here}/steps/{step}/retry"}
    elif waiting["operands"]:
        yield {"act": "patch", "method": "PATCH", "path": f"{here}/ctx"}
    if state.paused:
        yield {"act": "resume", "method": "POST", "path": f"{here}/resume"}
    yield {"act": "override", "method": "POST", "path": f"{here}/steps/{step}/override"}


def router(base: str) -> Router:
    """Return the routes of explanations."""
    return Router(path=base, route_handlers=[explained], tags=["executions"])
