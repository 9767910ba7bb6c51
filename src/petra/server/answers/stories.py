"""Answers about one execution: as it was at a record, its runs, iterations, writes, what it waits for, its family."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from petra.server.answers.waits import WaitingToken
from petra.server.shapes import ExecutionItem, Shape


class Then(Shape, frozen=True):
    """An execution as it was at a record."""

    seq: int
    records: int
    at: str
    status: str
    reason: str
    ctx: dict[str, Any]
    tokens: dict[str, int]
    """How many, by place."""
    counts: dict[str, int]
    waiting: list[WaitingToken]
    output: Any
    failures: list[dict[str, Any]]
    event: dict[str, Any]
    receipt: dict[str, Any]
    hash: str
    previous: str


class TokenThen(Shape, frozen=True):
    """A token, as it was."""

    id: str
    place: str
    step: str
    args: dict[str, Any]
    arc: tuple[str, int] | None
    branch: list[tuple[str, int]]
    since: int


class Evaluation(Shape, frozen=True):
    """What an expression came to."""

    value: Any


class WholeRecord(Shape, frozen=True):
    """A record, whole."""

    seq: int
    at: float
    """Seconds since 1970."""
    event: dict[str, Any]
    receipt: dict[str, Any]
    previous: str
    hash: str


class ToldRecord(Shape, frozen=True):
    """A record, whole, with what it says in words."""

    seq: int
    at: str
    event: dict[str, Any]
    receipt: dict[str, Any]
    previous: str
    hash: str
    text: str


class IterationCounts(Shape, frozen=True):
    """How many iterations of a loop are in which state."""

    total: int
    to_go: int
    in_flight: int
    ok: int
    failed: int
    cancelled: int


class RunFacts(Shape, frozen=True):
    """What is known of a step run, wherever it is shown."""

    n: int
    id: str
    step: str
    state: Literal["running", "done", "failed", "withdrawn", "returned"]
    started: str
    ended: str | None
    ms: float | None
    first: int
    last: int | None
    retries: int
    deliveries: int
    error: str | None
    message: str | None
    child: str | None
    compensates: bool
    administrative: bool
    iterations: IterationCounts | None


class RunItem(RunFacts, frozen=True):
    """A step run in a list."""

    attempts: int


class WholeRun(RunFacts, frozen=True):
    """A step run: what it was given, what it tried, what came of it."""

    args: dict[str, Any] | None
    branch: list[tuple[str, int]]
    attempts: list[dict[str, Any]]
    writes: list[dict[str, Any]]
    result: Any
    failure: dict[str, Any] | None
    actor: str | None
    worker: str | None
    arcs: list[int] = msgspec.field(default_factory=list)


class IterationItem(Shape, frozen=True):
    """An iteration in a list."""

    n: int
    path: list[int]
    state: Literal["to_go", "in_flight", "ok", "failed", "cancelled"]
    ms: float
    first: int | None
    last: int | None
    attempts: int
    error: str | None
    result: str | None


class IterationsMap(Shape, frozen=True):
    """All iterations of a loop as columns: little-endian, in base64."""

    count: int
    state: str
    """u8: 0 to go, 1 in flight, 2 ok, 3 failed, 4 cancelled."""
    ms: str
    """u16: 2048·log₂(1+ms)."""
    first: str
    """u32: the record in which it began."""
    last: str
    rows: list[int] = msgspec.field(default_factory=list)
    """Of a nested loop: how many iterations each of the outer ones has."""


class CtxWrite(Shape, frozen=True):
    """A write to a key of ctx, and what it was afterwards."""

    seq: int
    at: str
    type: str
    step: str | None
    run: int | None
    actor: str | None
    value: Any


class PastOrigin(Shape, frozen=True):
    """Whose past an execution has, and up to which record."""

    id: str
    at: int
    reason: str


class Lineage(Shape, frozen=True):
    """The family of an execution."""

    execution: ExecutionItem
    origin: PastOrigin | None
    origins: list[str]
    forks: list[ExecutionItem]
    parents: list[str]
    children: list[ExecutionItem]


class FirstDifference(Shape, frozen=True):
    """The first record in which two executions differ, and where in it."""

    record: int
    seqs: list[int | None]
    """The numbers of the two records; null where one has ended, or has it in a past that it took over."""
    events: list[str | None]
    fields: dict[str, dict[str, Any]]


class PathChange(Shape, frozen=True):
    """Steps that one of two took, and the other did not."""

    left: list[str]
    right: list[str]


class Diff(Shape, frozen=True):
    """How two executions differ, and in what sense they are the same."""

    executions: list[str]
    playbooks: list[str]
    same_playbook: bool
    status: list[str]
    same: bool
    equivalence: str
    first_difference: FirstDifference | None
    aligned: list[tuple[int, int]]
    """Records that stand beside each other, of the first and of the other: corners, with a straight line between two."""
    path: list[PathChange]
    ctx: dict[str, dict[str, Any]]
    output: list[Any] | None


class FirstBadRecord(Shape, frozen=True):
    """The first record that is not as it was written."""

    seq: int
    reason: str


class Verified(Shape, frozen=True):
    """Whether a log is as it was written."""

    execution: str
    ok: bool
    records: int
    bad: FirstBadRecord | None


class RangeOfValue(Shape, frozen=True):
    """Part of a value.

    ``content`` is, of a list, ``{value}`` or ``{preview, kind, total}`` for each item; of an object the same with its
    ``key``; of a text, characters; of bytes, base64; else the value itself.
    """

    kind: Literal["list", "object", "text", "bytes", "number", "boolean", "null"]
    total: int
    offset: int
    next: int | None
    content: Any
