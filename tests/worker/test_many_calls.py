"""Two thousand http calls, two hundred at a time: never more, in flat memory, and the heart keeps its time."""

from __future__ import annotations

import asyncio

import pytest
from support.many_calls import calls

TOTAL, WIDTH, ANSWER_S = 2_000, 200, 0.3


@pytest.mark.slow
@pytest.mark.spec("S9")
def test_many_parallel_calls_stay_within_max_in_flight_memory_and_time() -> None:
    seen = asyncio.run(asyncio.wait_for(calls(TOTAL, WIDTH, ANSWER_S), 300))
    assert (seen.ok, seen.calls) == (TOTAL, TOTAL)
    assert WIDTH // 2 < seen.most <= WIDTH
    middle = len(seen.memory_mb) // 2
    assert max(seen.memory_mb[middle:]) - max(seen.memory_mb[:middle]) < 4
    late = sorted(seen.late_s)
    assert late[len(late) // 2] < 0.02
    # Not the latest of all: once in a while a single beat is late, see benchmarks/results/worker.md.
    assert late[len(late) * 19 // 20] < 0.1 + seen.idle_late_s
