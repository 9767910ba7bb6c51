"""Removal: executions that somebody wants to be gone, each with the sub-playbooks below it.

Rule 1: a family goes together, from the execution that is named downwards. One that somebody still waits for stays.
Rule 2: what has not ended stays; whoever wants it gone has it cancelled first.
Rule 3: objects go when no execution that is left refers to them (``petra.engine.retention``).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from functools import partial

from msgspec import Struct, field

from petra.engine.limits import EXPIRE_MAX
from petra.engine.retention import collect
from petra.errors import UsageError
from petra.objects import ObjectStore
from petra.store.base import PAGE, Store
from petra.store.rows import AuditNote, ExecutionFilter, ExecutionRow
from petra.store.trail import noted


class Family(Struct):
    """An execution with all that are below it, and those of them that have not ended."""

    root: str
    members: list[str] = field(default_factory=list)
    live: list[str] = field(default_factory=list)


async def family_of(store: Store, execution: str) -> Family:
    """Find an execution and all that are below it.

    Raises:
        UsageError: there is none, or somebody waits for it.
    """
    stored = await store.execution(execution)
    if stored is None:
        raise UsageError(f"there is no execution '{execution}'")
    above = await store.execution(stored.row.parent) if stored.row.parent else None
    if above is not None and above.row.ended is None:
        raise UsageError(
            f"execution {execution} is a sub-playbook of {above.row.id}, which has not ended; remove that one"
        )
    family = Family(execution)
    todo = [stored.row]
    while todo:
        row = todo.pop()
        family.members.append(row.id)
        family.live += [row.id] if row.ended is None else []
        todo += await _children(store, row.id)
    return family


async def _children(store: Store, execution: str) -> list[ExecutionRow]:
    children: list[ExecutionRow] = []
    cursor: str | None = None
    while True:
        page = await store.executions(
            ExecutionFilter(parent=execution), cursor=cursor, limit=10 * PAGE
        )
        children += [stored.row for stored in page.rows]
        cursor = page.cursor
        if cursor is None:
            return children


async def remove(
    store: Store, objects: ObjectStore | None, executions: Collection[str]
) -> tuple[str, ...]:
    """Remove executions that have ended, a few at a time; return those that are gone."""
    gone: list[str] = []
    for some in _pieces(list(executions)):
        removed = await noted(partial(_removed, store, some))
        gone += removed
        if objects is not None:
            await collect(store, objects, removed)
    return tuple(gone)


async def _removed(
    store: Store, executions: Sequence[str], note: AuditNote | None
) -> tuple[str, ...]:
    return (await store.remove(executions, note)).executions


def _pieces(names: Sequence[str]) -> Iterator[Sequence[str]]:
    for start in range(0, len(names), EXPIRE_MAX):
        yield names[start : start + EXPIRE_MAX]
