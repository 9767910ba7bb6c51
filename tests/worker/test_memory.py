"""What a worker holds: nothing of an assignment that ended, and of what it read no more than it has room for (S18).

Growth is counted in objects, not in megabytes: a loop over a million rows is a matter of what is held for each.
"""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Iterator
from pathlib import Path

import pytest
from worker.desk import Desk, ProbeTools, playbook, with_worker
from worker.test_references import Counted

from petra.objects import ExecutionObjects
from petra.values import weight
from petra.worker import Worker
from petra.worker.loaded import Loaded
from petra.worker.work import Work

pytestmark = pytest.mark.spec("S18")

LOOP = playbook("- step: s\n  loop: {in: [], iterator: n}\n  tool: {kind: http, url: x}\n")
PLAIN = playbook("- step: s\n  tool: {kind: http, url: x}\n")
ROWS = [{"n": number} for number in range(2_000)]


@pytest.fixture
def no_collector() -> Iterator[None]:
    """Collect no cycles: what is held in one stays, and is counted; what other tests left is not looked through."""
    gc.collect()
    gc.freeze()
    gc.disable()
    yield
    gc.enable()


def held(kind: type) -> list[object]:
    return [one for one in gc.get_objects() if type(one) is kind]


@pytest.mark.slow
@pytest.mark.usefixtures("no_collector")
@pytest.mark.parametrize("given", [{}, {"items": [1, 2, 3]}, {"items": [1, 2, 3], "width": 3}])
def test_of_what_has_ended_nothing_waits_for_the_collector(
    tmp_path: Path, given: dict[str, object]
) -> None:
    async def play(desk: Desk, _worker: Worker) -> None:
        book = LOOP if given else PLAIN
        before = held(Work)  # of tests that ran in this process, and that something else holds
        counted = []
        for number in range(1, 21):
            desk.assign(book, **given, **({"total": 1_000_000} if given else {}))
            await desk.report(number)
            counted.append(len(held(Work)) - len(before))
        assert max(counted) <= 2, counted

    objects = Counted(tmp_path)
    asyncio.run(asyncio.wait_for(with_worker(play, ProbeTools(), objects=objects), 300))


def test_what_is_kept_is_weighed_as_it_is_in_memory(tmp_path: Path) -> None:
    async def read() -> None:
        below = Counted(tmp_path)
        objects, room = ExecutionObjects(below, "e"), 5 * weight(ROWS)
        loaded = Loaded(weight=room, few=2)
        pieces = [await objects.put([*ROWS, number]) for number in range(20)]
        assert 20 * pieces[0]["size"] < room, "as JSON all of them would fit"
        for piece in pieces:
            await loaded.bring(objects, [piece], {}, 0)
        await loaded.bring(objects, pieces[-3:], {}, 0)
        assert below.reads == 20
        await loaded.bring(objects, pieces[:15], {}, 0)
        assert below.reads == 35

    asyncio.run(read())


def test_a_few_stay_however_heavy_they_are(tmp_path: Path) -> None:
    async def read() -> None:
        below = Counted(tmp_path)
        objects, loaded = ExecutionObjects(below, "e"), Loaded(weight=100, few=2)
        two = [await objects.put([*ROWS, number]) for number in range(2)]
        for _ in range(5):
            await loaded.bring(objects, two, {}, 0)
        assert below.reads == 2

    asyncio.run(read())
