"""Answers about the server and about many executions: counts, hits, views, operations, workers, who I am."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from petra.server.shapes import ExecutionItem, PlaybookItem, Shape, WorkItem


class Counts(Shape, frozen=True):
    """How many executions there are of which kind; by hour, also of which status. ``next`` leads to what is not counted yet."""

    by: str
    total: int
    counts: dict[str, int]
    statuses: dict[str, dict[str, int]] = msgspec.field(default_factory=dict)
    next: str | None = None


class ExecutionHit(Shape, frozen=True, tag_field="kind", tag="execution"):
    """An execution that was found."""

    id: str
    title: str
    row: ExecutionItem


class PlaybookHit(Shape, frozen=True, tag_field="kind", tag="playbook"):
    """A playbook that was found."""

    id: str
    title: str
    row: PlaybookItem


class ItemHit(Shape, frozen=True, tag_field="kind", tag="work-item"):
    """A work item that was found."""

    id: str
    title: str
    row: WorkItem


Hit = ExecutionHit | PlaybookHit | ItemHit


class SavedView(Shape, frozen=True):
    """A view that is kept under a name."""

    name: str
    query: str
    page: str
    shared: bool
    mine: bool
    version: int


class OperationFailure(Shape, frozen=True):
    """An execution with which it could not be done, and why."""

    id: str
    reason: str


class OperationItem(Shape, frozen=True):
    """How far an operation has come."""

    id: str | None
    act: str
    status: Literal["running", "done", "stopped", "dry_run"]
    total: int
    done: int
    failed: int
    failures: list[OperationFailure]
    reason: str = ""
    by: str = ""
    namespace: str = ""
    created: str | None = None
    ended: str | None = None


class Me(Shape, frozen=True):
    """Who I am here, and what I may."""

    name: str
    kind: str
    roles: list[str]
    may: list[str]
    namespace: str
    grants: list[str]
    csrf: str | None


class ServerLimits(Shape, frozen=True):
    """What the server takes at most."""

    body_bytes: int
    body_s: float
    object_bytes: int
    page: int
    wait_s: int
    frames: int
    """Records in one answer of ``frames``."""
    operation_ids: int
    """Executions that an operation names; a filter finds any number."""


class Features(Shape, frozen=True):
    """What this server has, of what not every one has."""

    ui: bool
    """The pages of the web UI are built."""
    secrets: bool
    """It keeps credentials."""
    oidc: bool
    """One may log in at a provider."""
    large_values: bool
    """Values that are too large for an event are stored as objects."""
    shared: bool
    """Several servers share its store."""
    traces: bool
    """It makes traces."""
    agents: bool
    """It answers agents at ``/mcp``."""


class LogIns(Shape, frozen=True):
    """How one may log in: with a name and a password, at a provider at that address."""

    password: bool
    oidc: str | None


class Meta(Shape, frozen=True):
    """What the server is."""

    version: str
    base: str
    limits: ServerLimits
    features: Features
    log_in: LogIns
    pools: list[str]
    """The pools that have workers here, for whoever may see it."""
    troubles: list[str]


class PoolItem(Shape, frozen=True):
    """A pool of workers."""

    pool: str
    workers: int
    slots: int
    busy: int
    waiting: int
    trouble: str | None
    first: str | None
    """The execution whose run goes out next, while some wait."""


class ResourceHolder(Shape, frozen=True):
    """A run that holds some of a resource."""

    run: str
    step: str
    units: int


class ResourceWaiter(Shape, frozen=True):
    """A token that waits for a resource."""

    token: str
    step: str


class ResourceItem(Shape, frozen=True):
    """A resource of an execution, who holds it, and who waits."""

    resource: str
    key: str
    execution: str
    capacity: int
    held: int
    holders: list[ResourceHolder]
    waiting: int
    first_waiting: list[ResourceWaiter]


class WorkerItem(Shape, frozen=True):
    """A worker that is connected."""

    name: str
    pool: str
    slots: int
    busy: int
    state: str
    namespaces: list[str] | None
    """Whose runs it may do, if not those of all namespaces."""
    kinds: list[str] | None
    """The kinds of tools that it knows; null: it did not say, and gets runs of any."""
    version: str
    """That of Petra there; empty for a worker beside the server."""
    labels: dict[str, str]
    executions: list[str]
    """Those of the namespace that it has runs of; of very many, the first by name."""


class ShardItem(Shape, frozen=True):
    """A shard, and who has it."""

    shard: int
    holder: str | None
    epoch: int
    held: bool


class StoreStats(Shape, frozen=True):
    """How much is in the store."""

    executions: dict[str, int]
    records: int
    wake_ups: int
    pending: int
    work_items: dict[str, int]
    orphans: int
    bytes: int


class AuditEntry(Shape, frozen=True):
    """An entry of the audit."""

    number: int
    at: str
    actor: str
    by: str
    act: str
    target: str
    namespace: str
    outcome: str
    code: str
    address: str
    request: str
    hash: str


class AuditVerified(Shape, frozen=True):
    """Whether the chain of the audit holds."""

    entries: int
    ok: bool
    problems: list[Any]


class Alive(Shape, frozen=True):
    """That the server is there."""

    status: str


class ServerVersion(Shape, frozen=True):
    """Which version it is."""

    version: str


class SessionBegun(Shape, frozen=True):
    """A session began: what its acts must send along as X-CSRF-Token."""

    csrf: str


class NamespaceItem(Shape, frozen=True):
    """A namespace."""

    name: str


class CommandReply(Shape, frozen=True):
    """What came of a request of the command line."""

    refused: str = ""
    error: str = ""
    result: dict[str, Any] | None = None
