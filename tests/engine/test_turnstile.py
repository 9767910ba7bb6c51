"""The turnstile looks at every line now and then, whatever keeps it busy: a hint that got lost is made up for (S15)."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Collection
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
from support.clocks import FakeClock

from petra.engine.limits import LINES_LOOK_S
from petra.engine.lines import Allowance
from petra.engine.turnstile import Turnstile
from petra.playbook.shared import Rate
from petra.store.rows import LineName, LineRow, PermitRow

ASKS = PermitRow(id="p", execution="e", limit="resource mail", rank=0.0, asked=0.0)


class BusyLine:
    """A line in which somebody waits, and which a rate lets go on in a second, again and again."""

    def __init__(self, clock: FakeClock) -> None:
        self.clock = clock
        self.looks: list[float] = []

    async def waited_for(self, *, shards: Collection[int] | None) -> list[LineName]:  # noqa: ARG002
        self.looks.append(self.clock.monotonic())
        return [ASKS.line]

    async def line(self, _: LineName) -> LineRow:
        recent = msgspec.json.encode([(self.clock.now(), 1)])
        return LineRow(used=0, waiting=1, queue=(ASKS,), recent=recent)


class EveryLineMayGoOnInASecond:
    async def look(self) -> None:
        pass

    async def allowed(self, _: LineName) -> Allowance:
        return Allowance(rate=Rate(count=1, per_s=1.0))


@pytest.mark.spec("S15")
def test_a_line_that_is_due_every_second_keeps_nobody_from_looking_at_the_others() -> None:
    async def main() -> None:
        clock = FakeClock()
        busy = BusyLine(clock)
        parts: dict[str, Any] = {
            "courier": None, "bus": None, "view": None, "scope": SimpleNamespace(holds=lambda _: True),
        }  # fmt: skip
        turnstile = Turnstile(
            SimpleNamespace(permits=busy), clock, SimpleNamespace(mine=lambda: None, epochs=None),  # type: ignore[arg-type]
            resources=EveryLineMayGoOnInASecond(), **parts,  # type: ignore[arg-type]
        )  # fmt: skip
        running = asyncio.create_task(turnstile.run())
        await clock.advance(10 * LINES_LOOK_S + 1)
        running.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await running
        assert len(busy.looks) >= 10

    asyncio.run(main())
