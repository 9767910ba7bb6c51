"""Waiting for an execution, as long as a request wants to."""

from __future__ import annotations

import asyncio

from petra.desk import Principal
from petra.server.service import Service


async def wait_for_rest(
    service: Service, who: Principal, execution: str, seconds: float, seen: str = ""
) -> None:
    """Wait until an execution ends or rests, for so long; of one that was ``seen``, until it has moved on, too."""
    if not seconds:
        return
    try:
        async with asyncio.timeout(seconds):
            if seen:
                await service.desk.rest(who, execution, lambda now: str(now.version) != seen)
            await service.desk.rest(who, execution)
    except TimeoutError:
        return


def seen_of(if_none_match: str | None) -> str:
    """Return the version that somebody saw."""
    return (if_none_match or "").strip().removeprefix("W/").strip('"')
