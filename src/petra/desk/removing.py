"""Removing executions: found here, cancelled if that is wanted, and gone with everything that only they had."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from petra.engine import Engine
from petra.engine.removal import Family, family_of
from petra.errors import UsageError

_SHOWN = 3


async def removed(
    engine: Engine,
    executions: Sequence[str],
    cancel: Callable[[str], Awaitable[object]] | None = None,
) -> list[str]:
    """Remove executions with all that are below them; ``cancel`` ends one that has not ended, and waits for that.

    Raises:
        UsageError: one has not ended, or somebody waits for it. Then nothing is removed.
    """
    families = [await family_of(engine.store, execution) for execution in executions]
    if cancel is None:
        refuse_live(families)
    else:
        for family in families:
            for execution in family.live:
                await cancel(execution)
        # what they had begun meanwhile goes too
        families = [await family_of(engine.store, execution) for execution in executions]
        refuse_live(families)
    members = dict.fromkeys(member for family in families for member in family.members)
    return list(await engine.remove(members))


def refuse_live(families: Sequence[Family]) -> None:
    """Refuse to remove what has not ended.

    Raises:
        UsageError: something has not.
    """
    live = [execution for family in families for execution in family.live]
    if live:
        shown = ", ".join(live[:_SHOWN]) + (" …" if len(live) > _SHOWN else "")
        words = "has not ended" if len(live) == 1 else "have not ended"
        raise UsageError(f"{shown} {words}; '--force' cancels what is left of it first")
