"""Long logs are read and folded in a thread, so that the loop of the engine goes on; for a short one a thread would cost more than it saves."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final, TypeVar

T = TypeVar("T")

SHORT: Final = 500
"""So many records are read in a few milliseconds."""


async def beside_the_loop(records: int, work: Callable[[], T]) -> T:
    """Do something with so many records: by a thread, if they are many."""
    if records <= SHORT:
        return work()
    return await asyncio.to_thread(work)
