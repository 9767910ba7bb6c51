"""Which work item somebody means: one by its id, or their own of a step (S14)."""

from __future__ import annotations

from collections.abc import Collection

from petra.desk.principal import Principal
from petra.engine import Engine
from petra.engine.cache import Entry
from petra.errors import UsageError
from petra.kernel import commands as c
from petra.kernel.human import why_not
from petra.kernel.waiting import WorkItem

SHORT = 6
"""So many characters of an item's id are enough, where only one begins with them."""


class NoItemError(UsageError):
    """Nothing is open at that step, or there is no such step."""


def open_item(entry: Entry, step: str) -> WorkItem:
    """Return the open work item of a step, or the one with that id.

    Raises:
        UsageError: there is none, or there are several.
    """
    return _named(entry, step) or _one(entry, _open(entry, step), step)


def meant_item(
    entry: Entry, name: str, actor: str, roles: Collection[str], *, admin: bool = False
) -> WorkItem:
    """Return the work item that somebody means: the one with that id, else their own of the step.

    Their own is what they hold, else what is offered to them; where nothing is open, what they completed last.

    Raises:
        UsageError: there is none, or there are several.
    """
    if (named := _named(entry, name)) is not None:
        return named
    items, state = _open(entry, name), entry.state
    held = [item for item in items if item.holder == actor]
    offered = [
        item for item in items if item.holder is None and not why_not(state, item, actor, roles)
    ]
    mine = held or offered
    if admin or (len(items) == 1 and not mine):
        mine = items  # whether they may is for the execution to say, and to record
    if mine:
        return _one(entry, mine, name)
    done = [
        item
        for item in state.items.values()
        if item.step == name and item.decision is not None and item.decision["actor"] == actor
    ]
    if done and not items:
        return done[-1]
    if items:
        raise UsageError(
            f"none of the {len(items)} open work items of '{name}' is for '{actor}'; name one: "
            + _names(entry, items)
        )
    return _one(entry, items, name)


async def meant(engine: Engine, who: Principal, execution: str, name: str) -> str:
    """Return the id of the work item that somebody means who asks in their own name.

    Raises:
        ForbiddenError: they may not decide anything.
        UsageError: there is none, or there are several.
    """
    signed = who.signed(c.Act(now=0.0, item=name, act="claim"))
    entry = await engine.view(execution)
    return meant_item(entry, name, signed.actor, signed.roles).id


def _named(entry: Entry, name: str) -> WorkItem | None:
    known = entry.state.items.get(name)
    if known is not None or name in entry.program.steps or len(name) < SHORT:
        return known
    items = [item for key, item in entry.state.items.items() if key.startswith(name)]
    return items[0] if len(items) == 1 else None


def _open(entry: Entry, step: str) -> list[WorkItem]:
    return [item for item in entry.state.items.values() if item.step == step and item.is_open]


def _one(entry: Entry, items: list[WorkItem], name: str) -> WorkItem:
    if len(items) == 1:
        return items[0]
    if items:
        raise UsageError(
            f"'{name}' has {len(items)} open work items; which one? {_names(entry, items)}"
        )
    raise NoItemError(
        f"step '{name}' of {entry.state.id} has no open work item; see 'petra task list'"
    )


def _names(entry: Entry, items: list[WorkItem]) -> str:
    shown = [f"{entry.state.id}/{item.id[:12]}" for item in items[:5]]
    return ", ".join(shown) + (", …" if len(items) > len(shown) else "")
