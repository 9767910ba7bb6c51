"""What an execution has come to, and its log: what callers of a program get back."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import partial
from itertools import islice
from typing import Any

from msgspec import Struct, field
from msgspec.structs import asdict

from petra.desk.forms import example
from petra.desk.long_logs import beside_the_loop
from petra.desk.requests import Begin, ForkRequest, Reply
from petra.engine.cache import Entry
from petra.engine.codec import from_row, status_of
from petra.kernel import Record
from petra.kernel.compensation import not_compensated
from petra.kernel.human import excluded
from petra.kernel.state import State
from petra.kernel.waiting import WorkItem
from petra.store.base import Store
from petra.store.rows import RecordRow
from petra.values import canonical

REST = frozenset({"completed", "partial", "failed", "aborted", "waiting", "stuck", "paused"})
_PAGE = 5_000
SIGNALS_MAX = 100


class Result(Struct, frozen=True):
    """What an execution has come to, when it ended or rests."""

    id: str
    playbook: str
    """Its name."""
    status: str
    """``completed``, ``partial``, ``failed`` or ``aborted`` when it ended; ``waiting``, ``stuck`` or ``paused`` when it
    rests; ``running`` or ``compensating`` before; ``refused`` if it did not begin."""
    reason: str
    """What it waits for (``human``, ``signal``, ``timer``, …), or why it ended as it did."""
    output: Any
    """What the playbook says its output is."""
    ctx: dict[str, Any]
    """Its variables, as they are now."""
    counts: dict[str, int]
    """How many step runs ``started``, were ``done``, ``failed``, …"""
    failures: list[dict[str, Any]]
    """What went wrong on the way, whether it was dealt with or not: the first hundred."""
    error: dict[str, Any] | None
    """Why it failed, if it did: kind, message, and what else is known."""
    work_items: list[dict[str, Any]] = field(default_factory=list)
    """What people are asked to do: step, title, state, holder, users, roles, actions, and what their answer needs."""
    signals: list[dict[str, Any]] = field(default_factory=list)
    """The signals it waits for: step, name, key."""
    not_compensated: list[str] = field(default_factory=list)
    """The steps that were done and are not undone, where the playbook wants them to be."""
    version: int = 0
    """The number of the last record it shows."""

    @property
    def waiting_on(self) -> str | None:
        """What it waits for, or why it is stuck; None when it does neither."""
        return self.reason if self.status in ("waiting", "stuck") else None


def result_of(entry: Entry) -> Result:
    """Sum up an execution."""
    state = entry.state
    status, reason = status_of(entry.program, state)
    return Result(
        id=state.id,
        playbook=state.playbook,
        status=status,
        reason=reason,
        output=state.output,
        ctx=state.ctx,
        counts=state.counts,
        failures=state.failures,
        error=state.error.as_data() if state.error is not None else None,
        work_items=[_asked(state, item) for item in state.items.values() if item.is_open],
        signals=awaited_signals(state) if reason == "signal" else [],
        not_compensated=not_compensated(entry.program, state),
        version=state.seq,
    )


def awaited_signals(state: State) -> list[dict[str, Any]]:
    """Return the first of the signals that an execution waits for, each once."""
    signals = {
        (run.step, wait.name, canonical(wait.key)): wait.key
        for run in state.runs.values()
        for waits in (run.waits, *(chunk.waits for chunk in run.chunks.values()))
        for wait in waits
        if wait.kind == "signal"
    }
    first = islice(signals.items(), SIGNALS_MAX)
    return [{"step": step, "name": name, "key": key} for (step, name, _), key in first]


def _asked(state: State, item: WorkItem) -> dict[str, Any]:
    assignees = item.spec.get("assignees") or {}
    return {
        "id": item.id,
        "step": item.step,
        "title": item.spec.get("title") or item.step,
        "state": item.state,
        "holder": item.holder,
        "users": assignees.get("users") or [],
        "roles": assignees.get("roles") or [],
        "actions": item.spec.get("actions") or [],
        "excluded": excluded(state, item),
        "data": example(item.spec),
    }


def marking(state: State) -> dict[str, int]:
    """Count the tokens of every place that has some."""
    places = Counter(f"{token.step}.ready" for token in state.ready.values())
    places.update(f"{run.step}.running" for run in state.runs.values())
    return dict(sorted(places.items()))


def refusal(execution: str, playbook: str, why: str) -> Result:
    """Return what a start that was refused has come to."""
    error = {"kind": "schema", "code": None, "message": why, "retryable": False}
    return Result(execution, playbook, "refused", why, None, {}, {}, [], error)


def refused(request: Begin | ForkRequest, playbook: str, why: str) -> Reply:
    """Return the reply to whoever wanted to begin an execution that does not begin."""
    return Reply(refused=why, result=result_data(refusal(request.execution, playbook, why)))


def result_data(result: Result) -> dict[str, Any]:
    """Return an execution as plain data."""
    return {**asdict(result), "waiting_on": result.waiting_on}


def _read(rows: Sequence[RecordRow]) -> list[Record]:
    return [from_row(row) for row in rows]


async def records_of(store: Store, execution: str, after: int = 0) -> list[Record]:
    """Return the log of an execution, behind a record."""
    records: list[Record] = []
    while True:
        rows = await store.read(execution, after=after + len(records), limit=_PAGE)
        records += await beside_the_loop(len(rows), partial(_read, rows))
        if len(rows) < _PAGE:
            return records
