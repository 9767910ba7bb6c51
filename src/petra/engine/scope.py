"""Scope: which executions of its store an engine goes on with, where it is to leave the others alone.

Rule 1: what is asked of an execution takes it into the scope, and so does a parent in scope that starts it.
Rule 2: what is left out stays as it is in the store: its runs, timers and letters wait for whoever takes them up.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from petra.kernel.prepare import DEPTH_MAX
from petra.store.base import PAGE, Store
from petra.store.rows import ExecutionFilter


class Scope:
    """The executions that an engine goes on with: all of its shards, unless some are named."""

    def __init__(self, only: Iterable[str] | None = None) -> None:
        self._only = None if only is None else set(only)

    @property
    def is_whole(self) -> bool:
        """Whether nothing is left out."""
        return self._only is None

    def holds(self, execution: str) -> bool:
        """Whether the engine goes on with an execution."""
        return self._only is None or execution in self._only

    def add(self, execution: str) -> None:
        """Go on with an execution too."""
        if self._only is not None:
            self._only.add(execution)


async def family(store: Store, executions: Collection[str]) -> set[str]:
    """Return executions with those that wait for them and those that they wait for."""
    members: set[str] = set()
    for execution in executions:
        above = execution
        for _ in range(DEPTH_MAX):
            stored = await store.execution(above)
            if stored is None or not stored.row.parent:
                break
            above = stored.row.parent
        todo = [above, execution]
        while todo:
            member = todo.pop()
            if member not in members:
                members.add(member)
                todo += await _children(store, member)
    return members


async def _children(store: Store, execution: str) -> list[str]:
    """Return the children of an execution that have not ended."""
    children: list[str] = []
    cursor: str | None = None
    while True:
        page = await store.executions(
            ExecutionFilter(parent=execution), cursor=cursor, limit=10 * PAGE
        )
        children += [stored.row.id for stored in page.rows if stored.row.ended is None]
        cursor = page.cursor
        if cursor is None:
            return children
