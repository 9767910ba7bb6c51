"""Letting in: who may do what with which execution, and what of lists is for whom. Everything else asks here.

Rule 1: who may not see something is told that it is not there.
Rule 2: whoever only decides sees what concerns them: work items they hold, held or are offered, and the executions of those.
"""

from __future__ import annotations

from typing import Final

import msgspec
from msgspec.structs import replace

from petra.desk.principal import May, Principal
from petra.engine.cache import UnknownExecutionError
from petra.kernel.human import ANY_ROLE
from petra.store.base import Store
from petra.store.rows import WorkItemFilter, WorkItemRow

ITEMS: Final = frozenset({May.SEE, May.DECIDE})
"""Who may see work items: who sees executions, and who decides."""


async def admitted(
    store: Store, who: Principal, powers: frozenset[May], execution: str
) -> Principal:
    """Return whoever may do one of some things with an execution, as they stand in its namespace.

    Raises:
        ForbiddenError: they may see it, and not do that.
        UnknownExecutionError: there is none, or none that they may see.
    """
    there = who.within(await namespace_of(store, execution))
    if May.SEE not in there.may and await _concerned(store, there, execution):
        there = replace(there, may=there.may | {May.SEE})
    if May.SEE not in there.may:
        raise UnknownExecutionError(f"there is no execution '{execution}'")
    there.must_one(powers)
    return there


async def namespace_of(store: Store, execution: str) -> str:
    """Return the namespace of an execution.

    Raises:
        UnknownExecutionError: there is none.
    """
    stored = await store.execution(execution)
    if stored is None:
        raise UnknownExecutionError(f"there is no execution '{execution}'")
    return stored.row.namespace


async def _concerned(store: Store, who: Principal, execution: str) -> bool:
    if May.DECIDE not in who.may:
        return False
    wanted = WorkItemFilter(user=who.name, roles=who.roles, execution=execution)
    return bool((await store.work_items(wanted, limit=1)).rows)


def narrowed(who: Principal, wanted: WorkItemFilter) -> WorkItemFilter:
    """Return what of the work items that are wanted somebody may see."""
    within = msgspec.structs.replace(wanted, namespace=who.namespace)
    if May.SEE in who.may:
        return within
    return msgspec.structs.replace(within, user=who.name, roles=who.roles)


def concerns(who: Principal, row: WorkItemRow) -> bool:
    """Tell whether somebody may see a work item."""
    if row.namespace != who.namespace:
        return False
    if May.SEE in who.may:
        return True
    if May.DECIDE not in who.may or who.name in row.excluded:
        return False
    if row.holder is not None:
        return row.holder == who.name
    offered = set(row.roles) & set(who.roles) or ANY_ROLE in who.roles
    return who.name in row.users or bool(offered) or not (row.users or row.roles)
