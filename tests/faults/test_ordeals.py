"""The real engine and workers in virtual time, under faults from seeds: every invariant holds, and seeds repeat."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from ordeal import Ordeal
from ordeal.loop import Process, StandstillError, virtual_loop
from ordeal.tally import Tally
from thoroughness import FROM

BLOCK = 50
FAST, ALL = 100, int(os.environ.get("PETRA_ORDEALS", "150"))

Record = Callable[[str, object], None]


def _blocks(first: int, last: int) -> list[range]:
    return [range(at, min(at + BLOCK, last)) for at in range(first, last, BLOCK)]


def _run(seeds: range, record_property: Record) -> None:
    tally = Tally()
    for seed in seeds:
        tally.add(Ordeal(seed))
    record_property("ordeals", json.dumps(tally.counts))
    assert tally.faults == {}


@pytest.mark.parametrize("seeds", _blocks(0, FAST), ids=str)
def test_whatever_goes_wrong_every_invariant_holds(
    seeds: range, record_property: Record, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("CRITICAL", "petra")
    _run(seeds, record_property)


@pytest.mark.slow
@pytest.mark.parametrize("seeds", _blocks(max(FAST, FROM), FROM + ALL), ids=str)
def test_whatever_else_goes_wrong_every_invariant_holds(
    seeds: range, record_property: Record, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("CRITICAL", "petra")
    _run(seeds, record_property)


TESTS = Path(__file__).parents[1]
SEEDS = (3, 10, 39, 44, 69, 128)

PROGRAM = """
import sys
from ordeal import Ordeal
for seed in map(int, sys.argv[1:]):
    ordeal = Ordeal(seed)
    ordeal.run()
    print(ordeal.digest)
"""


def _elsewhere(hash_seed: str) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *map(str, SEEDS)],
        env={**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": str(TESTS)},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.split()


@pytest.mark.slow
def test_the_same_seed_gives_the_same_logs_in_every_process() -> None:
    here = []
    for seed in SEEDS:
        ordeal = Ordeal(seed)
        ordeal.run()
        here.append(ordeal.digest)
    assert len(set(here)) == len(SEEDS)
    assert _elsewhere("1") == here
    assert _elsewhere("2") == here


def test_virtual_time_jumps_and_nothing_waits() -> None:
    loop = virtual_loop()

    async def long() -> float:
        await asyncio.sleep(86_400)
        return loop.time()

    assert loop.run_until_complete(long()) == 86_400
    with pytest.raises(StandstillError):
        loop.run_until_complete(loop.create_future())
    loop.bury()


def test_a_killed_process_runs_no_further_line_not_even_a_finally() -> None:
    loop, process, seen = virtual_loop(), Process("victim"), list[str]()

    async def victim() -> None:
        try:
            seen.append("begins")
            await asyncio.sleep(1)
            seen.append("goes on")
        finally:
            seen.append("cleans up")

    async def main() -> None:
        loop.start(process, victim())
        await asyncio.sleep(0.5)
        process.kill()
        await asyncio.sleep(10)
        assert seen == ["begins"]

    loop.run_until_complete(main())
    loop.bury()


def test_a_stopped_process_goes_on_where_it_was_when_its_time_has_long_passed() -> None:
    loop, process, seen = virtual_loop(), Process("sleeper"), list[float]()

    async def sleeper() -> None:
        await asyncio.sleep(1)
        seen.append(loop.time())

    async def main() -> None:
        loop.start(process, sleeper())
        process.stop()
        await asyncio.sleep(30)
        assert seen == []
        loop.go_on(process)
        await asyncio.sleep(2)
        assert seen == [30 + 1]

    loop.run_until_complete(main())
    loop.bury()
