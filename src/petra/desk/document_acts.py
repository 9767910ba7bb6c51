"""What other processes ask about documents: schedules, triggers and resources are asked alike, each in its own acts."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from petra.errors import UsageError

Acts = Mapping[str, Callable[[], Awaitable[dict[str, Any]]]]
"""What may be done, by name; nothing is done before it is chosen."""


async def chosen_act(acts: Acts, name: str, kind: str) -> dict[str, Any]:
    """Do the act of that name.

    Raises:
        UsageError: documents of this kind have none.
    """
    if name not in acts:
        raise UsageError(f"nothing of a {kind} is called '{name[:100]}'")
    return await acts[name]()


async def under(key: str, rows: Awaitable[list[dict[str, Any]]]) -> dict[str, Any]:
    """Return a list as an answer, which is an object."""
    return {key: await rows}
