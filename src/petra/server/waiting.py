"""Waiting for an execution, as long as a request wants to."""

from __future__ import annotations

import asyncio
from http import HTTPStatus

from petra.desk import Principal
from petra.server.service import Service


async def wait_for_rest(
    service: Service, who: Principal, execution: str, seconds: float, seen: str = ""
) -> bool:
    """Wait until an execution ends or rests, for so long; of one that was ``seen``, until it has moved on, too.

    Return whether nobody has to ask again: it did within that time, or was not to be waited for.
    """
    if not seconds:
        return True
    try:
        async with asyncio.timeout(seconds):
            if seen:
                await service.desk.rest(who, execution, lambda now: str(now.version) != seen)
            await service.desk.rest(who, execution)
    except TimeoutError:
        return False
    return True


def status_of(done: int, *, in_time: bool) -> int:
    """Return the status of an answer that was to be waited for: 202 is what there is when that took too long."""
    return done if in_time else HTTPStatus.ACCEPTED


def seen_of(if_none_match: str | None) -> str:
    """Return the version that somebody saw."""
    return (if_none_match or "").strip().removeprefix("W/").strip('"')
