"""Between the kernel and the store: records as bytes, and the rows that lists and inboxes show.

The rows are projections: what is in them can be computed from the log at any time, and a test does so.
"""

from __future__ import annotations

from typing import Any, get_args

import msgspec

from petra.kernel import Record, State
from petra.kernel.events import AnyEvent
from petra.kernel.program import Program
from petra.kernel.replay import Receipt
from petra.kernel.rest import rest_of
from petra.kernel.state import WorkItem
from petra.playbook import to_yaml
from petra.store import rows

_encode = msgspec.json.Encoder().encode


class _Body(msgspec.Struct, frozen=True, array_like=True, gc=False):
    event: AnyEvent
    receipt: Receipt


_decode = msgspec.json.Decoder(_Body).decode

TYPES: dict[type, str] = {kind: str(kind.__struct_config__.tag) for kind in get_args(AnyEvent)}
"""The name of every type of event, as it stands in the log."""


def to_row(record: Record, body: bytes) -> rows.Record:
    """Make the row of a record, with the bytes of its event and receipt."""
    return rows.Record(
        seq=record.seq,
        type=TYPES[type(record.event)],
        at=record.at,
        hash=bytes.fromhex(record.hash),
        previous=bytes.fromhex(record.previous),
        body=body,
    )


def from_row(row: rows.Record) -> Record:
    """Decode a record of the store."""
    body = _decode(row.body)
    return Record(
        seq=row.seq, at=row.at, event=body.event, receipt=body.receipt,
        previous=row.previous.hex(), hash=row.hash.hex(),
    )  # fmt: skip


def status_of(program: Program, state: State) -> tuple[str, str]:
    """Return the status of an execution and its reason, as lists show them."""
    if state.terminal:
        return state.terminal, state.reason
    if state.paused:
        return "paused", ""
    if state.phase == "compensating":
        return "compensating", state.reason
    rest = rest_of(program, state)
    return (rest.status, rest.reason) if rest is not None else ("running", "")


def execution_row(program: Program, state: State) -> rows.ExecutionRow:
    """Return what lists show of an execution."""
    status, reason = status_of(program, state)
    labels = program.playbook.metadata.labels
    return rows.ExecutionRow(
        id=state.id,
        playbook=state.playbook,
        digest=state.digest,
        status=status,
        reason=reason,
        started=state.started_at,
        updated=state.now,
        ended=state.now if state.terminal else None,
        parent=state.parent,
        labels={key: str(value) for key, value in labels.items()}
        if isinstance(labels, dict)
        else {},
    )


def item_row(state: State, item: WorkItem) -> rows.WorkItemRow:
    """Return what an inbox shows of a work item."""
    assignees: dict[str, Any] = item.spec.get("assignees") or {}
    priority = item.spec.get("priority", 0)
    due = item.spec.get("due_s")
    return rows.WorkItemRow(
        id=item.id,
        execution=state.id,
        step=item.step,
        state=item.state,
        created=item.offered_at,
        updated=state.now,
        title=str(item.spec.get("title") or item.step),
        users=_names(assignees.get("users")),
        roles=_names(assignees.get("roles")),
        excluded=_names((item.spec.get("exclude") or {}).get("users")),
        holder=item.holder,
        priority=priority if isinstance(priority, int) else 0,
        due=item.offered_at + due if isinstance(due, int | float) else None,
        body=_encode(
            {
                "spec": item.spec,
                "draft": item.draft,
                "comments": item.comments,
                "decision": item.decision,
            }
        ),
    )


def _names(given: Any) -> tuple[str, ...]:
    if given is None:
        return ()
    return (given,) if isinstance(given, str) else tuple(map(str, given))


def playbook_row(program: Program, now: float) -> rows.Playbook:
    """Return a playbook as the store keeps it."""
    meta = program.playbook.metadata
    return rows.Playbook(
        digest=program.digest, name=meta.name, path=meta.path or "", version=str(meta.version or ""),
        source=to_yaml(program.playbook).encode(), applied=now,
    )  # fmt: skip
