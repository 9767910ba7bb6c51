"""A long log is read and folded beside the engine's loop, for branches and for comparisons; a short one at once."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import pytest
from engine_support import chain, local
from msgspec.structs import replace

from petra.clock import SystemClock
from petra.desk import branching, records_of, result
from petra.desk.principal import owner
from petra.desk.requests import ForkRequest
from petra.store.memory import MemoryStore

LONG = 12_000


def noting(monkeypatch: pytest.MonkeyPatch, where: Any, name: str) -> dict[str, set[int]]:
    """Note by which threads something is done."""
    done: Callable[..., Any] = getattr(where, name)
    seen: dict[str, set[int]] = {name: set()}

    def noted(*given: Any, **more: Any) -> Any:
        seen[name].add(threading.get_ident())
        return done(*given, **more)

    monkeypatch.setattr(where, name, noted)
    return seen


@pytest.mark.spec("S13")
@pytest.mark.parametrize("length", [20, LONG])
def test_the_loop_reads_and_folds_short_logs_only(
    monkeypatch: pytest.MonkeyPatch, length: int
) -> None:
    read = noting(monkeypatch, result, "from_row")
    folded = noting(monkeypatch, branching, "forked")
    taken = noting(monkeypatch, branching, "fork")

    async def scenario() -> None:
        async with local(MemoryStore(clock=SystemClock().now)) as home:
            await home.engine.start(chain(2), execution="e")
            await home.rest("e")
            rows = await home.engine.store.read("e")
            more = [replace(rows[1], seq=seq) for seq in range(len(rows) + 1, length + 1)]
            whole = [*rows, *more]

            async def longer(_: str, *, after: int = 0, limit: int = 0) -> list[Any]:
                return whole[after : after + limit]

            monkeypatch.setattr(home.engine.store, "read", longer)
            for seen in (read, folded, taken):
                next(iter(seen.values())).clear()
            assert len(await records_of(home.engine.store, "e")) == length
            request = ForkRequest(id="", execution="f", origin="e", at=2)
            past = await branching.past_of(home.engine, owner(), request)
            assert past.state.seq > 0

    asyncio.run(scenario())
    here = threading.get_ident()
    for seen in (read, folded, taken):
        (threads,) = seen.values()
        assert threads
        assert (here in threads) == (length == 20)
