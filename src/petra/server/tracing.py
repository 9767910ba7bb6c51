"""Traces of a server: its feed becomes spans, where the environment asks for that (``petra.telemetry``)."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from petra.engine import Engine
from petra.engine.codec import from_row
from petra.engine.news import Appended, Ended, Topic
from petra.kernel import Record
from petra.store.errors import StoreError
from petra.telemetry import traces
from petra.telemetry.requests import RequestSpans

if TYPE_CHECKING:
    from petra.telemetry.spans import ExecutionSpans

_log = logging.getLogger(__name__)


@asynccontextmanager
async def traced(engine: Engine) -> AsyncIterator[RequestSpans | None]:
    """Send spans of what an engine does meanwhile; give what makes those of requests, where that is wanted.

    Raises:
        UsageError: it is, and cannot be done.
    """
    sends = traces("petra")
    if sends is None:
        yield None
        return
    from petra.telemetry.spans import ExecutionSpans  # noqa: PLC0415 - only where it is wanted

    async def log(execution: str) -> list[Record]:
        return [from_row(row) for row in await engine.store.read(execution)]

    following = asyncio.create_task(_follow(engine, ExecutionSpans(sends, log)))
    try:
        yield RequestSpans(sends)
    finally:
        following.cancel()
        await asyncio.wait([following])
        await asyncio.to_thread(sends.close)


async def _follow(engine: Engine, spans: ExecutionSpans) -> None:
    with engine.feed.subscribe(Topic.RECORDS) as news:
        while not isinstance(message := await news.next(), Ended):
            if not isinstance(message, Appended):
                continue  # what we were too slow for is in no trace
            try:
                await spans.take(message.execution, message.records)
            except StoreError:
                _log.warning(
                    "execution %s is in no trace: its log cannot be read now", message.execution
                )
