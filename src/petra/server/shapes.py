"""What the API answers: the shapes of its resources, with moments as RFC 3339."""

from __future__ import annotations

from typing import Any, Generic, TypeVar

import msgspec

from petra.accounts.shown import moment
from petra.desk.now import Doing, Now, Progress
from petra.engine.admit import BUSINESS_KEY
from petra.own_labels import scheduled_by
from petra.store.rows import ExecutionRow, PlaybookRow, StoredExecution, WorkItemRow

T = TypeVar("T")


class Shape(msgspec.Struct, frozen=True, kw_only=True):
    """Something that the API answers."""


S = TypeVar("S", bound=Shape)


class Page(Shape, Generic[T], frozen=True):
    """Some of a list, and the cursor that leads on, if there is more."""

    items: list[T]
    next: str | None = None


class ExecutionFacts(Shape, frozen=True):
    """What is known of an execution, wherever it is shown."""

    id: str
    playbook: str
    digest: str
    status: str
    reason: str
    started: str | None
    updated: str | None
    ended: str | None
    parent: str
    labels: dict[str, str]
    business_key: str | None
    namespace: str
    schedule: dict[str, str] | None
    """The schedule that started it: `name`, and the `nominal` time."""
    now: Now
    """What it does, or waits for, in words."""
    progress: Progress | None


class ExecutionItem(ExecutionFacts, frozen=True):
    """An execution in a list."""

    version: int
    head: str
    """The hash of its last record."""


class Execution(ExecutionItem, frozen=True):
    """An execution, as far as it has come."""

    output: Any
    ctx: dict[str, Any]
    counts: dict[str, int]
    failures: list[dict[str, Any]]
    error: dict[str, Any] | None
    waiting_on: str | None
    work_items: list[dict[str, Any]]
    not_compensated: list[str]


class WorkItem(Shape, frozen=True):
    """What somebody is asked to do."""

    id: str
    execution: str
    step: str
    title: str
    state: str
    created: str | None
    updated: str | None
    due: str | None
    priority: int
    users: list[str]
    roles: list[str]
    excluded: list[str]
    holder: str | None
    namespace: str
    body: Any


class PlaybookItem(Shape, frozen=True):
    """A playbook that was applied."""

    path: str
    name: str
    version: str
    digest: str
    applied: str | None
    namespace: str


def execution_item(stored: StoredExecution, doing: Doing) -> ExecutionItem:
    """Return what a list shows of an execution."""
    return ExecutionItem(
        **row_data(stored.row, doing), version=stored.version, head=stored.head.hex()
    )


def row_data(row: ExecutionRow, doing: Doing) -> dict[str, Any]:
    """Return the fields that every shape of an execution has."""
    labels = {name: value for name, value in row.labels.items() if name != BUSINESS_KEY}
    return {
        "id": row.id, "playbook": row.playbook, "digest": row.digest, "status": row.status, "reason": row.reason,
        "started": moment(row.started), "updated": moment(row.updated), "ended": moment(row.ended),
        "parent": row.parent, "labels": labels, "business_key": row.labels.get(BUSINESS_KEY),
        "namespace": row.namespace, "now": doing.now, "progress": doing.progress,
        "schedule": scheduled_by(row.labels),
    }  # fmt: skip


def work_item(row: WorkItemRow) -> WorkItem:
    """Return a work item as it is shown."""
    return shape_of(
        WorkItem, row, created=moment(row.created), updated=moment(row.updated), due=moment(row.due),
        users=list(row.users), roles=list(row.roles), excluded=list(row.excluded),
        body=_item_body(row.body) if row.body else None,
    )  # fmt: skip


def _item_body(raw: bytes) -> dict[str, Any]:
    body: dict[str, Any] = msgspec.json.decode(raw)
    comments = [{**one, "at": moment(one["at"])} for one in body["comments"]]
    return {**body, "comments": comments}


def playbook_item(row: PlaybookRow) -> PlaybookItem:
    """Return a playbook as a list shows it."""
    return shape_of(PlaybookItem, row, applied=moment(row.applied))


def shape_of(shape: type[S], row: msgspec.Struct, **others: Any) -> S:
    """Return a shape with what a row has under the same names, and with others that it has otherwise or not at all.

    The shape alone says what is answered: a further column of a table is shown when somebody adds it here.
    """
    own = {name: getattr(row, name) for name in shape.__struct_fields__ if name not in others}
    return shape(**own, **others)
