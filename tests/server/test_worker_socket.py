"""A connection of a worker, as the server has it."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import pytest

from petra.engine.workers import ANYTHING, Bounds, HeardLink
from petra.server.worker_socket import WorkerSocket, talk


class _Fails:
    def __init__(self) -> None:
        self.told: list[str] = []

    async def converse(self, link: HeardLink, *, bounds: Bounds) -> str:
        raise RuntimeError(f"a bug, of {link} within {bounds}")

    def ended(self, _: HeardLink, why: str) -> None:
        self.told.append(why)


def test_who_hears_a_worker_learns_that_it_is_gone_also_where_a_bug_ended_it() -> None:
    async def scenario() -> None:
        hears, worker = _Fails(), WorkerSocket(cast(Any, None))
        with pytest.raises(RuntimeError, match="a bug"):
            await talk(hears, worker, ANYTHING, asyncio.get_running_loop().create_future())
        assert hears.told == [""]

    asyncio.run(scenario())
