"""What tests of stores are made of: claims, chains of records that fit, a workout for every table."""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

from petra.store import (
    Answer,
    Batch,
    Change,
    ExecutionRow,
    Fate,
    Pending,
    PlaybookRow,
    RecordRow,
    Snapshot,
    Store,
    WorkItemFilter,
    WorkItemRow,
)

Claim = Callable[[Store], Awaitable[None]]

CLAIMS: list[Claim] = []


def claim(check: Claim) -> Claim:
    """Add a claim to the suite."""
    CLAIMS.append(check)
    return check


async def commit(store: Store, *changes: Change, **more: Any) -> list[Fate]:
    """Commit changes; return their fates."""
    committed = await store.commit(Batch(changes=changes, **more))
    assert [o.execution for o in committed.outcomes] == [c.execution for c in changes]
    return [outcome.fate for outcome in committed.outcomes]


async def applied(store: Store, *changes: Change, **more: Any) -> None:
    """Commit changes that must all be applied."""
    fates = await commit(store, *changes, **more)
    assert all(fate is Fate.APPLIED for fate in fates), fates


async def refuses(work: Awaitable[object], error: type[Exception]) -> None:
    """Await what must fail with ``error``."""
    try:
        await work
    except error:
        return
    raise AssertionError(f"{error.__name__} was expected")


def make_records(
    execution: str, count: int, *, after: int = 0, size: int = 20
) -> tuple[RecordRow, ...]:
    """Return records that continue the chain ``make_records`` makes for this execution."""
    return tuple(
        RecordRow(
            seq=seq,
            type="step.done",
            at=1000.0 + seq,
            hash=make_hash(execution, seq),
            previous=make_hash(execution, seq - 1),
            body=make_hash(execution, seq, "body") * (size // 32 + 1),
        )
        for seq in range(after + 1, after + count + 1)
    )


def make_row(execution: str, **more: Any) -> ExecutionRow:
    """Return an execution's row."""
    base = ExecutionRow(
        id=execution,
        playbook="orders",
        digest="d1",
        status="running",
        started=1000.0,
        updated=1000.0,
    )
    return msgspec.structs.replace(base, **more)


def make_start(
    execution: str, *, count: int = 1, row: ExecutionRow | None = None, **more: Any
) -> Change:
    """Return the change that makes an execution."""
    return Change(
        execution=execution,
        expected_version=0,
        records=make_records(execution, count),
        row=row or make_row(execution),
        **more,
    )


def make_item(execution: str, item: str, **more: Any) -> WorkItemRow:
    """Return a work item."""
    base = WorkItemRow(
        id=item, execution=execution, step="approve", state="offered", created=5.0, updated=5.0
    )
    return msgspec.structs.replace(base, **more)


def make_answer(command: str, body: bytes = b"done", *, request: bytes = b"asked") -> Answer:
    """Return the answer to a command."""
    return Answer(command=command, request=request, body=body, at=1000.0)


def make_next(execution: str, after: int, count: int = 1, **more: Any) -> Change:
    """Return the change that continues an execution."""
    records = make_records(execution, count, after=after)
    return Change(execution=execution, expected_version=after, records=records, **more)


def make_hash(*parts: object) -> bytes:
    """Return a digest of anything."""
    return hashlib.sha256(repr(parts).encode()).digest()


def a_workout(rounds: int = 8) -> list[Batch]:
    """Return batches for three executions that touch every table, and end one of the executions."""
    batches = []
    for n in range(rounds):
        changes = []
        for name in ("x", "y", "z"):
            change = make_next(
                name,
                n * 2,
                2,
                row=make_row(name, reason=f"round {n}") if n % 3 == 0 else None,
                wake=None if n % 2 else float(n),
                items=(make_item(name, f"i{n % 3}", users=(f"u{n}",), updated=float(n)),),
                assigned=(Pending(run=f"r{n}"),),
                released=((f"r{n - 1}", ""),),
                snapshot=Snapshot(version=n * 2, body=b"s" * 600) if n % 4 == 3 else None,
                answers=(make_answer(f"{name}{n}"),),
                objects=(f"object {n // 2}",),
            )
            changes.append(change)
        batches.append(Batch(changes=tuple(changes), playbooks=(make_playbook(f"d{n}"),)))
    return batches


async def what_is_stored(store: Store, execution: str) -> dict[str, Any]:
    """Return everything that can be read of an execution, to compare."""
    items = await store.work_items(WorkItemFilter(execution=execution), limit=1000)
    pending = await store.pending(limit=1000)
    return {
        "execution": await store.execution(execution),
        "records": await store.read(execution),
        "snapshot": await store.snapshot(execution),
        "items": items.rows,
        "due": [row for row in await store.due(1e12, limit=1000) if row.execution == execution],
        "pending": [row.pending for row in pending if row.execution == execution],
    }


def make_playbook(digest: str, **more: Any) -> PlaybookRow:
    """Return a playbook."""
    base = PlaybookRow(
        digest=digest,
        name="orders",
        path="shop/orders",
        version="1",
        source=b"apiVersion: petra/v1",
        applied=1.0,
    )
    return msgspec.structs.replace(base, **more)


def make_rival(record: RecordRow, *, mark: object = "other", **more: Any) -> RecordRow:
    """Return another record for the same place."""
    return msgspec.structs.replace(record, hash=make_hash(record.hash, mark), **more)


async def some_items(store: Store) -> None:
    """Store six work items of two executions."""
    items = (
        make_item("a", "1", users=("ada",), priority=2),
        make_item("a", "2", roles=("clerk", "boss"), excluded=("bob",), priority=1),
        make_item("a", "3", created=1.0, priority=2),
        make_item("a", "4", state="allocated", holder="ada", roles=("clerk",), step="ship"),
        make_item("a", "5", state="done", holder="bob", users=("bob",), due=9.0, body=b"x"),
    )
    await applied(
        store, make_start("a", items=items), make_start("b", items=(make_item("b", "1"),))
    )
