"""Two thousand http calls, two hundred at a time: never more, and in flat memory.

How late the heart beats meanwhile is measured by ``benchmarks/worker.py``.
"""

from __future__ import annotations

import asyncio

import pytest
from support.many_calls import calls

TOTAL, WIDTH, ANSWER_S = 2_000, 200, 0.3


@pytest.mark.slow
@pytest.mark.spec("S9")
def test_many_parallel_calls_stay_within_max_in_flight_and_memory() -> None:
    seen = asyncio.run(asyncio.wait_for(calls(TOTAL, WIDTH, ANSWER_S), 300))
    assert (seen.ok, seen.calls) == (TOTAL, TOTAL)
    assert WIDTH // 2 < seen.most <= WIDTH
    middle = len(seen.memory_mb) // 2
    assert max(seen.memory_mb[middle:]) - max(seen.memory_mb[:middle]) < 4
