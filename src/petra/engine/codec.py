"""Between the kernel and the store: records as bytes, and the rows that lists and inboxes show.

The rows are projections: what is in them can be computed from the log at any time, and a test does so.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any, Generic, TypeVar, get_args

import msgspec

from petra.decoders import json_decoder
from petra.engine.admit import BUSINESS_KEY
from petra.engine.limits import PRIORITY_MAX, TITLE_MAX
from petra.errors import PetraError
from petra.kernel import Record, State
from petra.kernel.events import AnyEvent
from petra.kernel.human import excluded
from petra.kernel.program import Program, digest_of
from petra.kernel.replay import EventReceipt, encode_body
from petra.kernel.rest import in_flight, is_held_back, rest_of
from petra.kernel.waiting import WorkItem
from petra.namespaces import DEFAULT
from petra.playbook import Playbook, to_yaml
from petra.store import rows

RUNNING = ("running", "")
FORKED_FROM = "petra/forked-from"
"""The label of an execution that has the past of another one: its id."""

_encode = msgspec.json.Encoder().encode


E = TypeVar("E")


class _Body(msgspec.Struct, Generic[E], frozen=True, array_like=True, gc=False):
    """What is in the body of a record; the time once more, since no hash covers the column of it."""

    event: E
    receipt: EventReceipt
    at: float | None = None


class _EventAlone(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A body of which the receipt is skipped: whoever only folds does not look at it."""

    event: AnyEvent


@cache
def _decoder(kind: str) -> msgspec.json.Decoder[_Body[AnyEvent]]:
    """Return what reads bodies of one kind of event, or of any: to make one that knows all of them takes long."""
    return json_decoder(_Body[_KINDS.get(kind, AnyEvent)])  # type: ignore[arg-type, misc]


@cache
def _event_decoder() -> msgspec.json.Decoder[_EventAlone]:
    return json_decoder(_EventAlone)


TYPES: dict[type, str] = {kind: str(kind.__struct_config__.tag) for kind in get_args(AnyEvent)}
"""The name of every type of event, as it stands in the log."""
_KINDS = {name: kind for kind, name in TYPES.items()}
_ANY = ""


class DamagedError(PetraError):
    """A record is not what was written."""

    def __init__(self, seq: int, reason: str) -> None:
        super().__init__(
            f"record {seq} is damaged: {reason}; 'petra verify' looks at the whole log"
        )
        self.seq = seq
        self.reason = reason


def body_end(at: float) -> bytes:
    """Write how the body of a record ends: with the time."""
    return b",%b]" % repr(at).encode()


def to_row(record: Record, body: bytes) -> rows.RecordRow:
    """Make the row of a record that is at hand, with the bytes of its event and receipt."""
    return rows.RecordRow(
        seq=record.seq,
        type=TYPES[type(record.event)],
        at=record.at,
        hash=bytes.fromhex(record.hash),
        previous=bytes.fromhex(record.previous),
        body=body[:-1] + body_end(record.at),
    )


def from_row(row: rows.RecordRow) -> Record:
    """Decode a record of the store.

    Raises:
        DamagedError: it cannot be read.
    """
    try:
        body = _body(row)
    except (msgspec.DecodeError, TypeError, ValueError) as error:
        raise DamagedError(row.seq, f"it cannot be read ({error})") from error
    return Record(
        seq=row.seq, at=row.at, event=body.event, receipt=body.receipt,
        previous=row.previous.hex(), hash=row.hash.hex(),
    )  # fmt: skip


def _body(row: rows.RecordRow) -> _Body[AnyEvent]:
    try:
        return _decoder(row.type if row.type in _KINDS else _ANY).decode(row.body)
    except msgspec.ValidationError:  # perhaps it is the column that is wrong
        return _decoder(_ANY).decode(row.body)


def event_of(row: rows.RecordRow) -> AnyEvent:
    """Decode the event of a record alone, for whoever folds many of them.

    Raises:
        DamagedError: it cannot be read.
    """
    try:
        return _event_decoder().decode(row.body).event
    except (msgspec.DecodeError, TypeError, ValueError) as error:
        raise DamagedError(row.seq, f"it cannot be read ({error})") from error


def proved(row: rows.RecordRow) -> Record:
    """Decode a record of the store and check everything that its hash does not cover.

    Raises:
        DamagedError: a byte of it is not as it was written.
    """
    record = from_row(row)
    body = _body(row)
    if row.type != TYPES[type(record.event)]:
        raise DamagedError(row.seq, f"its type says '{row.type}'")
    if body.at != row.at:
        raise DamagedError(row.seq, "its time is not the one it was written with")
    if to_row(record, encode_body(record.event, record.receipt)).body != row.body:
        raise DamagedError(row.seq, "its body is not spelled as it was written")
    return record


def status_of(program: Program, state: State) -> tuple[str, str]:
    """Return the status of an execution and its reason, as lists show them."""
    if state.terminal:
        return state.terminal, _why_over(state)
    if state.paused:
        return "paused", ""
    if state.phase == "compensating":
        return "compensating", state.reason
    if in_flight(program, state) and not is_held_back(state):  # which most are
        return RUNNING
    rest = rest_of(program, state)
    return (rest.status, rest.reason) if rest is not None else RUNNING


def _why_over(state: State) -> str:
    """Return why an execution ended as it did: of one that failed what went wrong, which people look for."""
    if state.terminal != "failed" or state.error is None:
        return state.reason
    return _line(state.error.message.partition("\n")[0]) or state.reason


def status_then(program: Program, state: State, log: Sequence[Record]) -> tuple[str, str]:
    """Return the status that an execution had at the record its state reaches: inside a decision nothing rests."""
    status, reason = status_of(program, state)
    here, after = log[state.seq - 1], log[state.seq : state.seq + 1]
    if status in ("stuck", "waiting") and after and after[0].at == here.at:
        return "running", ""
    return status, reason


def execution_row(
    program: Program, state: State, shown: tuple[str, str] | None = None
) -> rows.ExecutionRow:
    """Return what lists show of an execution; ``shown`` is its status and the reason, where that is known."""
    status, reason = shown or status_of(program, state)
    own = program.playbook.metadata.labels
    labels = {k: str(v) for k, v in own.items()} if isinstance(own, dict) else {}
    labels |= state.labels
    if state.origins:
        labels.pop(BUSINESS_KEY, None)
        labels[FORKED_FROM] = state.origins[-1]
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
        labels=labels,
        namespace=state.namespace,
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
        title=_line(str(item.spec.get("title") or item.step)),
        users=_names(assignees.get("users")),
        roles=_names(assignees.get("roles")),
        excluded=tuple(excluded(state, item)),
        holder=item.holder,
        priority=priority if isinstance(priority, int) and abs(priority) <= PRIORITY_MAX else 0,
        due=item.offered_at + due if isinstance(due, int | float) else None,
        body=_encode(
            {
                "playbook": state.playbook,
                "spec": item.spec,
                "draft": item.draft,
                "comments": item.comments,
                "decision": item.decision,
            }
        ),
        namespace=state.namespace,
    )


def _line(text: str) -> str:
    """Return text that every store can keep in a column, and not more of it than a list shows."""
    return text[:TITLE_MAX].replace("\0", "\ufffd")


def _names(assignees: Any) -> tuple[str, ...]:
    if assignees is None:
        return ()
    return (assignees,) if isinstance(assignees, str) else tuple(map(str, assignees))


def playbook_row(  # noqa: PLR0913 - what is kept of one
    playbook: Playbook,
    digest: str = "",
    applied: float = 0.0,
    namespace: str = DEFAULT,
    text: str = "",
    *,
    source: str = "",
) -> rows.PlaybookRow:
    """Return a playbook as the store keeps it: for its executions alone, or since when it is applied, and as which text.

    ``source`` is its canonical text, where that has been written already.
    """
    meta, source = playbook.metadata, source or to_yaml(playbook)
    return rows.PlaybookRow(
        digest=digest or digest_of(playbook), name=meta.name, path=meta.path or meta.name,
        version="" if meta.version is None else str(meta.version),
        source=source.encode(), applied=applied, namespace=namespace, text=b"" if text == source else text.encode(),
    )  # fmt: skip
