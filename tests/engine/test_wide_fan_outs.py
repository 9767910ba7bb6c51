"""What a wide fan-out takes while it begins: its branches are in memory once, not once for everybody who handles them."""

from __future__ import annotations

import asyncio
import tracemalloc
from pathlib import Path

import pytest
from engine_support import playbook

from petra.desk.result import records_of
from petra.embedded import Home
from petra.engine.cache import Entry
from petra.engine.limits import SAID_MAX, SNAPSHOT_EVERY
from petra.engine.news import Appended, News, Topic
from petra.engine.with_workers import WHOLE, goes_out, is_back
from petra.errors import PetraError
from petra.kernel import Ledger, Program, Record, State
from petra.kernel.state import StepRun
from petra.playbook import Playbook

BRANCH_BYTES = 4_200
"""At the peak, with all that an engine does with it; it was 6,300."""


def fan(width: int) -> Playbook:
    return playbook(f"""
  - step: split
    next: {{arcs: [{{step: work, foreach: "{{{{ range({width}) }}}}"}}]}}
  - step: work
    tool: {{kind: noop}}
    next: {{arcs: [{{step: join}}]}}
  - step: join
    spec: {{join: {{merge: {{into: xs}}}}}}
    tool: {{kind: noop}}
""")


async def run(home: Home, width: int) -> str:
    result = await home.run(fan(width))
    assert result.status == "completed", result
    return result.id


@pytest.mark.slow
def test_a_branch_of_a_wide_fan_out_takes_a_few_kilobytes_at_its_peak(tmp_path: Path) -> None:
    few, many = 500, 2_500

    async def peaks() -> list[int]:
        async with Home.open(tmp_path / "home") as home:
            await run(home, few)
            tracemalloc.start()
            try:
                return [await peak(home, width) for width in (few, many)]
            finally:
                tracemalloc.stop()

    async def peak(home: Home, width: int) -> int:
        before, _ = tracemalloc.get_traced_memory()
        tracemalloc.reset_peak()
        await run(home, width)
        return tracemalloc.get_traced_memory()[1] - before

    less, more = asyncio.run(peaks())
    assert (more - less) / (many - few) < BRANCH_BYTES


class Listener:
    def __init__(self) -> None:
        self.heard: list[Record] = []

    def take(self, message: News) -> None:
        if isinstance(message, Appended):
            self.heard += message.records

    def end(self, why: PetraError) -> None:
        pass


@pytest.mark.slow
def test_who_listens_hears_every_record_of_a_wide_fan_out_as_it_is_stored(tmp_path: Path) -> None:
    async def told() -> None:
        async with Home.open(tmp_path / "home") as home:
            listener = Listener()
            home.engine.feed.attach(Topic.RECORDS, listener)
            execution = await run(home, 2 * SAID_MAX)
            stored = await records_of(home.engine.store, execution)
            assert len(stored) > 4 * SAID_MAX
            assert listener.heard == stored

    asyncio.run(told())


RUN = StepRun(
    id="0", step="work", args={}, stack=(), seen={}, source=None, output=None, started_at=0.0, seq=1, token="t",
)  # fmt: skip


def entry() -> Entry:
    book = fan(2)
    return Entry(Program(book), State(id="x"), Ledger("x"))


def test_a_run_that_is_out_as_a_whole_has_a_set_that_all_such_runs_share() -> None:
    one = entry()
    goes_out(one.out, "a", "")
    goes_out(one.out, "b", "")
    assert one.out["a"] is one.out["b"] is WHOLE
    is_back(one.out, "a", "")
    assert one.out == {"a": set(), "b": {""}}


def test_chunks_of_a_run_go_out_and_come_back_one_by_one() -> None:
    one = entry()
    goes_out(one.out, "a", "1")
    goes_out(one.out, "a", "2")
    is_back(one.out, "a", "1")
    assert one.out == {"a": {"2"}}
    is_back(one.out, "a", "2")
    goes_out(one.out, "a", "3")
    assert one.out == {"a": {"3"}}
    is_back(one.out, "elsewhere", "1")
    assert one.out == {"a": {"3"}}


def test_a_run_that_was_out_as_a_whole_may_go_out_in_chunks() -> None:
    one = entry()
    goes_out(one.out, "a", "")
    goes_out(one.out, "a", "1")
    assert one.out == {"a": {"", "1"}}
    assert frozenset({""}) == WHOLE


def test_the_snapshot_of_a_wide_fan_out_waits_until_some_of_it_is_done() -> None:
    one, width = entry(), 10_000
    one.state.seq = 2 * width
    one.state.runs = dict.fromkeys(map(str, range(width)), RUN)
    assert one.snapshot_at(2 * width) is None
    for number in range(width // 2):
        del one.state.runs[str(number)]
    assert one.snapshot_at(2 * width) is not None


def test_an_execution_of_one_token_has_its_snapshot_when_it_is_time() -> None:
    one = entry()
    one.state.seq = SNAPSHOT_EVERY
    one.state.runs = {"0": RUN}
    assert one.snapshot_at(SNAPSHOT_EVERY) is not None
